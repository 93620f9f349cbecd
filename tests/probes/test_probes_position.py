"""`evaljudge probe position`: votes by hand, what is refused, and the shared votes."""

import json
from collections.abc import Sequence
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from evaljudge.agreement.documents import Measured, multiplicities, percentiles
from evaljudge.cli.probe import studies_app
from evaljudge.probes.position import Vote, position, preferences, read_votes
from tests.build import refusal

SHARED = Path(__file__).parents[3] / "shared" / "data"


def vote(
    first: Any, second: Any, winner: Any, doc_id: str = "d", axis: str = "ease"
) -> dict[str, Any]:
    return {"doc_id": doc_id, "axis": axis, "first": first, "second": second, "winner": winner}


def written(folder: Path, rows: list[dict[str, Any]]) -> str:
    file = folder / "votes.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


@pytest.mark.parametrize("tie", [None, "", "tie"])
def test_ties_and_a_missing_axis(tmp_path, tie):
    row = vote("A", "B", tie)
    del row["axis"]
    (read,) = read_votes(written(tmp_path, [row]))
    assert (read.axis, read.winner) == ("*", None)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"doc_id": ""}, "votes.jsonl:1: needs `doc_id`"),
        ({"first": None}, "votes.jsonl:1: needs `first`"),
        ({"winner": "C"}, "votes.jsonl:1: the winner 'C' is neither 'A' nor 'B'"),
        ({"second": "A"}, "votes.jsonl:1: first and second are the same system, 'A'"),
    ],
)
def test_rows_that_are_no_votes(tmp_path, row, said):
    assert said in refusal(read_votes, written(tmp_path, [vote("A", "B", "A") | row]))


def test_odd_files_of_votes(tmp_path):
    rows = [vote(*numbers) for numbers in [(1, 2, 1), (2, 1, 1), (0, 2, 0), (1, 2, "2")]]
    read = read_votes(written(tmp_path, rows))
    assert [(vote.first, vote.second, vote.winner) for vote in read] == [
        ("1", "2", "1"), ("2", "1", "1"), ("0", "2", "0"), ("1", "2", "2")
    ]  # fmt: skip
    row = vote("A", "B", "A")
    del row["winner"]
    assert "needs `winner`: 'A', 'B' or 'tie'" in refusal(read_votes, written(tmp_path, [row]))
    assert "votes.jsonl: holds no vote" in refusal(read_votes, written(tmp_path, []))


def test_printed_and_written(tmp_path):
    file = written(tmp_path, [vote("A", "B", "A", f"d{n}") for n in range(5)])
    done = CliRunner().invoke(
        studies_app, ["position", "--votes", file, "--out", str(tmp_path / "o")]
    )
    assert done.exit_code == 0
    assert "1.000 [1.000, 1.000]" in done.output
    (row,) = json.loads((tmp_path / "o" / "position.json").read_text())
    assert row["first_wins"] == {"value": 1.0, "low": 1.0, "high": 1.0, "n": 5}
    assert row["flips"]["value"] is None
    assert (tmp_path / "o" / "position.svg").read_text().startswith("<?xml")


@pytest.mark.skipif(not SHARED.exists(), reason="the shared human judgements are not here")
def test_the_shared_votes():
    """Counted again with a loop over the file: a judge that likes the first on relevance."""
    path = SHARED / "summeval_pairwise_votes.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for found in position(path, resamples=200).rows:
        mine = [row for row in rows if row["axis"] == found.axis]
        decided = [row for row in mine if row["winner"] != "tie"]
        wins = sum(row["winner"] == row["first"] for row in decided)
        assert (found.n, found.ties) == (2200, 2200 - len(decided))
        assert found.first_wins.value == pytest.approx(wins / len(decided))
        by_order = {(row["doc_id"], row["first"], row["second"]): row["winner"] for row in mine}
        pairs = [key for key in by_order if key[1] < key[2]]
        flips = sum(by_order[d, a, b] != by_order[d, b, a] for d, a, b in pairs)
        assert (found.pairs, found.flips.value) == (1100, pytest.approx(flips / 1100))
        low, high = found.first_wins.low, found.first_wins.high
        assert low is not None and high is not None
        if found.axis == "relevance":
            assert 0.5 < low < found.first_wins.value < high < 0.7


def asked(document: int, pair: str, winners: str, axis: str = "fluency") -> list[Vote]:
    """`AB`, `A-`: shown as A B, A won; shown as B A, a tie."""
    first, second = pair
    shown = [(first, second), (second, first)][: len(winners)]
    return [
        Vote(document, axis, *order, winner=None if winner == "-" else winner)
        for order, winner in zip(shown, winners, strict=True)
    ]


def test_votes_by_hand():
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


def test_shares_of_nothing_and_of_repeated_asks():
    found = preferences([Vote(0, "x", "A", "B", None)])[0]
    nothing = Measured(None, None, None, 0)
    assert (found.first_wins, found.flips, found.first_decides) == (nothing,) * 3
    assert (found.p, found.pairs, found.ties) == (None, 0, 1)
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
def test_shares_and_intervals(seed):
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
