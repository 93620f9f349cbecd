"""Which scorer stands for each axis: on the page's first screen, and in the terminal's summary.

    headlines(findings)  ->  [Headline("fluency", SystemRanking(scorer="jury", …)), …]

The first combination that has the axis, else the first judge. In a run of metrics alone it is, of
each axis that people rated, the metric that agrees with them best.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evaljudge.agreement import Agreement
from evaljudge.analyses.length import WORDS
from evaljudge.analysis.findings import Findings
from evaljudge.decisions.systems import SystemRanking
from evaljudge.records import ANY_AXIS, HUMAN

LENGTHS = (WORDS, "compression")
"""Metrics that are baselines: they lead only where there is no other."""


@dataclass(frozen=True, slots=True)
class Headline:
    """`axis`: of people's ratings where the scorer has no axes, else the scorer's own."""

    axis: str
    ranking: SystemRanking


def headlines(findings: Findings) -> list[Headline]:
    """One for each axis with scores; where no scorer has an axis, one for each that is rated."""
    rows = leading(findings, findings["systems"])
    if not rows or rows[0].axis != ANY_AXIS:
        return [Headline(row.axis, row) for row in rows]
    best = _best_metrics(findings, {row.scorer: row for row in rows})
    return best or [Headline(ANY_AXIS, _by_rank(findings, rows)[0])]


def leading(findings: Findings, rows: Sequence[SystemRanking]) -> list[SystemRanking]:
    """Of these rankings the headline one of each axis; of scorers without axes all, where there are
    no others."""
    judged = [row for row in rows if row.scorer != HUMAN]
    ranked = _by_rank(findings, judged)
    axes = dict.fromkeys(row.axis for row in judged if row.axis != ANY_AXIS)
    return [next(row for row in ranked if row.axis == axis) for axis in axes] or judged


def _by_rank(findings: Findings, rows: Sequence[SystemRanking]) -> list[SystemRanking]:
    """Combinations first, in their order, and baselines last."""
    places = {name: place - len(findings.combined) for place, name in enumerate(findings.combined)}
    return sorted(rows, key=lambda row: places.get(row.scorer, int(row.scorer in LENGTHS)))


def _best_metrics(findings: Findings, rows: Mapping[str, SystemRanking]) -> list[Headline]:
    """By agreement within documents; on axes where that is undefined, of all texts pooled."""
    best: dict[str, Agreement] = {}
    for level in ("summary", "sample"):
        known = [one for one in spearmans(findings, level) if one.scorer in rows]
        best |= {one.axis: one for one in sorted(known, key=_value)}
    return [Headline(axis, rows[best[axis].scorer]) for axis in sorted(best)]


def _value(row: Agreement) -> float:
    assert row.value is not None
    return row.value


def spearmans(findings: Findings, level: str) -> Iterator[Agreement]:
    """Those that are defined."""
    for one in findings.agreement:
        if (one.level, one.coefficient) == (level, "spearman") and one.value is not None:
            yield one
