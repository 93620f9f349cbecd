"""Which system is better: means with intervals, and every two systems compared.

    rank_systems(["A", "B", "C"], [table])[0]
    -> SystemRanking(systems=(RankedSystem("B", mean=4.1, low=3.9, high=4.3, n=100, letters="a"),…),
                     pairs=(SystemPair("B", "A", difference=0.2, …, p_holm=0.03, …), …),
                     test="permutation", detectable=0.18, detectable_among_all=0.29, …)

A mean's interval, and that of two systems' difference on the documents that both have, is Student's
t with documents as units. With ten documents it holds what it promises, unless nearly all scores
are equal or a few are far from the rest.

p: a sign-flip permutation test of the paired differences: if two systems were alike, a document's
difference could as well have the other sign. Every choice of signs is tried where there are at most
MOST_ENUMERATED documents. Otherwise PERMUTATIONS are drawn, the same for all pairs and tables, and
p is (1 + times) / (1 + permutations). Sums that are equal but for rounding count as equal. A t
statistic would order the choices as the sum does, since signs do not change squared differences.

So many permutations can tell MOST_PAIRS pairs apart after Holm's correction. Of more pairs, or with
more documents times pairs than MOST_FLIPPED, p is the paired t-test's: with many documents they are
nearly the same.

Letters are a compact letter display: two systems share one exactly where they do not differ
(Piepho, 2004). Every letter is a clique of the graph that joins those, grown from a pair that
shares no letter yet.

    letters([[0, 0, 1], [0, 0, 0], [1, 0, 0]])  -> ["a", "ab", "b"]
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import ceil, comb, isfinite, log2
from string import ascii_lowercase
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evaljudge.agreement.documents import on_one_thread, reach, two_sided
from evaljudge.agreement.pairs import Floats
from evaljudge.agreement.significance import holm

from .power import ALPHA, POWER, detectable, documents_needed

Test = Literal["exact", "permutation", "t"]
PERMUTATIONS = 20_000
MOST_ENUMERATED = 15  # documents: half of their signs are fewer than PERMUTATIONS
MOST_SYSTEMS = 200  # their pairs are still compared in a second
MOST_PAIRS = 500  # 2 / PERMUTATIONS is still below ALPHA after Holm's correction
MOST_FLIPPED = 25_000  # documents times pairs of one table: 16 systems with 208 documents
EQUAL = 1e-9  # what differs by less, relative to its terms, does so by rounding
LEAST_CHOICES = 8  # signs that reach alpha: with fewer, the test shows much less than a t-test
_BLOCK = 256  # permutations at a time: their sums fit in a processor's cache
Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class RankedSystem:
    system: str
    mean: float
    low: float | None  # 95% t interval over documents; None where they are equal, or a single one
    high: float | None
    n: int  # documents
    letters: str  # two systems share one exactly where they do not differ


@dataclass(frozen=True, slots=True)
class SystemPair:
    """Two systems on the documents that both have; `first` has the higher mean of its own."""

    first: str
    second: str
    difference: float | None  # first - second; None where no document has both
    low: float | None  # 95% t interval, likewise
    high: float | None
    p: float | None  # two-sided; None under two documents
    p_holm: float | None  # adjusted for all pairs of the table
    n: int  # documents that have both
    documents_needed: int | None  # to show such a difference alone; None: none observed
    documents_needed_among_all: int | None  # after a correction for all pairs

    @property
    def told_apart(self) -> bool:
        return self.p_holm is not None and self.p_holm < ALPHA


@dataclass(frozen=True, slots=True)
class SystemRanking:
    """One scorer's systems on one axis, the highest mean first."""

    scorer: str = field(default="", kw_only=True)  # both empty until the caller names them
    axis: str = field(default="", kw_only=True)
    systems: Sequence[RankedSystem]
    pairs: Sequence[SystemPair]
    documents: int  # with two systems or more
    test: Test
    told_apart: int  # pairs whose adjusted p is under alpha
    spread: float | None  # a difference's standard deviation over documents: median of pairs
    detectable: float | None  # for a pair tested alone: the median of pairs
    detectable_among_all: float | None  # at alpha / pairs; None if so few documents show none
    alpha: float
    power: float
    sampled: bool = field(default=False, kw_only=True)  # from a seeded sample of documents
    left_out: int = field(default=0, kw_only=True)  # systems, beyond MOST_SYSTEMS
    unscored: Sequence[tuple[str, str]] = field(default=(), kw_only=True)
    """The systems without any score, with the reason of the first text."""


