"""Do scores follow length and copying rather than quality? (Gigant et al. 2024, table 2)

python -m jobs.papers.spurious --cases summeval.jsonl --metrics importance,rouge1

Coverage and density are those of Grusky et al. (2018), by their greedy fragments. Correlated on the
texts that are rated on the axis, at the summary level.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import nan

import numpy as np

from jobs.papers.scored import arguments, correlation, grid, rated, read, scored, show

CORRELATES = ("coverage", "density", "compression", "length")


def fragments(source: Sequence[str], text: Sequence[str]) -> Iterator[int]:
    """The lengths of the longest runs that the text shares with its source, from left to right."""
    at = 0
    while at < len(text):
        longest, place = 0, 0
        while place < len(source):
            shared = zip(source[place:], text[at:], strict=False)
            run = next((n for n, (a, b) in enumerate(shared) if a != b),
                       min(len(source) - place, len(text) - at))  # fmt: skip
            longest, place = max(longest, run), place + max(run, 1)
        if longest:
            yield longest
        at += max(longest, 1)


def correlates(source: str, text: str) -> tuple[float, ...]:
    theirs, own = (re.findall(r"\w+|[^\w\s]", said.lower()) for said in (source, text))
    if not own:
        return (nan,) * len(CORRELATES)
    runs, size = list(fragments(theirs, own)), len(own)
    return sum(runs) / size, sum(n * n for n in runs) / size, len(theirs) / size, float(size)


def main(given: Sequence[str] | None = None) -> None:
    asked = arguments(__doc__, given)
    cases = read(asked)
    human, scores = rated(cases, asked.axis), scored(cases, asked)
    found = {(case.document.doc_id, c.system): correlates(case.document.source, c.text)
             for case in cases for c in case.candidates}  # fmt: skip
    columns = {asked.axis: human} | {
        name: np.where(np.isfinite(human), grid(cases, {k: v[at] for k, v in found.items()}), nan)
        for at, name in enumerate(CORRELATES)}  # fmt: skip
    for how in ("pearson", "spearman"):
        print(f"\n{how.capitalize()}")
        show(["scorer", *columns], [
            [name, *(correlation(own, other, "summary", how) for other in columns.values())]
            for name, own in scores.items()])  # fmt: skip


if __name__ == "__main__":
    main()
