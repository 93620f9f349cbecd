"""The system-level correlation against the number of documents (Gigant et al. 2024, figure 1).

python -m jobs.papers.sizes --cases summeval.jsonl --metrics importance --steps 10 --draws 100

Mean and 95% band over random subsets of the rated documents that all scorers scored.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaljudge.agreement import COEFFICIENTS
from evaljudge.agreement.coefficients import row_correlations
from jobs.papers.scored import arguments, comparable, means, rated, read, scaled, scored, show


def main(given: Sequence[str] | None = None) -> None:
    asked = arguments(__doc__, given, steps=10, draws=100)
    cases = read(asked)
    human, scores = scaled(rated(cases, asked.axis)), comparable(scored(cases, asked))
    usable = np.isfinite(human) & np.isfinite(next(iter(scores.values())))
    documents = np.flatnonzero(usable.any(axis=1))
    spaced = np.linspace(documents.size / asked.steps, documents.size, asked.steps)
    sizes = np.unique(np.maximum(spaced.round().astype(int), min(2, documents.size)))
    cells: dict[str, list[object]] = {name: [name] for name in scores}
    for size in sizes:
        stream = np.random.default_rng((asked.seed, int(size)))
        chosen = np.zeros((asked.draws if size < documents.size else 1, len(cases)))
        for row in chosen:
            row[stream.choice(documents, size, replace=False)] = 1.0
        ratings = means(np.where(usable, human, np.nan), chosen)
        for name, found in scores.items():
            own = means(np.where(usable, scaled(found), np.nan), chosen)
            both = np.isfinite(own) & np.isfinite(ratings)
            x, y = np.where(both, own, np.nan), np.where(both, ratings, np.nan)
            values = row_correlations(x, y)[[*COEFFICIENTS].index(asked.coefficient)]
            defined = values[np.isfinite(values)]
            if defined.size > 1:
                low, high = np.percentile(defined, (2.5, 97.5))
                cells[name].append(f"{defined.mean():.3f} [{low:.3f}, {high:.3f}]")
            else:
                cells[name].append(f"{defined[0]:.3f}" if defined.size else "–")
    show(["scorer", *map(str, sizes)], list(cells.values()))


if __name__ == "__main__":
    main()
