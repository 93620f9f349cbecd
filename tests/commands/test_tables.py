"""`evaljudge export RUN scores|verdicts`: the tables of Python, as files that other tools read."""

import csv
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import evaljudge
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from tests.build import command, config, document, jsonl, lines


@pytest.mark.parametrize("form", ["tsv", "jsonl", "list", "frame", "arrow"])
def test_scores_stand_beside_rows_of_each_form(tmp_path, capsys, form):
    """In the order of these rows, though ids are numbers there, and null where a row is new."""
    rows = [
        {"doc_id": n, "source": f"s {n}", "system": s, "text": "w " * (n + 1) + s, "url": "ü"}
        for n in range(3) for s in "AB"
    ]  # fmt: skip
    forms = {"frame": pd.DataFrame, "arrow": pa.Table.from_pylist, "list": list}

    def given(rows: list[dict[str, Any]]) -> Any:
        if form == "tsv":
            pd.DataFrame(rows).to_csv(tmp_path / "own.tsv", sep="\t", index=False)
            return str(tmp_path / "own.tsv")
        return forms[form](rows) if form in forms else jsonl(tmp_path / "own.jsonl", rows)

    settings = {"out": str(tmp_path / "run"), "judges": {}, "metrics": ["words"]}
    made = evaljudge.run(settings | {"corpus": given(rows)}, progress=False)
    mixed = [rows[0] | {"text": "new"}, *rows[:0:-1], rows[0] | {"text": ""}]
    table = made.texts(beside=(own := given(mixed)))
    assert table.column_names == ["words", "unscored"]
    assert table["words"].to_pylist() == [None, 4, 4, 3, 3, 2, None]
    if form == "frame":
        assert pd.concat([own, table.to_pandas()], axis=1)["words"][1:6].tolist() == [4, 4, 3, 3, 2]
    if form == "frame":
        some = own[own["system"] == "B"]
        joined = some.join(made.texts(beside=some).to_pandas())
        assert joined["words"].tolist() == [4, 3, 2]
        with pytest.raises(UserError, match="beside: takes a file that ends in .csv, .tsv or"):
            evaljudge.export(made, "csv", tmp_path / "to.csv", beside=own)
    if form == "tsv":
        to = str(tmp_path / "beside.tsv")
        command(capsys, "export", made.out, "csv", "--to", to, "--beside", own)
        read = [line.split("\t") for line in Path(to).read_text("utf-8-sig").splitlines()]
        assert read[0][4:] == ["url", "words", "unscored"]
        assert [cells[5] for cells in read[1:]] == ["", "4.0", "4.0", "3.0", "3.0", "2.0", ""]
        said = command(capsys, "export", made.out, "csv", "--to", "a.csv", "--beside", own, code=2)
        assert "a.csv: should end in .tsv" in said[1]
    if form == "jsonl":
        first, *others = Path(own).read_bytes().splitlines(keepends=True)
        odd = first.replace(b"{", b'{"n": 12345678901234567890.123, "odd": "\\ud800", ', 1)
        Path(own).write_bytes(odd + b"\n" + b"".join(others))
        beside = ["export", made.out, "csv", "--to", str(tmp_path / "to.jsonl"), "--beside", own]
        command(capsys, *beside)
        written = (tmp_path / "to.jsonl").read_bytes().splitlines()
        assert written[0] == odd.strip()[:-1] + b', "words": null, "unscored": null}'
        assert [json.loads(line)["words"] for line in written[1:-1]] == [4, 4, 3, 3, 2]
    if form != "tsv":
        renamed = [{"article": row.pop("source"), **row} for row in map(dict, rows)]
        corpus = {"path": renamed, "columns": {"article": "source"}}
        few = evaljudge.run(settings | {"corpus": corpus}, limit=1, progress=False)
        assert few.texts(beside=given(renamed))["words"].to_pylist() == [2, 2, *[None] * 4]
    nested = [{"doc_id": 0, "source": "s 0", "candidates": rows[:2]}]
    assert made.texts(beside=nested).to_pylist() == [
        {"A: words": 2, "A: unscored": "", "B: words": 2, "B: unscored": ""}
    ]


@pytest.fixture(scope="module")
def done(tmp_path_factory):
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


def test_scores_in_each_form(done, tmp_path, capsys):
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


def test_verdicts_have_the_judges_own_columns(done, tmp_path, capsys):
    export(capsys, done, "verdicts", tmp_path / "v.jsonl", "--judge", "synthetic")
    first = json.loads((tmp_path / "v.jsonl").read_text().splitlines()[0])
    assert {level["rating"] for level in first["levels"]} == {1.0, 5.0}


