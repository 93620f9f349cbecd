"""Which files a corpus is, what a row may be, and what is made of it."""

import gzip
import json

import pytest

from evaljudge.errors import UserError
from evaljudge.records import Candidate, Case, Document
from tests.build import SHARED, needs_shared

ROW = {"doc_id": "d1", "source": "The river rose.", "system": "A", "text": "A flood."}


def test_nested_row(read, lines):
    row = {
        "doc_id": "d1",
        "source": "The river rose.",
        "references": ["A flood came.", "It rained."],
        "context": "A valley.",
        "candidates": [
            {"system": "A", "text": "A flood.", "ratings": {"coherence": 4, "fluency": 2.5}},
            {"system": "B", "text": "Rain."},
        ],
        "url": "https://example.org",
    }
    got = read(lines(row))
    assert got.cases == [
        Case(
            Document("d1", "The river rose.", ("A flood came.", "It rained."), "A valley."),
            (
                Candidate("A", "A flood.", {"coherence": 4.0, "fluency": 2.5}),
                Candidate("B", "Rain."),
            ),
        )
    ]
    assert (got.rated, got.absent_ratings, got.skipped, got.skipped_rows) == (1, 0, (), 0)


def test_rows_of_one_document_are_put_together(read, lines):
    pairs = [("d2", "B"), ("d1", "B"), ("d2", "A"), ("d3", "A"), ("d1", "A")]
    rows = [{"doc_id": d, "source": f"s{d}", "system": s, "text": d + s} for d, s in pairs]
    assert list(read(lines(*rows)).texts.items()) == [
        ("d2", [("B", "d2B"), ("A", "d2A")]),
        ("d1", [("B", "d1B"), ("A", "d1A")]),
        ("d3", [("A", "d3A")]),
    ]
    rows = [
        {"doc_id": "d", "system": "A", "text": "a", "source": None, "references": []},
        {"doc_id": "d", "system": "B", "text": "b", "source": "s", "context": "c"},
        {"doc_id": "d", "system": "C", "text": "c", "source": "", "references": ["r"]},
        {"doc_id": "d", "candidates": [], "source": "s", "context": None},
    ]
    assert read(lines(*rows)).cases[0].document == Document("d", "s", ("r",), "c")


def test_numbers_name_documents_and_systems(read, lines):
    ids = [1, 1.0, "1.5", -7, 2**70]
    rows = [{"doc_id": i, "source": "s", "system": i, "text": "t"} for i in ids]
    assert read(lines(*rows)).texts == {
        "1": [("1", "t")],
        "1.0": [("1.0", "t")],
        "1.5": [("1.5", "t")],
        "-7": [("-7", "t")],
        "1180591620717411303424": [("1180591620717411303424", "t")],
    }


@pytest.mark.parametrize("text", [None, ""])
def test_empty_texts_are_kept_for_the_judges_to_leave_unscored(read, lines, text):
    assert read(lines({**ROW, "text": text})).texts == {"d1": [("A", "")]}


def test_absent_ratings_are_counted(read, lines):
    raw = json.dumps({**ROW, "ratings": {"x": 0}}).replace("0}", "%s}")
    bodies = ['NaN, "b": Infinity, "c": -Infinity', 'null, "b": 1e999, "c": 3', "1" + "0" * 400]
    rows = [(raw % body).replace('"A"', f'"{n}"').encode() for n, body in enumerate(bodies)]
    got = read(lines(*rows))
    assert [c.ratings for c in got.cases[0].candidates] == [{}, {"c": 3.0}, {}]
    assert (got.absent_ratings, got.rated) == (6, 1)


def test_lone_surrogates_are_replaced_everywhere(read, lines):
    lone = "a\ud800b"
    row = {
        "doc_id": lone,
        "source": "\udfff",
        "references": [lone],
        "context": lone,
        "candidates": [{"system": lone, "text": "\ud83d\ude00 \ud83d", "ratings": {lone: 1}}],
    }
    assert read(lines(row)).cases == [
        Case(
            Document("a\ufffdb", "\ufffd", ("a\ufffdb",), "a\ufffdb"),
            (Candidate("a\ufffdb", "😀 \ufffd", {"a\ufffdb": 1.0}),),
        )
    ]


STRANGE = "\x00 \x01\x1b\t\r\n \u2028\x85 שלום مرحبا \u202e 👩‍👩‍👧 \ufeff e\u0301"


@pytest.mark.parametrize("ascii_only", [True, False])
def test_strange_characters_stay_as_they_are(read, lines, ascii_only):
    row = {"doc_id": STRANGE, "source": STRANGE, "system": STRANGE, "text": STRANGE}
    case = read(lines(json.dumps(row, ensure_ascii=ascii_only).encode())).cases[0]
    assert case == Case(Document(STRANGE, STRANGE), (Candidate(STRANGE, STRANGE),))


