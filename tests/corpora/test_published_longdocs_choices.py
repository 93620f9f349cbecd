"""The long documents' annotations, and texts chosen as the best and the worst (CNN, BBC)."""

import gzip
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
    assert read(path, form="arxiv").cases == [Case(Document("ID_1603.04792", ""), (CANDIDATE,))]
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


@pytest.mark.parametrize("name", ["dataset", "relevance"])
def test_a_field_that_is_missing_is_named(read, listed, name):
    row = {k: v for k, v in ROW.items() if k != name}
    assert read(listed(ROW, row), "skip", "arxiv").skipped == (f"koh.jsonl: item 2: no `{name}`",)


def test_another_dataset_is_refused(read, listed):
    got = read(listed(ROW | {"dataset": "PubMed"}), "skip", "arxiv")
    said = "`dataset` must be 'arXiv' or 'GovReport', not 'PubMed'"
    assert got.skipped == (f"koh.jsonl: item 1: {said}",)


def test_a_format_that_holds_its_documents_takes_no_sources(read, lines):
    with pytest.raises(UserError, match="corpus format 'hanna' takes no `sources`"):
        read(lines(), form="hanna", sources="stories")


def annotator(best, worst=None):
    chosen = {"best_summary": best.split()}
    return chosen if worst is None else chosen | {"worst_summary": worst.split()}


def document(*annotators, **fields):
    return {
        "article": "The river rose.",
        "annotators": list(annotators),
        "t0": {"text": "It rained."},
        "gpt3": {"text": "A flood came."},
        "brio": {"text": "Rain."},
    } | fields


PUBLISHED = {
    "0": document(annotator("gpt3", "t0"), annotator("gpt3 brio", "t0"), annotator("brio", "t0")),
    "1": document(
        annotator("brio gpt3", "brio gpt3 t0"), annotator("gpt3", "brio"), annotator("t0", "brio"),
        article="It snowed.",
    ),
}  # fmt: skip
T0, GPT3, BRIO = (("t0", "It rained."), ("gpt3", "A flood came."), ("brio", "Rain."))


def rated(system, *votes):
    mean = {"overall": sum(votes) / len(votes)}
    return Candidate(*system, mean, {"overall": tuple(map(float, votes))})


CASES = [
    Case(
        Document("0", "The river rose."),
        (rated(T0, -1, -1, -1), rated(GPT3, 1, 1, 0), rated(BRIO, 0, 1, 1)),
    ),
    Case(  # who chose a text as the best and as the worst chose it as neither
        Document("1", "It snowed."),
        (rated(T0, -1, 0, 1), rated(GPT3, 0, 1, 0), rated(BRIO, 0, -1, -1)),
    ),
]


@pytest.mark.parametrize("indent", [None, 4])
def test_one_object_however_it_is_laid_out(read, tmp_path, indent):
    (tmp_path / "cnn_human.json").write_text(json.dumps(PUBLISHED, indent=indent))
    got = read(tmp_path / "cnn_human.json", form="choices")
    assert got.cases == CASES
    assert (got.rated, got.absent_ratings) == (6, 0)


def test_json_lines_and_packed(read, lines, tmp_path):
    rows = [{**row, "doc_id": doc_id} for doc_id, row in PUBLISHED.items()]
    assert read(lines(*rows), form="choices").cases == CASES
    (tmp_path / "bbc_human.json.gz").write_bytes(gzip.compress(json.dumps(PUBLISHED).encode()))
    assert read(tmp_path / "bbc_human.json.gz", form="choices").cases == CASES


def test_the_texts_that_two_of_three_chose(read, tmp_path):
    (tmp_path / "cnn_human.json").write_text(json.dumps(PUBLISHED))
    first, second = read(tmp_path / "cnn_human.json", form="choices-extremes").cases
    labels = {c.system: c.ratings["best"] for c in first.candidates}
    assert labels == {"t0": 0, "gpt3": 1, "brio": 1}
    assert {c.system: c.ratings["best"] for c in second.candidates} == {"brio": 0}
    assert first.candidates[1].raters["overall"] == (1.0, 1.0, 0.0)
    assert second.document == Document("1", "It snowed.")


def test_a_document_without_a_majority_is_left_out(read, lines):
    split = document(annotator("t0", "brio"), annotator("gpt3", "t0"), annotator("brio", "gpt3"))
    half = document(annotator("t0", "brio"), annotator("gpt3", "t0"), doc_id="b")  # one of two
    clear = document(annotator("t0", "brio"), doc_id="c")
    got = read(lines(split | {"doc_id": "a"}, half, clear), form="choices-extremes")
    assert [case.document.doc_id for case in got.cases] == ["c"]
    assert [c.ratings["best"] for c in got.cases[0].candidates] == [1, 0]


def test_a_reference_and_annotators_who_choose_no_worst(read, lines):
    row = document(annotator("t0"), annotator("gpt3"), reference="Water.", doc_id="a")
    (case,) = read(lines(row), form="choices").cases
    assert case.document.references == ("Water.",)
    assert [c.ratings["overall"] for c in case.candidates] == [0.5, 0.5, 0]


WRONG = [
    ({"annotators": None}, "not as its authors have it"),
    ({"annotators": [["gpt3"]]}, "not as its authors have it"),
    ({"annotators": [{}]}, "no `best_summary`"),
    ({"annotators": [{"best_summary": "t0"}]}, "`annotators` chose 't'"),
    ({"annotators": [annotator("t0", "t5")]}, "`annotators` chose 't5', which has no text here"),
    ({"t0": {"words": "It rained."}}, "no `text`"),
    ({"reference": 7}, "references: must be a list of strings"),
]


@pytest.mark.parametrize(("change", "problem"), WRONG)
def test_what_is_not_recognised_is_refused(read, lines, change, problem):
    row = document(annotator("t0")) | {"doc_id": "a"} | change
    (said,) = read(lines(row), "skip", "choices").skipped
    assert said.startswith(f"cases.jsonl:1: {problem}")


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("{", "c.json: not valid JSON (one object of objects)"),
        ("[]", "c.json: not an object but list"),
        ('{"0": []}', "c.json: '0': not an object but list"),
        ('{"0": {"article": "A."}}', "c.json: '0': no `annotators`"),
        ('{"0": {}, "0": {}}', "c.json: key '0' stands twice in one object"),
    ],
)
def test_an_object_of_another_form_is_refused(read, tmp_path, content, problem):
    (tmp_path / "c.json").write_text(content)
    assert read(tmp_path / "c.json", "skip", "choices").skipped == (problem,)