def test_a_table_for_spreadsheets_has_no_formula(tmp_path, capsys):
    """In each place that a stranger can fill, a formula is a text, whatever separates cells."""
    formulas = ["=1+1", "+1+1", "-1+1", "@SUM(1)", "\t=1+1", "a;=1+1", "a\n=1+1", "'=1+1", "＝1+1"]
    rows = [
        {"doc_id": f"{one} {n}", "source": one, "candidates": [
            {"system": one, "text": one, "ratings": {"=1+1": 4}}]}
        for n, one in enumerate(formulas)
    ]  # fmt: skip
    jsonl(tmp_path / "cases.jsonl", rows)
    made = evaljudge.run(
        config(tmp_path, judges={"geval": {}}, metrics=["words"], axes=["fluency"]),
        engines=ScriptedEngines(),
        progress=False,
    )
    to = tmp_path / "texts.csv"
    said, _ = command(capsys, "export", made.out, "csv", "--to", str(to))
    assert said == f"9 rows: {to}\n"
    content = to.read_text(encoding="utf-8-sig")
    read = list(csv.reader(content.splitlines()))
    assert read[0] == ["doc_id", "system", "geval.fluency", "words", "human.=1+1",
                       "unscored", "text", "source"]  # fmt: skip
    assert len(read) == 10 and all(row[4] == "4.0" for row in read[1:])
    for cells in (read, csv.reader(content.splitlines(), delimiter=";")):
        for cell in (cell for row in cells for cell in row):
            assert not cell.startswith(tuple("=+-@\t＝"))
    if office := shutil.which("soffice"):
        as_read = "CSV:44/59,34,76,1,,0,false,true,false,false,false,-1"  # commas or semicolons
        how = ["--convert-to", "fods", "--outdir", str(tmp_path), f"--infilter={as_read}"]
        profile = f"-env:UserInstallation=file://{tmp_path}/profile"
        subprocess.run([office, "--headless", profile, *how, str(to)], check=True, timeout=120)
        opened = (tmp_path / "texts.fods").read_text()
        assert opened.count("1+1") > len(formulas) and "table:formula" not in opened


def test_scores_stand_beside_a_table_with_a_column_for_each_system(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table = "id,article,x_output,y_output\n1,It rained.,Rain,\n2,The sun shone.,Sun shone,The sun\n"
    Path("wide.csv").write_text(table)
    command(capsys, "init", "--corpus", "wide.csv", "--task", "summary", "--model", "none",
            "--out", "out", "--to", "c.yaml")  # fmt: skip
    command(capsys, "run", "c.yaml", "--set", "metrics=[words]", "--set", "coverage_floor=0")
    command(capsys, "export", "out", "csv", "--to", "to.csv", "--beside", "wide.csv")
    heads, *rows = Path("to.csv").read_text("utf-8-sig").splitlines()
    assert heads.endswith("x: words,x: unscored,y: words,y: unscored")
    added = [["1.0", "", "", "words: empty text"], ["2.0", "", "2.0", ""]]
    assert [row.split(",")[4:] for row in rows] == added
    first, *others = table.splitlines()
    Path("wide.csv").write_text("\n".join([first, *others[::-1]]))  # sorted in another way
    said = command(
        capsys, "export", "out", "csv", "--to", "to.csv", "--beside", "wide.csv", "--force"
    )
    assert said[0] == "2 rows: to.csv; 2 are no texts of the run, and without scores\n"


def test_scores_stand_beside_the_users_own_rows(tmp_path, capsys):
    """No value of theirs is changed, also of rows that the run skipped, and a text that is another
    by now has no scores; texts are met by what the run called them, here `text 1` and `text 2`."""
    own = [
        ["Länge", "Frage", "Antwort", "words", "tone_r1", "tone_r2"],
        ["1.000", "Where?", "=Here; now", "x", "4,5", "3"],
        ["", "Who?", "Two\nlines", "y", "5", "1"],
        ["2", "Where?", "There it is", "", "four", "2"],
        ["3", "Where?", "There it is not", " z ", "4", "-"],
    ]
    table = tmp_path / "own.csv"

    def write() -> None:
        with table.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file, delimiter=";").writerows(own)

    write()
    columns = {"Frage": "source", "Antwort": "text"}
    columns |= {f"tone_r{n}": "ratings.tone" for n in (1, 2)}
    given = {"corpus": {"path": str(table), "columns": columns}, "bad_rows": "skip"}
    given |= {"out": str(tmp_path / "run"), "judges": {}, "metrics": ["words"]}
    made = evaljudge.run(given | {"workers": {"executor": "local"}}, progress=False)
    own[2][2] = "Now three words"
    write()
    to = tmp_path / "beside.csv"
    beside = ["export", made.out, "csv", "--to", str(to), "--beside"]
    assert command(capsys, *beside, str(table))[0] == (
        f"4 rows: {to}; 2 are no texts of the run, and without scores\n"
    )
    with to.open(encoding="utf-8-sig", newline="") as file:
        read = list(csv.reader(file, delimiter=";"))
    assert [row[:6] for row in read] == own
    added = [["words (evaljudge)", "human.tone", "unscored"],
             ["2,0", "3,75", ""], [""] * 3, [""] * 3, ["4,0", "4,0", ""]]  # fmt: skip
    assert [row[6:] for row in read] == added
    other = tmp_path / "other.csv"
    not_it = f"{other}: {made.out} has read another table ({table}): "
    for content, why in {
        "Frage,Antwort,tone_r1,tone_r2\nWhy?,So,1,2\n": "no row is a text of the run\n",
        "Frage,answer\nWhy?,So\n": "corpus.columns.Antwort: unknown column 'Antwort'",
    }.items():
        other.write_text(content)
        assert f"{not_it}{why}" in command(capsys, *beside, str(other), "--force", code=2)[1]
    said = command(capsys, *beside, str(tmp_path / "own.parquet"), "--force", code=2)[1]
    assert "--beside: takes a file that ends in .csv, .tsv or .jsonl, with csv (of nested" in said
    assert to.read_text(encoding="utf-8-sig").startswith("Länge;Frage;")  # the last one stays
    before = to.read_bytes()
    table.write_bytes(table.read_bytes().decode().encode("utf-16"))
    command(capsys, *beside, str(table), "--force")
    assert to.read_bytes() == before