def test_a_line_of_a_megabyte_without_a_final_newline_among_blank_lines(read, tmp_path):
    long = "é" * 1_000_000
    path = tmp_path / "cases.jsonl"
    row = json.dumps({**ROW, "text": long}, ensure_ascii=False).encode()
    path.write_bytes(
        b"\xef\xbb\xbf\n  \r\n" + json.dumps(ROW | {"system": "B"}).encode() + b"\r\n\n" + row
    )
    assert read(path).texts == {"d1": [("B", "A flood."), ("A", long)]}


ENDINGS = (
    ".jsonl, .ndjson, .jsonl.gz, .ndjson.gz, .json, .json.gz, .csv, .csv.gz, .tsv, .tsv.gz, "
    ".parquet"  # as said
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


def test_folders_globs_and_what_is_not_there(read, folder):
    assert ids(read(folder)) == ["2", "1", "3", "4"]
    assert ids(read(f"{folder}/*.*json*")) == ["1", "3"]
    assert ids(read((f"{folder}/c.ndjson", f"{folder}/*", f"{folder}/b.jsonl"))) == list("3214")
    assert ids(read([f"{folder}/d.csv"])) == ["4"]
    with pytest.raises(UserError) as raised:
        read(folder / "README.md")
    assert str(raised.value) == (f"{folder}/README.md: unknown ending; the known are {ENDINGS}")
    (folder / "c.yaml").write_text("out: runs/first")
    with pytest.raises(UserError, match=r"c\.yaml: is a configuration: .*`out` \(runs/first\)$"):
        read(folder / "c.yaml")


@pytest.mark.parametrize("name", ["c.jsonl.gz", "c.ndjson.gz", "c.json.gz", "c.csv.gz"])
def test_packed_files_are_unpacked(read, tmp_path, name):
    lines = "".join(json.dumps(row(n)) + "\n" for n in range(3))
    table = "doc_id,source,system,text\n" + "".join(f"{n},s,A,t\n" for n in range(3))
    content = table if ".csv" in name else lines
    half = len(content) // 2
    packed = gzip.compress(content[:half].encode()) + gzip.compress(content[half:].encode())
    (tmp_path / name).write_bytes(packed)
    assert ids(read(tmp_path / name)) == ["0", "1", "2"]


def test_a_list_of_rows_and_a_table_with_tabs(read, tmp_path):
    listed = tmp_path / "c.json"
    listed.write_text(json.dumps([row("1"), 7, row("2")], indent=1))
    found = read(listed, "skip")
    assert (ids(found), found.skipped) == (["1", "2"], ("c.json: item 2: not an object but int",))
    (tmp_path / "c.tsv").write_text("doc_id\tsource\tsystem\ttext\n1\ts, r\tA\tt\n")
    assert read(tmp_path / "c.tsv").cases[0].document.source == "s, r"


@pytest.mark.parametrize("cut", [5, -12])
def test_a_packed_file_cut_short_is_the_users_mistake_even_when_skipping(read, tmp_path, cut):
    packed = gzip.compress(b"".join(json.dumps(row(n)).encode() + b"\n" for n in range(3)))
    (tmp_path / "c.jsonl.gz").write_bytes(packed[:cut])
    with pytest.raises(UserError, match=r"c\.jsonl\.gz: cannot be read \("):
        read(tmp_path / "c.jsonl.gz", "skip")


@pytest.mark.parametrize("path", ["", "/*.md", "/*.nothing"])
def test_a_folder_or_glob_without_a_corpus_file(read, tmp_path, path):
    (tmp_path / "notes.md").write_text("no corpus")
    with pytest.raises(UserError) as raised:
        read(f"{tmp_path}{path}")
    assert (
        str(raised.value)
        == f"{tmp_path}{path}: no run lies here, and no file ends in one of {ENDINGS}"
    )


def test_a_file_that_is_not_there(read, tmp_path):
    with pytest.raises(UserError, match=r"missing\.jsonl: no such file"):
        read(tmp_path / "missing.jsonl")


@needs_shared
@pytest.mark.parametrize(
    ("name", "cases", "systems"),
    [("summeval", 100, 16), ("newsroom", 60, 7), ("topicalchat", 60, 6), ("hanna", 48, 11)],
)
def test_published_human_judgements(read, name, cases, systems):
    got, path = read(SHARED / f"{name}.jsonl"), SHARED / f"{name}.jsonl"
    assert [len(case.candidates) for case in got.cases] == [systems] * cases
    assert (got.rated, got.skipped_rows) == (cases * systems, 0)
    first, document = json.loads(path.read_text().splitlines()[0]), got.cases[0].document
    assert (document.doc_id, document.source) == (first["doc_id"], first["source"])
    assert list(document.references) == first.get("references", [])
    assert document.context == first.get("context")
    assert got.cases[0].candidates[0].ratings == first["candidates"][0]["ratings"]
