"""The files that a rule selects: one line per candidate, and the rule with its counts.

    selected/good.jsonl  {"doc_id": "d1", "system": "A", "text": "A flood.",
                          "values": {"synthetic.level": {"fluency": 4.2}}}
    selected/good.json   {"name": "good", "rule": {…}, "considered": 16, "selected": 4,
                          "unscored": 1, "thresholds": [{…, "top_fraction": 0.1, "value": 4.2},
                                                        {…, "precision": 0.9, "good": 4.0,
                                                         "value": 2.31, "best": 0.97, …}]}

A candidate is selected when all conditions of the rule hold; one that lacks a finite number for
any of them is `unscored`. `top_fraction` f of a condition keeps the ceil(f * scored) highest values
of that scorer and axis, over all shards and whatever the other conditions say; where several
candidates are tied at the threshold, all of them are kept, so that order never decides.

`precision` keeps what reaches the lowest score that has that precision among rated candidates, and
nothing where no score has it or too little is rated to tell; a warning then says why:

    {scorer: synthetic, axis: fluency, precision: 0.9, good: 4}

    synthetic  4.1  3.0  2.3  1.2      from the top, the share rated 4 or higher: 1/1 2/2 2/3 3/4
    rated        5    4    2    4      so: at least 3.0

agreement/precision.py says how it is chosen, and how it is tested on other documents: this is an
estimate. With `confidence` the threshold is certified, or there is none (decisions/certified.py).

Shards are read one at a time: first, where a rule has a top_fraction, to find the thresholds, then
to write.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from fractions import Fraction
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import numpy as np

from evaljudge.agreement import Precise, precise
from evaljudge.agreement.rated import Grid, Key, Rated
from evaljudge.analysis.calibration import FEW, uncertified
from evaljudge.analysis.findings import Selected
from evaljudge.analysis.tables import Column
from evaljudge.config import Condition, Selection
from evaljudge.decisions.certified import Certified, certified
from evaljudge.sections.figures import short
from evaljudge.storage import Output, Shard


class Target(NamedTuple):
    """A precision on a scale, and from which rating on a candidate is good."""

    scale: Key
    precision: float
    good: float
    confidence: float | None = None
    """The confidence that new documents reach the precision; None: it is only estimated."""


Found = Mapping[Target, Precise | Certified | None]
"""The threshold for each target; None where too few documents are rated."""
Tops = Mapping[tuple[Key, float], float | None]
"""The threshold of each scale and top_fraction; None where nothing is scored on that scale."""
Scores = Mapping[Key, tuple[float, float | None]]
"""A text's scores, each with the doubt about it, where the scorer says it."""
COLUMNS = ["doc_id", "system", "scorer", "axis", "value", "doubt"]
UNDECIDED, MOST_UNDECIDED = 0.9, 0.2
"""The doubt above which a judge was undecided about a text, and how many such texts a selection may
have without a warning."""
NONE_FOUND: Found = MappingProxyType({})


def scale_of(condition: Condition) -> Key:
    return condition.scorer, condition.axis


def target_of(condition: Condition) -> Target | None:
    if condition.precision is None or condition.good is None:
        return None
    return Target(scale_of(condition), condition.precision, condition.good, condition.confidence)


def targets(
    selections: Sequence[Selection], rated: Rated, grid: Grid, resamples: int, seed: int
) -> Found:
    """The threshold for each precision that a condition asks for."""
    conditions = (condition for rule in selections for condition in rule.all)
    asked = {target for condition in conditions if (target := target_of(condition)) is not None}
    return {target: _precise_of(target, rated, grid, resamples, seed) for target in asked}


def _precise_of(
    target: Target, rated: Rated, grid: Grid, resamples: int, seed: int
) -> Precise | Certified | None:
    scale, precision, good, confidence = target
    table = rated if confidence is None else grid
    if scale not in table.scores or scale[1] not in table.human:
        return None
    scores, human = table.scores[scale].ravel(), table.human[scale[1]].ravel()
    if confidence is None:
        rows = rated.doc_ids, scores, human
        return precise(*rows, good=good, target=precision, resamples=resamples, seed=seed)
    documents = np.repeat(np.array(grid.documents, dtype=object), len(grid.systems))
    every = documents, scores, human
    return certified(*every, good=good, target=precision, confidence=confidence, seed=seed)


