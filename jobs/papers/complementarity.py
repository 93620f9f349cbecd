"""How differently two scorers rank (importance paper, figure 3): (1 - their correlation) / 2.

    python -m jobs.papers.complementarity --cases summeval.jsonl --metrics importance,rouge1,chrf

            importance  rouge1  chrf
importance       0.000   0.253 0.345
rouge1           0.253   0.000 0.121

0 is the same order, 1/2 none, 1 the reverse. The authors' code ranks documents by their mean over
systems: --level document, the default. Texts that a scorer left out count for none.
"""

from __future__ import annotations

from collections.abc import Sequence

from jobs.papers.shared import LEVELS, correlations, options, rows_of, scores


def main(words: Sequence[str] | None = None) -> None:
    parser = options(__doc__, metrics="importance,rouge1,chrf")
    parser.add_argument("--level", default="document", choices=LEVELS)
    parser.add_argument("--coefficient", default="spearman", choices=["spearman", "kendall"])
    how = parser.parse_args(words)
    names = how.metrics.split(",")
    table = scores(rows_of(how), how.metrics, how.seed)[["doc_id", "system", *names]].dropna()
    differences = ((1 - correlations(table, how.level, how.coefficient)) / 2).loc[names, names]
    print(differences.round(3).to_string())
    if how.figure:
        from matplotlib.figure import Figure

        figure = Figure()
        axes = figure.add_subplot()
        figure.colorbar(axes.imshow(differences, vmin=0, vmax=1))
        axes.set_xticks(range(len(names)), names, rotation=90)
        axes.set_yticks(range(len(names)), names)
        figure.savefig(how.figure, bbox_inches="tight")


if __name__ == "__main__":
    main()
