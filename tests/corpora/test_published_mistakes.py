"""Benchmarks in the form that their authors publish: what is not recognised is refused by name."""

import copy
import json

import pytest

from evaljudge.errors import UserError
from tests.corpora.samples import (
    ACU,
    EXPERTS,
    NEWS,
    PAPER,
    RESPONSE,
    STORIES,
    annotations,
    annotator,
    choices,
    hanna,
    rose,
    summeval,
    usr,
    without,
)

OTHER = "not as its authors have it"


def with_value(row, *path, value=None):
    """The row with this value at the path, or without what is there."""
    changed = copy.deepcopy(row)
    inner = changed
    for step in path[:-1]:
        inner = inner[step]
    if value is None:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return changed


LACKING = [
    *(("summeval", summeval(), (name,)) for name in ("id", "expert_annotations")),
    *(("topicalchat", usr(), (name,)) for name in ("context", "fact", "responses")),
    *(("personachat", usr(), ("responses", 0, name)) for name in ("response", "model", "Overall")),
    *(("rose", rose(), (name,))
      for name in ("example_id", "source", "reference", "annotations", "system_outputs")),
    *(("arxiv", PAPER, (name,)) for name in ("dataset", "relevance")),
    ("choices", choices(doc_id="a"), ("t0", "text")),
]  # fmt: skip


@pytest.mark.parametrize(("form", "row", "path"), LACKING)
def test_a_field_that_is_missing_is_named(read, lines, form, row, path):
    got = read(lines(row, with_value(row, *path)), "skip", form)
    assert got.skipped == (f"cases.jsonl:2: no `{path[-1]}`",)


@pytest.mark.parametrize(
    ("form", "rows", "name"),
    [("hanna", STORIES, "Story ID"), ("hanna", STORIES, "Complexity"),
     ("newsroom", NEWS, "ArticleID"), ("newsroom", NEWS, "RelevanceRating")],
)  # fmt: skip
def test_a_column_that_is_missing_is_named(read, table, form, rows, name):
    got = read(table([without(name, row) for row in rows]), "skip", form)
    assert (got.skipped_rows, got.skipped[0]) == (len(rows), f"cases.csv:2: no `{name}`")


REFUSED = [
    *(("summeval", summeval(**fields), "") for fields in (
        {"expert_annotations": {"a": 4}}, {"expert_annotations": [4]}, {"references": [3]},
        {"id": True}, {"decoded": ["a"]}, {"text": 7})),
    ("summeval-expert-3", summeval(expert_annotations=annotations(EXPERTS[:2])),
     "no rater 3 in `expert_annotations`"),
    ("topicalchat", usr(RESPONSE | {"Natural": [3, "good", 2]}),
     "candidates: 0: ratings: 'naturalness' must be"),
    ("topicalchat-references", usr(),
     "no response of 'Original Ground Truth', which is the reference"),
    *(("rose", with_value(rose(), part, system, value=value), "") for part, system, value in (
        ("annotations", "t0", ACU), ("annotations", "bart", 4), ("system_outputs", "bart", ["a"]),
        ("annotations", "bart", {"score": 4}), ("annotations", "bart", {"acu": [1]}),
        ("annotations", "bart", {"acu": "high"}))),
    ("arxiv", PAPER | {"dataset": "PubMed"},
     "`dataset` must be 'arXiv' or 'GovReport', not 'PubMed'"),
    *(("choices", choices(doc_id="a", **fields), problem) for fields, problem in (
        ({"annotators": None}, OTHER),
        ({"annotators": [["gpt3"]]}, OTHER),
        ({"annotators": [{}]}, "no `best_summary`"),
        ({"annotators": [{"best_summary": "t0"}]}, "`annotators` chose 't'"),
        ({"annotators": [annotator("t0", "t5")]}, "`annotators` chose 't5', which has no text"),
        ({"reference": 7}, "references: must be a string or a list of strings"))),
]  # fmt: skip