def test_records_of_every_eval_ever(done, tmp_path, capsys):
    said, _ = command(capsys, "export", done.out, "eee", "--to", str(tmp_path / "data"))
    assert said == f"2 records of Every Eval Ever 0.3.0: {tmp_path / 'data'}\n"
    files = sorted((tmp_path / "data").glob("*/unknown/*/*.json"))
    first, _ = map(json.loads, (file.read_text() for file in files))
    assert first["model_info"]["name"] == files[0].parent.name == "A"
    assert first["evaluation_id"].startswith("/".join(files[0].parts[-4:-1]))
    by_id = {row["evaluation_result_id"]: row for row in first["evaluation_results"]}
    synthetic = by_id["fluency/synthetic"]
    values = [row["value"] for row in done.scores().to_pylist()
              if (row["system"], row["scorer"]) == ("A", "synthetic")]  # fmt: skip
    assert synthetic["score_details"]["score"] == pytest.approx(sum(values) / len(values))
    assert synthetic["score_details"]["uncertainty"]["num_samples"] == len(values)
    judges = synthetic["metric_config"]["llm_scoring"]["judges"]
    assert [judge["model_info"]["name"] for judge in judges] == [done.findings.model]
    assert "llm_scoring" not in by_id["all axes/words"]["metric_config"]
    assert "fluency/people" in by_id
    again = {file: file.read_bytes() for file in files}
    command(capsys, "export", done.out, "eee", "--to", str(tmp_path / "data"), "--force")
    assert {file: file.read_bytes() for file in (tmp_path / "data").rglob("*.json")} == again


@pytest.mark.parametrize("what", ["scores", "verdicts", "csv", "references", "eee", "asks"])
def test_a_file_that_is_there_is_replaced_by_force_alone(done, tmp_path, capsys, what):
    config = tmp_path / "config.json"
    asked = {"corpus": str(Path(done.out).parent / "cases.jsonl"), "out": str(tmp_path / "o")}
    config.write_text(json.dumps(asked | {"model": "m", "judges": {"direct": {}}}))
    to = str(tmp_path / ("data" if what == "eee" else "theirs.csv"))
    words = [str(config) if what == "asks" else done.out, what, "--to", to]
    words += ["--judge", "geval"] if what == "verdicts" else []
    command(capsys, "export", *words, "--force")
    theirs = next(Path(to).rglob("*.json"), Path(to))
    theirs.write_text("mine")
    said = "is there already: choose another file by --to, or --force"
    assert said in command(capsys, "export", *words, code=2)[1]
    assert theirs.read_text() == "mine"
    command(capsys, "export", *words, "--force")
    assert theirs.read_text() != "mine"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("scores", "--to", "s.txt"), "s.txt: should end in .parquet, .jsonl or .csv"),
        (("csv", "--to", "s.xlsx"), "s.xlsx: should end in .csv"),
        (
            ("scores", "--to", "s.csv", "--judge", "geval"),
            "--judge: goes with entities or verdicts",
        ),
        (("verdicts", "--to", "v.csv"), "differ, with `--judge NAME` (Python: `judge=NAME`): "),
        (("verdict", "--to", "v.csv"), "did you mean 'verdicts'?"),
    ],
)
def test_what_cannot_be_exported_is_one_line(done, capsys, words, said):
    assert said in command(capsys, "export", done.out, *words, code=2)[1]
