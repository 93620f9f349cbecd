"""Position preference: votes counted by hand, by loops, and those of a real judge."""

import json
from collections.abc import Sequence
from math import comb, nan
from pathlib import Path

import numpy as np
import pytest

from evaljudge.agreement.documents import Measured, multiplicities, percentiles
from evaljudge.agreement.preference import Preference, Vote, preferences

VOTES = Path(__file__).parents[2].parent / "shared" / "data" / "summeval_pairwise_votes.jsonl"


def asked(document: int, pair: str, winners: str, axis: str = "fluency") -> list[Vote]:
    """`AB`, `A-`: shown as A B, A won; shown as B A, a tie."""
    first, second = pair
    shown = [(first, second), (second, first)][: len(winners)]
    return [
        Vote(document, axis, *order, winner=None if winner == "-" else winner)
        for order, winner in zip(shown, winners, strict=True)
    ]


def test_by_hand() -> None:
    votes = [
        *asked(0, "AB", "AB"),  # the first, twice
        *asked(0, "CD", "CC"),  # C, wherever it stood
        *asked(1, "AB", "BA"),  # the second, twice
        *asked(1, "CD", "C-"),  # C, and a tie
        *asked(1, "AC", "--"),
        *asked(1, "AD", "A"),  # in one order only
        *asked(2, "AB", "AB"),
    ]
    (found,) = preferences(votes)
    assert (found.axis, found.n, found.ties, found.pairs) == ("fluency", 13, 3, 6)
    assert (found.first_wins.value, found.first_wins.n) == (7 / 10, 10)
    assert (found.flips.value, found.flips.n) == (4 / 6, 6)
    assert (found.first_twice, found.second_twice) == (2, 1)
    assert (found.first_decides.value, found.first_decides.n) == (2 / 3, 3)
    assert found.p == 1.0


@pytest.mark.parametrize(("first", "second"), [(5, 0), (4, 1), (1, 4), (3, 3), (7, 2)])
def test_p_is_that_of_a_fair_coin(first: int, second: int) -> None:
    votes = [
        vote
        for document, winners in enumerate(["AB"] * first + ["BA"] * second)
        for vote in asked(document, "AB", winners)
    ]
    n = first + second
    chances = [comb(n, k) / 2**n for k in range(n + 1)]
    expected = sum(chance for chance in chances if chance <= chances[first] * (1 + 1e-9))
    assert preferences(votes)[0].p == pytest.approx(expected)


def test_of_nothing_there_is_no_share() -> None:
    found = preferences([Vote(0, "x", "A", "B", None)])[0]
    nothing = Measured(None, None, None, 0)
    assert (found.first_wins, found.flips, found.first_decides) == (nothing,) * 3
    assert (found.p, found.pairs, found.ties) == (None, 0, 1)


def test_repeated_asks_pair_up_in_turn() -> None:
    votes = [*asked(0, "AB", "AB"), *asked(0, "AB", "AA"), *asked(0, "AB", "A")]
    found = preferences(votes)[0]
    assert (found.n, found.pairs, found.first_twice, found.flips.value) == (5, 2, 1, 0.5)


def random_votes(seed: int) -> list[Vote]:
    stream = np.random.default_rng(seed)
    votes = []
    for document in range(6):
        for pair in ("AB", "AC", "BC")[: stream.integers(1, 4)]:
            size = int(stream.integers(1, 3))
            winners = "".join(stream.choice([pair[0], pair[1], "-"], p=[0.5, 0.3, 0.2], size=size))
            votes += asked(document * 3, pair, winners)
    return [votes[place] for place in stream.permutation(len(votes))]


def shares(votes: Sequence[Vote]) -> dict[str, float]:
    decided = [vote for vote in votes if vote.winner is not None]
    both = [
        (one, other)
        for i, one in enumerate(votes)
        for other in votes[:i]
        if (one.document, one.first, one.second) == (other.document, other.second, other.first)
    ]
    swayed = [
        one.winner == one.first
        for one, other in both
        if one.winner and other.winner and one.winner != other.winner
    ]
    held = {
        "first_wins": [vote.winner == vote.first for vote in decided],
        "flips": [one.winner != other.winner for one, other in both],
        "first_decides": swayed,
    }
    return {name: float(np.mean(found)) if found else nan for name, found in held.items()}


@pytest.mark.parametrize("seed", range(8))
def test_shares_and_intervals(seed: int) -> None:
    votes = random_votes(seed)
    (found,) = preferences(votes, resamples=80, seed=5)
    values = shares(votes)
    (drawn,) = multiplicities(6, 80, seed=5, block=80)
    resampled = [shares(redrawn(votes, weights)) for weights in drawn]
    for name, expected in values.items():
        share = getattr(found, name)
        assert share.value == pytest.approx(expected)
        expected_interval = percentiles(np.array([one[name] for one in resampled]))
        assert (share.low, share.high) == pytest.approx(expected_interval)


def redrawn(votes: Sequence[Vote], weights: Sequence[float]) -> list[Vote]:
    return [
        Vote(document * 100 + copy, vote.axis, vote.first, vote.second, vote.winner)
        for document, times in enumerate(weights)
        for copy in range(int(times))
        for vote in votes
        if vote.document == document * 3
    ]


@pytest.mark.parametrize(("second", "winner"), [("B", "C"), ("A", "A")])
def test_votes_that_are_none(second: str, winner: str) -> None:
    with pytest.raises(ValueError, match="one of two systems"):
        Vote(0, "fluency", "A", second, winner)


@pytest.fixture(scope="module")
def judged() -> dict[str, Preference]:
    if not VOTES.is_file():
        pytest.skip(f"no votes at {VOTES}")
    codes: dict[str, int] = {}
    votes = []
    for line in VOTES.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        winner = None if row["winner"] == "tie" else row["winner"]
        code = codes.setdefault(row["doc_id"], len(codes))
        votes.append(Vote(code, row["axis"], row["first"], row["second"], winner))
    return {one.axis: one for one in preferences(votes)}


def test_every_pair_of_the_real_judge_was_asked_in_both_orders(
    judged: dict[str, Preference],
) -> None:
    assert {(one.n, one.pairs) for one in judged.values()} == {(2200, 1100)}


@pytest.mark.parametrize(
    ("axis", "first_wins", "flips", "twice"),
    [
        ("coherence", 0.521, 0.356, (203, 162)),
        ("consistency", 0.402, 0.356, (74, 277)),
        ("fluency", 0.483, 0.363, (164, 204)),
        ("relevance", 0.577, 0.331, (242, 82)),
    ],
)
def test_the_real_judge(
    judged: dict[str, Preference],
    axis: str,
    first_wins: float,
    flips: float,
    twice: tuple[int, int],
) -> None:
    found = judged[axis]
    assert found.first_wins.value == pytest.approx(first_wins, abs=0.001)
    assert found.flips.value == pytest.approx(flips, abs=0.001)
    assert (found.first_twice, found.second_twice) == twice