def select(
    output: Output, shards: Sequence[Shard], selections: Sequence[Selection],
    found: Found = NONE_FOUND,
) -> list[Selected]:  # fmt: skip
    """Write every selection's two files, and remove those of selections no longer configured.

    `found`: the threshold of each precision that a condition asks for.
    """
    tops, names = _tops(output, shards, selections), {rule.name for rule in selections}
    with ExitStack() as files:
        filters = [
            _Filter(
                rule,
                tops,
                found,
                files.enter_context(output.place.writing(f"selected/{rule.name}.jsonl")),
            )
            for rule in selections
        ]
        scales = {scale for filter_ in filters for scale in filter_.scales}

        def read(shard: Shard) -> tuple[list[tuple[Any, ...]], list[tuple[str, str, str]]]:
            return output.numbers(shard, scales, COLUMNS), output.texts(shard)

        for rows, texts in output.ahead(read, shards if scales else ()):
            scores = dict[tuple[str, str], dict[Key, tuple[float, float | None]]]()
            for doc_id, system, scorer, axis, value, doubt in rows:
                scores.setdefault((doc_id, system), {})[scorer, axis] = value, doubt
            for filter_ in filters:
                for doc_id, system, text in texts:
                    filter_.see(doc_id, system, text, scores.get((doc_id, system), {}))
    selected = [filter_.selected() for filter_ in filters]
    for rule in selected:
        output.place.write_json(f"selected/{rule.name}.json", asdict(rule))
    there = set(output.place.names("selected"))
    for file in there:  # files of earlier selections; any other is not ours
        name = file.removesuffix(".jsonl")
        if name not in {*names, file} and f"{name}.json" in there:
            output.place.remove(f"selected/{file}")
            output.place.remove(f"selected/{name}.json")
    return selected


class _Filter:
    """One selection's conditions, the file it writes, and its counts."""

    def __init__(self, rule: Selection, tops: Tops, found: Found, file: IO[bytes]) -> None:
        self._rule, self._tops, self._precisions, self._file = rule, tops, found, file
        self.scales = list(dict.fromkeys(map(scale_of, rule.all)))
        self._considered = self._passed = self._unscored = self._undecided = 0
        self._bounds = [
            (
                scale_of(condition),
                max(self._lower_bounds(condition)),
                math.inf if condition.at_most is None else condition.at_most,
            )
            for condition in rule.all
        ]

    def _lower_bounds(self, condition: Condition) -> Iterator[float]:
        top = self._tops.get((scale_of(condition), condition.top_fraction or 0.0))
        yield from (-math.inf if bound is None else bound for bound in (condition.at_least, top))
        if (target := target_of(condition)) is not None:
            chosen = self._precisions[target]
            yield math.inf if chosen is None or chosen.threshold is None else chosen.threshold

    def see(self, doc_id: str, system: str, text: str, scores: Scores) -> None:
        self._considered += 1
        if any(scale not in scores for scale in self.scales):
            self._unscored += 1
        elif all(least <= scores[scale][0] <= most for scale, least, most in self._bounds):
            self._passed += 1
            values, doubts = dict[str, dict[str, float]](), dict[str, dict[str, float]]()
            for scorer, axis in self.scales:
                value, doubt = scores[scorer, axis]
                values.setdefault(scorer, {})[axis] = value
                if doubt is not None:
                    doubts.setdefault(scorer, {})[axis] = doubt
            each = (doubt for by_axis in doubts.values() for doubt in by_axis.values())
            self._undecided += any(doubt > UNDECIDED for doubt in each)
            row = {"doc_id": doc_id, "system": system, "text": text, "values": values}
            row |= {"doubt": doubts} if doubts else {}
            self._file.write(f"{json.dumps(row, ensure_ascii=False)}\n".encode())

    def selected(self) -> Selected:
        rule = self._rule.model_dump(exclude_none=True)
        counts = self._considered, self._passed, self._unscored
        thresholds = [row for condition in self._rule.all for row in self._thresholds(condition)]
        return Selected(self._rule.name, rule, *counts, thresholds, self._undecided)

    def _thresholds(self, condition: Condition) -> Iterator[dict[str, Any]]:
        """The thresholds that top_fraction and precision led to."""
        row: dict[str, Any] = {"scorer": condition.scorer, "axis": condition.axis}
        if (top := condition.top_fraction) is not None:
            yield row | {"top_fraction": top, "value": self._tops[scale_of(condition), top]}
        if (target := target_of(condition)) is not None:
            row |= {"precision": target.precision, "good": target.good}
            if target.confidence is not None:
                row |= {"confidence": target.confidence, "kind": "certified"}
            else:
                row |= {"kind": "estimate"}
            yield row | _as_json(self._precisions[target], target)


