"""The user's mistakes: refused in one line, or skipped and counted."""

import pytest

from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.errors import UserError

GOOD = {"doc_id": "g", "source": "s", "system": "A", "text": "t"}


def flat(**fields):
    return {**GOOD, "doc_id": "d", **fields}


def without(name, row=GOOD):
    return {k: v for k, v in row.items() if k != name}


def nested(*candidates, **fields):
    return {"doc_id": "d", "source": "s", "candidates": list(candidates), **fields}


DEEP = b"[" * 100_000
FORM = ': write {"AXIS": 4}, or {"AXIS": [4, 5]} with a number for each rater'
QUOTED = "rating 'x' is the text '4': write the number without quotes"
BAD = [
    (b"{not json", "not valid JSON (one object a line)"),
    (DEEP, "not valid JSON (one object a line)"),
    (b'{"doc_id": ' + b"1" * 5000 + b"}", "not valid JSON (one object a line)"),
    (b'{"doc_id": "d", "doc_id": "e"}', "key 'doc_id' stands twice in one object"),
    (b'{"ratings": {"x": 1, "x": 5}}', "key 'x' stands twice in one object"),
    (flat(ratings={"x": "4/5"}), "rating 'x' is the text '4/5': write a number"),
    (
        flat(ratings={"x": "4,5"}),
        "rating 'x' is the text '4,5': write a decimal point in place of the comma",
    ),
    (
        flat(ratings={"x": "n/a"}),
        "rating 'x' is the text 'n/a': leave it empty (null) where there is none",
    ),
    (b"[1]", "not an object but list: write one object a line"),
    (b"null", "not an object but null"),
    (b'{"doc_id": "\xff"}', "not UTF-8"),
    (b'{"doc_id": "\xed\xa0\x80"}', "not UTF-8"),
    (without("doc_id"), "no `doc_id`"),
    (flat(doc_id=None), "no `doc_id`"),
    (flat(doc_id=""), "no `doc_id`"),
    (flat(doc_id=float("nan")), "no `doc_id`"),
    (flat(doc_id=True), "`doc_id` must be a string, not bool"),
    (flat(doc_id=["d"]), "`doc_id` must be a string, not list"),
    (flat(system=True), "`system` must be a string, not bool"),
    (flat(system=""), "no `system`"),
    (without("system"), "neither `candidates` nor `system`"),
    (nested() | {"candidates": None}, "neither `candidates` nor `system`"),
    (without("text"), "candidate 'A' has no `text`"),
    (nested({"text": "t"}), "no `system`"),
    (nested({"system": "A"}), "candidate 'A' has no `text`"),
    (nested("A"), "a candidate must be an object, not str"),
    (nested() | {"candidates": {}}, "`candidates` must be a list, not dict"),
    (flat(text=3), "`text` must be a string, not int"),
    (flat(source=3), "`source` must be a string, not int"),
    (flat(source=False), "`source` must be a string, not bool"),
    (flat(context=[]), "`context` must be a string, not list"),
    (flat(references="r"), "`references` must be a list of strings"),
    (flat(references=["r", None]), "`references` must be a list of strings"),
    (flat(ratings=[]), f"`ratings` must be an object, not list{FORM}"),
    (flat(ratings="{}"), f"`ratings` must be an object, not str{FORM}"),
    (flat(ratings={"x": True}), "rating 'x' must be a number or a list, not bool"),
    (flat(ratings={"x": "4"}), QUOTED),
    (flat(ratings={"x\n": {}}), "rating 'x\\n' must be a number or a list, not dict"),
    (flat(ratings={"x": [4, True]}), "rating 'x' must be a list of numbers, not of bool"),
    (
        flat(ratings={"x": [4, None, "4"]}),
        "rating 'x' is the text '4': write the number without quotes",
    ),
    (flat(ratings={"x": [[4]]}), "rating 'x' must be a list of numbers, not of list"),
]


@pytest.mark.parametrize(("row", "problem"), BAD)
def test_a_bad_row_is_refused_or_skipped(refusal, read, lines, row, problem):
    said = refusal(GOOD, row)
    assert said == (
        f"1 bad row in the corpus: cases.jsonl:2: {problem}. Correct it, or set `bad_rows: skip`"
    )
    got = read(lines(row, GOOD, row), "skip")
    assert got.texts == {"g": [("A", "t")]}
    assert got.skipped == (f"cases.jsonl:1: {problem}", f"cases.jsonl:3: {problem}")
    assert got.skipped_rows == 2


