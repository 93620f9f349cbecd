"""Which files a corpus is."""

import gzip
import json
from pathlib import Path

import pytest

from evaljudge.errors import UserError

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
ENDINGS = (
    ".jsonl, .ndjson, .json, .jsonl.gz, .ndjson.gz, .json.gz, .csv, .csv.gz, .parquet"  # as said
)


def row(doc_id):
    return {"doc_id": doc_id, "source": "s", "system": "A", "text": "t"}


@pytest.fixture
def folder(lines, tmp_path):
    lines(row("1"), name="b.jsonl")
    lines(row("2"), name="a.JSON")
    lines(row("3"), name="c.ndjson")
    (tmp_path / "README.md").write_text("no corpus")
    (tmp_path / "d.csv").write_text("doc_id,source,system,text\n4,s,A,t\n")
    return tmp_path


def ids(corpus):
    return [case.document.doc_id for case in corpus.cases]


def test_a_folder_gives_all_its_readable_files_by_name(read, folder):
    assert ids(read(folder)) == ["2", "1", "3", "4"]


def test_globs_and_several_paths_take_no_file_twice(read, folder):
    assert ids(read(f"{folder}/*.*json*")) == ["1", "3"]
    assert ids(read((f"{folder}/c.ndjson", f"{folder}/*", f"{folder}/b.jsonl"))) == list("3214")
    assert ids(read([f"{folder}/d.csv"])) == ["4"]


def test_a_relative_path(read, folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert ids(read("b.jsonl")) == ids(read("./b.jsonl")) == ids(read("b.*")) == ["1"]


@pytest.mark.parametrize("name", ["c.jsonl.gz", "c.ndjson.gz", "c.json.gz", "c.csv.gz"])
def test_packed_files_are_unpacked(read, tmp_path, name):
    lines = "".join(json.dumps(row(n)) + "\n" for n in range(3))
    table = "doc_id,source,system,text\n" + "".join(f"{n},s,A,t\n" for n in range(3))
    content = table if ".csv" in name else lines
    half = len(content) // 2
    packed = gzip.compress(content[:half].encode()) + gzip.compress(content[half:].encode())
    (tmp_path / name).write_bytes(packed)
    assert ids(read(tmp_path / name)) == ["0", "1", "2"]


@pytest.mark.parametrize("cut", [5, -12])
def test_a_packed_file_cut_short_is_the_users_mistake_even_when_skipping(read, tmp_path, cut):
    packed = gzip.compress(b"".join(json.dumps(row(n)).encode() + b"\n" for n in range(3)))
    (tmp_path / "c.jsonl.gz").write_bytes(packed[:cut])
    with pytest.raises(UserError, match=r"c\.jsonl\.gz: cannot be read \("):
        read(tmp_path / "c.jsonl.gz", "skip")


def test_a_name_in_gz_that_is_not_packed(read, lines):
    with pytest.raises(UserError, match=r"c\.jsonl\.gz: cannot be read \(Not a gzipped file"):
        read(lines(row("1"), name="c.jsonl.gz"))


def test_unknown_endings_are_answered_with_the_known(read, folder):
    with pytest.raises(UserError) as raised:
        read(folder / "README.md")
    assert str(raised.value) == (f"{folder}/README.md: unknown ending; the known are {ENDINGS}")


@pytest.mark.parametrize("path", ["", "/*.md", "/*.nothing"])
def test_a_folder_or_glob_without_a_corpus_file(read, tmp_path, path):
    (tmp_path / "notes.md").write_text("no corpus")
    with pytest.raises(UserError) as raised:
        read(f"{tmp_path}{path}")
    assert str(raised.value) == f"{tmp_path}{path}: no file here ends in one of {ENDINGS}"


def test_a_configuration_and_a_pattern_for_folders_are_no_corpus(read, tmp_path):
    (tmp_path / "c.yaml").write_text("corpus: texts.csv")
    with pytest.raises(
        UserError, match=r"c\.yaml: unknown .* \(a configuration\? Name its corpus\)"
    ):
        read(tmp_path / "c.yaml")
    with pytest.raises(UserError, match=r"\(a pattern works in the last part of a path only\)"):
        read(f"{tmp_path}/*/scores")


def test_a_file_that_is_not_there(read, tmp_path):
    with pytest.raises(UserError, match=r"missing\.jsonl: no such file"):
        read(tmp_path / "missing.jsonl")


@pytest.mark.parametrize(
    ("name", "cases", "systems"),
    [("summeval", 100, 16), ("newsroom", 60, 7), ("topicalchat", 60, 6), ("hanna", 48, 11)],
)
def test_published_human_judgements(read, name, cases, systems):
    path = SHARED / f"{name}.jsonl"
    if not path.exists():
        pytest.skip(f"{path} is not here")
    got = read(path)
    assert [len(case.candidates) for case in got.cases] == [systems] * cases
    assert (got.rated, got.skipped_rows) == (cases * systems, 0)
    first = json.loads(path.read_text().splitlines()[0])
    document = got.cases[0].document
    assert (document.doc_id, document.source) == (first["doc_id"], first["source"])
    assert list(document.references) == first.get("references", [])
    assert document.context == first.get("context")
    assert got.cases[0].candidates[0].ratings == first["candidates"][0]["ratings"]
