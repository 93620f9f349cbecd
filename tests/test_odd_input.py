"""Whatever a configuration or a corpus holds: a right result, or one clear line of a UserError."""

import datetime
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import evaljudge
from evaljudge.analysis.mixes import INFINITE, mix_of
from evaljudge.config import load_config
from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.prompts import Pack
from evaljudge.runs.job import make_job
from evaljudge.storage import Place, claimed
from evaljudge.viewer.labels import LabelSheet
from tests.build import refusal

BASE = {"corpus": "c.jsonl", "out": "out", "model": "m", "judges": "{direct: {}}"}
KEYS = """
    corpus: V
    corpus: {path: V}
    corpus: {path: c, columns: {a: V}}
    out: V
    briefs: V
    task: V
    axes: V
    prompts: V
    model: V
    model: {source: m, revision: V}
    model: {source: m, chat: {x: V}}
    model: {source: m, engine: {x: V}}
    model: {source: m, engine: {tensor_parallel_size: V}}
    judges: V
    judges: {synthetic: V}
    judges: {synthetic: {levels: V}}
    judges: {synthetic: {temperature: V}}
    metrics: V
    metrics: {rouge1: {against: V}}
    mixes: {x: V}
    workers: {cpus: V}
    select: V
    select: [{name: x, all: [{scorer: direct, axis: fluency, at_least: V}]}]
    seed: V
    view: V
    of_judges: V
""".strip().splitlines()
DEEP = 3000
VALUES = {
    "itself": "&a [*a]", "itself in a mapping": "&a {x: *a}", "deep": "[" * DEEP + "]" * DEEP,
    "deep mappings": "{a: " * DEEP + "1" + "}" * DEEP, "null": "null", "date": "2024-01-31",
    "no such date": "2024-13-45", "a time": "2024-01-31 10:00:00", "set": "!!set {a, b}",
    "binary": "!!binary aGVsbG8=", "not binary": "!!binary /w==", "pairs": "!!omap [a: 1]",
    "object": "!!python/object:os.system x", "wrong tag": "!!int x", "nan": ".nan", "inf": ".inf",
    "beyond 64 bits": "9223372036854775808",
    "huge": "1" + "0" * 400, "too many digits": "1" * 5000, "huge exponent": "1e400", "minus": "-1",
    "true": "true", "no text": "''", "NUL": r'"a\0b"', "surrogate": r'"\ud800"', "list": "[a, b]",
    "control": r'"\e[2J"', "nested list": "[[a], [b]]", "list of mappings": "[{a: 1}]",
    "list of null": "[null]", "mapping": "{a: 1}", "numbers as keys": "{1: 2}",
    "null as a key": "{null: 1}", "a list as a key": "{? [1, 2] : 3}", "merged": "{<<: {a: 1}}",
    "wrongly merged": "{<<: 3}", "long": "x" * 5000, "variable": "'${HOME}/x'", "unclosed": "[",
    "billion laughs": "[&a [x, x, x, x], &b [*a, *a, *a, *a], &c [*b, *b, *b, *b], "
        "&d [*c, *c, *c, *c], &e [*d, *d, *d, *d], &f [*e, *e, *e, *e], [*f, *f, *f, *f]]",
}  # fmt: skip


SLOW = ("deep", "deep mappings", "billion laughs")
"""Kinds whose refusal takes hundredths of a second: tried with some keys only."""


