"""How mixes of scorers agree with people (Gigant et al. 2024, table 1), beside single scorers.

scorer               spearman [95%]         n
importance           0.676 [0.474, 0.776]   16
rouge1               0.594 [0.294, 0.768]   16
importance + rouge1  0.794 [0.668, 0.879]*  16
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from evaljudge.agreement import Correlation, Level, agreements
from evaljudge.analysis.mixes import Mix, all_pairs
from evaljudge.probes.matrix import ScoreMatrix
from evaljudge.probes.plots import Interval, intervals
from evaljudge.probes.results import ProbeResult, marked, table
from evaljudge.sections.figures import bracketed, correlation, only

MOST_DRAWN = 40


@dataclass(frozen=True, slots=True)
class MixRow:
    """One scorer or a mix; `best`: the highest value, if it rests on enough units."""

    scorer: str
    mixed: int
    axis: str
    level: Level
    coefficient: Correlation
    value: float | None
    low: float | None
    high: float | None
    n: int
    skipped: int
    best: bool = False


def mixes(
    matrix: ScoreMatrix,
    axis: str,
    level: Level,
    coefficient: Correlation,
    given: Sequence[Mix] = (),
    *,
    seed: int = 0,
) -> list[MixRow]:
    """Each scorer, all pairs and the given mixes, on the candidates that every scorer scored."""
    singles, human = matrix.comparable(axis), matrix.rated(axis)
    asked = dict.fromkeys([*all_pairs(singles), *given])
    columns = [(name, 1, column) for name, column in singles.items()]
    columns += [(mix.name, len(mix.parts), mix.of(singles)) for mix in asked]
    rows = []
    for name, mixed, column in columns:
        found = agreements(matrix.documents, matrix.systems, column, human, seed=seed)
        one = next(a for a in found if (a.level, a.coefficient) == (level, coefficient))
        values = one.value, one.low, one.high, one.n, one.skipped
        rows.append(MixRow(name, mixed, axis, level, coefficient, *values))
    highest = max((row.value for row in rows if row.value is not None), default=None)
    return [replace(row, best=row.value == highest and _enough(row)) for row in rows]


def mixes_study(rows: Sequence[MixRow], about: str) -> ProbeResult[MixRow]:
    shown = sorted(rows, key=lambda row: (row.mixed > 1, -2.0 if row.value is None else -row.value))
    return ProbeResult(
        name="mixes",
        title="Mixes of scorers",
        about=about,
        tables=[
            table(
                ["scorer", f"{rows[0].coefficient} [95%]", "n"],
                [[row.scorer, _estimate(row), f"{row.n:,}"] for row in shown],
            )
        ],
        notes=[
            "Marked: the highest. Values are added in the scorers' own units, or as weighted;\n"
            "every row rests on the candidates that all the scorers scored."
        ],
        rows=rows,
        draw=partial(_drawn, rows),
    )


def _enough(row: MixRow) -> bool:
    return row.value is not None and not only(row.level, row.n)


def _estimate(row: MixRow) -> str:
    few = only(row.level, row.n)
    if row.value is not None and few:
        return f"{correlation(row.value)} ({few})"
    text = bracketed(row.value, row.low, row.high)
    return marked(text) if row.best else text


def _drawn(rows: Sequence[MixRow]) -> str:
    """The highest MOST_DRAWN, because nobody reads a longer figure."""
    dots = [Interval(r.scorer, r.value, r.low, r.high, r.best) for r in rows if r.value is not None]
    shown = sorted(dots, key=lambda dot: -dot.value)[:MOST_DRAWN]
    more = f", the highest {len(shown)} of {len(rows)}" if len(shown) < len(rows) else ""
    first = rows[0]
    return intervals(shown, f"{first.coefficient} with {first.axis} ({first.level} level){more}")
