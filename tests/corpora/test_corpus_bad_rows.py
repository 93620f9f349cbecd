"""The user's mistakes: refused in one line, or skipped and counted."""

import pytest

from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.corpora.grouping import SEVERAL_ROWS
from evaljudge.errors import UserError

GOOD = {"doc_id": "g", "source": "s", "system": "A", "text": "t"}


def flat(**fields):
    return {**GOOD, "doc_id": "d", **fields}


def without(name, row=GOOD):
    return {k: v for k, v in row.items() if k != name}


def nested(*candidates, **fields):
    return {"doc_id": "d", "source": "s", "candidates": list(candidates), **fields}


DEEP = b"[" * 100_000
BAD = [
    (b"{not json", "not valid JSON"),
    (DEEP, "not valid JSON"),
    (b'{"doc_id": ' + b"1" * 5000 + b"}", "not valid JSON"),
    (b'{"doc_id": "d", "doc_id": "e"}', "key 'doc_id' stands twice in one object"),
    (b'{"ratings": {"x": 1, "x": 5}}', "key 'x' stands twice in one object"),
    (b"[1]", "not an object but list"),
    (b"null", "not an object but null"),
    (b'{"doc_id": "\xff"}', "not UTF-8"),
    (b'{"doc_id": "\xed\xa0\x80"}', "not UTF-8"),
    (without("doc_id", without("source")), "no `source`; its keys are 'system', 'text'"),
    *((row, "doc_id: ") for row in (without("doc_id"), *(
        flat(doc_id=wrong) for wrong in (None, "", float("nan"), True, ["d"])))),
    *((row, "system: ") for row in (without("system"), flat(system=True), flat(system=""),
                                    nested() | {"candidates": None})),
    (without("text"), "text: is needed"),
    (nested({"text": "t"}), "candidates: 0: system: is needed"),
    (nested({"system": "A"}), "candidates: 0: text: is needed"),
    (nested("A"), "candidates: 0: should be a mapping"),
    (nested() | {"candidates": {}}, "candidates: should be a list"),
    *((flat(**{name: wrong}), f"{name}: must be a string, not ") for name, wrong in (
        ("text", 3), ("source", 3), ("source", False))),
    *((flat(**{name: wrong}), f"{name}: must be a string or a list of strings")
      for name in ("references", "context") for wrong in (3, {}, ["r", 3])),
    *((flat(ratings=wrong), "ratings: must be an object, not ") for wrong in ([], "{")),
    *((flat(ratings={"x": wrong}), "ratings: 'x' must be a number such as 4.5, [4, 5] or {")
      for wrong in ("4/0/5", "4,5", "no", True, "four", [4, True], [4, None, "x"], [[4]])),
]  # fmt: skip


@pytest.mark.parametrize(("row", "problem"), BAD)
def test_a_bad_row_is_refused_or_skipped(refusal, read, lines, row, problem):
    said = refusal(GOOD, row)
    assert said.startswith(f"1 bad row in the corpus: cases.jsonl:2: {problem}")
    assert said.endswith(". Correct this, or set `bad_rows: skip`")
    got = read(lines(row, GOOD, row), "skip")
    assert got.texts == {"g": [("A", "t")]}
    first, third = got.skipped
    assert first.startswith(f"cases.jsonl:1: {problem}") and third.startswith("cases.jsonl:3: ")
    assert got.skipped_rows == 2


AGAIN = [
    (flat(text="other"), "system 'A' of document 'd' again (first in cases.jsonl:1)"),
    (flat(), "the text of cases.jsonl:1 again"),
    (
        nested({"system": "B", "text": ""}, {"system": "A", "text": ""}),
        "system 'A' of document 'd' again (first in cases.jsonl:1)",
    ),
    (flat(system="B", source="S"), "`source` of document 'd' is another than in cases.jsonl:1"),
    (
        flat(system="B", context="C"),
        "`context` of document 'd' is another than in cases.jsonl:1 (where each text has a context "
        "of its own, give each its own `doc_id`)",
    ),
    (
        flat(system="B", references=["r", "r"]),
        "`references` of document 'd' is another than in cases.jsonl:1",
    ),
]


@pytest.mark.parametrize(("row", "problem"), AGAIN)
def test_what_repeats_or_contradicts_is_refused_and_the_first_wins(
    refusal, read, lines, row, problem
):
    first = flat(context="c", references=["r"])
    assert f"1 bad row in the corpus: cases.jsonl:2: {problem}." in refusal(first, row)
    got, alone = read(lines(first, row), "skip"), read(lines(first))
    assert got.cases == alone.cases
    assert (got.skipped, got.digest) == ((f"cases.jsonl:2: {problem}",), alone.digest)


def test_what_several_bad_rows_need_is_said_once(refusal):
    assert refusal(flat(), flat(), flat()).count(SEVERAL_ROWS) == 1
    nested_key = refusal(flat(source={"text": "s"}), flat(source={"text": "s"}))
    assert nested_key.count("`evaljudge init` makes a CSV or JSON file longer") == 1


def test_systems_and_files_of_one_name(refusal, read, lines, tmp_path):
    row = nested(*({"system": s, "text": t} for s, t in [("A", "1"), ("B", "2"), ("A", "3")]))
    problem = "cases.jsonl:1: system 'A' of document 'd' again (first in cases.jsonl:1)"
    assert problem in refusal(row)
    got = read(lines(row), "skip")
    assert got.texts == {"d": [("A", "1"), ("B", "2")]}
    assert got.skipped == (problem,)
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one, two = (lines(flat(), name=f"{folder}/c.jsonl") for folder in ("one", "two"))
    with pytest.raises(UserError) as raised:
        read((str(one), str(two)))
    assert f"{two}:1: the text of {one}:1 again. " in str(raised.value)


def test_bad_rows_are_named_and_counted_and_are_no_first_appearance(read, lines, refusal):
    got = read(lines(flat(ratings={"x": "bad"}, source="other"), flat()), "skip")
    assert got.cases[0].document.source == "s"
    assert got.skipped_rows == 1
    bad = [without("doc_id")] * 25
    said = refusal(GOOD, *bad)
    assert said.startswith("25 bad rows in the corpus, the first 3: cases.jsonl:2: doc_id")
    assert said.count("cases.jsonl:") == 3
    got = read(lines(GOOD, *bad), "skip")
    assert (got.skipped_rows, len(got.skipped)) == (25, 20)


def test_no_source_anywhere_names_the_fields_seen(refusal, read, lines):
    rows = [{"doc_id": 1, "article": "a"}, {"doc_id": 2, "summary": "b"}, b"{"]
    said = refusal(*rows)
    assert "seen: 'doc_id', 'article', 'summary'; not read, but these have likely names" in said
    assert said.endswith("`corpus: {path: …, columns: {article: source, summary: text}}`")
    theirs = "columns: {THEIR_SOURCE: source, THEIR_TEXT: text}"
    assert theirs in refusal({"Ticket": 1, "Note": "a"})
    with pytest.raises(UserError, match="no row of the corpus has a field `source`"):
        read(lines(*rows), "skip")


def test_an_unknown_format_is_answered_with_the_known():
    with (
        pytest.raises(UserError, match="unknown corpus format 'generc': did you mean 'generic'"),
        open_corpus(CorpusSource("x.jsonl", "generc")),
    ):
        pass
