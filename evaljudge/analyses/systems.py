"""Which system is better? Means with intervals, and letters for those that do not differ.

| system |   n |               people |            synthetic |
| ------ | --: | -------------------: | -------------------: |
| BART   | 100 | 4.12 [4.02, 4.22] a  | 3.92 [3.80, 4.04] a  |
| LEAD-3 |  99 | 3.98 [3.85, 4.11] a  | 3.20 [3.05, 3.35] b  |
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from math import sqrt

from evaljudge.agreement.rated import Key, is_repetition
from evaljudge.analyses import Analysis, RunFrame
from evaljudge.analyses.agreement import across
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.tables import SystemMean
from evaljudge.decisions.systems import (
    MOST_ENUMERATED,
    MOST_SYSTEMS,
    PERMUTATIONS,
    RankedSystem,
    SystemPair,
    SystemRanking,
    rank_systems,
)
from evaljudge.records import ANY_AXIS, HUMAN
from evaljudge.sections import Cell, Named, Section, Table
from evaljudge.sections.figures import NONE, SAMPLED, bracketed, correlation, count, probability

TITLE = "Systems"
MEANS = (
    "Mean scores over documents, with 95% t intervals. Systems that share a letter cannot be told "
    "apart; those without a common letter differ, at 5% after Holm's correction for all pairs of "
    "the column. Two intervals may overlap and yet the systems differ: they are compared document "
    "by document. A pair that cannot be told apart need not be alike. Intervals of means are "
    "too narrow where few texts fail heavily."
)
POWER = (
    "Smallest difference: what a true difference of a typical pair must be, for these documents to "
    "show it in 80% of cases; in parentheses, after the correction for all pairs. For half the "
    "difference, four times the documents are needed. Documents for it: how many would show, as "
    "often, a true difference as large as that of the first two. All pairs are in systems.json."
)
IN_SHORT = (
    "Told apart: compared document by document, at 5% after Holm's correction for all pairs. "
    "Smallest difference: what these documents show in 80% of cases, of a typical pair alone "
    "(among all pairs)."
)
TESTS = {
    "exact": f"all choices of signs, up to {MOST_ENUMERATED} documents",
    "permutation": f"{PERMUTATIONS:,} random ones",
    "t": "in place of it the paired t-test, where documents and pairs are many",
}
SAMPLED_PAIRS = "Systems are compared on a seeded sample of documents; means are exact."
LEFT_OUT = f"Of more than {MOST_SYSTEMS} systems, those with the most documents are compared."
MOST_SHOWN = 3  # of an axis, on a terminal


def rows(run: RunFrame) -> list[SystemRanking]:
    """The means are of all texts, where the grid holds a sample of them.

    People are left out on axes where the rated texts were drawn for it: labelled.py has
    their means, corrected for how they were drawn.
    """
    grid = run.grid
    tables = {
        (HUMAN, axis): table
        for axis, table in sorted(grid.human.items())
        if axis not in grid.probabilities
    }
    tables |= {key: table for key, table in grid.scores.items() if not is_repetition(key[0])}
    ranked = rank_systems(grid.systems, list(tables.values()), run.seed)
    found = {key: one for key, one in zip(tables, ranked, strict=True) if one}
    whole = {(mean.scorer, mean.axis, mean.system): mean for mean in run.tables.systems()}
    return [_named(key, one, whole if grid.is_sample else {}) for key, one in found.items()]


def _named(
    key: Key, ranking: SystemRanking, whole: dict[tuple[str, str, str], SystemMean]
) -> SystemRanking:
    is_sample = (*key, ranking.systems[0].system) in whole
    systems = [_of_all(one, whole.get((*key, one.system))) for one in ranking.systems]
    return replace(ranking, scorer=key[0], axis=key[1], systems=tuple(systems), sampled=is_sample)


def _of_all(one: RankedSystem, mean: SystemMean | None) -> RankedSystem:
    """The mean of all candidates; its interval has the spread of the sample's."""
    if mean is None or one.low is None or one.high is None:
        return one
    reach = (one.high - one.low) / 2 * sqrt(one.n / mean.n)
    return replace(one, mean=mean.mean, low=mean.mean - reach, high=mean.mean + reach, n=mean.n)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    """A table of means for each axis; in short, who is first."""
    rows: Sequence[SystemRanking] = findings["systems"]
    notes = [f"{SAMPLED} {SAMPLED_PAIRS}"] if any(row.sampled for row in rows) else []
    notes += [LEFT_OUT] if any(row.left_out for row in rows) else []
    notes += across("system", (row.scorer for row in rows), findings.within_documents)
    if in_short:
        shown = [row for axis in _axes(rows) for row in _headlines(_on(rows, axis))]
        if len(shown) < len(rows):
            notes.append(f"All {count(len(rows))} rows are in agreement.md and systems.json.")
        yield Section(TITLE, [], [_first(shown)], [IN_SHORT, *notes])
        return
    tables = [_means(axis, _on(rows, axis)) for axis in _axes(rows)]
    yield Section(TITLE, [MEANS], [*tables, _power(rows)], [POWER, _tested(rows), *notes])


