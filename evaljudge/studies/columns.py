"""The scores of a study's runs side by side: methods, their trials, and other readings of them.

synthetic-sampled-5      trials synthetic-sampled-5, …#2, …#3 (all its draws)
synthetic-sampled-5.n10  trials synthetic-sampled-5.n10, ….n10#2, … (the first ten of them)
direct                   trials direct · brief, direct · wordy (with several packs of prompts)
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, median, stdev

import numpy as np

from evaljudge.agreement import Averaged, Level, agreements, averaged
from evaljudge.agreement.rated import Codes, Floats, Text, codes, is_repetition
from evaljudge.analysis.costs import CostRow
from evaljudge.analysis.run_scores import RunScores, aligned
from evaljudge.config import AgreementConfig
from evaljudge.judges.protocol import Judge
from evaljudge.records import ANY_AXIS
from evaljudge.report.study import COUNTED, MethodCost, PooledValue
from evaljudge.storage import Output

Trials = dict[str, list[str]]  # the columns of each method's trials
FEW_SCORES = 10
POOLED_LEVELS: tuple[Level, ...] = ("system", "summary")


class Columns:
    def __init__(self) -> None:
        self.methods: Trials = {}
        self.readings: Trials = {}  # other aggregations of what a method's judge had asked
        self._packs: dict[str, Trials] = {}  # each method's trials with each pack of prompts
        self._texts: list[Text] = []
        """Those that people rated, or all where none is; all columns are in their order."""
        self._ratings: dict[str, Floats] = {}
        self._scores: dict[str, dict[str, Floats]] = {}  # the scores of each column by axis
        self._costs: dict[str, Counter[str]] = {}  # what judging cost, by method

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
        run = RunScores(output, output.shards())
        if not self._texts:
            rated = np.zeros(len(run.texts), bool)
            for ratings in run.human.values():
                rated |= np.isfinite(ratings)
            if rated.any():
                self._ratings = {axis: ratings[rated] for axis, ratings in run.human.items()}
            chosen = np.flatnonzero(rated if rated.any() else ~rated)
            self._texts = [run.texts[row] for row in chosen]
        rows = run.rows_of(self._texts)
        for (scorer, axis), scores in run.scores.items():
            column = _named(scorer, label, "" if scorer in metrics else pack)
            self._scores.setdefault(column, {})[axis] = aligned(scores, rows)

    def add_costs(self, rows: Iterable[CostRow], label: str) -> None:
        """What the judges of a run cost. What was written before they judged is shared by many."""
        for row in rows:
            if row.stage == "judge":
                mine = self._costs.setdefault(_named(row.judge, label), Counter())
                mine.update({name: getattr(row, name) for name in COUNTED})

    def _list(self, judges: Sequence[Judge], metrics: Sequence[str], label: str, pack: str) -> None:
        """Methods of fewer draws come before that of all; a method's trials keep their order."""
        for judge in judges:
            first, *others = judge.scorers
            draws = [scorer for scorer in others if is_repetition(scorer)]
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

    def coarse(self, wanted: Trials) -> list[str]:
        """Those of the methods that have few different scores on every axis."""

        def is_coarse(trial: str) -> bool:
            columns = self._scores.get(trial, {}).values()
            counts = [len(np.unique(c[np.isfinite(c)])) for c in columns]
            return any(counts) and max(counts) <= FEW_SCORES

        return [method for method, trials in wanted.items() if all(map(is_coarse, trials))]

    @property
    def has_mostly_two_texts(self) -> bool:
        texts = Counter(doc_id for doc_id, _ in self._texts)
        return bool(texts) and median(texts.values()) <= 2

    def compared(self, wanted: Trials, how: AgreementConfig) -> Averaged | None:
        if not self._ratings or not wanted:
            return None
        return self._averaged(wanted, self._human(wanted), how)

    def costs(self, how: AgreementConfig) -> list[MethodCost]:
        """What each method cost, beside its agreement with people and with the first method."""
        wanted = {name: trials for name, trials in self.methods.items() if name in self._costs}
        first = next((self._scores[trial] for trial, *_ in wanted.values()), {})
        if not first:
            return []
        agreed = _averages(self.compared(wanted, how))
        alike = _averages(self._averaged(wanted, first, how))
        return [
            MethodCost(method, agreed.get(method), alike[method], **self._costs[method])
            for method in wanted
        ]

    def _averaged(
        self, wanted: Trials, human: Mapping[str, Floats], how: AgreementConfig
    ) -> Averaged:
        methods = {m: [self._trial(t, human) for t in trials] for m, trials in wanted.items()}
        return averaged(*self._codes, methods, human, coefficient=how.coefficient)

    @property
    def _codes(self) -> tuple[Codes, Codes]:
        """The document and the system of each text."""
        return codes(doc_id for doc_id, _ in self._texts), codes(s for _, s in self._texts)

    def _human(self, wanted: Trials) -> Mapping[str, Floats]:
        scored = {a for trials in wanted.values() for t in trials for a in self._scores.get(t, ())}
        return {
            axis: ratings
            for axis, ratings in sorted(self._ratings.items())
            if axis in scored or ANY_AXIS in scored
        }

    def pooled(self, how: AgreementConfig) -> list[PooledValue]:
        """The methods at the levels that take all documents together: means over trials."""
        human, pooled = self._human(self.methods), []
        for method, trials in self.methods.items():
            for axis, ratings in human.items():
                agreed = [
                    row
                    for column in (self._trial(trial, [axis])[axis] for trial in trials)
                    for row in agreements(
                        *self._codes, column, ratings, coefficients=(how.coefficient,)
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

    def _trial(self, trial: str, axes: Iterable[str]) -> dict[str, Floats]:
        columns = self._scores.get(trial, {})
        nothing = np.full(len(self._texts), np.nan)
        return {axis: columns.get(axis, columns.get(ANY_AXIS, nothing)) for axis in axes}


def _named(scorer: str, *labels: str) -> str:
    return " · ".join([scorer, *filter(None, labels)])


def _averages(table: Averaged | None) -> dict[str, float | None]:
    return {m.name: m.columns[-1].value for m in table.methods} if table else {}
