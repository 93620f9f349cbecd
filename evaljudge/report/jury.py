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
    NONE,
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
    "without this scorer. A loss with its whole interval below 0 says that this scorer adds "
    "something. 0 can mean that another judge says the same: see the table of judges among "
    "themselves. The texts are those that all have scored. Weights by agreement are those of other "
    "documents."
)
AMONG = "Judges among themselves"
ABOUT_AMONG = (
    "Spearman's correlation of each two judges on the texts that both have scored, whether people "
    "rated them or not. Judges that agree with each other and not with people share an error, "
    "which no combination of them removes."
)
PAIRS_SAMPLED = "Comes from a seeded sample of documents."
FAMILIES = "Judges and their own families"
ABOUT_FAMILIES = (
    "How often a judge puts a text of a system of its own model's family above a text of another "
    "system on the same document (a tie counts a half), and how often it would if it treated "
    "these pairs as it treats pairs without the family that others see as far apart. A difference "
    "above 0 with its whole interval says that the judge favours its family. All figures of a row "
    "are of the same pairs. The others are the judges outside the family, or people. What the "
    "other judges favour themselves, and errors in people's ratings, are not removed."
)
INTERVALS = "In brackets: 95% intervals over documents."
JACKKNIFE = f"{INTERVALS} They come from leaving out documents, and estimating all again."
_TITLES = {"sample": "Sample level: within documents", "system": "System level: systems' means",
           "summary": "Summary level: all texts pooled"}  # fmt: skip


def jury(findings: Findings, in_short: bool = False) -> list[Section]:
    """In short, of the first level alone that has a figure; of pairs of judges the first."""
    rows, pairs = findings.jury, _spearmans(findings.among_judges)
    levels = [level for level in LEVELS if any(row.level == level for row in rows)]
    wanted = _first_known(rows) if in_short else levels
    left_out = [_left_out_table(level, rows) for level in wanted]
    among = _among_table(pairs, LEVELS[:1] if in_short else LEVELS)
    return [
        Section(LEFT_OUT, [GAIN], left_out, _notes(rows, SAMPLED_NOTE)),
        Section(AMONG, [ABOUT_AMONG], [among], _notes(pairs, PAIRS_SAMPLED)),
        Section(
            FAMILIES,
            [ABOUT_FAMILIES],
            [_family_table(findings.families)],
            _without(findings.families),
        ),
    ]


def _notes(rows: Sequence[LeftOut] | Sequence[JudgePair], sampled_note: str) -> list[str]:
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


def _among_table(pairs: Sequence[JudgePair], levels: Sequence[Level]) -> Table:
    known = {(one.axis, one.one, one.other, one.level): one for one in pairs}
    cells = [
        [*at, *(_of(known[*at, level]) for level in levels)]
        for at in dict.fromkeys((one.axis, one.one, one.other) for one in pairs)
    ]
    heads = ["axis", "judge", "other judge", *(f"{level} level" for level in levels)]
    title = "On the texts that both have scored"
    return Table(title, heads, cells, "lll" + "r" * len(levels), lead=3)


def _of(one: JudgePair) -> str:
    return _spread(one.level, one.n, one.value, one.low, one.high, one.sampled)


def _family_table(rows: Iterable[FamilyRow]) -> Table:
    heads = ["judge", "axis", "family", "beside", "own wins", "expected", "difference"]
    heads += ["pairs", "documents"]
    cells = [
        [
            *(row.judge, row.axis, ", ".join(row.systems), ", ".join(row.others) or NONE),
            *map(_share, (row.share, row.expected)),
            _points(row.excess, row.low, row.high),
            *map(count, (row.pairs, row.documents)),
        ]
        for row in rows
    ]
    return Table("On each document", heads, cells, "llllrrrrr", lead=4)


def _without(rows: Iterable[FamilyRow]) -> list[str]:
    """Why rows have no estimate, after what the intervals are."""
    reasons = [
        f"{row.judge} on {row.axis} beside {', '.join(row.others) or 'others'}: {row.reason}."
        for row in rows
        if row.reason
    ]
    return [JACKKNIFE, *reasons]


def _share(value: float | None) -> str:
    return NONE if value is None else percent(value)


def _points(value: float | None, low: float | None, high: float | None) -> str:
    """`+26.0 points [8.0, 47.0]`"""
    if value is None:
        return NONE
    ends = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:+.1f} points{ends}"
