"""Against loops written from the definitions, which build every list without some documents."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import isfinite, lcm, nan, sqrt

import numpy as np
import pytest
from scipy import stats

from evaljudge.agreement import COEFFICIENTS, Agreement, agreements, comparisons
from evaljudge.agreement import documents as over_documents
from evaljudge.agreement.documents import Estimates
from evaljudge.agreement.levels import sample_level, system_level
from evaljudge.agreement.pairs import PairTable, table_of, tables
from evaljudge.agreement.summary import summary_level
from tests.fishers import bounds

Number = float | int
ONE = 10**4 * lcm(*range(1, 101))
"""Numbers are counted in parts so small that decimals, and means of a hundred, are whole: exact,
so that ties are ties, and quick."""
Row = tuple[int, int, float, float]  # document, system, score, human


def pearson(x: Sequence[Number], y: Sequence[Number]) -> float:
    if len(set(x)) < 2 or len(set(y)) < 2:
        return nan
    dx = [float(value) - float(sum(x)) / len(x) for value in x]
    dy = [float(value) - float(sum(y)) / len(y) for value in y]
    products = sum(a * b for a, b in zip(dx, dy, strict=True))
    return products / sqrt(sum(a * a for a in dx)) / sqrt(sum(b * b for b in dy))


def spearman(x: Sequence[Number], y: Sequence[Number]) -> float:
    return pearson(mid_ranks(x), mid_ranks(y))


def mid_ranks(x: Sequence[Number]) -> list[float]:
    return [sum(b < a for b in x) + (sum(b == a for b in x) + 1) / 2 for a in x]


def orders(x: Sequence[Number], epsilon: Number = 0) -> list[int]:
    """Of every two, 1 or -1 where they are further apart than epsilon, else 0."""
    pairs = [(x[i], x[j]) for i in range(len(x)) for j in range(i)]
    return [0 if abs(a - b) <= epsilon else 1 if a > b else -1 for a, b in pairs]


def balance(x: Sequence[Number], y: Sequence[Number]) -> int:
    return sum(a * b for a, b in zip(orders(x), orders(y), strict=True))


def kendall(x: Sequence[Number], y: Sequence[Number]) -> float:
    untied = sum(map(abs, orders(x))) * sum(map(abs, orders(y)))
    return balance(x, y) / sqrt(untied) if untied else nan


def kendall_c(x: Sequence[Number], y: Sequence[Number]) -> float:
    distinct = min(len(set(x)), len(set(y)))
    return 2 * balance(x, y) / (len(x) ** 2 * (distinct - 1) / distinct) if distinct > 1 else nan


def accuracy(x: Sequence[Number], y: Sequence[Number], epsilon: Number) -> Fraction | None:
    agreed = [a == b for a, b in zip(orders(x, epsilon), orders(y), strict=True)]
    return Fraction(sum(agreed), len(agreed)) if agreed else None


CORRELATE: dict[str, Callable[[Sequence[Number], Sequence[Number]], float]] = {
    "spearman": spearman,
    "kendall": kendall,
    "pearson": pearson,
    "kendall_c": kendall_c,
}


def statistic(level: str, coefficient: str, rows: Sequence[Row], epsilon: Number = 0) -> float:
    """Of rows that are all pairs."""
    if coefficient == "accuracy":
        return float(mean_accuracy(level, rows, epsilon))
    found = [CORRELATE[coefficient](x, y) for x, y in lists(level, rows)]
    defined = [value for value in found if isfinite(value)]
    return sum(defined) / len(defined) if defined else nan


def mean_accuracy(level: str, rows: Sequence[Row], epsilon: Number) -> Fraction | float:
    found = [accuracy(x, y, epsilon) for x, y in lists(level, rows)]
    defined = [value for value in found if value is not None]
    return sum(defined, Fraction(0)) / len(defined) if defined else nan


def best_epsilon(level: str, rows: Sequence[Row]) -> Number:
    """Of all distances there are, the smallest that none beats."""
    epsilons = {abs(a - b) for x, _ in lists(level, rows) for a in x for b in x} | {0}
    return max(sorted(epsilons), key=lambda epsilon: mean_accuracy(level, rows, epsilon))


def lists(level: str, rows: Sequence[Row]) -> Iterator[tuple[list[Number], list[Number]]]:
    if level == "summary":
        yield [exact(row[2]) for row in rows], [exact(row[3]) for row in rows]
    elif level == "system":
        systems = sorted({row[1] for row in rows})
        x, y = ([exact_mean(rows, system, side) for system in systems] for side in (2, 3))
        yield [*x], [*y]
    else:
        for document in sorted({row[0] for row in rows}):
            own = [row for row in rows if row[0] == document]
            yield [exact(row[2]) for row in own], [exact(row[3]) for row in own]


@cache
def exact(value: float) -> int:
    """The decimals as printed, so that what a reader would call ties are ties."""
    return whole(Fraction(str(value)) * ONE)


def exact_mean(rows: Sequence[Row], system: int, side: int) -> int:
    values = [exact(row[side]) for row in rows if row[1] == system]
    return whole(Fraction(sum(values), len(values)))


def whole(value: Fraction) -> int:
    assert value.denominator == 1
    return value.numerator


def interval(
    level: str, coefficient: str, rows: Sequence[Row], epsilon: Number = 0, most: int = 200
) -> tuple[float | None, float | None]:
    """Student's t over documents: of their own statistics, or the jackknife's by its textbook."""
    value, documents = statistic(level, coefficient, rows, epsilon), sorted({r[0] for r in rows})
    if level == "sample":
        each = [statistic(level, coefficient, [r for r in rows if r[0] == d], epsilon)
                for d in documents]  # fmt: skip
        own = [one for one in each if isfinite(one)]
        error = float(stats.sem(own)) if len(own) > 1 else nan
    else:
        most = min(most, 10) if level == "system" else most
        hands = [documents[start::most] for start in range(min(most, len(documents)))]
        without = [
            statistic(level, coefficient, [r for r in rows if r[0] not in hand], epsilon)
            for hand in hands
        ]
        own = [one for one in without if isfinite(one)]
        enough = len(own) > 1 and 2 * len(own) >= len(hands)
        error = sqrt((len(own) - 1) * np.var(own)) if enough else nan
    if not isfinite(value) or not isfinite(error):
        return None, None
    least = 0.0 if coefficient == "accuracy" else -1.0
    if error < 1e-9 and level == "sample":  # none of so many documents differs
        others = float(stats.binomtest(0, len(own)).proportion_ci().high)
        return value - others * (value - least), value + others * (1 - value)
    return bounds(level, value, error, len(own), least) if error >= 1e-9 else (None, None)


def ragged_rows(seed: int) -> list[Row]:
    """Ties, gaps, and one to six candidates a document, of which a system may have several."""
    stream = np.random.default_rng(seed)
    rows: list[Row] = []
    for document in range(int(stream.integers(2, 10))):
        for system in stream.choice(6, size=stream.integers(1, 7)):
            human = float(stream.choice([1.0, 2.0, 2.3333, 3.6667, 4.0]))
            score = round(human / 10 + float(stream.choice([-0.1, 0.0, 0.1, 0.4])), 4)
            lost = stream.random(2) < 0.1
            cells = (nan if lost[0] else score, nan if lost[1] else human)
            rows.append((document * 7, int(system) + 3, *cells))
    return [rows[index] for index in stream.permutation(len(rows))]


def pairs_of(rows: Sequence[Row]) -> list[Row]:
    return [row for row in rows if isfinite(row[2]) and isfinite(row[3])]


def estimates(pairs: PairTable) -> tuple[Estimates, ...]:
    return sample_level(pairs), system_level(pairs), summary_level(pairs, 0)


def check(found: Agreement, rows: Sequence[Row]) -> None:
    """`rows`: pairs."""
    level, coefficient = found.level, found.coefficient
    epsilon = best_epsilon(level, rows) if coefficient == "accuracy" else 0
    value = nan if found.value is None else found.value
    expected = statistic(level, coefficient, rows, epsilon)
    assert value == pytest.approx(expected, abs=1e-9, nan_ok=True), found
    ends = interval(level, coefficient, rows, epsilon)
    assert (found.low, found.high) == pytest.approx(ends, abs=1e-8), found
    if coefficient == "accuracy" and found.value is not None:
        assert found.epsilon == pytest.approx(epsilon / ONE, rel=1e-6)
    else:
        assert found.epsilon is None


@pytest.mark.parametrize("seed", range(40))
def test_values_and_intervals(seed):
    rows = ragged_rows(seed)
    for found in agreements(*zip(*rows, strict=True)):
        check(found, pairs_of(rows))


def test_documents_of_a_group_are_left_out_together():
    rows = pairs_of(ragged_rows(7))
    table = table_of(*zip(*rows, strict=True))
    grouped = replace(table, groups=np.arange(table.document_count) % 4)
    for found in estimates(grouped)[1:]:
        for place, coefficient in enumerate(COEFFICIENTS):
            epsilon = best_epsilon(found.level, rows) if coefficient == "accuracy" else 0
            expected = interval(found.level, coefficient, rows, epsilon, most=4)
            least = 0.0 if coefficient == "accuracy" else -1.0
            value, parts = found.values[0, place], found.parts[0, place]
            given = over_documents.interval(value, parts, found.level, least=least)
            assert given == pytest.approx(expected)


@pytest.mark.long
def test_above_200_documents_there_are_200_groups_and_ten_at_system_level():
    stream = np.random.default_rng(0)
    rows = [(d, s, round(s / 9 + x, 2), float(stream.integers(1, 6)))
            for d in range(205) for s, x in enumerate(stream.normal(size=2).tolist())]  # fmt: skip
    for found in agreements(*zip(*rows, strict=True), coefficients=["pearson"]):
        check(found, rows)


@pytest.mark.parametrize("seed", range(4))
def test_many_comparisons_at_once_are_those_of_one(seed):
    """Of columns with and without gaps, and of ratings with ratings; each against the loops."""
    rows = ragged_rows(seed)
    documents, systems, gappy, human = zip(*rows, strict=True)
    stream = np.random.default_rng(seed)
    full, other = (stream.integers(1, size, len(rows)).astype(float) for size in (5, 90))
    columns = [gappy, human, full, other, np.where(np.isnan(gappy), np.nan, other)]
    compared = [(0, 1), (2, 1), (2, 3), (3, 2), (4, 1), (1, 4)]
    found = comparisons(documents, systems, columns, compared)
    for (one, two), agreed in zip(compared, found, strict=True):
        own = list(zip(documents, systems, columns[one], columns[two], strict=True))
        for agreement in agreed:
            check(agreement, pairs_of(own))


def test_few_comparisons_at_a_time_find_the_same():
    documents, systems, scores, human = zip(*pairs_of(ragged_rows(1)), strict=True)
    columns = [scores, human, [-2 * score for score in scores]]
    compared = [(0, 1), (2, 1), (0, 2), (2, 0)]
    ((_, table),) = tables(documents, systems, columns, compared)
    whole = [level.values for level in estimates(table)]
    parts = [estimates(table.of(part)) for part in ([0], [1, 2, 3])]
    for level, values in enumerate(whole):
        found = np.concatenate([part[level].values for part in parts])
        np.testing.assert_array_equal(found, values)


def test_many_candidates_of_a_document_and_many_systems():
    stream = np.random.default_rng(4)
    rows = [
        (document, int(system), float(stream.integers(30)), float(stream.integers(5)))
        for document, size in enumerate([260, 270, 2, 260])
        for system in stream.permutation(420)[:size]
    ]
    pairs = table_of(*zip(*rows, strict=True))
    for estimate in estimates(pairs)[:2]:
        # In single precision; the next distance is further off.
        epsilon = estimate.epsilons[0] * 2 ** pairs.exponents[0] * (1 + 1e-6) * ONE
        for coefficient, found in zip(COEFFICIENTS, estimate.values[0], strict=True):
            expected = statistic(estimate.level, coefficient, rows, epsilon)
            assert found == pytest.approx(expected, abs=1e-9)


def test_one_candidate_agrees_with_nobody():
    for one in agreements([0], [0], [1.0], [2.0]):
        assert (one.value, one.low, one.high, one.epsilon) == (None, None, None, None), one
