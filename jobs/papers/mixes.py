"""How sums of two scorers agree with people, beside single ones (importance paper, table 1).

    python -m jobs.papers.mixes --cases summeval.jsonl --metrics importance,rouge1,chrf

scorer             spearman  low    high   n
importance         0.676     0.474  0.776  16
importance+rouge1  0.794     0.668  0.879  16
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pandas as pd

import evaljudge
from jobs.papers.shared import LEVELS, options


def main(words: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--level", default="system", choices=LEVELS[:3])
    parser.add_argument("--scores", action="append", default=[], help="a file of scores")
    how = parser.parse_args(words)
    pairs = ["+".join(two) for two in combinations(how.metrics.split(","), 2)]
    report = evaljudge.agree(
        how.cases, how.scores, metrics=how.metrics, mix=pairs, axis=how.axis, seed=how.seed,
        format=how.format, sources=how.sources,
    )  # fmt: skip
    rows = [
        (row.scorer, row.value, row.low, row.high, row.n)
        for row in report.agreement
        if (row.level, row.coefficient) == (how.level, "spearman")
    ]
    table = pd.DataFrame(rows, columns=["scorer", "spearman", "low", "high", "n"])
    print(table.round(3).to_string(index=False))
    if how.figure:
        ends = [table.spearman - table.low, table.high - table.spearman]
        drawn = table.plot.scatter("spearman", "scorer", xerr=ends)
        drawn.figure.savefig(how.figure, bbox_inches="tight")


if __name__ == "__main__":
    main()
