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
to write. The values that a threshold is found among lie in an index on disk: memory does not grow
with the corpus.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from fractions import Fraction
from functools import cached_property
from types import MappingProxyType
from typing import IO, Any, NamedTuple

import numpy as np

from evaljudge.agreement import Precise, precise
from evaljudge.agreement.rated import Rated
from evaljudge.analysis.calibrated import FEW, uncertified
from evaljudge.analysis.findings import Selected
from evaljudge.analysis.tables import Column, Tables
from evaljudge.config import Condition, Selection
from evaljudge.decisions.certified import Certified, certified
from evaljudge.decisions.grid import Grid
from evaljudge.sections.figures import short
from evaljudge.storage import Output, Shard
from evaljudge.storage.disk import Index, index_on_disk
from evaljudge.storage.tables import Scale

Candidate = tuple[str, str, str]
"""Its document, its system and its text."""


class Target(NamedTuple):
    """A precision on a scale, and from which rating on a candidate is good."""

    scale: Scale
    precision: float
    good: float
    confidence: float | None = None
    """That the precision is reached on new documents; None: it is only estimated."""


Found = Mapping[Target, Precise | Certified | None]
"""The threshold for each target; None where too few documents are rated."""
Tops = Mapping[tuple[Scale, float], float | None]
"""The threshold of each scale and top_fraction; None where nothing is scored on that scale."""
SCORED = "CREATE TABLE scored (scorer TEXT, axis TEXT, value REAL);"
SCORED_COLUMNS = ("scorer", "axis", "value")
UNDECIDED, MOST_UNDECIDED = 0.9, 0.2
"""The doubt above which a judge was undecided about a text, and how many such texts a selection may
have without a warning."""
NONE_FOUND: Found = MappingProxyType({})


def scale_of(condition: Condition) -> Scale:
    return condition.scorer, condition.axis


def target_of(condition: Condition) -> Target | None:
    if condition.precision is None or condition.good is None:
        return None
    return Target(scale_of(condition), condition.precision, condition.good, condition.confidence)


def targets(
    selections: Sequence[Selection], tables: Tables, grid: Grid, resamples: int, seed: int
) -> Found:
    """The threshold for each precision that a condition asks for."""
    conditions = (one for rule in selections for one in rule.all)
    asked = {target for one in conditions if (target := target_of(one)) is not None}
    return {target: _found(target, tables, grid, resamples, seed) for target in asked}


def _found(
    target: Target, tables: Tables, grid: Grid, resamples: int, seed: int
) -> Precise | Certified | None:
    scale, precision, good, confidence = target
    axis = scale[1]
    if confidence is not None:
        if scale not in grid.scores or axis not in grid.human:
            return None
        documents = np.repeat(np.array(grid.documents, dtype=object), len(grid.systems))
        every = documents, grid.scores[scale].ravel(), grid.human[axis].ravel()
        return certified(*every, good=good, target=precision, confidence=confidence, seed=seed)
    rated = tables.as_rated()
    if scale not in rated.scores or axis not in rated.human:
        return None
    rows = tables.doc_ids(), rated.scores[scale], rated.human[axis]
    return precise(*rows, good=good, target=precision, resamples=resamples, seed=seed)


def select(
    output: Output, shards: Sequence[Shard], selections: Sequence[Selection],
    found: Found = NONE_FOUND,
) -> list[Selected]:  # fmt: skip
    """Write every selection's two files, and remove those of selections no longer configured.

    `found`: the threshold of each precision that a condition asks for.
    """
    tops, names = _tops(output, shards, selections), [rule.name for rule in selections]
    with ExitStack() as files:
        opened = [files.enter_context(output.place.writing(f"selected/{n}.jsonl")) for n in names]
        filters = [
            _Filter(rule, tops, found, file) for rule, file in zip(selections, opened, strict=True)
        ]
        for candidates in _by_shard(output, shards, {s for one in filters for s in one.scales}):
            for one in filters:
                for candidate, values, doubts in candidates:
                    one.see(candidate, values, doubts)
    selected = [one.selected() for one in filters]
    for rule in selected:
        output.place.write_json(f"selected/{rule.name}.json", asdict(rule))
    _remove_others(output, names)
    return selected


