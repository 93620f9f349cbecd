"""How the importance metric's settings agree with people (importance paper, figure 5): all 240.

    python -m jobs.papers.settings --cases summeval.jsonl --model gpt2

Four tokenizers, n-grams of 2, 3 and 4, tf-idf and BM25, five weights, with and without the length
penalty. Without --model the 60 settings with a pretrained model's tokenizer are left out. Texts are
cut into tokens and counted once for each tokenizer and n.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from math import nan

import pandas as pd

from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.metrics.importance import WEIGHTS, Importance, ImportanceSettings
from evaljudge.metrics.protocol import Unscored, fitted_here, parts_of
from evaljudge.records import Case
from jobs.papers.shared import LEVELS, correlations, options

OPTIONS = ["tokenizer", "n", "by", "weight", "length_penalty"]
REST = list(product(("tf-idf", "bm25"), WEIGHTS, (True, False)))


def main(words: Sequence[str] | None = None) -> None:
    parser = options(__doc__)
    parser.add_argument("--level", default="system", choices=LEVELS[:3])
    parser.add_argument("--model", help="the pretrained tokenizer: a hub name or a path")
    how = parser.parse_args(words)
    with open_corpus(CorpusSource(how.cases, how.format, how.sources)) as corpus:
        cases = list(corpus)
    texts = [(case.document.doc_id, c.system, c.ratings) for case in cases for c in case.candidates]
    named = [(doc_id, system, ratings.get(how.axis)) for doc_id, system, ratings in texts]
    table = pd.DataFrame(named, columns=["doc_id", "system", "people"])
    points, columns = measured(cases, how.model, how.seed)
    table = pd.concat([table, pd.DataFrame(zip(*columns, strict=True))], axis=1).dropna()
    values = correlations(table, how.level, "spearman")["people"].drop("people")
    results = pd.DataFrame(points, columns=OPTIONS).assign(spearman=values.to_numpy())
    for option in OPTIONS:
        print(results.groupby(option).spearman.describe().round(3).to_string(), end="\n\n")
    print(results.sort_values("spearman", ascending=False).round(3).to_string(index=False))
    if how.figure:
        drawn = results.plot.box(column="spearman", by=OPTIONS, rot=90, figsize=(20, 6))
        drawn.iloc[0].figure.savefig(how.figure, bbox_inches="tight")


def measured(
    cases: list[Case], model: str | None, seed: int
) -> tuple[list[tuple[object, ...]], list[list[float]]]:
    points: list[tuple[object, ...]] = []
    columns: list[list[float]] = []
    for tokenizer, n in product(
        ["bpe", "words", "characters", *["model"] * bool(model)], (2, 3, 4)
    ):
        fields = {"tokenizer": tokenizer, "n": n, "model": model if tokenizer == "model" else None}
        ready = fitted_here(
            Importance("importance", ImportanceSettings.model_validate(fields)), cases, seed
        )
        overlaps = [overlap for part in parts_of(cases) for overlap in ready.overlaps(part)]
        for by, weight, penalty in REST:
            more = {"by": by, "weight": weight, "length_penalty": penalty}
            metric = replace(ready, settings=ImportanceSettings.model_validate(fields | more))
            values = [value for overlap in overlaps for value in metric.values(overlap)]
            columns.append([nan if isinstance(value, Unscored) else value for value in values])
            points.append((tokenizer, n, by, weight, penalty))
    return points, columns


if __name__ == "__main__":
    main()
