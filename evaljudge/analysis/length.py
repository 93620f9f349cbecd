"""Which agreement remains with length held fixed, and whose does not.

lengths_held_fixed(rated, seed=0)  ->  LengthHeld("sample", 0.07, …, scorer="rouge1")
measuring_length(…)  ->  "rouge1 may measure length: with length held fixed, little of …"
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from evaljudge.agreement import Agreement, LengthHeld, held_fixed
from evaljudge.agreement.rated import MOST_TESTED, Rated
from evaljudge.sections.figures import FEWEST

SUBSTANTIAL = 0.2
"""A Spearman correlation above it, whose interval lies above 0, should not come from length."""
WORDS = "words"
"""The metric that says by its name that it is the length."""
LITTLE = 1 / 4
"""Of the correlation: less than this remains, or less than half and perhaps nothing."""


def lengths_held_fixed(rated: Rated, seed: int) -> Iterator[LengthHeld]:
    tested, is_sample = rated.sampled(MOST_TESTED, seed)
    if tested.lengths is None:
        return
    for human, ratings in sorted(tested.human.items()):
        for scorer, scores in tested.against(human).items():
            for one in held_fixed(tested.documents, scores, ratings, tested.lengths):
                yield replace(one, scorer=scorer, axis=human, sampled=is_sample)


def measuring_length(lengths: Sequence[LengthHeld], agreement: Sequence[Agreement]) -> list[str]:
    """A warning for each scorer of whose agreement little remains, where documents are enough."""
    known = {(a.scorer, a.axis, a.level): a for a in agreement if a.coefficient == "spearman"}
    documents = {key[:2]: a.n + a.skipped for key, a in known.items() if key[2] == "sample"}
    lost: dict[str, dict[str, str]] = {}
    for row in (row for row in lengths if row.scorer != WORDS):
        found = known.get((row.scorer, row.axis, row.level))
        if found is None or min(found.n, documents[row.scorer, row.axis]) < FEWEST["sample"]:
            continue
        if _is_substantial(found) and _vanishes(row):
            left = "nothing" if row.value is None else f"{row.value:.2f}"
            said = f"{row.axis} {row.spearman:.2f} to {left}"
            lost.setdefault(row.scorer, {}).setdefault(row.axis, said)
    return [
        f"{scorer} may measure length: with length held fixed, little of its agreement with "
        f"people remains (Spearman: {', '.join(by_axis.values())})"
        for scorer, by_axis in lost.items()
    ]


def _is_substantial(found: Agreement) -> bool:
    if found.value is None or found.low is None or found.high is None:
        return False
    return found.value > SUBSTANTIAL and found.low > 0


def _vanishes(row: LengthHeld) -> bool:
    """Also where most scores are in the order of the lengths, which leaves nothing to correlate."""
    if row.spearman is None:
        return False
    if row.in_order > row.n:
        return True
    if row.value is None or row.low is None or row.high is None:
        return False
    left = row.value / row.spearman
    return left < LITTLE or (left < 1 / 2 and row.low <= 0 <= row.high)