def _remove_others(output: Output, names: Collection[str]) -> None:
    """The pairs of files of earlier selections; any other file is not ours."""
    there = set(output.place.names("selected"))
    for file in there:
        name = file.removesuffix(".jsonl")
        if name not in {*names, file} and f"{name}.json" in there:
            output.place.remove(f"selected/{file}")
            output.place.remove(f"selected/{name}.json")


@dataclass
class _Filter:
    """One selection's conditions, the file it writes, and its counts."""

    rule: Selection
    tops: Tops
    precise: Found
    file: IO[bytes]
    considered: int = 0
    passed: int = 0
    unscored: int = 0
    undecided: int = 0

    @cached_property
    def scales(self) -> list[Scale]:
        return list(dict.fromkeys(map(scale_of, self.rule.all)))

    @cached_property
    def _bounds(self) -> list[tuple[Scale, float, float]]:
        """Of each condition, the least and the highest value that it lets through."""
        return [
            (
                scale_of(condition),
                max(self._lower_bounds(condition)),
                math.inf if condition.at_most is None else condition.at_most,
            )
            for condition in self.rule.all
        ]

    def _lower_bounds(self, condition: Condition) -> Iterator[float]:
        top = None
        if condition.top_fraction is not None:
            top = self.tops[scale_of(condition), condition.top_fraction]
        yield from (-math.inf if one is None else one for one in (condition.at_least, top))
        if (target := target_of(condition)) is not None:
            found = self.precise[target]
            yield math.inf if found is None or found.threshold is None else found.threshold

    def see(
        self, candidate: Candidate, values: Mapping[Scale, float], doubts: Mapping[Scale, float]
    ) -> None:
        self.considered += 1
        if any(scale not in values for scale in self.scales):
            self.unscored += 1
        elif all(least <= values[scale] <= most for scale, least, most in self._bounds):
            self.passed += 1
            doc_id, system, text = candidate
            row: dict[str, Any] = {"doc_id": doc_id, "system": system, "text": text}
            row["values"] = self._nested(values)
            if own := self._nested(doubts):
                row["doubt"] = own
                self.undecided += any(
                    doubt > UNDECIDED for by_axis in own.values() for doubt in by_axis.values()
                )
            self.file.write(f"{json.dumps(row, ensure_ascii=False)}\n".encode())

    def _nested(self, found: Mapping[Scale, float]) -> dict[str, dict[str, float]]:
        """By scorer and axis, those of the rule."""
        own: dict[str, dict[str, float]] = {}
        for scale in self.scales:
            if scale in found:
                scorer, axis = scale
                own.setdefault(scorer, {})[axis] = found[scale]
        return own

    def selected(self) -> Selected:
        rule = self.rule.model_dump(exclude_none=True)
        counts = self.considered, self.passed, self.unscored
        thresholds = [row for condition in self.rule.all for row in self._thresholds(condition)]
        return Selected(self.rule.name, rule, *counts, thresholds, self.undecided)

    def _thresholds(self, condition: Condition) -> Iterator[dict[str, Any]]:
        """The thresholds that top_fraction and precision led to."""
        known = {"scorer": condition.scorer, "axis": condition.axis}
        if (top := condition.top_fraction) is not None:
            yield known | {"top_fraction": top, "value": self.tops[scale_of(condition), top]}
        if (target := target_of(condition)) is not None:
            asked = known | {"precision": target.precision, "good": target.good}
            found = self.precise[target]
            if target.confidence is None:
                yield asked | {"kind": "estimate"} | _precise_json(found)
            else:
                sure = {"confidence": target.confidence, "kind": "certified"}
                yield asked | sure | _certified_json(found)


def _certified_json(found: Precise | Certified | None) -> dict[str, Any]:
    if not isinstance(found, Certified):
        return {"value": None, "documents": None, "needed": None}
    return {
        "value": found.threshold,
        "documents": found.documents,
        "needed": found.needed,
        "coverage": found.coverage,
        "estimated": {"precision": found.precision, "recall": found.recall, "base": found.base},
        "tested": [asdict(one) for one in found.tested],
    }


