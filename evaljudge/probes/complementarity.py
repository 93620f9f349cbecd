"""How differently two scorers rank (Gigant et al. 2024, figure 3, after Colombo et al. 2023).

    complementarity = (1 - r) / 2

r is the correlation between the two scorers' values, at the level and with the coefficient asked
for. The result is 0 where they rank alike, 1/2 where they are unrelated, and 1 where one ranks in
the reverse order of the other. With Kendall, and without ties, it is the share of pairs that they
put in opposite orders: the distance between rankings by which Colombo et al. compare metrics. The
code that Gigant et al. released correlates the documents' means over systems: that is the level
`document` here, in addition to agreement's levels.

    scorer        1      2      3
    1 importance  0.000  0.335  0.107
    2 rouge1      0.335  0.000  0.172
    3 chrf        0.107  0.172  0.000
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Literal

import numpy as np

from evaljudge.agreement import LEVELS, Correlation, Level
from evaljudge.agreement.pairs import Floats
from evaljudge.errors import UserError
from evaljudge.probes.matrix import ScoreMatrix, correlation
from evaljudge.probes.plots import heat_maps
from evaljudge.probes.results import ProbeResult, table
from evaljudge.sections import figures

RankedAt = Level | Literal["document"]
RANKED_AT: tuple[RankedAt, ...] = (*LEVELS, "document")


@dataclass(frozen=True, slots=True)
class ComplementarityRow:
    """`n`: how many candidates both scored."""

    scorer: str
    other: str
    level: RankedAt
    coefficient: Correlation
    value: float | None
    n: int


def complementarity(
    matrix: ScoreMatrix, level: RankedAt, coefficient: Correlation
) -> list[ComplementarityRow]:
    """Each pair once."""
    if len(matrix.scores) < 2:
        raise UserError("complementarity is of two scorers or more: name more --metrics")
    rows = []
    for one, other in combinations(matrix.scores, 2):
        x, y = matrix.grid(matrix.scores[one]), matrix.grid(matrix.scores[other])
        count = int(np.sum(np.isfinite(x) & np.isfinite(y)))
        value = _complementarity(x, y, level, coefficient)
        rows.append(ComplementarityRow(one, other, level, coefficient, value, count))
    return rows


def complementarity_study(
    rows: Sequence[ComplementarityRow], about: str
) -> ProbeResult[ComplementarityRow]:
    names = list(dict.fromkeys(name for row in rows for name in (row.scorer, row.other)))
    square = _square(rows, names)
    places = [str(place) for place in range(1, len(names) + 1)]
    cells = [
        [f"{place} {name}", *map(figures.correlation, line)]
        for place, name, line in zip(places, names, square, strict=True)
    ]
    return ProbeResult(
        name="complementarity",
        title="Complementarity of scorers",
        about=about,
        tables=[table(["scorer", *places], cells)],
        notes=["(1 - correlation) / 2: 0 where two rank alike, 0.5 unrelated, 1 opposite."],
        rows=rows,
        draw=partial(heat_maps, {"complementarity": square}, names, names, "scorer", (0.0, 1.0)),
    )


def _complementarity(
    x: Floats, y: Floats, level: RankedAt, coefficient: Correlation
) -> float | None:
    if level == "document":
        found = correlation(x.T, y.T, "system", coefficient)
    else:
        found = correlation(x, y, level, coefficient)
    return None if np.isnan(found) else (1.0 - found) / 2.0


def _square(rows: Sequence[ComplementarityRow], names: Sequence[str]) -> list[list[float | None]]:
    values = {(row.scorer, row.other): row.value for row in rows}
    values |= {(row.other, row.scorer): row.value for row in rows}
    return [[0.0 if one == other else values[one, other] for other in names] for one in names]