@pytest.mark.parametrize(("form", "row", "problem"), REFUSED)
def test_a_row_that_is_not_recognised(read, lines, form, row, problem):
    (said,) = read(lines(row), "skip", form).skipped
    assert said.startswith(f"cases.jsonl:1: {problem}")


@pytest.mark.parametrize(
    ("cells", "problem"),
    [
        ({"Story ID": "x7"}, f"{OTHER} (invalid literal for int"),
        ({"Surprise": "much"}, f"{OTHER} (could not convert string to float"),
        ({"Story": "The river sat."}, "`text` of this candidate is another than in cases.csv:2"),
        ({"Prompt": "A tree talks."}, "`source` of this candidate is another than in cases.csv:2"),
    ],
)
def test_a_rater_s_row_that_is_not_recognised(read, table, cells, problem):
    first = hanna(3, "HINT", "The river ran.", (1,) * 6)
    got = read(table([first, first | cells]), "skip", "hanna")
    assert got.skipped[0].startswith(f"cases.csv:4: {problem}")  # one before spans two lines
    assert got.cases[0].candidates[0].raters["relevance"] == (1.0,)


@pytest.mark.parametrize(
    ("form", "content", "problem"),
    [
        ("topicalchat", b'["a"]', "c.json: item 1: not an object but str"),
        ("topicalchat", b"\n \n[{}]", "c.json: item 1: no `context`"),
        ("topicalchat", b"\xef\xbb\xbf[{}]", "c.json: item 1: no `context`"),
        ("topicalchat", b"\n{}", "c.json:2: no `context`"),
        ("choices", b'{"0": []}', "c.json: '0': not an object but list"),
        ("choices", b'{"0": {"article": "A."}}', "c.json: '0': no `annotators`"),
    ],
)
def test_rows_of_something_else(read, tmp_path, form, content, problem):
    (tmp_path / "c.json").write_bytes(content)
    assert read(tmp_path / "c.json", "skip", form).skipped == (problem,)


@pytest.mark.parametrize(
    ("form", "content", "problem"),
    [
        ("topicalchat", b'[{"context": ', r"not valid JSON \(a list of objects\)"),
        ("topicalchat", b'["\xff"]', "not UTF-8"),
        ("choices", b"{", r"not valid JSON \(one object of objects\)"),
        ("choices", b"[]", "not an object but list"),
        ("choices", b'{"0": {}, "0": {}}', "key '0' stands twice in one object"),
    ],
)
def test_a_file_of_something_else_is_refused_even_when_skipping(
    read, tmp_path, form, content, problem
):
    (tmp_path / "c.json").write_bytes(content)
    with pytest.raises(UserError, match=rf"c\.json: {problem}$"):
        read(tmp_path / "c.json", "skip", form)


def test_documents_of_something_else_are_refused(read, lines, tmp_path):
    (tmp_path / "koh.jsonl").write_text(json.dumps([PAPER]))
    path = lines({"doc_id": "9999.1", "source": "Of no use."})
    with pytest.raises(UserError) as raised:
        read(tmp_path / "koh.jsonl", form="arxiv", sources=str(path))
    said = "no row's `doc_id` is one of the annotated documents', as 'ID_1603.04792'"
    assert str(raised.value) == f"{path}: {said}"


def test_sources_of_summeval(read, lines, tmp_path):
    got = read(lines(without("filepath", summeval())), "skip", "summeval", str(tmp_path))
    assert got.skipped == ("cases.jsonl:1: no `filepath`",)
    (tmp_path / "1a.story").write_bytes(b"\xff")
    for file, said in {"1a.story": "not UTF-8", "no.story": "no such file"}.items():
        with pytest.raises(UserError, match=rf"{file}: {said}"):
            read(lines(summeval(filepath=file)), "skip", "summeval", str(tmp_path))
    with pytest.raises(UserError, match="corpus format 'hanna' takes no `sources`"):
        read(lines(), form="hanna", sources="stories")