AGAIN = [
    (flat(text="other"), "system 'A' of document 'd' again (first in cases.jsonl:1)"),
    (
        nested({"system": "B", "text": ""}, {"system": "A", "text": ""}),
        "system 'A' of document 'd' again (first in cases.jsonl:1)",
    ),
    (flat(system="B", source="S"), "`source` of document 'd' is another than in cases.jsonl:1"),
    (flat(system="B", context="C"), "`context` of document 'd' is another than in cases.jsonl:1"),
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


def test_a_conflict_names_the_row_that_said_it_first(refusal):
    rows = [without("source", flat()), flat(system="B"), flat(system="C", source="other")]
    assert "cases.jsonl:3: `source` of document 'd' is another than in cases.jsonl:2" in refusal(
        *rows
    )


def test_one_system_twice_in_one_row_keeps_the_first(refusal, read, lines):
    row = nested(*({"system": s, "text": t} for s, t in [("A", "1"), ("B", "2"), ("A", "3")]))
    problem = "cases.jsonl:1: system 'A' of document 'd' again (first in cases.jsonl:1)"
    assert problem in refusal(row)
    got = read(lines(row), "skip")
    assert got.texts == {"d": [("A", "1"), ("B", "2")]}
    assert got.skipped == (problem,)


def test_duplicates_name_both_files(read, lines, tmp_path):
    lines(flat(), name="a.jsonl")
    lines(GOOD, flat(), name="b.jsonl")
    with pytest.raises(UserError, match=r"b\.jsonl:2: system 'A' .* \(first in a\.jsonl:1\)"):
        read(tmp_path)


def test_files_of_one_name_are_told_apart(read, lines, tmp_path):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one, two = (lines(flat(), name=f"{folder}/c.jsonl") for folder in ("one", "two"))
    with pytest.raises(UserError) as raised:
        read((str(one), str(two)))
    assert f"{two}:1: system 'A' of document 'd' again (first in {one}:1)" in str(raised.value)


def test_a_refused_row_is_no_first_appearance(read, lines):
    got = read(lines(flat(ratings={"x": "bad"}, source="other"), flat()), "skip")
    assert got.cases[0].document.source == "s"
    assert got.skipped_rows == 1


def test_the_first_three_are_named_and_all_counted(refusal, read, lines):
    bad = [without("doc_id")] * 25
    assert refusal(GOOD, *bad) == (
        "25 bad rows in the corpus, the first 3: cases.jsonl:2: no `doc_id`; cases.jsonl:3: "
        "no `doc_id`; cases.jsonl:4: no `doc_id`. Correct them, or set `bad_rows: skip`"
    )
    got = read(lines(GOOD, *bad), "skip")
    assert (got.skipped_rows, len(got.skipped)) == (25, 20)


def test_long_names_are_shortened_and_kept_on_one_line(refusal):
    said = refusal(flat(doc_id="x\ny" * 100), flat(doc_id="x\ny" * 100))
    assert "again" in said
    assert len(said) < 300


def test_no_source_anywhere_names_the_fields_seen(refusal, read, lines):
    rows = [{"doc_id": 1, "article": "a"}, {"doc_id": 2, "summary": "b"}, b"{"]
    expected = (
        "no row of the corpus has a field `source`, the document's text; "
        "seen: 'doc_id', 'article', 'summary'. `article`, `summary` are not read: did you mean "
        "`source`, `text`? If so, rename them, or give "
        "`corpus: {path: …, columns: {article: source, summary: text}}`"
    )
    assert refusal(*rows) == expected
    with pytest.raises(UserError, match="no row of the corpus has a field `source`"):
        read(lines(*rows), "skip")


def test_without_a_likely_column_the_message_says_how_to_name_one(refusal):
    assert refusal({"Ticket": 1, "Note": "a"}) == (
        "no row of the corpus has a field `source`, the document's text; seen: 'Ticket', 'Note'. "
        "Rename the column that holds it, or give `corpus: {path: …, columns: {THEIRS: source}}`"
    )


def test_absent_ratings_of_skipped_rows_are_counted_no_more_than_their_rows(read, lines):
    got = read(lines(flat(ratings={"x": None}), flat(ratings={"x": None})), "skip")
    assert got.absent_ratings == 1


def test_an_unknown_format_is_answered_with_the_known():
    with (
        pytest.raises(UserError, match="unknown corpus format 'generc': did you mean 'generic'"),
        open_corpus(CorpusSource("x.jsonl", "generc")),
    ):
        pass


def test_a_file_of_nothing_but_bad_json_skips_to_no_cases(read, lines):
    got = read(lines(b"{", b"["), "skip")
    assert (got.cases, got.skipped_rows) == ([], 2)
