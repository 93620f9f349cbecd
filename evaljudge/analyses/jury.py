"""What does each scorer add to a combination?

| jury | axis    | left out | with all | without |                  gain |
| ---- | ------- | -------- | -------: | ------: | --------------------: |
| mean | fluency | random   |    0.612 |   0.735 | 0.123 [0.071, 0.180]  |

The agreement with people of a combination with all its scorers, and without each; a difference
above 0 is a gain: the jury agrees better with people without it. A combination by agreement keeps
the weights that were fitted on other documents; when a scorer is left out, the other weights are
scaled so that they sum to 1. All intervals are 95%, over documents.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from evaljudge.agreement import LEVELS, Coefficient, Level
from evaljudge.analyses import Analysis, RunFrame
from evaljudge.analysis.combining import on_rated
from evaljudge.analysis.findings import Findings
from evaljudge.decisions.differences import AgreementDifference, agreement_differences
from evaljudge.records import ANY_AXIS
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import (
    FEW,
    SAMPLED,
    SAMPLED_NOTE,
    bracketed,
    correlation,
    count,
    only,
)

LEFT_OUT = "Juries with each scorer left out"
GAIN = (
    "Spearman's correlation with people of a combination of scorers, with all of them and without "
    "each. A gain above 0 with its whole interval says that the jury agrees better with people "
    "without this scorer. A loss with its whole interval below 0 says that this scorer adds "
    "something. 0 can mean that another judge says the same: see the table of judges among "
    "themselves. The texts are those that all have scored. Weights by agreement are those of other "
    "documents."
)
INTERVALS = "In brackets: 95% intervals over documents."
_TITLES = {"sample": "Sample level: within documents", "system": "System level: systems' means",
           "summary": "Summary level: all texts pooled"}  # fmt: skip


@dataclass(frozen=True, slots=True)
class LeftOut:
    """`gain`: the agreement without the scorer, less that with all."""

    combination: str
    scorer: str
    axis: str
    level: Level
    coefficient: Coefficient
    with_all: float | None  # each None where undefined
    without: float | None
    gain: float | None
    low: float | None
    high: float | None
    n: int  # documents (sample), systems (system) or texts (summary)
    sampled: bool


def rows(run: RunFrame) -> Iterator[LeftOut]:
    rated = run.rated
    for name, one in run.combined.items():
        for axis, human in sorted(rated.human.items()):
            if (name, axis) not in rated.scores and (name, ANY_AXIS) not in rated.scores:
                continue
            known = one, run.weights.get((name, axis)), axis, rated
            whole = on_rated(*known)
            without = {scorer: on_rated(*known, scorer) for scorer in one.of_scorers}
            fours = [(whole, smaller, human, human) for smaller in without.values()]
            codes = rated.documents, rated.systems
            found = agreement_differences(*codes, fours, seed=run.seed)
            for scorer, levels in zip(without, found, strict=True):
                yield from (_left_out(name, scorer, axis, level) for level in levels)


def _left_out(name: str, scorer: str, axis: str, found: AgreementDifference) -> LeftOut:
    at = found.level, found.coefficient
    gain = found.difference, found.low, found.high
    return LeftOut(
        name, scorer, axis, *at, found.first, found.second, *gain, found.n, found.sampled
    )


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    """In short, of the first level alone that has a figure."""
    rows: Sequence[LeftOut] = findings["jury"]
    levels = [level for level in LEVELS if any(row.level == level for row in rows)]
    wanted = _first_known(rows) if in_short else levels
    tables = [_left_out_table(level, rows) for level in wanted]
    yield Section(LEFT_OUT, [GAIN], tables, notes(rows, SAMPLED_NOTE))


class HasSpread(Protocol):
    """A row at a level, of n units."""

    @property
    def level(self) -> Level: ...
    @property
    def n(self) -> int: ...
    @property
    def sampled(self) -> bool: ...


def notes(rows: Sequence[HasSpread], sampled_note: str) -> list[str]:
    notes = [INTERVALS]
    if any(row.sampled for row in rows):
        notes.append(f"{SAMPLED} {sampled_note}")
    if any(only(row.level, row.n) for row in rows):
        notes.append(FEW)
    return notes


def _first_known(rows: Sequence[LeftOut]) -> list[Level]:
    return [lv for lv in LEVELS if any(r.level == lv and r.gain is not None for r in rows)][:1]


def _left_out_table(level: str, rows: Iterable[LeftOut]) -> Table:
    heads = ["jury", "axis", "left out", "with all", "without", "gain", "n"]
    cells = [
        [
            *(row.combination, row.axis, row.scorer),
            *(correlation(row.with_all), correlation(row.without)),
            spread(row.level, row.n, row.gain, row.low, row.high, row.sampled),
            count(row.n),
        ]
        for row in rows
        if row.level == level
    ]
    return Table(_TITLES[level], heads, cells, "lllrrrr", lead=3)


def spread(
    level: str, n: int, value: float | None, low: float | None, high: float | None, sampled: bool
) -> str:
    few = only(level, n)
    if value is not None and few:
        return f"{correlation(value)} ({few})"
    return bracketed(value, low, high, sampled)


ANALYSIS = Analysis(LeftOut, rows, section, place=60)
