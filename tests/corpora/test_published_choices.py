"""Texts chosen as the best and the worst: CNN2022 and BBC2022 as published, and JSON lines."""

import gzip
import json

import pytest

from evaljudge.records import Candidate, Case, Document


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
    ({"article": None}, "no `article`"),
    ({"annotators": None}, "no `annotators`"),
    ({"annotators": [["gpt3"]]}, "`annotators` must be a list of objects, not of list"),
    ({"annotators": [{}]}, "no `best_summary` in `annotators`"),
    ({"annotators": [{"best_summary": "t0"}]},
     "`best_summary` in `annotators` must be a list, not str"),
    ({"annotators": [annotator("t5")]},
     "`best_summary` in `annotators` has 't5', which has no text here"),
    ({"annotators": [annotator("t0", "t5")]},
     "`worst_summary` in `annotators` has 't5', which has no text here"),
    ({"t0": {"words": "It rained."}}, "no `text` of 't0'"),
    ({"reference": 7}, "`reference` must be a string, not int"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "problem"), WRONG)
def test_what_is_not_recognised_is_refused(read, lines, change, problem):
    row = document(annotator("t0")) | {"doc_id": "a"} | change
    assert read(lines(row), "skip", "choices").skipped == (f"cases.jsonl:1: {problem}",)


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


def test_a_document_that_nobody_chose_from_is_unrated(read, lines):
    got = read(lines(document(doc_id="a")), form="choices")
    assert got.rated == 0
    assert [dict(c.ratings) for c in got.cases[0].candidates] == [{}, {}, {}]
