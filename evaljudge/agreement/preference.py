"""Does a pairwise judge prefer a position? How often what is shown first wins.

    >>> votes = [Vote(0, "fluency", first="A", second="B", winner="A"),
    ...          Vote(0, "fluency", first="B", second="A", winner="B")]
    >>> preferences(votes)[0].first_twice
    1

In a pair asked in both orders, the same candidate should win twice. Where the same position won
twice, the position decided; without a preference it is the first as often as the second. The exact
p of this takes pairs for independent, which those of one document are not: where the interval,
which resamples documents, holds 1/2, believe the interval.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .documents import Measured, ratio_of_sums


@dataclass(frozen=True, slots=True)
class Vote:
    document: int
    axis: str
    first: str  # the system shown first
    second: str
    winner: str | None  # None: a tie

    def __post_init__(self) -> None:
        if self.first == self.second or self.winner not in (self.first, self.second, None):
            raise ValueError(f"the winner must be one of two systems, or None: {self}")

    @property
    def position(self) -> int:
        """1: the first won; 2: the second; 0: a tie."""
        return 0 if self.winner is None else 1 if self.winner == self.first else 2


@dataclass(frozen=True, slots=True)
class Preference:
    axis: str
    n: int  # votes
    ties: int
    first_wins: Measured  # share of the votes that are no tie
    pairs: int  # asked in both orders
    flips: Measured  # share of those pairs whose winner changes with the order, a tie being none
    first_twice: int  # those pairs where whatever was shown first won
    second_twice: int
    first_decides: Measured  # share of the first among those where one position won twice
    p: float | None  # two-sided exact binomial (McNemar) of first_twice against second_twice


def preferences(votes: Iterable[Vote], *, resamples: int = 1000, seed: int = 0) -> list[Preference]:
    """One per axis, in the order of first appearance."""
    by_axis: defaultdict[str, list[Vote]] = defaultdict(list)
    for vote in votes:
        by_axis[vote.axis].append(vote)
    return [_preference(axis, of_axis, resamples, seed) for axis, of_axis in by_axis.items()]


def _preference(axis: str, votes: Sequence[Vote], resamples: int, seed: int) -> Preference:
    from scipy.stats import binomtest  # here, since it takes long to import

    documents = sorted({vote.document for vote in votes})
    place = {document: index for index, document in enumerate(documents)}

    def share(held: Iterable[tuple[int, bool]]) -> Measured:
        """The share of (document, whether it held); documents without one are resampled as well."""
        true, counted = np.zeros((2, len(place)))
        for document, holds in held:
            true[place[document]] += holds
            counted[place[document]] += 1
        return ratio_of_sums(true, counted, resamples, seed, n=int(counted.sum()))

    decided = [vote for vote in votes if vote.position]
    pairs = list(_asked_both_ways(votes))
    same = [vote for vote, other in pairs if vote.position and vote.position == other.position]
    first_twice = sum(vote.position == 1 for vote in same)
    return Preference(
        axis=axis,
        n=len(votes),
        ties=len(votes) - len(decided),
        first_wins=share((vote.document, vote.position == 1) for vote in decided),
        pairs=len(pairs),
        flips=share((vote.document, vote.winner != other.winner) for vote, other in pairs),
        first_twice=first_twice,
        second_twice=len(same) - first_twice,
        first_decides=share((vote.document, vote.position == 1) for vote in same),
        p=float(binomtest(first_twice, len(same)).pvalue) if same else None,
    )


def _asked_both_ways(votes: Iterable[Vote]) -> Iterator[tuple[Vote, Vote]]:
    """A pair asked more than once in an order: the first of each, the second of each, ..."""
    by_order: defaultdict[tuple[int, str, str], list[Vote]] = defaultdict(list)
    for vote in votes:
        by_order[vote.document, vote.first, vote.second].append(vote)
    for (document, first, second), ones in by_order.items():
        if first < second:
            yield from zip(ones, by_order.get((document, second, first), ()), strict=False)
