"""The scores of a study's runs side by side: methods, their trials, and other readings of them.

synthetic-sampled-5      trials synthetic-sampled-5, …#2, …#3 (all its draws)
synthetic-sampled-5.n10  trials synthetic-sampled-5.n10, ….n10#2, … (the first ten of them)
direct                   trials direct · brief, direct · wordy (with several packs of prompts)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median, stdev

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement import Averaged, Level, agreements, averaged
from evaljudge.analysis.tables import Tables
from evaljudge.config import AgreementConfig
from evaljudge.judges.protocol import Judge
from evaljudge.records import ANY_AXIS
from evaljudge.report.study import PooledValue
from evaljudge.storage import Output, ahead

Candidate = tuple[str, str]  # doc_id and system
Trials = dict[str, list[str]]  # the columns of each method's trials
_DRAWS = re.compile(r"#|\.n\d+$")
"""The names of scorers that are further trials, or of fewer draws."""
POOLED_LEVELS: tuple[Level, ...] = ("system", "summary")


class Columns:
    def __init__(self) -> None:
        self.methods: Trials = {}
        self.readings: Trials = {}
        """Other aggregations of what a method's judge had asked."""
        self._packs: dict[str, Trials] = {}
        """Each method's trials with each pack of prompts."""
        self._values: dict[str, dict[str, dict[Candidate, float]]] = {}
        self._rated = Tables(())

    def add(
        self,
        output: Output,
        judges: Sequence[Judge],
        metrics: Sequence[str],
        label: str,
        pack: str = "",
    ) -> None:
        """Add a run's scores. `label` distinguishes its methods from those of other runs; columns
        of another pack of prompts are further trials of the same methods."""
        self._list(judges, metrics, label, pack)
        rated, shards = Tables(()), output.shards()
        for cases, scores in ahead(lambda s: (output.cases(s), list(output.scores(s))), shards):
            wanted = set[Candidate]()
            for case in cases:
                rated.add(case, {})
                wanted |= {(case.document.doc_id, c.system) for c in case.candidates if c.ratings}
            for score in scores:
                if (score.doc_id, score.system) in wanted:
                    column = _named(score.scorer, label, "" if score.scorer in metrics else pack)
                    values = self._values.setdefault(column, {}).setdefault(score.axis, {})
                    if score.value is not None:
                        values[score.doc_id, score.system] = score.value
        if not self._rated.cases:
            self._rated = rated

    def _list(self, judges: Sequence[Judge], metrics: Sequence[str], label: str, pack: str) -> None:
        """Methods of fewer draws come before that of all; a method's trials keep their order."""
        for judge in judges:
            first, *others = judge.scorers
            draws = [scorer for scorer in others if _DRAWS.search(scorer)]
            for scorer in [*(s for s in draws if not s.startswith(f"{first}#")), first]:
                self.methods.setdefault(_named(scorer.partition("#")[0], label), [])
            for scorer in [*draws, first]:
                self._list_trial(self.methods, scorer, label, pack)
            for scorer in others:
                if scorer not in draws:
                    home = self.readings if scorer in judge.other_readings else self.methods
                    self._list_trial(home, scorer, label, pack)
        for metric in metrics:
            self._list_trial(self.methods, metric, label, "")

    def _list_trial(self, home: Trials, scorer: str, label: str, pack: str) -> None:
        method, column = _named(scorer.partition("#")[0], label), _named(scorer, label, pack)
        home.setdefault(method, []).append(column)
        if pack and home is self.methods:
            packs = self._packs.setdefault(method, {})
            packs.setdefault(_named(method, pack), []).append(column)

    @property
    def of_packs(self) -> Trials:
        return {name: trials for packs in self._packs.values() for name, trials in packs.items()}

    @property
    def has_mostly_two_texts(self) -> bool:
        texts = Counter(doc_id for doc_id, _ in self._rated.as_rated().texts)
        return bool(texts) and median(texts.values()) <= 2

    def compared(self, wanted: Trials, how: AgreementConfig) -> Averaged | None:
        """The comparison with ratings; None where there are none."""
        if not self._rated.rated or not wanted:
            return None
        rated, human = self._rated.as_rated(), self._human(wanted)
        methods = {m: [self._trial(t, human) for t in trials] for m, trials in wanted.items()}
        codes = rated.documents, rated.systems
        return averaged(*codes, methods, human, coefficient=how.coefficient)

    def _human(self, wanted: Trials) -> Mapping[str, NDArray[np.float64]]:
        scored = {a for trials in wanted.values() for t in trials for a in self._values.get(t, ())}
        return {
            axis: column
            for axis, column in sorted(self._rated.as_rated().human.items())
            if axis in scored or ANY_AXIS in scored
        }

    def pooled(self, how: AgreementConfig) -> list[PooledValue]:
        """The methods at the levels that take all documents together: means over trials."""
        human = self._human(self.methods) if self._rated.rated else {}
        rated, pooled = self._rated.as_rated(), []
        for method, trials in self.methods.items():
            for axis, ratings in human.items():
                agreed = [
                    row
                    for column in (self._trial(trial, [axis])[axis] for trial in trials)
                    for row in agreements(
                        *(rated.documents, rated.systems, column, ratings),
                        coefficients=(how.coefficient,),
                    )
                ]
                for level in POOLED_LEVELS:
                    here = [row for row in agreed if row.level == level]
                    values = [row.value for row in here if row.value is not None]
                    whole = values if len(values) == len(trials) else []
                    at = method, axis, level, how.coefficient, len(trials)
                    value = fmean(whole) if whole else None
                    spread = stdev(whole) if len(whole) > 1 else None
                    pooled.append(PooledValue(*at, min(row.n for row in here), value, spread))
        return pooled

    def _trial(self, trial: str, axes: Iterable[str]) -> dict[str, NDArray[np.float64]]:
        columns = self._values.get(trial, {})
        by_axis = {axis: columns.get(axis, columns.get(ANY_AXIS, {})) for axis in axes}
        return {
            axis: np.array([values.get(at, np.nan) for at in self._rated.as_rated().texts])
            for axis, values in by_axis.items()
        }


def _named(scorer: str, *labels: str) -> str:
    return " · ".join([scorer, *filter(None, labels)])
