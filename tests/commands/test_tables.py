"""`evaljudge export RUN scores|verdicts`: the tables of Python, as files that other tools read."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import evaljudge
from evaljudge.engines.scripted import ScriptedEngines
from tests.build import command, config, document, jsonl, lines


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> evaljudge.Outcome:
    """Of several shards and two judges."""
    folder = tmp_path_factory.mktemp("tables")
    jsonl(folder / "cases.jsonl", (document(n, fluency=1.0 + n % 4) for n in range(5)))
    judges = {"synthetic": {"levels": 2}, "geval": {}}
    given = config(folder, judges=judges, metrics=["words"])
    return evaljudge.run(given, engines=ScriptedEngines(), progress=False)


def export(
    capsys: pytest.CaptureFixture[str], done: evaljudge.Outcome, what: str, to: Path, *more: str
) -> None:
    rows = done.scores() if what == "scores" else done.verdicts("synthetic")
    said, _ = command(capsys, "export", done.out, what, "--to", str(to), *more)
    assert said == f"{rows.num_rows} rows: {to}\n"


def test_scores_in_each_form(
    done: evaljudge.Outcome, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for ending in ("parquet", "jsonl", "csv"):
        export(capsys, done, "scores", tmp_path / f"scores.{ending}")
    rows = done.scores().to_pylist(maps_as_pydicts="lossy")
    assert pq.read_table(tmp_path / "scores.parquet").to_pylist(maps_as_pydicts="lossy") == rows
    assert lines(tmp_path / "scores.jsonl") == rows
    with (tmp_path / "scores.csv").open() as file:
        read = list(csv.DictReader(file))
    assert [row["signature"] for row in read] == [row["signature"] for row in rows]
    assert [float(row["value"]) for row in read] == [row["value"] for row in rows]
    assert "ratings" not in read[0]


def test_verdicts_have_the_judges_own_columns(
    done: evaljudge.Outcome, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(capsys, done, "verdicts", tmp_path / "v.jsonl", "--judge", "synthetic")
    first = json.loads((tmp_path / "v.jsonl").read_text().splitlines()[0])
    assert {level["rating"] for level in first["levels"]} == {1.0, 5.0}


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scores", "--to", "s.txt"), "s.txt: should end in .parquet, .jsonl or .csv"),
        (("scores", "--to", "s.csv", "--judge", "geval"), "--judge: the scores of all scorers"),
        (("verdicts", "--to", "v.csv"), "name one of the run's judges"),
        (("verdict", "--to", "v.csv"), "did you mean 'verdicts'?"),
    ],
)
def test_what_cannot_be_exported_is_one_line(
    done: evaljudge.Outcome, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str
) -> None:
    assert said in command(capsys, "export", done.out, *words, code=2)[1]
