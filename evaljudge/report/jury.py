"""Juries: what each judge adds, how far judges agree with each other, and whom each favours.

| jury | axis    | left out | with all | without |                  gain |
| ---- | ------- | -------- | -------: | ------: | --------------------: |
| mean | fluency | random   |    0.612 |   0.735 | 0.123 [0.071, 0.180]  |
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from evaljudge.agreement import LEVELS, Level
from evaljudge.analysis.findings import FamilyRow, Findings, JudgePair, LeftOut
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import (
    FEW,
    SAMPLED,
    SAMPLED_NOTE,
    bracketed,
    correlation,
    count,
    only,
    percent,
)

LEFT_OUT = "Juries with each scorer left out"
GAIN = (
    "Spearman's correlation with people of a combination of scorers, with all of them and without "
    "each. A gain above 0 with its whole interval says that the jury agrees better with people "
    "without this scorer; a loss, that it adds something of its own. The texts are those that all "
    "have scored. Weights by agreement are those of other documents."
)
AMONG = "Judges among themselves"
ABOUT_AMONG = (
    "Spearman's correlation of each two judges on all texts, rated or not. Judges that agree with "
    "each other and not with people share an error, which no combination of them removes."
)
FAMILIES = "Judges and their own families"
ABOUT_FAMILIES = (
    "How often a judge puts the text of a system of its own model's family above another text on "
    "the same document (a tie counts a half), beside the other judges on the same texts, and with "
    "people on the rated ones. A difference above 0 with its whole interval is a preference "
    "for its own family, unless the others are the ones who are wrong."
)
INTERVALS = "In brackets: 95% intervals over documents."
_TITLES = {"sample": "Sample level: within documents", "system": "System level: systems' means",
           "summary": "Summary level: all texts pooled"}  # fmt: skip


def jury(findings: Findings, in_short: bool = False) -> list[Section]:
    """In short, of the first level alone that has a figure."""
    rows, pairs = findings.jury, _spearmans(findings.among_judges)
    levels = [level for level in LEVELS if any(row.level == level for row in rows)]
    wanted = _first_known(rows) if in_short else levels
    left_out = [_left_out_table(level, rows) for level in wanted]
    among = [] if in_short else [_among_table(pairs)]
    return [
        Section(LEFT_OUT, [GAIN], left_out, _notes(rows)),
        Section(AMONG, [ABOUT_AMONG], among, _notes(pairs)),
        Section(FAMILIES, [ABOUT_FAMILIES], [_family_table(findings.families)], [INTERVALS]),
    ]


def _notes(rows: Sequence[LeftOut] | Sequence[JudgePair]) -> list[str]:
    notes = [INTERVALS]
    if any(row.sampled for row in rows):
        notes.append(f"{SAMPLED} {SAMPLED_NOTE}")
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
            _spread(row.level, row.n, row.gain, row.low, row.high, row.sampled),
            count(row.n),
        ]
        for row in rows
        if row.level == level
    ]
    return Table(_TITLES[level], heads, cells, "lllrrrr", lead=3)


def _spread(
    level: str, n: int, value: float | None, low: float | None, high: float | None, sampled: bool
) -> str:
    few = only(level, n)
    if value is not None and few:
        return f"{correlation(value)} ({few})"
    return bracketed(value, low, high, sampled)


def _spearmans(pairs: Iterable[JudgePair]) -> list[JudgePair]:
    return [one for one in pairs if one.coefficient == "spearman"]


def _among_table(pairs: Sequence[JudgePair]) -> Table:
    known = {(one.axis, one.one, one.other, one.level): one for one in pairs}
    cells = [
        [*at, *(_of(known[*at, level]) for level in LEVELS)]
        for at in dict.fromkeys((one.axis, one.one, one.other) for one in pairs)
    ]
    heads = ["axis", "judge", "other judge", *(f"{level} level" for level in LEVELS)]
    return Table("On all texts", heads, cells, "lllrrr", lead=3)


def _of(one: JudgePair) -> str:
    return _spread(one.level, one.n, one.value, one.low, one.high, one.sampled)


def _family_table(rows: Iterable[FamilyRow]) -> Table:
    heads = ["judge", "axis", "family", "own wins", "by others", "more than others"]
    heads += ["by people", "more than people", "documents"]
    cells = [
        [
            *(row.judge, row.axis, ", ".join(row.systems)),
            *map(_share, (row.share, row.others)),
            bracketed(row.excess, row.low, row.high),
            _share(row.people),
            bracketed(row.over_people, row.people_low, row.people_high),
            count(row.documents),
        ]
        for row in rows
    ]
    return Table("On each document", heads, cells, "lllrrrrrr", lead=3)


def _share(value: float | None) -> str:
    return correlation(value) if value is None else percent(value)