@pytest.mark.parametrize("kind", VALUES)
def test_any_value_of_any_key(kind, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for line in KEYS[:: 50 if kind in SLOW else 1]:
        own = line.strip().replace("V", VALUES[kind])
        rest = {key: value for key, value in BASE.items() if not own.startswith(f"{key}:")}
        Path("c.yaml").write_text("\n".join([own, *(f"{key}: {v}" for key, v in rest.items())]))
        said = _refusal("c.yaml")
        assert "\n" not in said, line
        assert len(said) < 600 or kind == "long", line


def _refusal(file: str) -> str:
    """What the command would say; any other exception is a bug. An OSError is printed as it is."""
    try:
        make_job(load_config(file), ScriptedEngines())
    except (UserError, OSError) as error:
        return str(error)
    return ""


def test_configurations_that_are_odd(tmp_path):
    (file := tmp_path / "c.yaml").write_bytes("out: é".encode("utf-16"))
    assert "c.yaml: not UTF-8: save it as UTF-8" in refusal(load_config, file)
    config = load_config(
        {"corpus": "c", "out": "o", "model": "m"}, ["model.chat.date_string=2024-07-26"]
    )
    assert config.model.chat == {"date_string": "2024-07-26"}
    assert "nested too deep" in refusal(load_config, {}, [f"{'a.' * 2000}b=1"])


@pytest.mark.parametrize("value", [datetime.date(2024, 1, 1), {"a"}, b"a", object()])
def test_a_mapping_of_python_holds_what_a_file_can_hold(value):
    given = {"corpus": "c", "out": "o", "model": {"source": "m", "chat": {"x": [value]}}}
    with pytest.raises(UserError, match=r"^model\.chat\.x\.0: a \w+ is no value here"):
        load_config(given)


def test_mistakes_in_settings_and_selections_are_told_at_once():
    rule = {"scorer": "words", "axis": "fluency", "at_least": 1}
    config = load_config(
        {"corpus": "c", "out": "o", "model": "m", "judges": {"synthetic": {"levls": 3}},
         "metrics": ["words"], "select": [{"name": "x", "all": [rule, rule | {"scorer": "?"}]}]}
    )  # fmt: skip
    line = refusal(make_job, config, ScriptedEngines())
    assert line.startswith("2 mistakes: judges.synthetic: unknown key 'levls'")
    # whether `?` is a scorer is not known as long as a judge is not
    assert "select.x: words has one score for all axes" in line
    assert "'?'" not in line


@pytest.mark.parametrize("path", ["a\0b", "a\ud800", "s3://b/\0"])
def test_a_path_that_no_file_can_have(path):
    assert "a path cannot have a NUL" in refusal(Place, path)


def a_link_as_claim(folder: Path) -> None:
    (folder / "target").write_text("precious")
    (folder / ".claim").symlink_to(folder / "target")
    try:
        with claimed(str(folder)):
            pass
    finally:
        assert (folder / "target").read_text() == "precious"


def a_pipe_as_claim(folder: Path) -> None:
    os.mkfifo(folder / ".claim")
    with claimed(str(folder)):
        pass


def a_claim_that_is_not_utf8(folder: Path) -> None:
    with claimed(str(folder)):
        (folder / ".claim").write_bytes(b"\xff")
        with claimed(str(folder)):
            pass


def a_pipe_as_corpus(folder: Path) -> None:
    os.mkfifo(folder / "c.jsonl")
    with open_corpus(CorpusSource(str(folder / "c.jsonl"))):
        pass


def a_name_that_is_not_utf8(folder: Path) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/\xff.jsonl")).write_text("{}")
    with open_corpus(CorpusSource(str(folder))):
        pass


def a_date_beyond_python_s(folder: Path) -> None:
    dates = pa.array([10**15, 0], pa.timestamp("s"))
    rows = {"doc_id": dates, "source": ["S"] * 2, "system": ["A"] * 2, "text": ["T"] * 2}
    pq.write_table(pa.table(rows), folder / "c.parquet")
    with open_corpus(CorpusSource(str(folder / "c.parquet"))):
        pass


def a_sheet_that_is_gone(folder: Path) -> None:
    (file := folder / "s.jsonl").write_text('{"label": "ab", "text": "T", "fluency": null}')
    sheet = LabelSheet.open(str(file), "anna")
    file.unlink()
    sheet.rate("ab", {"fluency": 3}, {})


def template(text: str, more: Mapping[str, str] | None = None) -> Callable[[Path], object]:
    pack = Pack({"a": text} | dict(more or {}))
    return lambda folder: pack.check("a", ["source"])


END = "{% endfor %}"
CHAIN = {f"t{n}": f"{{% include 't{n + 1}' %}}" for n in range(3000)}
REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "a link as .claim": (a_link_as_claim, "/.claim: is a link"),
    "a pipe as .claim": (a_pipe_as_claim, "/.claim: is a pipe"),
    "a .claim that is not UTF-8": (a_claim_that_is_not_utf8, "at work there (\ufffd)"),
    "a pipe as a corpus": (a_pipe_as_corpus, "/c.jsonl: is a pipe"),
    "a file's name": (a_name_that_is_not_utf8, "a name that is not UTF-8 (\ufffd.jsonl)"),
    "a date": (a_date_beyond_python_s, "c.parquet: not readable as Parquet ("),
    "a sheet that is gone": (a_sheet_that_is_gone, "/s.jsonl: no such file"),
    "a macro of itself": (
        template("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"), "nested too deep"
    ),
    "deep loops": (template("{% for a in 'x' %}" * 50 + END * 50), "nested too deep"),
    "deep conditions": (template("{% if 1 %}" * 5000 + "{% endif %}" * 5000), "nested too deep"),
    "deep brackets": (template("{{" + "(" * 3000 + "1" + ")" * 3000 + "}}"), "nested too deep"),
    "a deep chain": (template("{% include 't0' %}", CHAIN), "nested too deep"),
    "a long text": (template("{{ 'a' * 10**15 }}"), "becomes too long"),
}  # fmt: skip