@dataclass(frozen=True, slots=True)
class _Estimate:
    """Column by column of a table with gaps; NaN where undefined."""

    n: Floats
    mean: Floats
    spread: Floats

    @property
    def error(self) -> Floats:
        return self.spread / np.sqrt(np.maximum(self.n, 1))

    def interval(self) -> tuple[Floats, Floats]:
        """The interval; None where all values are equal: how far others would be is not known."""
        half = reach(self.error, np.maximum(self.n - 1, 1))
        half = np.where(half > 0, half, np.nan)
        return self.mean - half, self.mean + half


@dataclass(frozen=True, slots=True)
class _Compared:
    """The systems of one table that have a score, in their order, and their differences."""

    names: Sequence[str]
    means: _Estimate
    table: Floats  # (documents, systems)
    left_out: int  # systems

    @property
    def gaps(self) -> Floats:
        """(documents, pairs); not kept, since those of many documents are large."""
        first, second = np.triu_indices(len(self.names), 1)
        return self.table[:, first] - self.table[:, second]

    @property
    def documents(self) -> int:
        """The number of documents with two systems or more."""
        return int(np.sum(np.isfinite(self.table).sum(axis=1) > 1))

    @property
    def test(self) -> Test:
        if self.documents <= MOST_ENUMERATED:
            return "exact"
        pairs = comb(len(self.names), 2)
        is_too_much = pairs > MOST_PAIRS or self.documents * pairs > MOST_FLIPPED
        return "t" if is_too_much else "permutation"


@on_one_thread
def rank_systems(
    systems: Sequence[str], tables: Sequence[ArrayLike], seed: int = 0
) -> list[SystemRanking | None]:
    """The ranking of each table (documents, systems); NaN: unscored; None without any score."""
    compared = [_compared(systems, np.asarray(table, dtype=np.float64)) for table in tables]
    drawn = [two.gaps for two in compared if two and two.test == "permutation"]
    permuted = iter(_permutation_ps(drawn, seed) if drawn else ())
    of_test: dict[Test, Callable[[Floats], Floats]] = {
        "exact": _exact_ps, "t": _t_ps, "permutation": lambda _: next(permuted)
    }  # fmt: skip
    return [_ranking(two, of_test[two.test](two.gaps)) if two else None for two in compared]


def _compared(systems: Sequence[str], table: Floats) -> _Compared | None:
    means = _estimate(table)
    most = np.argsort(-means.n, kind="stable")[:MOST_SYSTEMS]
    order = [int(i) for i in np.argsort(-means.mean, kind="stable") if means.n[i] and i in most]
    if not order:
        return None
    estimate = _Estimate(means.n[order], means.mean[order], means.spread[order])
    left_out = int(np.sum(means.n > 0)) - len(order)
    return _Compared([systems[i] for i in order], estimate, table[:, order], left_out)


