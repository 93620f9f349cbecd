"""How many documents a system-level correlation needs (importance paper, figure 1).

    python -m jobs.papers.sizes --cases summeval.jsonl --metrics importance

The mean and the 95% band of the correlations on random subsets, from few documents to all. With
--all-documents the ratings are of all rated documents, and only the scores are of the subset, which
may have documents that nobody rated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from jobs.papers.shared import options, rated, rows_of, scores


def main(words: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--steps", type=int, default=10, help="how many sizes of subsets")
    parser.add_argument("--draws", type=int, default=100, help="how many subsets of each size")
    parser.add_argument("--all-documents", action="store_true")
    how = parser.parse_args(words)
    names, table = how.metrics.split(","), scores(rows_of(how), how.metrics, how.seed)
    human, table = rated(table, how.axis), table.dropna(subset=names)
    if not how.all_documents:
        table = table.dropna(subset=[human])
    by_system = table.pivot(index="doc_id", columns="system")  # a row for each document
    documents, stream, rows = len(by_system), np.random.default_rng(how.seed), []
    everywhere = by_system[human].mean()
    for size in np.unique(np.linspace(documents / how.steps, documents, how.steps).round()):
        size = max(2, int(size))
        for _ in range(how.draws if size < documents else 1):
            subset = by_system.iloc[stream.choice(documents, size, replace=False)]
            people = everywhere if how.all_documents else subset[human].mean()
            rows += [(name, size, subset[name].mean().corr(people, "spearman")) for name in names]
    points = pd.DataFrame(rows, columns=["scorer", "documents", "spearman"])
    band = points.groupby(["scorer", "documents"]).spearman.quantile([0.025, 0.975]).unstack()
    band.insert(0, "mean", points.groupby(["scorer", "documents"]).spearman.mean())
    print(band.round(3).to_string())
    if how.figure:
        drawn = band["mean"].unstack(0).plot(ylabel=f"spearman with {how.axis} (system level)")
        for name in names:
            ends = band.loc[name]
            drawn.fill_between(ends.index, ends[0.025], ends[0.975], alpha=0.15)
        drawn.figure.savefig(how.figure, bbox_inches="tight")


if __name__ == "__main__":
    main()