def _precise_json(found: Precise | Certified | None) -> dict[str, Any]:
    if not isinstance(found, Precise):
        return {"value": None, "best": None, "documents": None, "cross_fitted": None}
    shares = {"precision": asdict(found.precision), "recall": asdict(found.recall)}
    chosen = {"value": found.threshold, "best": found.best, "documents": found.documents}
    return chosen | {"cross_fitted": shares}


def _tops(output: Output, shards: Sequence[Shard], selections: Sequence[Selection]) -> Tops:
    sought = {
        (scale_of(condition), condition.top_fraction)
        for selection in selections
        for condition in selection.all
        if condition.top_fraction is not None
    }
    if not sought:
        return {}
    scales = {scale for scale, _ in sought}
    with index_on_disk(SCORED) as index:
        for rows in output.ahead(lambda s: output.numbers(s, scales, SCORED_COLUMNS), shards):
            index.executemany("INSERT INTO scored VALUES (?, ?, ?)", rows)
        return {(scale, part): highest(index, scale, part) for scale, part in sought}


def highest(index: Index, scale: Scale, fraction: float) -> float | None:
    """The lowest of the highest ceil(fraction * n) of a scale's n values."""
    values = "FROM scored WHERE scorer = ? AND axis = ?"
    (number,) = index.execute(f"SELECT count(*) {values}", scale).fetchone()
    place = share_of(fraction, number) - 1
    ranked = f"SELECT value {values} ORDER BY value DESC LIMIT 1 OFFSET ?"
    found: tuple[float] | None = index.execute(ranked, (*scale, place)).fetchone()
    return found[0] if found else None


def share_of(fraction: float, number: int) -> int:
    """ceil(fraction * number) of the decimal as it is written: 0.07 of 100 is 7, never 8."""
    return math.ceil(Fraction(repr(fraction)) * number)


def _by_shard(
    output: Output, shards: Sequence[Shard], scales: set[Scale]
) -> Iterator[list[tuple[Candidate, dict[Scale, float], dict[Scale, float]]]]:
    """Each shard's candidates, in case order, with their scores on these scales and the doubt
    about them, as far as the scorers say it."""
    if not scales:
        return

    columns = ["doc_id", "system", *SCORED_COLUMNS, "doubt"]

    def read(shard: Shard) -> tuple[list[tuple[Any, ...]], list[Candidate]]:
        return output.numbers(shard, scales, columns), output.texts(shard)

    for rows, candidates in output.ahead(read, shards):
        values: dict[tuple[str, str], dict[Scale, float]] = {}
        doubts: dict[tuple[str, str], dict[Scale, float]] = {}
        for doc_id, system, scorer, axis, value, doubt in rows:
            values.setdefault((doc_id, system), {})[scorer, axis] = value
            if doubt is not None:
                doubts.setdefault((doc_id, system), {})[scorer, axis] = doubt
        yield [(one, values.get(one[:2], {}), doubts.get(one[:2], {})) for one in candidates]


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
    for one in selected:
        if one.selected and one.undecided / one.selected >= MOST_UNDECIDED:
            yield (
                f"select.{one.name}: the judge was undecided about {one.undecided:,} of "
                f"{one.selected:,} selected texts (doubt above {short(UNDECIDED)}): their scores "
                "mean little, so let people rate some of them (`evaljudge label`)"
            )


def out_of_reach(selections: Sequence[Selection], columns: Mapping[Scale, Column]) -> Iterator[str]:
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
    found = thresholds[target]
    if found is None:
        return FEW
    if not (found.base if isinstance(found, Certified) else found.base.value):
        return f"no candidate is rated {short(target.good)} or higher"
    if isinstance(found, Certified):
        return "" if found.threshold is not None else uncertified(found)
    if found.threshold is None:
        best = f"the best precision is {short(found.best)}"
        return f"no threshold reaches {short(target.precision)}; {best}"
    return ""
