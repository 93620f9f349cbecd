"""The files that a rule selects: one line per candidate, and the rule with its counts.

    selected/good.jsonl  {"doc_id": "d1", "system": "A", "text": "A flood.",
                          "values": {"synthetic.level": {"fluency": 4.2}}}
    selected/good.json   {"name": "good", "rule": {…}, "considered": 16, "selected": 4,
                          "unscored": 1, "thresholds": [{…, "top_fraction": 0.1, "value": 4.2}]}

A candidate is selected when all conditions of the rule hold; one that lacks a finite number for
any of them is `unscored`. `top_fraction` f of a condition keeps the ceil(f * scored) highest values
of that scorer and axis, over all shards and whatever the other conditions say; where several
candidates are tied at the threshold, all of them are kept, so that order never decides.

`precision` keeps what reaches the lowest score that has that precision among rated candidates, an
estimate (agreement/calibration.py says how it is chosen and tested), and nothing where no score has
it or too little is rated to tell; a warning then says why. With `confidence` the threshold is
certified, or there is none (decisions/certified.py).

Workers read the shards and choose the lines, which the driver writes in the order of the corpus.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from evaljudge.agreement import Precise, precise
from evaljudge.agreement.rated import Floats, Grid, Key, Rated
from evaljudge.analysis.calibration import FEW
from evaljudge.analysis.findings import Selected
from evaljudge.analysis.run_scores import ShardScores
from evaljudge.analysis.tables import Column
from evaljudge.config import Condition, Selection
from evaljudge.decisions.certified import Certified, certified
from evaljudge.sections.figures import count, short
from evaljudge.storage import Output, Shard


class Target(NamedTuple):
    """A precision on a scale, and from which rating on a text is good."""

    scale: Key
    precision: float
    good: float
    confidence: float | None = None
    """The confidence that new documents reach the precision; None: it is only estimated."""


Found = Mapping[Target, Precise | Certified | None]
"""The threshold for each target; None where too few documents are rated."""
Tops = Mapping[tuple[Key, float], float | None]
"""The threshold of each scale and top_fraction; None where nothing is scored on that scale."""
UNDECIDED, MOST_UNDECIDED = 0.9, 0.2
"""The doubt above which a judge was undecided about a text, and how many such texts a selection may
have without a warning."""
Chosen = tuple[bytes, Counter[str]]
"""The lines that a selection has of some shards, and what it counts there."""


def scale_of(condition: Condition) -> Key:
    return condition.scorer, condition.axis


def target_of(condition: Condition) -> Target | None:
    if condition.precision is None or condition.good is None:
        return None
    return Target(scale_of(condition), condition.precision, condition.good, condition.confidence)


def targets(
    selections: Sequence[Selection], rated: Rated, grid: Grid, resamples: int, seed: int
) -> Found:
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
    tops: Tops, found: Found, in_order: Callable[..., Iterator[Sequence[Chosen]]],
) -> list[Selected]:  # fmt: skip
    """Write every selection's two files, and remove those of selections no longer configured.

    `found`: the threshold of each precision that a condition asks for; `in_order`: has workers do
    something with each item (see `Executor.in_order`).
    """
    names = {rule.name for rule in selections}
    filters = [_Filter(selection, tops, found) for selection in selections]
    with ExitStack() as stack:
        writing = (output.place.writing(f"selected/{rule.name}.jsonl") for rule in selections)
        files = list(map(stack.enter_context, writing))
        choose = partial(_chosen, output, filters)
        for chosen in in_order(choose, output.scored_together(shards) if selections else ()):
            for filter_, stream, (lines, counts) in zip(filters, files, chosen, strict=True):
                stream.write(lines)
                filter_.counts += counts
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


def _chosen(output: Output, filters: "Sequence[_Filter]", shards: Sequence[Shard]) -> list[Chosen]:
    counts, lines = [Counter[str]() for _ in filters], [b""] * len(filters)
    for shard in shards:
        scores = ShardScores(output, shard, with_bodies=True)
        for at, filter_ in enumerate(filters):
            lines[at] += b"".join(filter_.lines(scores, counts[at]))
    return list(zip(lines, counts, strict=True))


class _Filter:
    def __init__(self, rule: Selection, tops: Tops, found: Found) -> None:
        self._rule, self._tops, self._precisions = rule, tops, found
        self._scales = list(dict.fromkeys(map(scale_of, rule.all)))
        self.counts = Counter[str]()

    def _lower_bounds(self, condition: Condition) -> Iterator[float]:
        top = self._tops.get((scale_of(condition), condition.top_fraction or 0.0))
        yield from (-math.inf if bound is None else bound for bound in (condition.at_least, top))
        if (target := target_of(condition)) is not None:
            chosen = self._precisions[target]
            yield math.inf if chosen is None or chosen.threshold is None else chosen.threshold

    def lines(self, shard: ShardScores, counts: Counter[str]) -> Iterator[bytes]:
        nothing = np.full(len(shard.texts), np.nan)
        columns = {scale: shard.scores.get(scale, nothing) for scale in self._scales}
        is_scored = np.isfinite(np.stack(list(columns.values()))).all(axis=0)
        passes = is_scored.copy()
        for condition in self._rule.all:
            column, most = columns[scale_of(condition)], condition.at_most
            passes &= column >= max(self._lower_bounds(condition))
            passes &= column <= (math.inf if most is None else most)
        chosen = np.flatnonzero(passes)
        counts["considered"] += len(shard.texts)
        counts["unscored"] += int((~is_scored).sum())
        counts["selected"] += chosen.size
        for at, text in zip(chosen.tolist(), shard.bodies.take(chosen).to_pylist(), strict=True):
            values, doubts = dict[str, dict[str, float]](), dict[str, dict[str, float]]()
            for (scorer, axis), column in columns.items():
                values.setdefault(scorer, {})[axis] = float(column[at])
                if np.isfinite(doubt := shard.doubts[scorer, axis][at]):
                    doubts.setdefault(scorer, {})[axis] = float(doubt)
            each = (doubt for by_axis in doubts.values() for doubt in by_axis.values())
            counts["undecided"] += any(doubt > UNDECIDED for doubt in each)
            doc_id, system = shard.texts[at]
            row = {"doc_id": doc_id, "system": system, "text": text, "values": values}
            row |= {"doubt": doubts} if doubts else {}
            yield f"{json.dumps(row, ensure_ascii=False)}\n".encode()

    def selected(self) -> Selected:
        rule = self._rule.model_dump(exclude_none=True)
        counts = self.counts["considered"], self.counts["selected"], self.counts["unscored"]
        thresholds = [row for condition in self._rule.all for row in self._thresholds(condition)]
        return Selected(self._rule.name, rule, *counts, thresholds, self.counts["undecided"])

    def _thresholds(self, condition: Condition) -> Iterator[dict[str, Any]]:
        row: dict[str, Any] = {"scorer": condition.scorer, "axis": condition.axis}
        if (top := condition.top_fraction) is not None:
            yield row | {"top_fraction": top, "value": self._tops[scale_of(condition), top]}
        if (target := target_of(condition)) is not None:
            row |= {"precision": target.precision, "good": target.good, "kind": "estimate"}
            if target.confidence is not None:
                row |= {"confidence": target.confidence, "kind": "certified"}
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


def top_scales(selections: Sequence[Selection]) -> set[tuple[Key, float]]:
    conditions = (condition for rule in selections for condition in rule.all)
    return {(scale_of(each), each.top_fraction) for each in conditions if each.top_fraction}


def tops_of(selections: Sequence[Selection], columns: Mapping[Key, Column]) -> Tops:
    asked = top_scales(selections)
    every = {key: np.array(columns[key].every if key in columns else []) for key, _ in asked}
    return {(key, part): highest(every[key][np.isfinite(every[key])], part) for key, part in asked}


def highest(values: Sequence[float] | Floats, fraction: float) -> float | None:
    """The lowest of the highest ceil(fraction * n) of n values."""
    if not len(values):
        return None
    place = len(values) - share_of(fraction, len(values))
    return float(np.partition(values, place)[place]) + 0.0  # never -0.0


def share_of(fraction: float, number: int) -> int:
    """ceil(fraction * number) of the decimal as it is written: 0.07 of 100 is 7, never 8."""
    return math.ceil(Fraction(repr(fraction)) * number)


def unmet(selections: Sequence[Selection], rated: Rated, found: Found) -> list[str]:
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


def odd_thresholds(
    selections: Sequence[Selection], columns: Mapping[Key, Column], tops: Tops
) -> Iterator[str]:
    """Those that no score of the run reaches, mostly of another scale, or that too many tie at."""
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
            part = condition.top_fraction or 0.0
            if (cut := tops.get((scale_of(condition), part))) is not None:
                scores = np.array(column.every)
                more = (scores >= cut).sum() - share_of(part, np.isfinite(scores).sum())
                equal = f"{(scores == cut).sum():,} scores tie at the cut, {short(cut)}"
                if more:
                    yield f"{where}: {equal}: {more:,} too many are in the top {short(part * 100)}%"


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
    return FEW if threshold is None else shortfall(threshold)


def shortfall(rule: Precise | Certified) -> str:
    """Why there is no threshold, and what would help; empty where there is one."""
    if not (rule.base if isinstance(rule, Certified) else rule.base.value):
        return f"no candidate is rated {short(rule.good)} or higher"
    if rule.threshold is not None:
        return ""
    if isinstance(rule, Precise):
        best = f"the best precision is {short(rule.best)}"
        return f"no threshold reaches {short(rule.target)}; {best}"
    sure = f"{short(rule.confidence * 100)}% confidence"
    why = f"no threshold is certified to reach {short(rule.target)} with {sure}"
    now = f"now {count(rule.documents)}"
    if rule.needed is None:
        return f"{why}; more rated documents are unlikely to help ({now})"
    return f"{why}; about {count(rule.needed)} rated documents would do ({now})"
