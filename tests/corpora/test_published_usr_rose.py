"""USR's conversations (Topical-Chat's and PersonaChat's), and RoSE's annotated documents."""

import copy
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaljudge.records import Candidate, Case, Document

RATINGS = {
    "Understandable": [1, 1, 0],
    "Natural": [3, 2, 3],
    "Maintains Context": [3, 3, 2],
    "Engaging": [2, 2, 1],
    "Uses Knowledge": [0, 0, 1],
    "Overall": [4, 3, 5],
}
RATERS = {
    "understandability": (1.0, 1.0, 0.0),
    "naturalness": (3.0, 2.0, 3.0),
    "coherence": (3.0, 3.0, 2.0),
    "engagingness": (2.0, 2.0, 1.0),
    "groundedness": (0.0, 0.0, 1.0),
    "overall": (4.0, 3.0, 5.0),
}
MEANS = {
    "understandability": 2 / 3,
    "naturalness": 8 / 3,
    "coherence": 8 / 3,
    "engagingness": 5 / 3,
    "groundedness": 1 / 3,
    "overall": 4.0,
}
CONVERSATION = {
    "context": "do you like rivers ? \n i do . \n\n",
    "fact": "the rhine is a river .\n",
    "annotators": ["ab", "cd", "ef"],
    "responses": [
        {"response": "which one ?\n", "model": "Argmax Decoding", **RATINGS},
        {"response": "the rhine .", "model": "New Human Generated", **RATINGS},
    ],
}
CANDIDATES = (
    Candidate("Argmax Decoding", "which one ?", MEANS, RATERS),
    Candidate("New Human Generated", "the rhine .", MEANS, RATERS),
)


@pytest.fixture
def listed(tmp_path):
    def write(*conversations, indent=None):
        path = tmp_path / "usr.json"
        path.write_text(json.dumps(conversations, indent=indent))
        return path

    return write


@pytest.mark.parametrize(("form", "prefix"), [("topicalchat", "tc"), ("personachat", "pc")])
@pytest.mark.parametrize("indent", [None, 2])
def test_conversations_are_named_by_their_place(read, listed, form, prefix, indent):
    got = read(listed(CONVERSATION, CONVERSATION, indent=indent), form=form)
    source, fact = "do you like rivers ? \n i do .", "the rhine is a river ."
    assert got.cases == [
        Case(Document(f"{prefix}-{number}", source, (), fact), CANDIDATES)
        for number in ("00", "01")
    ]


TRUE = {"response": "the rhine is long .\n", "model": "Original Ground Truth", **RATINGS}


@pytest.mark.parametrize("form", ["topicalchat", "personachat"])
def test_the_ground_truth_is_the_reference_where_that_is_asked(read, listed, form):
    row = CONVERSATION | {"responses": [*CONVERSATION["responses"], TRUE]}
    (plain,), (with_reference,) = (
        read(listed(row), form=name).cases for name in (form, f"{form}-references")
    )
    assert plain.document.references == ()
    assert with_reference.document.references == ("the rhine is long .",)
    assert with_reference.candidates == plain.candidates
    assert with_reference.candidates[2].text == "the rhine is long ."


def test_a_conversation_without_ground_truth_has_no_reference_to_give(read, listed):
    got = read(listed(CONVERSATION), "skip", "topicalchat-references")
    assert got.skipped == (
        "usr.json: item 1: no response of 'Original Ground Truth', which is the reference",
    )


def test_json_lines_are_read_as_well(read, lines):
    got = read(lines(CONVERSATION, CONVERSATION), form="topicalchat")
    assert [case.document.doc_id for case in got.cases] == ["tc-00", "tc-01"]


def test_a_bad_conversation_keeps_its_number(read, listed):
    got = read(listed(CONVERSATION, {}, CONVERSATION), "skip", "topicalchat")
    assert [case.document.doc_id for case in got.cases] == ["tc-00", "tc-02"]


@pytest.mark.parametrize("name", ["context", "fact", "responses"])
def test_a_field_that_is_missing_is_named(read, listed, name):
    row = {k: v for k, v in CONVERSATION.items() if k != name}
    got = read(listed(CONVERSATION, row), "skip", "topicalchat")
    assert got.skipped == (f"usr.json: item 2: no `{name}`",)


@pytest.mark.parametrize("name", ["response", "model", "Overall"])
def test_a_field_that_a_response_lacks_is_named(read, listed, name):
    row = copy.deepcopy(CONVERSATION)
    del row["responses"][1][name]
    got = read(listed(row), "skip", "personachat")
    assert got.skipped == (f"usr.json: item 1: no `{name}`",)


