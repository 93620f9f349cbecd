"""What a probe works on: cases, given scores, and metrics to measure.

ProbeData(CorpusSource("summeval.jsonl"), scores=(), metrics={"rouge1": {}}, seed=0)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from evaljudge.analysis.mixes import Mix, mix_of
from evaljudge.corpora import CorpusSource, notes_on, open_corpus
from evaljudge.corpora.scores import read_all_given
from evaljudge.errors import UserError
from evaljudge.metrics import MetricsSpec, make_metrics
from evaljudge.metrics.measuring import measure_here
from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.probes.matrix import Measure, ScoreMatrix, columns_of, score_matrix
from evaljudge.probes.results import ProbeResult, Row
from evaljudge.sections.figures import only
from evaljudge.text import listed

DEFAULT_AXIS = "relevance"
MOST_NAMED = 3
"""How many scorers one warning names."""


@dataclass(frozen=True)
class ProbeData:
    source: CorpusSource
    scores: Sequence[str]
    metrics: MetricsSpec
    seed: int
    measuring: Measure | None = None
    """What measures in place of the metrics."""
    warnings: list[str] = field(default_factory=list)
    """What was not read, and which scorers lack numbers: known once the matrix is."""

    @cached_property
    def measure(self) -> Measure:
        if self.measuring:
            return self.measuring
        made = make_metrics(self.metrics)
        return lambda cases: measure_here(made, cases, self.seed)

    @cached_property
    def matrix(self) -> ScoreMatrix:
        with open_corpus(self.source) as corpus:
            cases = list(corpus)
            unread = [f"corpus: {note}" for note in corpus.unread]
            self.warnings.extend([*unread, *notes_on(corpus.skipped_rows, corpus.absent_ratings)])
        values = self.measure(cases)
        given, _ = read_all_given(self.scores)
        matrix = score_matrix(cases, given, columns_of(values))
        self.warnings.extend(_left_out(matrix, values))
        return replace(matrix, unread=unread)

    def axis(self, named: str | None) -> str:
        """The human axis: the one named, else `relevance`, else the only one."""
        rated = self.matrix.human
        if named is not None or not rated or DEFAULT_AXIS in rated:
            return named or DEFAULT_AXIS
        if len(rated) == 1:
            return next(iter(rated))
        raise UserError(f"--axis: name one of those that people rated: {', '.join(rated)}")

    def remeasured(self, probe: str) -> Measure:
        """`measure`, for probes that change texts or references and so need metrics."""
        if not self.metrics:
            raise UserError(f"{probe} measures texts anew: name --metrics; given scores cannot be")
        return self.measure

    def mixes(self, texts: Sequence[str], axis: str) -> list[Mix]:
        """A part named without an axis means the scorer's values on this axis."""
        known = self.matrix.against(axis)
        short = {name.removesuffix(f"/{axis}"): name for name in known}
        names = short | {name: name for name in known}
        mixes = (mix_of(text, names) for text in texts)
        return [Mix(tuple((names[part], weight) for part, weight in m.parts)) for m in mixes]

    def warned(self, result: ProbeResult[Row], axis: str = "") -> ProbeResult[Row]:
        """With what is to be said of the data; `axis`: the one that the probe looks at."""
        return replace(result, warnings=self.warnings, axis=axis)

    def noted(self, result: ProbeResult[Row], level: str) -> ProbeResult[Row]:
        """With a note if coefficients of this level rest on too few units to mean anything."""
        matrix = self.matrix
        units = len(matrix.system_names if level == "system" else matrix.cases)
        few = only(level, units) if level in ("sample", "system") else ""
        note = (
            f"These coefficients rest on {few}: even perfect agreement can be chance then (p above "
            "0.05), so they say nothing."
        )
        return replace(result, notes=[note, *result.notes]) if few else result

    def about(self, *more: str) -> str:
        matrix = self.matrix
        size = f"{len(matrix.cases):,} documents, {len(matrix.system_names):,} systems"
        return "; ".join([", ".join(listed(self.source.path)), size, *more])


def _left_out(
    matrix: ScoreMatrix, measured: Mapping[str, Sequence[Sequence[Value]]]
) -> Iterator[str]:
    """How many candidates have no number, and why, as far as it is known; scorers that lack the
    same stand together."""
    alike: dict[str, list[str]] = {}
    for scorer, column in matrix.scores.items():
        absent = int(np.sum(~np.isfinite(column)))
        values = (value for by_case in measured.get(scorer, ()) for value in by_case)
        reasons = Counter(value.reason for value in values if isinstance(value, Unscored))
        why = "; ".join(f"{reason} × {times:,}" for reason, times in reasons.most_common(3))
        of = f"{absent:,} of {column.size:,} candidates have no score and are left out"
        if absent:
            alike.setdefault(f"{of} ({why or 'none was given'})", []).append(scorer)
    for said, scorers in alike.items():
        more = len(scorers) - MOST_NAMED
        named = ", ".join(scorers[:MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
        yield f"{named}: {said}"
