"""Does a judge favour the systems of its own model's family?"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaljudge.agreement.rated import Floats, Grid
from evaljudge.analyses import Analysis, Findings, Rank, Rows, RunFrame, Section, Warned
from evaljudge.analyses.jury import INTERVALS
from evaljudge.decisions.families import FamilyPairs, Own, interval
from evaljudge.errors import unknown
from evaljudge.sections.figures import NONE, percent, tabled

FAMILIES = "Judges and their own families"
ABOUT_FAMILIES = (
    "How often a judge puts a text of its own model's family above another system's text on the "
    "same document (a tie counts a half), and how often it would if it treated these pairs as it "
    "treats other pairs that others see as far apart. A difference above 0 with its whole interval "
    "says that the judge favours its family. The others are the judges outside the family, or "
    "people; what they favour themselves is not removed."
)
JACKKNIFE = f"{INTERVALS} They come from leaving out documents, and estimating all again."
MOST_DOCUMENTS = 2000  # beyond that, a seeded sample
PEOPLE = "people"


@dataclass(frozen=True, slots=True)
class FamilyRow:
    """How often a judge prefers texts of its family, and how often it should by its habits.

    All figures are of the same pairs of texts, which the judge and the others have scored.
    """

    judge: str
    axis: str
    systems: Sequence[str]
    others: Sequence[str]  # judges, or "people" alone
    documents: int
    pairs: int  # pairs in which one text is the family's
    share: float | None = None  # each None where there is no estimate
    expected: float | None = None
    excess: float | None = None
    low: float | None = None
    high: float | None = None
    reason: str = ""  # why there is no estimate


def rows(run: RunFrame) -> Iterator[FamilyRow]:
    return family_rows(run.families, run.headlines, run.grid, run.seed)


def family_rows(
    families: Mapping[str, Sequence[str]], scorers: Mapping[str, str], grid: Grid, seed: int
) -> Iterator[FamilyRow]:
    """`scorers`: by judge, the scorer that stands for it."""
    order = np.random.default_rng(seed).permutation(len(grid.documents))
    rows = np.sort(order[:MOST_DOCUMENTS])
    for judge, systems in families.items():
        for axis in [axis for scorer, axis in grid.scores if scorer == scorers[judge]]:
            others = {
                name: grid.scores[scorers[name], axis][rows]
                for name in scorers
                if name != judge and not {*systems} & {*families.get(name, ())}
                if (scorers[name], axis) in grid.scores
            }
            measures = {tuple(others): list(others.values())}
            if axis in grid.human:
                measures[PEOPLE,] = [grid.human[axis][rows]]
            is_own = np.array([system in systems for system in grid.systems])
            scores = grid.scores[scorers[judge], axis][rows]
            for names, tables in measures.items():
                yield _row(judge, axis, systems, names, scores, tables, is_own)


def _row(
    judge: str, axis: str, systems: Sequence[str], names: Sequence[str], scores: Floats,
    tables: Sequence[Floats], is_own: Own,
) -> FamilyRow:  # fmt: skip
    names_of = judge, axis, list(systems), list(names)
    if not tables:
        return FamilyRow(*names_of, 0, 0, reason="there is no other judge outside the family")
    pairs = FamilyPairs.of(scores, tables, is_own)
    counts = pairs.documents, int(np.isfinite(pairs.won_by_own).sum())
    if reason := pairs.reason_without:
        return FamilyRow(*names_of, *counts, reason=reason)
    share, expected = pairs.estimate()
    ends = interval(pairs, share - expected)
    return FamilyRow(*names_of, *counts, share, expected, share - expected, *ends)


def warnings(run: RunFrame, rows: Rows) -> Iterator[Warned]:
    systems = run.grid.systems
    for judge, members in run.families.items():
        for system in members:
            if system not in systems:
                text = f"families.{judge}: {unknown('system', system, systems)}"
                yield Warned("unknown system", Rank.FAMILIES, text)
    for judge, members in run.families.items():
        if systems and not {*systems} - {*members}:
            text = f"families.{judge}: all systems are of the family: none is left to compare with"
            yield Warned("only the family", Rank.FAMILIES, text)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    families: Sequence[FamilyRow] = findings["families"]
    columns = {
        "judge": "judge",
        "axis": "axis",
        "family": lambda row: ", ".join(row.systems),
        "beside": lambda row: ", ".join(row.others) or NONE,
        "own wins": lambda row: _share(row.share),
        "expected": lambda row: _share(row.expected),
        "difference": lambda row: _points(row.excess, row.low, row.high),
        "pairs": "pairs",
        "documents": "documents",
    }
    reasons = [
        f"{row.judge} on {row.axis} beside {', '.join(row.others) or 'others'}: {row.reason}."
        for row in families
        if row.reason
    ]
    table = tabled("On each document", families, 4, columns)
    yield Section(FAMILIES, [ABOUT_FAMILIES], [table], [JACKKNIFE, *reasons])


def _share(value: float | None) -> str:
    return NONE if value is None else percent(value)


def _points(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return NONE
    ends = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:+.1f} points{ends}"


ANALYSIS = Analysis(FamilyRow, rows, section, place=62, warnings=warnings)
