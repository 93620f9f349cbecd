"""Does a judge favour the systems of its own model's family, compared with its own habits?

    own wins 74%, expected 61%: +13.0 points [6.5, 19.5]

A judge that is noisier than the others puts a weak family's texts first more often than they do,
and a strong family's texts less often, without favouring anyone. So a judge is compared with
itself. FamilyPairs of texts on one document of which neither is the family's say how its preference
follows the gap that others see between two texts: the probability is logistic in the gap, and a
half where there is none. From that curve follows how often it should prefer the family's texts,
given their gaps. The difference is what the family adds. The others are judges that share no
system of the family, or people.

Gaps are between means of the others' scores, each divided by its standard deviation in the run,
so that no wider scale decides. Their errors would make a weak family look better than it is (and
a strong one worse), for the texts that others overrate are more often those of weak systems. So
each mean is drawn towards its system's, by Cronbach's alpha of the others within systems. Of one
judge alone, and of people, the error is not known, and nothing is drawn: beside people, a family
far above the other systems can seem favoured by some points, and one far below them the reverse.

Intervals are 95%, Student's t over a jackknife: all of it is estimated again without each
document, or without each of GROUPS groups of documents where there are more.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Self

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from evaljudge.agreement.documents import jackknife_error, means, reach
from evaljudge.agreement.rated import Floats
from evaljudge.analyses import Analysis, Findings, Rank, Rows, RunFrame, Section, Warned
from evaljudge.analyses.jury import INTERVALS
from evaljudge.errors import unknown
from evaljudge.sections.figures import NONE, percent, tabled

GROUPS = 50
STEEPEST = 50.0
"""The steepest curve by gaps in standard deviations: then every pair is as good as decided."""
Own = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]


@dataclass(frozen=True)
class FamilyPairs:
    """Preferences by document and pair: 1 where the judge prefers the first text, 0.5 for a tie,
    NaN where either text lacks a score. The family's text is the first of its pairs."""

    tables: Floats
    """The others' scores: (others, documents, systems), NaN where the judge or one has none."""
    with_own: Sequence[tuple[int, int]]
    elsewhere: Sequence[tuple[int, int]]
    won_by_own: Floats
    won_elsewhere: Floats

    @classmethod
    def of(cls, scores: Floats, tables: Sequence[Floats], own: Own) -> Self:
        complete = np.isfinite(scores) & np.isfinite(np.stack(tables)).all(axis=0)
        mine, theirs = np.flatnonzero(own).tolist(), np.flatnonzero(~own).tolist()
        with_own = [(mine_at, theirs_at) for mine_at in mine for theirs_at in theirs]
        elsewhere = list(combinations(theirs, 2))
        scored = np.where(complete, scores, np.nan)
        won = ((np.sign(_gaps(scored, pairs)) + 1) / 2 for pairs in (with_own, elsewhere))
        return cls(np.where(complete, np.stack(tables), np.nan), with_own, elsewhere, *won)

    @property
    def documents(self) -> int:
        return int(np.isfinite(self.won_by_own).any(axis=1).sum())

    @property
    def reason_without(self) -> str:
        """Why there is no estimate; empty where there is one."""
        if not np.isfinite(self.won_by_own).any():
            return "no pair has a text of the family and both scores"
        if not np.isfinite(self.won_elsewhere).any():
            return "no pair without the family has both scores: two systems outside it are needed"
        return ""

    def only(self, rows: Own) -> "FamilyPairs":
        won = self.won_by_own[rows], self.won_elsewhere[rows]
        return FamilyPairs(self.tables[:, rows], self.with_own, self.elsewhere, *won)

    def estimate(self) -> tuple[float, float]:
        """The share of pairs that the judge gives the family, and what is expected."""
        level = seen_by(self.tables)
        there = np.isfinite(self.won_elsewhere)
        slope = steepness(_gaps(level, self.elsewhere)[there], self.won_elsewhere[there])
        there = np.isfinite(self.won_by_own)
        expected = expit(slope * _gaps(level, self.with_own)[there])
        return float(self.won_by_own[there].mean()), float(expected.mean())


def _gaps(level: Floats, pairs: Sequence[tuple[int, int]]) -> Floats:
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    return level[:, first] - level[:, second]


def seen_by(tables: Floats) -> Floats:
    """How good others think each text is, (documents, systems), less what is their error."""
    spread = np.nanstd(tables, axis=(1, 2), keepdims=True)
    scaled = tables / np.where(spread > 0, spread, 1.0)
    level = scaled.mean(axis=0)
    of_systems = means(level.T)
    return of_systems + reliability(scaled) * (level - of_systems)


def reliability(tables: Floats) -> float:
    """Cronbach's alpha within systems; 1 of one table, whose error is not known."""
    if len(tables) < 2:
        return 1.0
    within = np.stack([table - means(table.T) for table in tables])
    of_sum = float(np.nanvar(within.sum(axis=0)))
    if not of_sum:
        return 1.0
    alone = float(np.nanvar(within, axis=(1, 2)).sum())
    return min(1.0, max(0.0, len(tables) / (len(tables) - 1) * (1 - alone / of_sum)))


def steepness(gaps: Floats, won: Floats) -> float:
    """The slope of a logistic curve through one half: the most likely, within STEEPEST."""
    scale = float(np.sqrt(np.mean(gaps**2))) or 1.0

    def slack(slope: float) -> float:
        return float(np.dot(gaps, won - expit(slope / scale * gaps)))

    if slack(STEEPEST) >= 0:
        return (STEEPEST / scale) * bool(slack(0))
    if slack(-STEEPEST) <= 0:
        return -STEEPEST / scale
    return float(brentq(slack, -STEEPEST, STEEPEST)) / scale


def interval(pairs: FamilyPairs, excess: float) -> tuple[float | None, float | None]:
    used = np.isfinite(pairs.won_by_own).any(axis=1) | np.isfinite(pairs.won_elsewhere).any(axis=1)
    group = np.where(used, (np.cumsum(used) - 1) % GROUPS, -1)
    groups = min(int(used.sum()), GROUPS)
    smaller = [pairs.only(group != left_out) for left_out in range(groups)]
    if groups < 3 or any(left_out.reason_without for left_out in smaller):
        return None, None
    without = np.array([share - expected for share, expected in (p.estimate() for p in smaller)])
    half = float(reach(jackknife_error(without, without.mean()), groups - 1))
    return excess - half, excess + half


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
    """All figures are of the same pairs of texts, which the judge and the others have scored."""

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
    families, scorers, grid = run.families, run.headlines, run.grid
    order = np.random.default_rng(run.seed).permutation(len(grid.documents))
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
        "own wins": lambda row: percent(row.share),
        "expected": lambda row: percent(row.expected),
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


def _points(value: float | None, low: float | None, high: float | None) -> str:
    if value is None:
        return NONE
    ends = "" if low is None or high is None else f" [{100 * low:.1f}, {100 * high:.1f}]"
    return f"{100 * value:+.1f} points{ends}"


ANALYSIS = Analysis(FamilyRow, rows, section, place=62, warnings=warnings)