def test_ratings_that_are_no_numbers(read, listed):
    worded = copy.deepcopy(CONVERSATION)
    worded["responses"][0]["Natural"] = [3, "good", 2]
    (said,) = read(listed(worded), "skip", "topicalchat").skipped
    assert said.startswith("usr.json: item 1: candidates: 0: ratings: 'naturalness' must be")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b'[{"context": ', "usr.json: not valid JSON (a list of objects)"),
        (b'["a"]', "usr.json: item 1: not an object but str"),
        (b'["\xff"]', "usr.json: not UTF-8"),
        (b"\n \n[{}]", "usr.json: item 1: no `context`"),
        (b"\xef\xbb\xbf[{}]", "usr.json: item 1: no `context`"),
        (b"\n{}", "usr.json:2: no `context`"),
    ],
)
def test_files_that_hold_something_else(read, tmp_path, content, problem):
    (tmp_path / "usr.json").write_bytes(content)
    assert read(tmp_path / "usr.json", "skip", "topicalchat").skipped == (problem,)


@pytest.mark.parametrize("content", [b"", b"[]", b"\n"])
def test_no_conversations(read, tmp_path, content):
    (tmp_path / "usr.json").write_bytes(content)
    assert read(tmp_path / "usr.json", form="topicalchat").cases == []


ACU = {"acu_labels": [1, 0], "acu": 0.5, "normalized_acu": 0.375}
PROTOCOLS = {"prior": 3.5, "ref_based": 2.25, "ref_free": 4.0}
ROSE_ROW = {
    "example_id": "1a2b",
    "count_id": 7,
    "source": "The river rose.",
    "reference": "A flood came.\nIt rained.",
    "reference_acus": ["A flood came", "It rained"],
    "annotations": {"bart": {**PROTOCOLS, **ACU}, "brio-ext": ACU},
    "system_outputs": {"brio-ext": "Rain.", "bart": "A flood.", "gold": "Water."},
}
ROSE_RATINGS = {"acu": 0.5, "normalized_acu": 0.375}
ROSE_CASE = Case(
    Document("1a2b", "The river rose.", ("A flood came.\nIt rained.",)),
    (
        Candidate("brio-ext", "Rain.", ROSE_RATINGS),
        Candidate("bart", "A flood.", PROTOCOLS | ROSE_RATINGS),
        Candidate("gold", "Water."),
    ),
)


def test_json_lines(read, lines):
    got = read(lines(ROSE_ROW), form="rose")
    assert got.cases == [ROSE_CASE]
    assert (got.rated, got.absent_ratings) == (2, 0)


def test_a_json_list(read, tmp_path):
    (tmp_path / "rose.json").write_text(
        json.dumps([ROSE_ROW, ROSE_ROW | {"example_id": "3c"}], indent=2)
    )
    got = read(tmp_path / "rose.json", form="rose")
    assert [case.document.doc_id for case in got.cases] == ["1a2b", "3c"]
    assert got.cases[0] == ROSE_CASE


def test_parquet_in_which_every_row_has_every_system(read, tmp_path):
    other = {"system_outputs": {"t0": "A t0."}, "annotations": {"t0": PROTOCOLS | ACU}}
    rows = [ROSE_ROW, {**ROSE_ROW, "example_id": "3c", **other}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rose.parquet")
    first, second = read(tmp_path / "rose.parquet", form="rose").cases
    assert first.document == ROSE_CASE.document
    assert {c.system: c.text for c in first.candidates} == ROSE_ROW["system_outputs"]
    assert {c.system: c.ratings for c in second.candidates} == {"t0": PROTOCOLS | ROSE_RATINGS}


@pytest.mark.parametrize(
    "name", ["example_id", "source", "reference", "annotations", "system_outputs"]
)
def test_a_field_that_rose_lacks_is_named(read, lines, name):
    row = {k: v for k, v in ROSE_ROW.items() if k != name}
    assert read(lines(ROSE_ROW, row), "skip", "rose").skipped == (f"cases.jsonl:2: no `{name}`",)


@pytest.mark.parametrize(
    ("part", "system", "value"),
    [("annotations", "t0", ACU), ("annotations", "bart", 4), ("system_outputs", "bart", ["a"]),
     ("annotations", "bart", {"score": 4}), ("annotations", "bart", {"acu": [1]}),
     ("annotations", "bart", {"acu": "high"})],
)  # fmt: skip
def test_what_is_not_recognised_is_refused(read, lines, part, system, value):
    row = copy.deepcopy(ROSE_ROW)
    row[part][system] = value
    (said,) = read(lines(row), "skip", "rose").skipped
    assert said.startswith("cases.jsonl:1: ")
