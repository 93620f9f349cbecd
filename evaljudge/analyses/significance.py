"""Who agrees best with people, and who does not differ significantly from it?

| axis      | level  | best (Spearman) | cannot be told from it | told from it   | not compared |
| --------- | ------ | --------------- | ---------------------- | -------------- | ------------ |
| relevance | system | METEOR (0.718)  | chrF; ROUGE-1          | BLEU (p 0.012) | –            |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evaljudge.agreement import LEVELS, Rival, Standing, against_best
from evaljudge.analyses import Analysis, RunFrame
from evaljudge.analyses.agreement import COEFFICIENTS
from evaljudge.analysis.findings import Findings
from evaljudge.sections import Cell, Named, Section, Table
from evaljudge.sections.figures import (
    NONE,
    SAMPLED,
    bracketed,
    correlation,
    count,
    only,
    probability,
)

TITLE = "Highest agreement"
TESTED = (
    "Tested: Student's t over documents, two-sided, on the candidates that both scored, at 5% "
    "after Holm's correction for every two scorers of the axis and level, since the best was "
    "chosen among them. A scorer that cannot be told from the best may still be worse: there is "
    "too little here to say so."
)
WIDENED = "The interval of the best is widened for the choice among all scorers."
LACKING = (
    "Not compared: untested, where too little was scored by both; "
    "undefined, where a scorer has no correlation."
)
SAMPLED_TEST = "Tested on a seeded sample of documents."
_COMPARED = ["cannot be told from it", "told from it"]
_NOT_COMPARED = "not compared"


def rows(run: RunFrame) -> Iterator[Standing]:
    rated = run.compared
    for human, ratings in sorted(rated.human.items()):
        scores = rated.against(human)
        for level in LEVELS if len(scores) > 1 else ():
            found = against_best(
                rated.documents, rated.systems, scores, ratings,
                level=level, coefficient=run.how.coefficient, seed=run.seed,
            )  # fmt: skip
            if found is not None:
                yield replace(found, axis=human)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    """The highest of each axis and level, and each rival beside it; in short, as much as a terminal
    has room for.
    """
    rows: Sequence[Standing] = findings["significance"]
    lacking = any(_not_compared(row) for row in rows)
    notes = [LACKING] if lacking else []
    if any(map(_is_sampled, rows)):
        notes.append(f"{SAMPLED} {SAMPLED_TEST}")
    if in_short:
        yield Section(TITLE, [], [_summary(findings, lacking, in_short)], [TESTED, *notes])
        return
    beside = [_beside(row) for row in rows if row.rivals]
    yield Section(TITLE, [TESTED, WIDENED], [_summary(findings, True, in_short), *beside], notes)


def _is_sampled(row: Standing) -> bool:
    return any(rival.sampled for rival in row.rivals)


def _summary(findings: Findings, with_lacking: bool, in_short: bool) -> Table:
    used = dict.fromkeys(_coefficient(row) for row in findings["significance"])
    heads = ["axis", "level", f"best ({' / '.join(used)})", *_COMPARED, _NOT_COMPARED]
    units = {(r.scorer, r.axis, r.level, r.coefficient): r.n for r in findings.agreement}
    rows = [
        _standing(row, units.get((row.best, row.axis, row.level, row.coefficient)), in_short)
        for row in findings["significance"]
    ]
    shown = len(heads) if with_lacking else len(heads) - 1
    cells = [row[:shown] for row in rows]
    return Table("The best of each axis and level", heads[:shown], cells, "l" * shown)


def _coefficient(row: Standing) -> str:
    return COEFFICIENTS.get(row.coefficient, row.coefficient)


def _standing(row: Standing, units: int | None, in_short: bool) -> list[Cell]:
    """`units`: behind the best one's value, where known. In short, there is no interval."""
    few = "" if units is None else only(row.level, units)
    close = list(map(Named, row.indistinguishable))
    apart = [
        Named(rival.scorer, f"p {probability(rival.p_holm)}")
        for rival in row.rivals
        if rival.p_holm is not None and rival.scorer not in row.indistinguishable
    ]
    level = f"{row.level}{SAMPLED}" if _is_sampled(row) else row.level
    bare = few or in_short
    value = correlation(row.value) if bare else bracketed(row.value, row.low, row.high)
    leader = [Named(row.best, ", ".join(filter(None, [value, few])))]
    others = close, apart, _not_compared(row)
    return [row.axis, level, leader, *(names or NONE for names in others)]


def _not_compared(row: Standing) -> list[Named]:
    untested = [Named(r.scorer, "untested") for r in row.rivals if r.p_holm is None]
    return untested + [Named(scorer, "undefined") for scorer in row.undefined]


def _beside(row: Standing) -> Table:
    """Each rival on the candidates that the best scored too."""
    heads = ["scorer", _coefficient(row), "the best's", "p", "p (Holm)", "n"]
    title = f"{row.level.capitalize()} level, {row.axis}: beside {row.best}"
    cells = [
        [
            rival.scorer,
            correlation(rival.value),
            correlation(rival.best_value),
            *(_p(p, rival) for p in (rival.p, rival.p_holm)),
            count(rival.n),
        ]
        for rival in row.rivals
    ]
    return Table(title, heads, cells, "lrrrrr")


def _p(p: float | None, rival: Rival) -> str:
    mark = SAMPLED if rival.sampled and p is not None else ""
    return f"{probability(p)}{mark}"


ANALYSIS = Analysis(Standing, rows, section, place=20)
