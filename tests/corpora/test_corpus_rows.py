"""What a row may be, and what is made of it."""

import json

import pytest

from evaljudge.records import Candidate, Case, Document

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


def test_flat_rows_lying_anywhere_are_grouped_in_order_of_first_appearance(read, lines):
    pairs = [("d2", "B"), ("d1", "B"), ("d2", "A"), ("d3", "A"), ("d1", "A")]
    rows = [{"doc_id": d, "source": f"s{d}", "system": s, "text": d + s} for d, s in pairs]
    assert list(read(lines(*rows)).texts.items()) == [
        ("d2", [("B", "d2B"), ("A", "d2A")]),
        ("d1", [("B", "d1B"), ("A", "d1A")]),
        ("d3", [("A", "d3A")]),
    ]


def test_what_one_row_leaves_out_another_says(read, lines):
    rows = [
        {"doc_id": "d", "system": "A", "text": "a", "source": None, "references": []},
        {"doc_id": "d", "system": "B", "text": "b", "source": "s", "context": "c"},
        {"doc_id": "d", "system": "C", "text": "c", "source": "", "references": ["r"]},
        {"doc_id": "d", "candidates": [], "source": "s", "context": None},
    ]
    assert read(lines(*rows)).cases[0].document == Document("d", "s", ("r",), "c")


def test_missing_or_null_source_is_empty(read, lines):
    rows = [
        ROW,
        {"doc_id": "d2", "candidates": []},
        {"doc_id": "d3", "source": None, "system": "A"},
    ]
    rows[2]["text"] = "x"
    assert [c.document.source for c in read(lines(*rows)).cases] == ["The river rose.", "", ""]


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


def test_the_number_and_the_string_are_one_document(read, lines):
    rows = [{**ROW, "doc_id": 1}, {**ROW, "doc_id": "1", "system": "B"}]
    assert read(lines(*rows)).texts == {"1": [("A", "A flood."), ("B", "A flood.")]}


@pytest.mark.parametrize("text", [None, ""])
def test_empty_texts_are_kept_for_the_judges_to_leave_unscored(read, lines, text):
    assert read(lines({**ROW, "text": text})).texts == {"d1": [("A", "")]}


def test_a_case_without_candidates_and_a_corpus_without_cases(read, lines):
    got = read(lines({"doc_id": "d", "source": "s", "candidates": []}))
    assert got.cases == [Case(Document("d", "s"), ())]
    empty = read(lines(b""))
    assert (empty.cases, empty.rated, empty.digest) == ([], 0, "0" * 64)


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


def test_names_that_differ_after_a_nul_are_two(read, lines):
    rows = [{**ROW, "doc_id": d, "system": s} for d in ("x\0a", "x\0b") for s in ("s\0a", "s\0b")]
    assert [len(case.candidates) for case in read(lines(*rows)).cases] == [2, 2]


def test_a_line_of_a_megabyte_without_a_final_newline_among_blank_lines(read, tmp_path):
    long = "é" * 1_000_000
    path = tmp_path / "cases.jsonl"
    row = json.dumps({**ROW, "text": long}, ensure_ascii=False).encode()
    path.write_bytes(
        b"\xef\xbb\xbf\n  \r\n" + json.dumps(ROW | {"system": "B"}).encode() + b"\r\n\n" + row
    )
    assert read(path).texts == {"d1": [("B", "A flood."), ("A", long)]}


def test_a_row_that_is_both_is_read_as_nested(read, lines):
    row = {**ROW, "candidates": [{"system": "B", "text": "b"}]}
    assert read(lines(row)).texts == {"d1": [("B", "b")]}


def test_iterations_may_run_beside_each_other(lines):
    from evaljudge.corpora import CorpusSource, open_corpus

    path = lines(*({**ROW, "doc_id": i} for i in range(3)))
    with open_corpus(CorpusSource(str(path))) as corpus:
        pairs = [(a.document.doc_id, b.document.doc_id) for a in corpus for b in corpus]
    assert pairs == [(str(a), str(b)) for a in range(3) for b in range(3)]
