"""Dawid and Skene's model: by hand, by loops, on votes drawn from known confusions, and by laws."""

from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike, NDArray

from evaljudge.agreement import dawid_skene

Table = list[list[int]]

# The first two voters agree throughout; the third is right every second time.
TINY = [[0, 0, 0], [0, 0, 1], [1, 1, 1], [1, 1, 0]]


def test_one_step_by_hand():
    found = dawid_skene(TINY, 2, smoothing=1, most_steps=1)
    # The majority is 0 0 1 1. Of two items each, with one vote added per cell: 3/4 and 1/4 for
    # the two, 2/4 for the third.
    good, idle = [[3 / 4, 1 / 4], [1 / 4, 3 / 4]], [[1 / 2, 1 / 2], [1 / 2, 1 / 2]]
    np.testing.assert_allclose(found.confusions, [good, good, idle])
    np.testing.assert_allclose(found.shares, [1 / 2, 1 / 2])
    # An item with 0 0 and any third vote: 9/16 to 1/16.
    expected = [[0.9, 0.1], [0.9, 0.1], [0.1, 0.9], [0.1, 0.9]]
    np.testing.assert_allclose(found.posterior, expected)
    log_likelihood = 4 * log(1 / 2 * 1 / 2 * (9 / 16 + 1 / 16))
    prior = 4 * log(3 / 4) + 4 * log(1 / 4) + 4 * log(1 / 2) + 2 * log(1 / 2)
    np.testing.assert_allclose(found.log_posteriors, [log_likelihood + prior])
    assert (found.log_posteriors.size, found.converged, found.identified) == (1, False, True)


def by_loops(votes: Table, labels: int, smoothing: float, steps: int) -> list[list[float]]:
    """The posterior after so many steps, with probabilities as they are."""
    voters = len(votes[0])
    used = [k for k in range(labels) if any(k in item for item in votes)]
    posterior = []
    for item in votes:
        most = max(item.count(k) for k in used)
        tied = [k for k in used if item.count(k) == most]
        posterior.append([1 / len(tied) if k in tied else 0.0 for k in range(labels)])
    for _ in range(steps):
        kept = [i for i, item in enumerate(votes) if any(vote >= 0 for vote in item)]
        share = {
            k: (sum(posterior[i][k] for i in kept) + smoothing)
            / (len(kept) + len(used) * smoothing)
            for k in used
        }
        chance = {}
        for v in range(voters):
            for k in used:
                told = [i for i in kept if votes[i][v] >= 0]
                of_label = sum(posterior[i][k] for i in told) + labels * smoothing
                for g in range(labels):
                    times = sum(posterior[i][k] for i in told if votes[i][v] == g)
                    chance[v, k, g] = (times + smoothing) / of_label
        for i, item in enumerate(votes):
            joint = [0.0] * labels
            for k in used:
                joint[k] = share[k]
                for v, vote in enumerate(item):
                    joint[k] *= chance[v, k, vote] if vote >= 0 else 1.0
            posterior[i] = [one / sum(joint) for one in joint]
    return posterior


def random_votes(seed: int) -> tuple[Table, int]:
    stream = np.random.default_rng(seed)
    items, voters, labels = (int(stream.integers(*ends)) for ends in ((4, 30), (3, 6), (2, 5)))
    truth = stream.integers(0, labels, size=(items, 1))
    shape = (items, voters)
    table = np.where(stream.random(shape) < 0.6, truth, stream.integers(0, labels, size=shape))
    table[stream.random(shape) < 0.25] = -1
    table[0] = 0  # one item at least has enough votes
    return [[int(vote) for vote in item] for item in table], labels


@pytest.mark.parametrize("steps", [1, 7])
@pytest.mark.parametrize("seed", range(12))
def test_loops_find_the_same(seed, steps):
    votes, labels = random_votes(seed)
    found = dawid_skene(votes, labels, smoothing=0.3, tolerance=-1, most_steps=steps)
    assert found.log_posteriors.size == steps
    np.testing.assert_allclose(
        found.posterior, by_loops(votes, labels, 0.3, steps), rtol=1e-8, atol=1e-12
    )