def _estimate(table: Floats) -> _Estimate:
    present = np.isfinite(table)
    n = present.sum(axis=0).astype(np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(present, table, 0.0).sum(axis=0) / n
        squares = np.where(present, table - mean, 0.0) ** 2
        spread = np.sqrt(squares.sum(axis=0) / np.where(n > 1, n - 1, np.nan))
    spread = np.where(spread <= EQUAL * np.abs(mean), 0.0, spread)
    return _Estimate(n, mean, spread)


def _t_ps(gaps: Floats) -> Floats:
    estimate = _estimate(gaps)
    return two_sided(estimate.mean, estimate.error, estimate.n - 1)


def _exact_ps(gaps: Floats) -> Floats:
    """The first document keeps its sign: the other half of the choices mirrors these."""
    shown = _present(gaps)
    bits = np.arange(max(len(shown) - 1, 0))
    choices = np.arange(2**bits.size)

    def signs() -> Iterator[Floats]:
        for some in np.array_split(choices, -(-choices.size // _BLOCK)):
            flipped = 1.0 - 2.0 * (some[:, None] >> bits & 1)
            yield np.hstack([np.ones((some.size, len(shown) - bits.size)), flipped])

    return _times(shown, signs()) / choices.size


def _permutation_ps(gaps: Sequence[Floats], seed: int) -> list[Floats]:
    shown = _present(np.concatenate(gaps, axis=1))
    stream, both = np.random.default_rng(seed), np.array([-1.0, 1.0])
    sizes = [min(_BLOCK, PERMUTATIONS - start) for start in range(0, PERMUTATIONS, _BLOCK)]
    times = _times(shown, (stream.choice(both, size=(size, len(shown))) for size in sizes))
    ps = (1 + times) / (1 + PERMUTATIONS)
    return np.split(ps, np.cumsum([table.shape[1] for table in gaps])[:-1])


def _present(gaps: Floats) -> Floats:
    """The gaps without documents that have no pair; a single missing difference is 0."""
    return np.nan_to_num(gaps[np.isfinite(gaps).any(axis=1)])


def _times(gaps: Floats, signs: Iterator[Floats]) -> Floats:
    """How often each column's sum is at least as far from nothing as with its own signs."""
    least = np.abs(gaps.sum(axis=0)) - EQUAL * np.abs(gaps).sum(axis=0)
    times = np.zeros(gaps.shape[1])
    for some in signs:
        sums = some @ gaps
        times += (np.abs(sums, out=sums) >= least).sum(axis=0)
    return times


def _ranking(compared: _Compared, ps: Floats) -> SystemRanking:
    gaps, count = _estimate(compared.gaps), len(compared.names)
    is_tested = gaps.n > 1
    tested = max(int(is_tested.sum()), 1)
    adjusted = np.full(ps.shape, np.nan)
    adjusted[is_tested] = holm(ps[is_tested].tolist())
    apart = np.zeros((count, count), dtype=bool)
    apart[np.triu_indices(count, 1)] = adjusted < ALPHA
    rows = zip(
        compared.names, *_columns(compared.means.mean, *compared.means.interval()),
        map(int, compared.means.n), letters(apart | apart.T), strict=True,
    )  # fmt: skip
    return SystemRanking(
        systems=tuple(RankedSystem(*row) for row in rows),
        pairs=_pairs(compared, gaps, np.where(is_tested, ps, np.nan), adjusted, tested),
        documents=compared.documents,
        test=compared.test,
        told_apart=int(apart.sum()),
        spread=_median(gaps.spread),
        detectable=_median(_detectable(gaps, ALPHA)) or None,
        detectable_among_all=_median(_detectable(gaps, ALPHA / tested)) or None,
        alpha=ALPHA,
        power=POWER,
        left_out=compared.left_out,
    )


def _pairs(
    compared: _Compared, gaps: _Estimate, ps: Floats, adjusted: Floats, tested: int
) -> tuple[SystemPair, ...]:
    figures = _columns(gaps.mean, *gaps.interval(), ps, adjusted)
    needed = (
        np.maximum(documents_needed(gaps.mean, gaps.spread, alpha), _fewest(alpha)).tolist()
        for alpha in (ALPHA, ALPHA / tested)
    )
    counts = ([int(n) if isfinite(n) else None for n in of_alpha] for of_alpha in needed)
    rows = zip(combinations(compared.names, 2), *figures, map(int, gaps.n), *counts, strict=True)
    return tuple(SystemPair(*names, *others) for names, *others in rows)


def _fewest(alpha: float) -> int:
    """The documents of which LEAST_CHOICES are so few of all, either sign."""
    return ceil(1 + log2(LEAST_CHOICES / alpha))


def _detectable(gaps: _Estimate, alpha: float) -> Floats:
    return np.where(gaps.n >= _fewest(alpha), detectable(gaps.spread, gaps.n, alpha), np.nan)


def _median(values: Floats) -> float | None:
    defined = values[np.isfinite(values)]
    return float(np.median(defined)) if defined.size else None


def _columns(*columns: Floats) -> list[list[float | None]]:
    return [[v if isfinite(v) else None for v in column.tolist()] for column in columns]


def letters(apart: ArrayLike) -> list[str]:
    """`apart`: (items, items), whether two differ; items in the order they are shown in."""
    joined = ~np.asarray(apart, dtype=bool)
    np.fill_diagonal(joined, True)
    groups = sorted(_cliques(joined), key=lambda group: np.flatnonzero(group).tolist())
    named = [(_letter(number), group) for number, group in enumerate(groups)]
    return ["".join(name for name, group in named if group[i]) for i in range(len(joined))]


def _cliques(joined: Flags) -> Iterator[Flags]:
    """Every item, and every pair that is joined, is in one of them."""
    covered = np.zeros_like(joined)
    for left in range(len(joined)):
        for right in range(left, len(joined)):
            if joined[left, right] and not covered[left, right]:
                clique = _grown(joined, left, right)
                covered |= np.outer(clique, clique)
                yield clique


def _grown(joined: Flags, left: int, right: int) -> Flags:
    """The clique grown by those after `left`, then those before it, as long as all are joined."""
    fitting: Flags = joined[left] & joined[right]
    order = np.roll(np.arange(len(joined)), -left)
    for item in order:
        if fitting[item]:
            fitting = fitting & joined[item]
    return fitting


def _letter(number: int) -> str:
    """a to z, then a2 to z2: letters that are written together can still be read."""
    turn, place = divmod(number, len(ascii_lowercase))
    return ascii_lowercase[place] + (str(turn + 1) if turn else "")
