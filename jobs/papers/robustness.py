"""How well scorers agree with people where references are bad (importance paper, figures 2, 6-8).

    python -m jobs.papers.robustness --cases summeval.jsonl --metrics importance,rouge1 --draws 20

The references of more and more documents, drawn at random, are replaced by three sentences of the
source. Texts are measured once for each kind (RAND-3: for each draw) with all references replaced.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from jobs.papers.excerpts import KINDS, excerpt
from jobs.papers.shared import LEVELS, Row, correlations, options, rated, rows_of, scores


def main(words: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--level", default="system", choices=LEVELS[:3])
    parser.add_argument("--mix", action="append", default=[], metavar="A+B")
    parser.add_argument("--steps", type=int, default=11, help="how many numbers of replaced ones")
    parser.add_argument("--draws", type=int, default=5)
    how = parser.parse_args(words)
    rows, points = rows_of(how), []
    if not any(row["references"] for row in rows):
        raise SystemExit("no document of the cases has references: there is nothing to replace")
    names = [*how.metrics.split(","), *how.mix]
    original = mixed(scores(rows, how.metrics, how.seed), how.mix)
    human = rated(original, how.axis)
    documents = np.array([row["doc_id"] for row in rows if row["references"]])
    for kind in KINDS:
        for draw in range(how.draws):
            stream = np.random.default_rng((how.seed, draw))
            order = stream.permutation(documents)
            if kind == "RAND-3" or not draw:
                bad = scores([with_excerpt(row, kind, stream) for row in rows], how.metrics, 0)
                replaced = mixed(bad, how.mix)
            for count in np.unique(np.linspace(0, len(order), how.steps).round().astype(int)):
                is_bad = original["doc_id"].isin(order[:count])
                table = original.assign(**replaced[names].where(is_bad, original[names]))
                values = correlations(table.dropna(subset=names), how.level, "spearman")[human]
                points += [(kind, name, count, values[name]) for name in names]
    rows_found = pd.DataFrame(points, columns=["kind", "scorer", "replaced", "spearman"])
    means = rows_found.groupby(["kind", "scorer", "replaced"], sort=False).spearman.mean()
    print(means.unstack().round(3).to_string())
    if how.figure:
        drawn = means.unstack([0, 1]).plot(ylabel=f"spearman with {how.axis} ({how.level} level)")
        drawn.figure.savefig(how.figure, bbox_inches="tight")


def with_excerpt(row: Row, kind: str, stream: np.random.Generator) -> Row:
    return row | {"references": [excerpt(row["source"], kind, stream)] * bool(row["references"])}


def mixed(table: pd.DataFrame, mixes: list[str]) -> pd.DataFrame:
    return table.assign(**{mix: sum(table[part] for part in mix.split("+")) for mix in mixes})


if __name__ == "__main__":
    main()
