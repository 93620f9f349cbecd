"""The 240 settings of the metric `importance` against people (Gigant et al. 2024, figure 5).

python -m jobs.papers.settings --cases summeval.jsonl --axis relevance --model gpt2

Without --model, the 60 settings with a pretrained model's tokenizer are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, product

import numpy as np

from evaljudge.metrics.importance import WEIGHTS, Importance, ImportanceSettings
from evaljudge.metrics.measuring import fitted_here, parts_of
from evaljudge.metrics.protocol import Unscored
from jobs.papers.scored import arguments, comparable, correlation, grid, rated, read, show

OPTIONS = ("tokenizer", "n", "by", "weight", "length_penalty")
QUANTILES = (0.0, 0.25, 0.5, 0.75, 1.0)
Point = tuple[str, int, str, str, bool]


def main(given: Sequence[str] | None = None) -> None:
    asked = arguments(__doc__, given, model="", revision="")
    tokenizers = ["bpe", "words", "characters", *(["model"] if asked.model else [])]
    points: list[Point] = [
        *product(tokenizers, (2, 3, 4), ("tf-idf", "bm25"), WEIGHTS, (True, False))
    ]
    cases, scores = read(asked), {}
    at = [(case.document.doc_id, c.system) for case in cases for c in case.candidates]
    for (tokenizer, _), alike in groupby(points, key=lambda point: point[:2]):
        model = {"model": asked.model, "revision": asked.revision or None}
        more = model if tokenizer == "model" else {}
        settings = {point: ImportanceSettings.model_validate(
            dict(zip(OPTIONS, point, strict=True)) | more) for point in alike}  # fmt: skip
        first = next(iter(settings.values()))
        ready = fitted_here(Importance("importance", first), cases, asked.seed)
        overlaps = [overlap for part in parts_of(cases) for overlap in ready.overlaps(part)]
        for point, own in settings.items():
            metric = replace(ready, settings=own)
            values = [value for overlap in overlaps for value in metric.values(overlap)]
            found = (None if isinstance(value, Unscored) else value for value in values)
            scores[str(point)] = grid(cases, dict(zip(at, found, strict=True)))
    human, shared = rated(cases, asked.axis), comparable(scores)
    reached = {point: correlation(shared[str(point)], human, asked.level, asked.coefficient)
               for point in points}  # fmt: skip
    cells: list[list[object]] = []
    for place, option in enumerate(OPTIONS):
        for setting in dict.fromkeys(point[place] for point in points):
            own_values = [v for point, v in reached.items() if point[place] == setting and v == v]
            if own_values:
                five = np.quantile(own_values, QUANTILES).tolist()
                cells.append([option, setting, len(own_values), float(np.mean(own_values)), *five])
    show(["option", "setting", "settings", "mean", "lowest", "25%", "median", "75%", "highest"],
         cells, names=2)  # fmt: skip
    best = sorted(points, key=lambda point: -np.nan_to_num(reached[point], nan=-2.0))
    show(["place", *OPTIONS, "value"], [[place, *point, reached[point]]
         for place, point in enumerate(best[:10], 1)], names=6)  # fmt: skip


if __name__ == "__main__":
    main()