@pytest.mark.parametrize("kind", REFUSED)
def test_what_hung_or_left_a_traceback_is_refused_in_a_line(kind, tmp_path):
    work, said = REFUSED[kind]
    assert said in refusal(work, tmp_path)


def test_a_mix_that_is_no_finite_number_is_unscored(tmp_path):
    row = {"doc_id": "d", "source": "S", "candidates": [{"system": "A", "text": "A flood came."}]}
    (tmp_path / "c.jsonl").write_text(json.dumps(row))
    outcome = evaljudge.run(
        {"corpus": str(tmp_path / "c.jsonl"), "out": str(tmp_path / "out"), "model": "m",
         "axes": ["fluency"], "judges": {"direct": {}}, "metrics": ["words"], "coverage_floor": 0,
         "mixes": {"large": "1e308*words + 1e308*words"},
         "workers": {"executor": "local"}}, engines=ScriptedEngines(),
    )  # fmt: skip
    reasons = {row.scorer: row.reasons for row in outcome.findings.coverage}
    assert reasons["large"] == {INFINITE: 1}
    assert np.isnan(mix_of("1e308*a + 1e308*a", ["a"]).of({"a": np.array([3.0])})).all()


HEAD, ROW = "doc_id,source,system,text,ratings.ease\n", "d,The river rose.,A,A flood.,4\n"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('doc_id,"source"x\n', "cases.csv:1: its header is not CSV"),
        (HEAD + ROW.replace("4", '"4,5"'), "'4,5' has a comma: write 4.5, or separate the table"),
        ((HEAD + ROW).encode("utf-16") + b"\0", "cases.csv: cannot be read ('utf-16-le' codec"),
        (HEAD.replace("ease", "né").encode("latin-1"), "-8: save the table so (in Excel: File"),
        (b"PAR1\x15\x00\x04", "this is a Parquet file: let its name end in .parquet"),
        (b"\x1f\x8b\x08\x00", "this is a gzip file: let its name end in .gz"),
        (b"PK\x03\x04\x14\0", "a zip file or a spreadsheet: save it as CSV (in Excel: File > "),
        (HEAD.upper() + ROW, "columns: {DOC_ID: doc_id, SOURCE: source, SYSTEM: system, TEXT:"),
        (HEAD.replace("ratings.ease", "text") + ROW, "two columns are read as 'text': give one"),
        (HEAD + "d,s,A,t\n", "cases.csv:2: 4 cells under a header of 5"),
    ],
)  # fmt: skip
def test_a_table_of_another_form(tmp_path, content, said):
    file = tmp_path / "cases.csv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError) as refused, open_corpus(CorpusSource(str(file))):
        pass
    assert said in str(refused.value)


@pytest.mark.parametrize("coding", ["utf-16", "utf-16-be"])
def test_a_table_in_utf_16_is_read(tmp_path, coding):
    """As Excel saves "Unicode text"."""
    mark = "" if coding == "utf-16" else "\ufeff"
    content = mark + (HEAD + ROW).replace(",", "\t").replace("river", "Fluß")
    (tmp_path / "c.tsv").write_bytes(content.encode(coding))
    with open_corpus(CorpusSource(str(tmp_path / "c.tsv"))) as corpus:
        (case,) = corpus
    assert (case.document.source, case.candidates[0].ratings) == ("The Fluß rose.", {"ease": 4})


def test_blank_lines_before_a_header(tmp_path):
    (tmp_path / "c.csv").write_text(f"\n\n{HEAD}{ROW}")
    with open_corpus(CorpusSource(str(tmp_path / "c.csv"))) as corpus:
        assert (corpus.cases, corpus.rated) == (1, 1)
