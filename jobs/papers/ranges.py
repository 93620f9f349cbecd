"""The values that scorers take for texts of known kinds (importance paper, figures 9 and 10).

    python -m jobs.papers.ranges --cases summeval.jsonl --metrics importance,rouge1

`human` is a document's last reference, compared with the others, or with itself if it is the only
one. RAND-3, LEAD-3 and TAIL-3 are three sentences of the source, `document` is the whole source,
`systems` are the texts of the corpus.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from jobs.papers.excerpts import KINDS, excerpt
from jobs.papers.shared import Row, options, rows_of, scores

QUANTILES = [0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0]


def main(words: Sequence[str] | None = None) -> None:
    how = options(__doc__).parse_args(words)
    rows, stream = rows_of(how), np.random.default_rng(how.seed)
    corpora = [
        [human(row) for row in rows if row["references"]],
        [of_source(row, stream) for row in rows],
        [row | {"references": row["references"]} for row in rows],
    ]
    tables = [scores(corpus, how.metrics, how.seed) for corpus in corpora if corpus]
    tables[-1]["system"] = "systems"
    every = pd.concat(tables)
    names = how.metrics.split(",")
    values = every.melt(["system"], names, var_name="scorer").groupby(["scorer", "system"]).value
    table = values.quantile(QUANTILES).unstack()
    table.insert(0, "n", values.count())
    print(table.round(3).to_string())
    if how.figure:
        drawn = every.plot.box(column=names, by="system", rot=60)
        drawn.iloc[0].figure.savefig(how.figure, bbox_inches="tight")


def human(row: Row) -> Row:
    *others, last = row["references"]
    text = {"system": "human", "text": last}
    return row | {"references": others or [last], "candidates": [text]}


def of_source(row: Row, stream: np.random.Generator) -> Row:
    texts = {kind: excerpt(row["source"], kind, stream) for kind in KINDS}
    texts["document"] = row["source"]
    return row | {"candidates": [{"system": kind, "text": text} for kind, text in texts.items()]}


if __name__ == "__main__":
    main()
