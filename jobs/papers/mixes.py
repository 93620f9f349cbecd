"""Sums of all pairs of scorers against people (Gigant et al. 2024, table 1).

python -m jobs.papers.mixes --cases summeval.jsonl --metrics importance,rouge1
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import evaljudge
from jobs.papers.scored import arguments, show


def main(given: Sequence[str] | None = None) -> None:
    asked = arguments(__doc__, given)
    names = asked.metrics.split(",") if asked.metrics else []
    found = evaljudge.agree(
        asked.cases, asked.scores, metrics=asked.metrics, axis=asked.axis, format=asked.format,
        sources=asked.sources, coefficient=asked.coefficient, seed=asked.seed,
        mix=[f"{a}+{b}" for a, b in combinations(names, 2)],
    )  # fmt: skip
    rows = [row for row in found.agreement if row.level == asked.level and row.axis == asked.axis
            and row.coefficient == asked.coefficient and row.value is not None]  # fmt: skip
    best_first = sorted(rows, key=lambda row: -(row.value or 0.0))
    cells = [[row.scorer, *("–" if v is None else v for v in (row.value, row.low, row.high)), row.n]
             for row in best_first]  # fmt: skip
    show(["scorer", asked.coefficient, "low", "high", "n"], cells)


if __name__ == "__main__":
    main()
