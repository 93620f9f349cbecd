"""The long documents' annotations: by means and by raters, with documents from elsewhere."""

import json

import pytest

from evaljudge.errors import UserError
from evaljudge.records import Candidate, Case, Document

ROW = {
    "dataset": "arXiv",
    "dataset_id": "ID_1603.04792",
    "model_type": "BART (LEAD 1K)",
    "model_summary": " we study rivers. ",
    "relevance": 0.375,
    "factual_consistency": 0.75,
}
REPORT = ROW | {"dataset": "GovReport", "dataset_id": "ID_R45741", "model_summary": "A report."}
CANDIDATE = Candidate(
    "BART (LEAD 1K)", " we study rivers. ", {"relevance": 0.375, "factual_consistency": 0.75}
)


def rater(relevance, factual, **fields):
    return {
        "relevance_score": relevance,
        "factual_score": factual,
        "sentence_error_list": [],
        "factual_error_type": [],
        "model": "BART (LEAD 1K)",
        "document_id": "ID_1603.04792",
        "dataset": "arXiv",
        "summary": " we study rivers. ",
    } | fields


RATERS = {"a1": rater(0.5, 1.0), "a2": rater(0.25, 0.5), "a3": rater(0.75, 0.75)}


@pytest.fixture
def listed(tmp_path):
    def write(*rows):
        path = tmp_path / "koh.jsonl"
        path.write_text(json.dumps(rows))
        return path

    return write


def test_each_format_takes_its_part_of_the_list(read, listed):
    path = listed(ROW, REPORT)
    assert read(path, form="arxiv").cases == [
        Case(Document("ID_1603.04792", ""), (CANDIDATE,)),
    ]
    (report,) = read(path, form="govreport").cases
    assert (report.document.doc_id, report.candidates[0].text) == ("ID_R45741", "A report.")


def test_the_table_says_the_same_as_the_list(read, listed, table):
    as_list, as_table = (
        read(listed(ROW, REPORT), form="arxiv"),
        read(table([ROW, REPORT]), form="arxiv"),
    )
    assert as_list.cases == as_table.cases


def test_rater_by_rater(read, listed):
    got = read(listed(RATERS), form="arxiv")
    assert got.cases[0].candidates == (
        Candidate(
            "BART (LEAD 1K)",
            " we study rivers. ",
            {"relevance": 0.5, "factual_consistency": 0.75},
            {"relevance": (0.5, 0.25, 0.75), "factual_consistency": (1.0, 0.5, 0.75)},
        ),
    )


@pytest.mark.parametrize("doc_id", ["ID_1603.04792", "1603.04792"])
def test_documents_from_elsewhere(read, listed, lines, doc_id):
    other = {"doc_id": "9999.1", "source": "Of no use.", "references": []}
    paper = {"doc_id": doc_id, "source": "Rivers run.", "references": ["Of rivers."]}
    got = read(listed(ROW), form="arxiv", sources=str(lines(other, paper)))
    assert got.cases == [
        Case(Document("ID_1603.04792", "Rivers run.", ("Of rivers.",)), (CANDIDATE,))
    ]


def test_documents_of_something_else_are_refused(read, listed, lines):
    path = lines({"doc_id": "9999.1", "source": "Of no use."})
    with pytest.raises(UserError) as raised:
        read(listed(ROW), form="arxiv", sources=str(path))
    said = "no row's `doc_id` is one of the annotated documents', as 'ID_1603.04792'"
    assert str(raised.value) == f"{path}: {said}"


def test_bad_rows_of_the_documents_are_named(read, listed, lines):
    path = lines({"doc_id": "1603.04792", "source": "Rivers run."}, b"{")
    got = read(listed(ROW), "skip", "arxiv", str(path))
    assert got.skipped == ("cases.jsonl:2: not valid JSON (one object a line)",)


@pytest.mark.parametrize("name", ROW)
def test_a_field_that_is_missing_is_named(read, listed, name):
    row = {k: v for k, v in ROW.items() if k != name}
    assert read(listed(ROW, row), "skip", "arxiv").skipped == (f"koh.jsonl: item 2: no `{name}`",)


@pytest.mark.parametrize("name", ["dataset", "document_id", "model", "summary"])
def test_a_field_that_the_first_rater_lacks_is_named(read, listed, name):
    first = {k: v for k, v in RATERS["a1"].items() if k != name}
    got = read(listed(RATERS | {"a1": first}), "skip", "arxiv")
    assert got.skipped == (f"koh.jsonl: item 1: no `{name}` of a1",)


@pytest.mark.parametrize("name", ["relevance_score", "factual_score"])
def test_a_rating_that_a_rater_lacks_is_named(read, listed, name):
    third = {k: v for k, v in RATERS["a3"].items() if k != name}
    got = read(listed(RATERS | {"a3": third}), "skip", "arxiv")
    assert got.skipped == (f"koh.jsonl: item 1: no `{name}` of a3",)


def test_another_dataset_is_refused(read, listed):
    got = read(listed(ROW | {"dataset": "PubMed"}), "skip", "arxiv")
    said = "`dataset` must be 'arXiv' or 'GovReport', not 'PubMed'"
    assert got.skipped == (f"koh.jsonl: item 1: {said}",)


def test_a_format_that_holds_its_documents_takes_no_sources(read, lines):
    with pytest.raises(UserError) as raised:
        read(lines(), form="hanna", sources="stories")
    assert str(raised.value) == (
        "corpus format 'hanna' takes no `sources`; these do: "
        "arxiv, govreport, summeval, summeval-consistent, summeval-expert-1, summeval-expert-2, "
        "summeval-expert-3, summeval-extremes, summeval-turkers"
    )
