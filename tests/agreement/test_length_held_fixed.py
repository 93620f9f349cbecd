"""Agreement with length held fixed: another implementation's numbers, and judges of length."""

import numpy as np
import pytest
from numpy.typing import NDArray

from evaljudge.agreement.held import LengthHeld, held_fixed

Floats = NDArray[np.float64]
TEXTS = range(24)
DOCUMENTS = [i % 4 for i in TEXTS]
SCORES = [(i * i * 7 + i * 3) % 11 + i // 6 for i in TEXTS]
HUMAN = [((i * i * 7 + i * 3) % 11 + (i * 5) % 7) // 3 for i in TEXTS]
LENGTHS = [20 + (i * 13) % 17 + ((i * i * 7 + i * 3) % 11) // 2 for i in TEXTS]
# pingouin 0.7.0: partial_corr(x="s", y="h", covar="l", method="spearman") of all texts, and of the
# texts of each document; and pandas' Spearman correlations of all texts.
OF_ALL = 0.720628
OF_DOCUMENTS = [0.6978234443828149, 0.7287481391073946, 0.6488003216752788, 0.04794633014853833]
SPEARMAN = 0.734273, 0.212575, 0.232234


def test_is_that_of_pingouin():
    sample, summary = held_fixed(DOCUMENTS, SCORES, HUMAN, LENGTHS)
    assert sample.value == pytest.approx(np.mean(OF_DOCUMENTS), abs=1e-12)
    assert (sample.n, sample.in_order) == (4, 0)
    assert summary.value == pytest.approx(OF_ALL, abs=1e-6)
    found = summary.spearman, summary.with_length, summary.people_with_length
    assert found == pytest.approx(SPEARMAN, abs=1e-6)
    assert summary.n == len(TEXTS)


def drawn(rng: np.random.Generator, *, quality: float, documents: int = 40) -> list[Floats]:
    """Eight texts a document: people like length and quality; the judge, length and `quality`."""
    shape = documents, 8
    likes, good = rng.normal(size=shape) + rng.normal(size=(documents, 1)), rng.normal(size=shape)
    human = np.rint(likes + good + 0.5 * rng.normal(size=shape))
    scores = likes + quality * good + 0.5 * rng.normal(size=shape)
    which = np.repeat(np.arange(documents), 8)
    return [which, scores.ravel(), human.ravel(), np.rint(50 * np.exp(likes / 3)).ravel()]


def both(columns: list[Floats]) -> tuple[LengthHeld, LengthHeld]:
    return held_fixed(*columns)


def test_judges_of_length_are_seen_through_and_of_quality_are_not():
    sample, summary = both(drawn(np.random.default_rng(0), quality=0, documents=400))
    for found in (sample, summary):
        assert found.spearman is not None and found.spearman > 0.5
        assert found.value is not None and found.value < found.spearman / 5
    assert summary.low is not None and summary.low < 0 < (summary.high or 0)
    for found in both(drawn(np.random.default_rng(0), quality=1)):
        assert found.value is not None and found.low is not None
        assert found.value > 0.5 and found.low > 0.4
    documents, _, human, lengths = drawn(np.random.default_rng(0), quality=0)
    sample, summary = held_fixed(documents, -lengths, human, lengths)
    assert (sample.value, sample.low, sample.n, sample.in_order) == (None, None, 0, 40)
    assert (summary.value, summary.low, summary.n, summary.in_order) == (None, None, 0, 1)
    assert summary.with_length == pytest.approx(-1)


def test_intervals_of_few_documents_hold_the_truth():
    rng = np.random.default_rng(1)
    truth = both(drawn(rng, quality=0.7, documents=4000))
    found = [both(drawn(rng, quality=0.7, documents=10)) for _ in range(200)]
    for level, true in enumerate(truth):
        assert true.value is not None
        kept = sum(
            one[level].low <= true.value <= one[level].high  # type: ignore[operator]
            for one in found
        )
        assert 180 <= kept <= 199  # of 200: 190 at 95%, within 3.2 standard errors


def test_the_order_of_rows_does_not_matter_and_rows_that_lack_a_number_do_not_count():
    columns = drawn(np.random.default_rng(2), quality=1)
    order = np.random.default_rng(3).permutation(columns[0].size)
    expected, found = both(columns), both([column[order] for column in columns])
    for one, other in zip(expected, found, strict=True):
        assert (one.value, one.low) == pytest.approx((other.value, other.low))
    lacking = [np.append(columns[0], [0, 1])]
    lacking += [np.append(column, [np.nan, 1.0]) for column in columns[1:3]]
    lacking += [np.append(columns[3], [1.0, np.nan])]
    assert both(lacking) == expected


def test_too_little_has_no_value():
    for found in held_fixed([0, 0, 0], [1, 2, 3], [1, 3, 2], [2, 1, 3]):
        assert (found.value, found.low, found.n) == (None, None, 0)
    one_document = held_fixed([0] * 6, [1, 2, 3, 4, 5, 6], [1, 3, 2, 5, 4, 6], [2, 6, 3, 1, 5, 4])
    for found in one_document:
        assert found.value is not None and (found.low, found.high) == (None, None)
