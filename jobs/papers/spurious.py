"""Whether scorers follow copying and length more than quality (importance paper, table 2).

    python -m jobs.papers.spurious --cases summeval.jsonl --metrics importance

Correlations of all texts together. `coverage` is the share of words in fragments copied from the
source, `density` the mean square of a fragment's length for each word (Grusky et al. 2018),
`compression` the source's words for each of the text's.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import pandas as pd

from jobs.papers.shared import correlations, options, rows_of, scores


def main(words: Sequence[str] | None = None) -> None:
    how = options(__doc__).parse_args(words)
    rows = rows_of(how)
    properties = pd.DataFrame(
        {"doc_id": row["doc_id"], "system": text["system"]} | of(row["source"], text["text"])
        for row in rows
        for text in row["candidates"]
    )
    table = scores(rows, how.metrics, how.seed).merge(properties).dropna()
    names = how.metrics.split(",")
    for coefficient in ("pearson", "spearman"):
        values = correlations(table, "summary", coefficient).loc[names].drop(columns=names)
        print(f"{coefficient.capitalize()}\n{values.round(3).to_string()}\n")
        if how.figure and coefficient == "spearman":
            drawn = values.T.plot.bar(ylabel="spearman, all texts together")
            drawn.figure.savefig(how.figure, bbox_inches="tight")


def of(source: str, text: str) -> dict[str, float]:
    theirs, ours = words(source), words(text)
    if not ours:
        return dict.fromkeys(("coverage", "density", "compression", "length"), float("nan"))
    runs = fragments(theirs, ours)
    return {
        "coverage": sum(runs) / len(ours),
        "density": sum(run * run for run in runs) / len(ours),
        "compression": len(theirs) / len(ours),
        "length": len(ours),
    }


def words(text: str) -> list[str]:
    return re.findall(r"\w+|[^\w\s]", text.lower())


def fragments(source: list[str], text: list[str]) -> list[int]:
    """The lengths of the longest runs from each word on; the next begins at such a run's end."""
    copied, at = [], 0
    while at < len(text):
        longest, place = 0, 0
        while place < len(source):
            run = 0
            while source[place + run : place + run + 1] == text[at + run : at + run + 1] != []:
                run += 1
            longest, place = max(longest, run), place + max(run, 1)
        copied += [longest] * bool(longest)
        at += max(longest, 1)
    return copied


if __name__ == "__main__":
    main()