def _axes(rows: Iterable[SystemRanking]) -> list[str]:
    """Scorers without axes come last."""
    return sorted(dict.fromkeys(row.axis for row in rows), key=lambda axis: axis == ANY_AXIS)


def _on(rows: Iterable[SystemRanking], axis: str) -> list[SystemRanking]:
    return [row for row in rows if row.axis == axis]


def _headlines(rows: Sequence[SystemRanking]) -> list[SystemRanking]:
    """People, and the first scorer of each judge: `synthetic`, and not `synthetic.level`."""
    first: dict[str, SystemRanking] = {}
    for row in rows:
        first.setdefault(row.scorer.partition(".")[0], row)
    return list(first.values())[:MOST_SHOWN]


def _name(row: SystemRanking) -> str:
    return "people" if row.scorer == HUMAN else row.scorer


def _first(rows: Sequence[SystemRanking]) -> Table:
    heads = ["axis", "scorer", "first (mean)", "cannot be told from it", "smallest difference"]
    cells: list[list[Cell]] = []
    for row in rows:
        axis = f"{row.axis}{SAMPLED}" if row.sampled else row.axis
        cells.append([axis, _name(row), leader(row), close(row) or NONE, _smallest(row)])
    return Table("", heads, cells, "llllr")


def leader(row: SystemRanking) -> list[Named]:
    """The system with the highest mean."""
    first = row.systems[0]
    return [Named(first.system, correlation(first.mean))]


def close(row: SystemRanking) -> list[Named]:
    """The systems that cannot be told from it."""
    first = row.systems[0].system
    return [Named(pair.second) for pair in row.pairs if _is_close(pair, first)]


def _is_close(pair: SystemPair, first: str) -> bool:
    return pair.first == first and not pair.told_apart


def _means(axis: str, rows: Sequence[SystemRanking]) -> Table:
    """The systems in the order of the first column."""
    found = [{one.system: one for one in row.systems} for row in rows]
    names = dict.fromkeys(one.system for row in rows for one in row.systems)
    cells = []
    for name in names:
        ones = [(by_name.get(name), row.sampled) for by_name, row in zip(found, rows, strict=True)]
        figures = [
            f"{bracketed(one.mean, one.low, one.high, sampled)} {one.letters}" if one else NONE
            for one, sampled in ones
        ]
        cells.append([name, _span([one.n for one, _ in ones if one]), *figures])
    title = "scorers without axes" if axis == ANY_AXIS else axis
    heads = ["system", "n", *map(_name, rows)]
    return Table(f"Mean scores: {title}", heads, cells, "l" + "r" * (len(heads) - 1))


def _span(numbers: Sequence[int]) -> str:
    low, high = min(numbers), max(numbers)
    return count(low) if low == high else f"{count(low)}–{count(high)}"


def _power(rows: Sequence[SystemRanking]) -> Table:
    heads = ["axis", "scorer", "documents", "told apart", "smallest difference"]
    cells = [
        [
            *(row.axis, _name(row), f"{count(row.documents)}{SAMPLED if row.sampled else ''}"),
            f"{count(row.told_apart)} of {count(len(row.pairs))}",
            *(_smallest(row), *_lead(row)),
        ]
        for row in rows
        if row.pairs
    ]
    heads += ["first less second", "p (Holm)", "documents for it"]
    return Table("What so many documents can show", heads, cells, "llrrrrrr", lead=2)


def _smallest(row: SystemRanking) -> str:
    return f"{correlation(row.detectable)} ({correlation(row.detectable_among_all)})"


def _lead(row: SystemRanking) -> list[str]:
    pair = row.pairs[0]
    needed = (pair.documents_needed, pair.documents_needed_among_all)
    alone, among_all = (NONE if n is None else count(n) for n in needed)
    interval = bracketed(pair.difference, pair.low, pair.high)
    return [interval, probability(pair.p_holm), f"{alone} ({among_all})"]


def _tested(rows: Sequence[SystemRanking]) -> str:
    ways = [way for test, way in TESTS.items() if any(row.test == test for row in rows)]
    return f"p: a sign-flip test of the differences of documents: {'; '.join(ways)}."


ANALYSIS = Analysis(SystemRanking, rows, section, place=30)
