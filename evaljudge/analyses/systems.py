"""Which system is better? Means with intervals, and letters for those that do not differ."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np

from evaljudge.agreement.rated import is_repetition
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.analyses.agreement import across
from evaljudge.analysis.tables import Column
from evaljudge.decisions.systems import (
    MOST_ENUMERATED,
    MOST_SYSTEMS,
    PERMUTATIONS,
    RankedSystem,
    SystemRanking,
    rank_systems,
)
from evaljudge.records import ANY_AXIS, HUMAN
from evaljudge.sections import Named, Table
from evaljudge.sections.figures import (
    NONE,
    SAMPLED,
    bracketed,
    correlation,
    count,
    notes_on,
    probability,
    tabled,
)

TITLE = "Systems"
MEANS = (
    "Mean scores over documents, with 95% t intervals, which are too narrow where few texts fail "
    "heavily. Systems without a common letter differ, at 5% after Holm's correction for all pairs "
    "of the column; a pair that does not differ significantly need not be alike. Systems are "
    "compared document by document, so they may differ though their intervals overlap."
)
POWER = (
    "Smallest difference: what a true difference of a typical pair must be to be shown in 80% of "
    "cases; in parentheses, after the correction for all pairs. Half of it needs four times the "
    "documents. Documents for it: how many would show a true difference as large as that of the "
    "first two. All pairs are in systems.json."
)
IN_SHORT = (
    "Lower: compared document by document, at 5% after Holm's correction for all pairs. "
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
MOST_SHOWN = 3  # for an axis, on a terminal


def rows(run: RunFrame) -> Iterator[SystemRanking]:
    """The means are of all texts, where the grid holds a sample of them.

    People are left out on axes where the rated texts were drawn for it and others are unrated:
    labelled.py has their means, corrected for how they were drawn.
    """
    grid = run.grid
    tables = {
        (HUMAN, axis): table
        for axis, table in sorted(grid.human.items())
        if axis not in grid.probabilities or np.isfinite(table).sum() == run.tables.candidates
    }
    tables |= {key: table for key, table in grid.scores.items() if not is_repetition(key[0])}
    ranked = rank_systems(grid.systems, list(tables.values()), run.seed)
    whole = run.tables.systems() if grid.is_sample else {}
    for key, row in zip(tables, ranked, strict=True):
        if row is not None:
            systems = tuple(_of_all(s, whole.get((*key, s.system))) for s in row.systems)
            is_sample = (*key, row.systems[0].system) in whole
            column = run.tables.columns.get(key, Column())
            unscored = sorted(item for item in column.why.items() if item[0] not in column.counts)
            named = replace(row, scorer=key[0], axis=key[1], unscored=unscored)
            yield replace(named, systems=systems, sampled=is_sample)


def _of_all(ranked: RankedSystem, of_all: tuple[float, int] | None) -> RankedSystem:
    if of_all is None or ranked.low is None or ranked.high is None:
        return ranked
    mean, n = of_all
    reach = (ranked.high - ranked.low) / 2 * sqrt(ranked.n / n)
    return replace(ranked, mean=mean, low=mean - reach, high=mean + reach, n=n)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    rows: Sequence[SystemRanking] = findings["systems"]
    notes = notes_on(rows, SAMPLED_PAIRS)
    notes += [LEFT_OUT] if any(row.left_out for row in rows) else []
    notes += across("system", (row.scorer for row in rows), findings.within_documents)
    by_axis: dict[str, list[SystemRanking]] = {}
    for row in sorted(rows, key=lambda row: row.axis == ANY_AXIS):  # scorers without axes last
        by_axis.setdefault(row.axis, []).append(row)
    if in_short:
        shown = [row for of_axis in by_axis.values() for row in _headlines(of_axis)]
        if len(shown) < len(rows):
            notes.append(f"All {count(len(rows))} rows are in agreement.md and systems.json.")
        names = dict.fromkeys(row.scorer for row in shown)
        notes += (f"{n}: {findings.meanings[n]}" for n in names if n in findings.meanings)
        columns = {
            "axis": lambda row: f"{row.axis}{SAMPLED}" if row.sampled else row.axis,
            "scorer": _name,
            "first (mean)": leader,
            "not significantly lower": close,
            "smallest difference": _smallest,
        }
        yield Section(TITLE, [], [tabled("", shown, 4, columns, lead=1)], [IN_SHORT, *notes])
        return
    tables = [_means(axis, of_axis) for axis, of_axis in by_axis.items()]
    ways = [way for test, way in TESTS.items() if any(row.test == test for row in rows)]
    tested = f"p: a sign-flip test of the differences of documents: {'; '.join(ways)}."
    yield Section(TITLE, [MEANS], [*tables, _power(rows)], [POWER, tested, *notes])


def _headlines(rows: Sequence[SystemRanking]) -> list[SystemRanking]:
    """People, and the first scorer of each judge: `synthetic`, and not `synthetic.level`."""
    first: dict[str, SystemRanking] = {}
    for row in rows:
        first.setdefault(row.scorer.partition(".")[0], row)
    return list(first.values())[:MOST_SHOWN]


def _name(row: SystemRanking) -> str:
    return "people" if row.scorer == HUMAN else row.scorer


def leader(row: SystemRanking) -> list[Named]:
    first = row.systems[0]
    return [Named(first.system, correlation(first.mean))]


def close(row: SystemRanking) -> list[Named]:
    pairs = (pair for pair in row.pairs if pair.first == row.systems[0].system)
    return [Named(pair.second) for pair in pairs if not pair.told_apart]


def _means(axis: str, rows: Sequence[SystemRanking]) -> Table:
    named_rows = [{s.system: s for s in row.systems} for row in rows]
    cells = []
    for name in dict.fromkeys(s.system for row in rows for s in row.systems):
        ones = [by_name.get(name) for by_name in named_rows]
        figures = [
            f"{bracketed(s.mean, s.low, s.high, row.sampled)} {s.letters}" if s else NONE
            for s, row in zip(ones, rows, strict=True)
        ]
        numbers = sorted({s.n for s in ones if s})
        span = dict.fromkeys(map(count, (numbers[0], numbers[-1])))
        cells.append([name, "–".join(span), *figures])
    title = "scorers without axes" if axis == ANY_AXIS else axis
    heads = ["system", "n", *map(_name, rows)]
    return Table(f"Mean scores: {title}", heads, cells, "l" + "r" * (len(heads) - 1))


def _power(rows: Sequence[SystemRanking]) -> Table:
    columns = {
        "axis": "axis",
        "scorer": _name,
        "documents": lambda row: f"{count(row.documents)}{SAMPLED if row.sampled else ''}",
        "differ": lambda row: f"{count(row.told_apart)} of {count(len(row.pairs))}",
        "smallest difference": _smallest,
        "first less second": lambda row: _first_pair(row)[0],
        "p (Holm)": lambda row: probability(row.pairs[0].p_holm),
        "documents for it": lambda row: _first_pair(row)[1],
    }
    compared = [row for row in rows if row.pairs]
    return tabled("What so many documents can show", compared, 2, columns)


def _smallest(row: SystemRanking) -> str:
    return f"{correlation(row.detectable)} ({correlation(row.detectable_among_all)})"


def _first_pair(row: SystemRanking) -> tuple[str, str]:
    """A pair's difference, and the documents that would show it, alone and among all pairs."""
    pair = row.pairs[0]
    needed = (pair.documents_needed, pair.documents_needed_among_all)
    alone, among_all = (NONE if n is None else count(n) for n in needed)
    return bracketed(pair.difference, pair.low, pair.high), f"{alone} ({among_all})"


ANALYSIS = Analysis(SystemRanking, rows, section, place=30)