def drawn(
    confusions: Sequence[ArrayLike], shares: Sequence[float], items: int, seed: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """True labels, and the votes of voters who err as told."""
    stream = np.random.default_rng(seed)
    truth = stream.choice(len(shares), size=items, p=shares)
    columns = []
    for confusion in confusions:
        upto = np.cumsum(np.asarray(confusion, dtype=float), axis=1)[truth]
        columns.append((stream.random(items)[:, None] > upto).sum(axis=1))
    return truth, np.stack(columns, axis=1)


SHARP = [[0.9, 0.07, 0.03], [0.1, 0.8, 0.1], [0.05, 0.05, 0.9]]
LENIENT = [[0.95, 0.04, 0.01], [0.5, 0.45, 0.05], [0.2, 0.2, 0.6]]
TURNED = [[0.05, 0.9, 0.05], [0.05, 0.05, 0.9], [0.9, 0.05, 0.05]]
SHARES = [0.5, 0.2, 0.3]


def test_a_voter_who_is_always_wrong_is_read_the_other_way_round():
    truth, votes = drawn([SHARP, SHARP, TURNED], SHARES, items=2000, seed=2)
    found = dawid_skene(votes, 3)
    np.testing.assert_allclose(found.confusions[2], TURNED, atol=0.06)
    # Where the two others differ, 1 against 2, the third's 2 says that it is 1.
    torn = (votes == [1, 2, 2]).all(axis=1)
    assert torn.sum() > 5
    assert (found.posterior[torn, 1] > 0.8).all()
    pooled = dawid_skene(votes, 3, most_steps=0).posterior
    right = [np.mean(p.argmax(axis=1) == truth) for p in (found.posterior, pooled)]
    assert right[0] > right[1] + 0.02


def test_one_voter_is_believed_and_two_are_told_apart_by_nothing():
    found = dawid_skene([[0], [2], [2], [-1]], 3, smoothing=0.1)
    assert (found.identified, found.log_posteriors.size, found.converged) == (False, 0, False)
    expected = [[1, 0, 0], [0, 0, 1], [0, 0, 1], [0.5, 0, 0.5]]
    np.testing.assert_array_equal(found.posterior, expected)
    np.testing.assert_allclose(found.shares, [1.1 / 3.2, 0, 2.1 / 3.2])
    np.testing.assert_allclose(found.confusions[0, 2], [0.1 / 2.3, 0.1 / 2.3, 2.1 / 2.3])
    found = dawid_skene([[0, 0], [0, 1], [1, 1]], 2)
    assert not found.identified
    np.testing.assert_array_equal(found.posterior, [[1, 0], [0.5, 0.5], [0, 1]])


@pytest.mark.parametrize("times", [1, 2, 50])
def test_all_agree(times):
    votes = [[k] * 3 for k in (0, 1, 3)] * times
    found = dawid_skene(votes, 4)
    assert found.converged
    assert found.posterior.argmax(axis=1).tolist() == [0, 1, 3] * times
    assert found.posterior.max(axis=1).min() > 0.95
    # Nobody says 2 of anything.
    assert (found.posterior[:, 2] == 0).all()
    assert found.shares[2] == 0


@given(st.integers(0, 10**6), st.sampled_from([0.01, 0.1, 1.0]))
def test_no_step_makes_the_votes_less_likely(seed, smoothing):
    votes, labels = random_votes(seed)
    found = dawid_skene(votes, labels, smoothing=smoothing, most_steps=60)
    assert found.log_posteriors.size > 1
    assert np.diff(found.log_posteriors).min() >= -1e-9
    np.testing.assert_allclose(found.posterior.sum(axis=1), 1)
    np.testing.assert_allclose(found.confusions.sum(axis=2), 1)
    assert found.shares.sum() == pytest.approx(1)


# counts


def by_patterns(votes: NDArray[np.intp]) -> tuple[NDArray[np.intp], ...]:
    """The distinct rows, which of them each row is, and how often each occurs."""
    rows, which, counts = np.unique(votes, axis=0, return_inverse=True, return_counts=True)
    return rows, which.reshape(-1), counts


@pytest.mark.parametrize("tolerance", [1e-4, 1e-9])
@pytest.mark.parametrize("seed", range(6))
def test_counts_are_as_if_the_rows_were_repeated(seed, tolerance):
    _, votes = drawn([SHARP, SHARP, LENIENT], SHARES, items=500, seed=seed)
    votes[np.random.default_rng(seed).random(votes.shape) < 0.2] = -1  # some items have no vote
    rows, which, counts = by_patterns(votes)
    assert (rows[0] == -1).all()
    assert counts.max() > 5
    repeated = dawid_skene(votes, 3, tolerance=tolerance)
    found = dawid_skene(rows, 3, counts, tolerance=tolerance)
    assert (found.log_posteriors.size, found.converged, found.identified) == (
        repeated.log_posteriors.size,
        True,
        True,
    )
    near = {"rtol": 1e-9, "atol": 1e-9}
    np.testing.assert_allclose(found.posterior[which], repeated.posterior, **near)
    np.testing.assert_allclose(found.confusions, repeated.confusions, **near)
    np.testing.assert_allclose(found.shares, repeated.shares, **near)
    np.testing.assert_allclose(found.log_posteriors, repeated.log_posteriors, **near)
