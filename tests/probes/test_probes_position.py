"""`evaljudge probe position`: votes by hand, what is refused, and the shared votes."""

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from evaljudge.cli.probe import studies_app
from evaljudge.errors import UserError
from evaljudge.probes.position import position, read_votes

SHARED = Path(__file__).parents[3] / "shared" / "data"


def vote(
    first: Any, second: Any, winner: Any, doc_id: str = "d", axis: str = "ease"
) -> dict[str, Any]:
    return {"doc_id": doc_id, "axis": axis, "first": first, "second": second, "winner": winner}


def written(folder: Path, rows: list[dict[str, Any]]) -> str:
    file = folder / "votes.jsonl"
    file.write_text("\n".join(map(json.dumps, rows)))
    return str(file)


def test_by_hand(tmp_path: Path) -> None:
    """Three pairs in both orders: A wins twice; whatever is first wins; a win becomes a tie."""
    rows = [
        vote("A", "B", "A"), vote("B", "A", "A"),
        vote("A", "C", "A"), vote("C", "A", "C"),
        vote("B", "C", "C"), vote("C", "B", "tie"),
    ]  # fmt: skip
    (found,) = position(written(tmp_path, rows), resamples=10).rows
    assert (found.axis, found.n, found.ties, found.pairs) == ("ease", 6, 1, 3)
    assert found.first_wins.value == pytest.approx(3 / 5)
    assert found.flips.value == pytest.approx(2 / 3)
    assert (found.first_twice, found.second_twice) == (1, 0)


@pytest.mark.parametrize("tie", [None, "", "tie"])
def test_ties_and_a_missing_axis(tmp_path: Path, tie: Any) -> None:
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
def test_rows_that_are_no_votes(tmp_path: Path, row: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=said):
        read_votes(written(tmp_path, [vote("A", "B", "A") | row]))


def test_systems_may_be_numbers(tmp_path: Path) -> None:
    rows = [vote(*numbers) for numbers in [(1, 2, 1), (2, 1, 1), (0, 2, 0), (1, 2, "2")]]
    read = read_votes(written(tmp_path, rows))
    assert [(vote.first, vote.second, vote.winner) for vote in read] == [
        ("1", "2", "1"), ("2", "1", "1"), ("0", "2", "0"), ("1", "2", "2")
    ]  # fmt: skip


def test_a_row_without_winner_and_a_file_without_votes(tmp_path: Path) -> None:
    row = vote("A", "B", "A")
    del row["winner"]
    with pytest.raises(UserError, match="needs `winner`: 'A', 'B' or 'tie'"):
        read_votes(written(tmp_path, [row]))
    with pytest.raises(UserError, match=r"votes.jsonl: holds no vote"):
        read_votes(written(tmp_path, []))


def test_printed_and_written(tmp_path: Path) -> None:
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
def test_the_shared_votes() -> None:
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
