"""Values for references, sentences, whole documents, systems (Gigant et al. 2024, figures 9, 10).

python -m jobs.papers.ranges --cases summeval.jsonl --metrics importance,rouge1

`human` is the last reference, compared with the others, or with itself if it is the only one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evaljudge.agreement.pairs import Floats
from evaljudge.records import Candidate, Case
from jobs.papers.excerpts import ALTERATIONS, excerpt
from jobs.papers.scored import arguments, measured, read, show

QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


def human(case: Case) -> Case:
    *others, last = case.document.references
    document = replace(case.document, references=tuple(others) or (last,))
    return Case(document, (Candidate("human", last),))


def of_source(case: Case, stream: np.random.Generator) -> Case:
    source = case.document.source
    texts: dict[str, str] = {how: excerpt(source, how, stream) for how in ALTERATIONS}
    kinds = {**texts, "document": source}
    return Case(case.document, tuple(Candidate(kind, text) for kind, text in kinds.items()))


def line(scorer: str, kind: str, values: Floats) -> list[object]:
    there = values[np.isfinite(values)]
    quantiles = np.quantile(there, QUANTILES).tolist() if there.size else ["–"] * len(QUANTILES)
    return [scorer, kind, f"{there.size:,}", *quantiles]


def main(given: Sequence[str] | None = None) -> None:
    asked = arguments(__doc__, given)
    cases, stream = read(asked), np.random.default_rng(asked.seed)
    referenced = [human(case) for case in cases if any(case.document.references[-1:])]
    inputs = {(*ALTERATIONS, "document"): [of_source(case, stream) for case in cases]}
    if referenced:
        inputs = {("human",): referenced} | inputs
    found = [(kinds, measured(texts, asked.metrics, asked.seed)) for kinds, texts in inputs.items()]
    cells: list[list[object]] = []
    for name, own in measured(cases, asked.metrics, asked.seed).items():
        cells += [line(name, kind, scores[name][:, at])
                  for kinds, scores in found for at, kind in enumerate(kinds)]  # fmt: skip
        cells.append(line(name, "systems", own.ravel()))
    show(["scorer", "input", "n", "lowest", "5%", "25%", "median", "75%", "95%", "highest"],
         cells, names=2)  # fmt: skip


if __name__ == "__main__":
    main()
