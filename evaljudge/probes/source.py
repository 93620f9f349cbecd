"""What a probe works on: cases, scores that were given, metrics to measure.

ProbeData(CorpusSource("summeval.jsonl"), scores=(), metrics="importance,rouge1", seed=0)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from evaljudge.analysis.mixes import Mix, mix_of
from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.corpora.scores import read_all_given
from evaljudge.errors import UserError
from evaljudge.metrics import make_metrics, read_metrics
from evaljudge.metrics.measuring import measure_here
from evaljudge.probes.matrix import Measure, ScoreMatrix, measured_columns, score_matrix
from evaljudge.probes.results import ProbeResult
from evaljudge.sections.figures import only


@dataclass(frozen=True)
class ProbeData:
    source: CorpusSource
    scores: Sequence[str]
    metrics: str | None
    seed: int

    @cached_property
    def measure(self) -> Measure:
        made = make_metrics(read_metrics(self.metrics)) if self.metrics else []
        return lambda cases: measure_here(made, cases, self.seed)

    @cached_property
    def matrix(self) -> ScoreMatrix:
        measure = self.measure
        with open_corpus(self.source) as corpus:
            cases = list(corpus)
            for note in corpus.unread:
                print(f"warning: corpus: {note}", file=sys.stderr)
        return score_matrix(cases, read_all_given(self.scores), measured_columns(measure, cases))

    def remeasured(self, probe: str) -> Measure:
        """For probes that change texts or references."""
        if not self.metrics:
            raise UserError(f"{probe} measures texts anew: name --metrics; given scores cannot be")
        return self.measure

    def mixes(self, texts: Sequence[str], axis: str) -> list[Mix]:
        """Parts may be named without their axis: the scorer's values on this one are meant."""
        known = self.matrix.against(axis)
        short = {name.removesuffix(f"/{axis}"): name for name in known}
        names = short | {name: name for name in known}
        mixes = (mix_of(text, names) for text in texts)
        return [Mix(tuple((names[part], weight) for part, weight in m.parts)) for m in mixes]

    def noted(self, result: ProbeResult, level: str) -> ProbeResult:
        """With a note where coefficients of this level rest on too few units to mean anything."""
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
        return "; ".join([str(self.source.path), size, *more])
