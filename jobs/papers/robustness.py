"""References replaced by sentences of the source (Gigant et al. 2024, figures 2 and 6 to 8).

python -m jobs.papers.robustness --cases summeval.jsonl --metrics importance,rouge1 \\
    --mix importance+rouge1 --steps 11 --draws 20

Prints the mean correlation over draws while more and more documents have three random, first or
last sentences of the source as their reference.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from evaljudge.analysis.mixes import mix_of
from evaljudge.errors import UserError
from jobs.papers.excerpts import ALTERATIONS, with_altered_references
from jobs.papers.scored import arguments, comparable, correlation, measured, rated, read, show


def main(given: Sequence[str] | None = None) -> None:
    asked = arguments(__doc__, given, steps=11, draws=5, mix="")
    cases = read(asked)
    human, original = rated(cases, asked.axis), measured(cases, asked.metrics, asked.seed)
    original = comparable(original)
    mixes = [mix_of(text, {name: name for name in original})
             for text in asked.mix.split(",") if text]  # fmt: skip
    referenced = np.flatnonzero([bool(case.document.references) for case in cases])
    if not referenced.size:
        raise UserError("no document of the cases has references: there is nothing to replace")
    counts = np.unique(np.linspace(0, referenced.size, asked.steps).round().astype(int))
    cells: list[list[object]] = []
    for how in ALTERATIONS:
        drawn, altered = [], dict(original)
        for draw in range(asked.draws):
            order = np.random.default_rng((asked.seed, draw)).permutation(referenced)
            if not draw or how == "RAND-3":
                stream = np.random.default_rng((asked.seed, draw, 1))
                worse = with_altered_references(cases, how, stream)
                altered = measured(worse, asked.metrics, asked.seed)
            for count in counts:
                at = np.isin(np.arange(len(cases)), order[:count])[:, None]
                now = {name: np.where(at & np.isfinite(own), altered[name], own)
                       for name, own in original.items()}  # fmt: skip
                now |= {mix.name: mix.of(now) for mix in mixes}
                drawn.append([correlation(found, human, asked.level, asked.coefficient)
                              for found in now.values()])  # fmt: skip
        table = np.nanmean(np.reshape(drawn, (asked.draws, counts.size, -1)), axis=0).T
        cells += [[how, name, *row.tolist()] for name, row in zip(now, table, strict=True)]
    show(["alteration", "scorer", *map(str, counts)], cells, names=2)


if __name__ == "__main__":
    main()
