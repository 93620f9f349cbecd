"""Who agrees best with people, and who cannot be told from it.

| axis      | level  | best (Spearman) | cannot be told from it | told from it   | not compared |
| --------- | ------ | --------------- | ---------------------- | -------------- | ------------ |
| relevance | system | METEOR (0.718)  | chrF; ROUGE-1          | BLEU (p 0.012) | –            |
"""

from __future__ import annotations

from collections.abc import Iterator

from evaljudge.analysis.findings import Findings, RivalRow, StandingRow
from evaljudge.report.levels import COEFFICIENTS
from evaljudge.sections import Cell, Named, Section, Table, listed
from evaljudge.sections.figures import SAMPLED, correlation, count, only, probability

TITLE = "Who is best"
TESTED = (
    "Tested: a two-sided permutation test that exchanges two scorers' standard scores at each "
    "document and system (PERM-BOTH), on the candidates that both scored, at 5% after Holm's "
    "correction (p) over the rivals of one axis and level. A scorer that cannot be told from the "
    "best may still be worse: there is too little here to say so."
)
LACKING = (
    "Not compared: untested, where too little was scored by both; "
    "undefined, where a scorer has no correlation."
)
COUNTED_ON = "+2: so many more, who are all named in agreement.md and significance.json."
SAMPLED_TEST = "Tested on a seeded sample of documents."

_COMPARED = ["cannot be told from it", "told from it"]
_NOT_COMPARED = "not compared"


def best(findings: Findings) -> Section:
    """Everything: who is best of each axis and level, and each rival beside it."""
    rows = findings.standings
    tables = [_summary(findings, everything=True), *map(_beside, filter(_has_rivals, rows))]
    return Section(TITLE, [TESTED], tables, _notes(findings))


def best_in_short(findings: Findings) -> Section:
    """As much as a terminal has room for."""
    table = _summary(findings, everything=_lacking(findings))
    return Section(TITLE, [], [table], [TESTED, COUNTED_ON, *_notes(findings)])


def _has_rivals(row: StandingRow) -> bool:
    return bool(row.rivals)


def _lacking(findings: Findings) -> bool:
    return any(_not_compared(row) for row in findings.standings)


def _notes(findings: Findings) -> list[str]:
    sampled = any(rival.sampled for row in findings.standings for rival in row.rivals)
    told = [LACKING] if _lacking(findings) else []
    return told + ([f"{SAMPLED} {SAMPLED_TEST}"] if sampled else [])


def _summary(findings: Findings, everything: bool) -> Table:
    used = dict.fromkeys(_coefficient(row) for row in findings.standings)
    heads = ["axis", "level", f"best ({' / '.join(used)})", *_COMPARED, _NOT_COMPARED]
    units = {(r.scorer, r.axis, r.level, r.coefficient): r.n for r in findings.agreement}
    rows = [
        _standing(row, units.get((row.best, row.axis, row.level, row.coefficient)))
        for row in findings.standings
    ]
    if not everything:
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    return Table("The best of each axis and level", heads, rows, "l" * len(heads))


def _coefficient(row: StandingRow) -> str:
    return COEFFICIENTS.get(row.coefficient, row.coefficient)


def _standing(row: StandingRow, units: int | None) -> list[Cell]:
    """`units`: behind the best one's value, where known."""
    few = "" if units is None else only(row.level, units)
    tested = [rival for rival in row.rivals if rival.p_holm is not None]
    close = list(map(Named, row.indistinguishable))
    apart = [
        Named(rival.scorer, f"p {probability(rival.p_holm)}")
        for rival in tested
        if rival.scorer not in row.indistinguishable
    ]
    level = f"{row.level}{SAMPLED}" if any(rival.sampled for rival in row.rivals) else row.level
    leader = [Named(row.best, ", ".join(filter(None, [correlation(row.value), few])))]
    return [row.axis, level, leader, *map(listed, (close, apart, _not_compared(row)))]


def _not_compared(row: StandingRow) -> list[Named]:
    untested = [Named(r.scorer, "untested") for r in row.rivals if r.p_holm is None]
    return untested + [Named(scorer, "undefined") for scorer in row.undefined]


def _beside(row: StandingRow) -> Table:
    """Each rival on the candidates that the best scored too."""
    heads = ["scorer", _coefficient(row), "the best's"]
    heads += ["p", "p (Holm)", "p (Williams)", "n"]
    title = f"{row.level.capitalize()} level, {row.axis}: beside {row.best}"
    return Table(title, heads, list(map(list, map(_rival, row.rivals))), "lrrrrrr")


def _rival(rival: RivalRow) -> Iterator[str]:
    yield rival.scorer
    yield correlation(rival.value)
    yield correlation(rival.best_value)
    yield _p(rival.p, rival)
    yield _p(rival.p_holm, rival)
    yield probability(rival.p_williams)
    yield count(rival.n)


def _p(p: float | None, rival: RivalRow) -> str:
    mark = SAMPLED if rival.sampled and p is not None else ""
    return f"{probability(p)}{mark}"