def _as_json(rule: Precise | Certified | None, target: Target) -> dict[str, Any]:
    if rule is None:
        if target.confidence is None:
            return dict.fromkeys(("value", "best", "documents", "cross_fitted"))
        return dict.fromkeys(("value", "documents", "needed"))
    if isinstance(rule, Precise):
        shares = {"precision": asdict(rule.precision), "recall": asdict(rule.recall)}
        chosen = {"value": rule.threshold, "best": rule.best, "documents": rule.documents}
        return chosen | {"cross_fitted": shares}
    return {
        "value": rule.threshold,
        "documents": rule.documents,
        "needed": rule.needed,
        "coverage": rule.coverage,
        "estimated": {"precision": rule.precision, "recall": rule.recall, "base": rule.base},
        "tested": [asdict(test) for test in rule.tested],
    }


def _tops(output: Output, shards: Sequence[Shard], selections: Sequence[Selection]) -> Tops:
    sought = {
        (scale_of(condition), condition.top_fraction)
        for selection in selections
        for condition in selection.all
        if condition.top_fraction is not None
    }
    values = {scale: array("d") for scale, _ in sought}

    def read(shard: Shard) -> list[tuple[Any, ...]]:
        return output.numbers(shard, values, ("scorer", "axis", "value"))

    for rows in output.ahead(read, shards if sought else ()):
        for scorer, axis, value in rows:
            values[scorer, axis].append(value)
    return {(scale, part): highest(values[scale], part) for scale, part in sought}


def highest(values: Sequence[float], fraction: float) -> float | None:
    """The lowest of the highest ceil(fraction * n) of n values."""
    if not values:
        return None
    place = len(values) - share_of(fraction, len(values))
    return float(np.partition(np.array(values), place)[place]) + 0.0  # never -0.0


def share_of(fraction: float, number: int) -> int:
    """ceil(fraction * number) of the decimal as it is written: 0.07 of 100 is 7, never 8."""
    return math.ceil(Fraction(repr(fraction)) * number)


def unmet(selections: Sequence[Selection], rated: Rated, found: Found) -> list[str]:
    """Why a selection selects nothing, whatever the candidates."""
    return [
        f"{_named(rule, condition)}: {why}: nothing is selected"
        for rule in selections
        for condition in rule.all
        if (why := _hindrance(condition, rated, found))
    ]


def undecided(selected: Sequence[Selected]) -> Iterator[str]:
    """Selections of which the judge could not say much about many texts."""
    for rule in selected:
        if rule.selected and rule.undecided / rule.selected >= MOST_UNDECIDED:
            yield (
                f"select.{rule.name}: the judge was undecided about {rule.undecided:,} of "
                f"{rule.selected:,} selected texts (doubt above {short(UNDECIDED)}): their scores "
                "mean little, so let people rate some of them (`evaljudge label`)"
            )


def out_of_reach(selections: Sequence[Selection], columns: Mapping[Key, Column]) -> Iterator[str]:
    """Thresholds that no score of the run reaches: as a rule they are of another scale."""
    for rule in selections:
        for condition in rule.all:
            column = columns.get(scale_of(condition))
            if column is None or not column.scored:
                continue
            where, least, most = _named(rule, condition), condition.at_least, condition.at_most
            if least is not None and least > column.highest:
                highest = f"the highest is {short(column.highest)}"
                yield f"{where}: no score reaches {short(least)} ({highest}): nothing is selected"
            if most is not None and most < column.lowest:
                lowest = f"the lowest is {short(column.lowest)}"
                yield f"{where}: no score is down to {short(most)} ({lowest}): nothing is selected"


def _named(rule: Selection, condition: Condition) -> str:
    return f"select.{rule.name}: {condition.scorer} on {condition.axis}"


def _hindrance(condition: Condition, rated: Rated, thresholds: Found) -> str:
    """Why the condition selects nothing; empty where it can."""
    target = target_of(condition)
    if scale_of(condition) not in rated.scores:
        axes = ", ".join(rated.axes_of(condition.scorer)) or "no axis"
        return f"no scores there (calibrated on: {axes})"
    if target is None:
        return ""
    threshold = thresholds[target]
    if threshold is None:
        return FEW
    if not (threshold.base if isinstance(threshold, Certified) else threshold.base.value):
        return f"no candidate is rated {short(target.good)} or higher"
    if isinstance(threshold, Certified):
        return "" if threshold.threshold is not None else uncertified(threshold)
    if threshold.threshold is None:
        best = f"the best precision is {short(threshold.best)}"
        return f"no threshold reaches {short(target.precision)}; {best}"
    return ""
