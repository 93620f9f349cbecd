"""The scores of a study's runs side by side: methods, their trials, and other readings of them.

synthetic-sampled-5      trials synthetic-sampled-5, …#2, …#3 (all its draws)
synthetic-sampled-5.n10  trials synthetic-sampled-5.n10, ….n10#2, … (the first ten of them)
synthetic-yes-no-5.level                                    a reading of synthetic-yes-no-5
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement import Averaged, averaged
from evaljudge.analysis.tables import Tables
from evaljudge.config import AgreementConfig
from evaljudge.judges.protocol import Judge
from evaljudge.records import ANY_AXIS, Score
from evaljudge.storage import Output, ahead

Candidate = tuple[str, str]
"""doc_id and system"""
Trials = dict[str, list[str]]
"""By method, the columns of its trials."""
_DRAWS = re.compile(r"#|\.n\d+$")
"""The names of scorers that are further trials, or of fewer draws."""
ALPHA = 0.05


class Columns:
    """Scores and ratings of rated candidates, side by side over all runs."""

    def __init__(self) -> None:
        self.methods: Trials = {}
        self.readings: Trials = {}
        """Other aggregations of what a method's judge had asked."""
        self._values: dict[str, dict[str, dict[Candidate, float]]] = {}
        self._rated = Tables(())

    def add(
        self, output: Output, judges: Sequence[Judge], metrics: Sequence[str], label: str
    ) -> None:
        """Add a run's scores; `label` distinguishes its columns from those of other runs."""
        self._list(judges, metrics, label)
        rated, shards = Tables(()), output.shards()
        for cases, scores in ahead(lambda s: (output.cases(s), list(output.scores(s))), shards):
            for case in cases:
                rated.add(case, {})
            wanted = {
                (c.document.doc_id, o.system) for c in cases for o in c.candidates if o.ratings
            }
            for score in scores:
                if (score.doc_id, score.system) in wanted:
                    self._add(score.scorer + label, score)
        if not self._rated.cases:
            self._rated = rated

    def _list(self, judges: Sequence[Judge], metrics: Sequence[str], label: str) -> None:
        """Methods of fewer draws come before that of all; a method's trials keep their order."""
        for judge in judges:
            first, *others = judge.scorers
            draws = [scorer for scorer in others if _DRAWS.search(scorer)]
            for scorer in [*(s for s in draws if not s.startswith(f"{first}#")), first]:
                self.methods.setdefault(scorer.partition("#")[0] + label, [])
            for scorer in [*draws, first]:
                self.methods[scorer.partition("#")[0] + label].append(scorer + label)
            for scorer in others:
                if scorer not in draws:
                    home = self.readings if scorer in judge.other_readings else self.methods
                    home[scorer + label] = [scorer + label]
        for metric in metrics:
            self.methods[metric + label] = [metric + label]

    def _add(self, column: str, score: Score) -> None:
        values = self._values.setdefault(column, {}).setdefault(score.axis, {})
        if score.value is not None:
            values[score.doc_id, score.system] = score.value

    def compared(self, wanted: Trials, how: AgreementConfig, seed: int) -> Averaged | None:
        """None where there is no rating to compare with."""
        if not self._rated.rated or not wanted:
            return None
        rated = self._rated.as_rated()
        scored = {a for trials in wanted.values() for t in trials for a in self._values.get(t, ())}
        human = {
            axis: column
            for axis, column in sorted(rated.human.items())
            if axis in scored or ANY_AXIS in scored
        }
        methods = {m: [self._trial(t, human) for t in trials] for m, trials in wanted.items()}
        return averaged(
            rated.documents,
            rated.systems,
            methods,
            human,
            coefficient=how.coefficient,
            resamples=how.resamples,
            permutations=_enough(how.permutations, len(wanted)),
            seed=seed,
        )

    def _trial(self, trial: str, axes: Iterable[str]) -> dict[str, NDArray[np.float64]]:
        columns = self._values.get(trial, {})
        candidates = [(row.doc_id, row.system) for row in self._rated.rows]
        found = {axis: columns.get(axis, columns.get(ANY_AXIS, {})) for axis in axes}
        return {
            axis: np.array([values.get(at, np.nan) for at in candidates])
            for axis, values in found.items()
        }


def _enough(permutations: int, methods: int) -> int:
    """So many that, after Holm's correction over this table's methods, a p can be small enough."""
    return max(permutations, ceil(2 * methods / ALPHA)) if permutations else 0
