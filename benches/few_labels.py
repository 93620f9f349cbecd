"""What do scores of all texts add to the ratings of few? Published ratings, most of them hidden.

    python benches/few_labels.py ../shared/data [--draws 200]

In each draw other random documents keep their ratings: 10% of SummEval's, 20% of the smaller HANNA
and Topical-Chat. For each scorer and axis, over all draws and systems, or pairs of systems: the
mean ratio of the intervals' widths with the scores to those without; as how many labels one counts;
which share of the intervals hold the mean of all ratings; and which share of the values have no
interval, since their labels are too much alike. That mean is of the very documents that the labels
are drawn from, so intervals, which are for documents like these, hold it a little more often than
in 95% of the draws. Writes benches/few_labels.json.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evaljudge.decisions.people import people_scale
from evaljudge.decisions.powered import Bounded

HERE = Path(__file__).parent
Table = np.ndarray
SUMMEVAL = "summeval", "summeval_metrics", 0.1
CORPORA = [
    SUMMEVAL,
    ("hanna", "hanna_llm_scores", 0.2),
    ("topicalchat", "topicalchat_unieval", 0.2),
]


class Corpus(NamedTuple):
    """Tables (documents, systems): of each scorer and axis, and of each human axis."""

    systems: Sequence[str]
    scores: dict[tuple[str, str], Table]
    ratings: dict[str, Table]


def read(cases: Path, scores: Path) -> Corpus:
    """Scores without a scorer's name are metrics', which meet every axis."""
    ratings: dict[Any, dict[tuple[str, str], float]] = {}
    for case in _lines(cases):
        for candidate in case["candidates"]:
            for axis, value in candidate["ratings"].items():
                ratings.setdefault(axis, {})[case["doc_id"], candidate["system"]] = value
    columns: dict[Any, dict[tuple[str, str], float]] = {}
    for row in _lines(scores):
        for name, value in row["scores"].items():
            keys = (
                [(row["scorer"], name)] if "scorer" in row else [(name, axis) for axis in ratings]
            )
            for key in keys:
                columns.setdefault(key, {})[row["doc_id"], row["system"]] = value
    cells = {cell for column in ratings.values() for cell in column}
    documents, systems = (sorted({cell[place] for cell in cells}) for place in (0, 1))

    def table(column: dict[tuple[str, str], float]) -> Table:
        return np.array([[column.get((d, s), np.nan) for s in systems] for d in documents], float)

    scored = {key: table(column) for key, column in columns.items() if key[1] in ratings}
    return Corpus(systems, scored, {axis: table(column) for axis, column in ratings.items()})


def _lines(file: Path) -> Iterator[dict[str, Any]]:
    return map(json.loads, file.read_text("utf-8").splitlines())


def few_labels(
    systems: Sequence[str], scores: Table, ratings: Table, share: float, draws: int
) -> dict[str, Any]:
    rng, means = np.random.default_rng(0), np.nanmean(ratings, axis=0)
    apart = [left - right for left, right in combinations(means, 2)]
    of_means, of_differences, worth = [], [], []
    for _ in range(draws):
        chosen = rng.choice(len(scores), round(share * len(scores)), replace=False)
        human = np.full_like(ratings, np.nan)
        human[chosen] = ratings[chosen]
        scale = people_scale(systems, scores, human)
        assert scale is not None
        assert scale.effective is not None
        assert scale.effective_of_differences is not None
        worth.append(
            [scale.effective / scale.labels, scale.effective_of_differences / scale.labels]
        )
        of_means += _seen(scale.systems, means)
        of_differences += _seen(scale.differences, apart)
    counts, difference_counts = np.mean(worth, axis=0)
    return {
        "documents": f"{round(share * len(scores))} of {len(scores)}",
        "a_label_counts_as": round(float(counts), 3),
        **_summed(of_means),
        "differences": {"a_label_counts_as": round(float(difference_counts), 3)}
        | _summed(of_differences),
    }


def _seen(rows: Iterable[Any], truths: Iterable[float]) -> list[tuple[float, ...]]:
    """The ratio of the widths, whether both hold the truth; NaN where there is no interval."""
    return [
        (_width(row.corrected) / _width(row.by_labels), _holds(row.corrected, truth),
         _holds(row.by_labels, truth))
        for row, truth in zip(rows, truths, strict=True)
    ]  # fmt: skip


def _summed(seen: Sequence[tuple[float, ...]]) -> dict[str, float]:
    rows = np.array(seen)
    has_both = np.isfinite(rows[:, 0])
    width, kept, by_labels = (round(float(each), 3) for each in rows[has_both].mean(axis=0))
    without = round(float(np.mean(~has_both)), 3)
    return {"width": width, "kept": kept, "kept_by_labels": by_labels, "no_interval": without}


def _width(interval: Bounded) -> float:
    return np.nan if interval.low is None or interval.high is None else interval.high - interval.low


def _holds(ends: Bounded, truth: float) -> float:
    low, high = ends.low, ends.high
    return np.nan if low is None or high is None else float(low <= truth <= high)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    rows = []
    for name, scores, share in CORPORA:
        corpus = read(options.data / f"{name}.jsonl", options.data / f"{scores}.jsonl")
        for (scorer, axis), table in corpus.scores.items():
            figures = few_labels(corpus.systems, table, corpus.ratings[axis], share, options.draws)
            rows.append({"corpus": name, "scorer": scorer, "axis": axis} | figures)
            print(rows[-1], flush=True)
    figures = {"draws": options.draws, "rows": rows}
    (HERE / "few_labels.json").write_text(json.dumps(figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
