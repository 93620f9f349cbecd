"""Thresholds for a target precision: by hand, by loops, and what must hold of any."""

from collections.abc import Sequence
from math import isnan, nan

import numpy as np
import pytest

from evaljudge.agreement import Measured, precise
from evaljudge.agreement.calibration import lowest_threshold, precisions
from evaljudge.agreement.documents import folded, percentiles
from tests.fishers import redrawn

Row = tuple[int, float, float]


@pytest.mark.parametrize(
    ("target", "threshold"),
    # From the top: 1/1, 2/2, 3/3, 3/4, 3/5, 4/6.
    [(1, 0.6), (0.9, 0.6), (0.75, 0.5), (0.7, 0.5), (0.65, 0.1), (0.6, 0.1)],
)
def test_the_lowest_score_that_itself_reaches_the_target(target, threshold):
    scores, good = np.array([0.9, 0.5, 0.1, 0.8, 0.6, 0.2]), np.array([1, 0, 1, 1, 1, 0], bool)
    assert lowest_threshold(scores, good, target) == threshold


def test_equal_scores_are_selected_together():
    scores, good = np.array([0.9, 0.9, 0.5]), np.array([True, False, True])
    found = [column.tolist() for column in precisions(scores, good)]
    assert found == [[0.5, 0.9], [pytest.approx(2 / 3), 0.5]]
    assert lowest_threshold(scores, good, 0.6) == 0.5
    assert lowest_threshold(scores, good, 0.7) is None


DOCUMENTS = [0, 0, 0, 1, 1, 1]
SCORES = [0.9, 0.5, 0.1, 0.8, 0.6, 0.2]
RATINGS = [5, 1, 4, 4, 5, 1]


def test_where_no_threshold_serves():
    found = precise(DOCUMENTS, [1, 2, 2, 1, 3, 3], [5, 5, 1, 5, 5, 1], good=5, target=0.8)
    assert (found.threshold, found.thresholds) == (None, (None, None))
    assert found.best == pytest.approx(2 / 3)  # of all six; above 1, two of four
    assert found.selected.value == found.recall.value == 0
    assert (found.precision.value, found.precision.n) == (None, 0)
    found = precise(DOCUMENTS, SCORES, RATINGS, good=6, target=0.5)
    assert (found.base.value, found.best, found.threshold) == (0, 0, None)
    assert found.recall == Measured(None, None, None, n=0)
    assert precise([0, 0, 1], [1, 2, 3], [4, 5, nan], good=5, target=0.5) is None


def test_only_pairs_count():
    """An unscored good candidate, an unrated one, and a document without a pair."""
    more = ([*DOCUMENTS, 0, 1, 2, 2], [*SCORES, nan, 0.99, 0.99, nan], [*RATINGS, 5, nan, nan, 5])
    one = precise(DOCUMENTS, SCORES, RATINGS, good=4, target=0.75)
    assert precise(*more, good=4, target=0.75) == one


def by_loops(rows: Sequence[Row], fold: Sequence[int], good: float, target: float) -> set[int]:
    """The pairs that the thresholds of other folds select."""
    both = [i for i, (_, *two) in enumerate(rows) if not any(map(isnan, two))]
    chosen = set()
    for row in both:
        learned = [i for i in both if fold[i] != fold[row]]
        reaching = [
            rows[at][1]
            for at in learned
            if np.mean([rows[i][2] >= good for i in learned if rows[i][1] >= rows[at][1]]) >= target
        ]
        if reaching and rows[row][1] >= min(reaching):
            chosen.add(row)
    return chosen


def invented(seed: int) -> list[Row]:
    stream = np.random.default_rng(seed)
    documents = np.repeat(stream.permutation(11), 6)
    truth = stream.integers(1, 6, size=documents.size).astype(float)
    scores = np.round(truth + stream.normal(size=truth.size, scale=2), 0)
    scores[stream.random(truth.size) < 0.1] = nan
    truth[stream.random(truth.size) < 0.1] = nan
    return list(zip(documents.tolist(), scores.tolist(), truth.tolist(), strict=True))


@pytest.mark.parametrize("target", [0.5, 0.7, 0.95])
@pytest.mark.parametrize("seed", range(3))
def test_shares_and_their_intervals_by_loops(seed, target):
    rows = invented(seed)
    columns = tuple(zip(*rows, strict=True))
    found = precise(*columns, good=4, target=target, folds=4, resamples=50, seed=seed)
    dealt = folded(*columns, 4, seed)
    assert found is not None and dealt is not None
    chosen = by_loops(rows, dealt.fold[0].tolist(), 4, target)
    both = {i for i, (_, *two) in enumerate(rows) if not any(map(isnan, two))}
    good = {i for i in both if rows[i][2] >= 4}
    resampled = redrawn(columns[0], 50, seed)
    of = {
        "base": (good, both),
        "selected": (chosen, both),
        "precision": (chosen & good, chosen),
        "recall": (chosen & good, good),
    }
    for name, (some, whole) in of.items():
        share = getattr(found, name)
        assert share.n == len(whole)
        assert share.value == (pytest.approx(len(some) / len(whole)) if whole else None)
        values = []
        for drawn in resampled:
            above, below = (sum(row in part for row in drawn) for part in (some, whole))
            values.append(above / below if below else nan)
        expected = percentiles(np.array(values)) if whole else (None, None)
        assert (share.low, share.high) == pytest.approx(expected)
