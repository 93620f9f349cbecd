"""What a study is asked of: cases, scores that were given, metrics to measure; said in one line.

Asked(CorpusSource("summeval.jsonl"), scores=(), metrics="importance,rouge1", seed=0)
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from evaljudge.analysis.mixes import Mix, mix_of
from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.corpora.advice import PROBE_OPTIONS
from evaljudge.corpora.by_options import source_by_options
from evaljudge.corpora.scores import read_all_given
from evaljudge.errors import UserError
from evaljudge.metrics import make_metrics, read_metrics
from evaljudge.metrics.measuring import measure_here
from evaljudge.probes.matrix import Measure, ScoreMatrix, measured_columns, score_matrix
from evaljudge.probes.telling import Study, told_json, told_markdown, told_text
from evaljudge.sections.figures import only
from evaljudge.storage import Place


@dataclass(frozen=True)
class Asked:
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

    def remeasured(self, study: str) -> Measure:
        """For studies that change texts or references."""
        if not self.metrics:
            raise UserError(f"{study} measures texts anew: name --metrics; given scores cannot be")
        return self.measure

    def mixes(self, texts: Sequence[str], axis: str) -> list[Mix]:
        """A scorer of several axes goes by its own name, too: this one is meant."""
        known = self.matrix.against(axis)
        short = {name.removesuffix(f"/{axis}"): name for name in known}
        names = short | {name: name for name in known}
        mixes = (mix_of(text, names) for text in texts)
        return [Mix(tuple((names[part], weight) for part, weight in m.parts)) for m in mixes]

    def noted(self, study: Study, level: str) -> Study:
        """With a note where coefficients of this level rest on too few units to mean anything."""
        matrix = self.matrix
        units = len(matrix.system_names if level == "system" else matrix.cases)
        few = only(level, units) if level in ("sample", "system") else ""
        note = (
            f"These coefficients rest on {few}: even perfect agreement can be chance then (p above "
            "0.05), so they say nothing."
        )
        return replace(study, notes=[note, *study.notes]) if few else study

    def about(self, *more: str) -> str:
        matrix = self.matrix
        size = f"{len(matrix.cases):,} documents, {len(matrix.system_names):,} systems"
        return "; ".join([str(self.source.path), size, *more])


def source_of(
    cases: str, form: str, sources: str | None, column: Sequence[str] | None
) -> CorpusSource:
    return source_by_options(cases, form, sources, column, PROBE_OPTIONS)


def tell(study: Study, out: str | None) -> None:
    print(told_text(study), end="")
    if out:
        place = Place(out)
        place.write(f"{study.name}.md", told_markdown(study))
        place.write(f"{study.name}.json", told_json(study))
        place.write(f"{study.name}.svg", study.draw())
        print(f"\nwritten    {place.uri}/{study.name}.md, .json, .svg")
