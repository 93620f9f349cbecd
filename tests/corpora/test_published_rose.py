"""RoSE's documents with their systems' outputs and annotations."""

import copy
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaljudge.records import Candidate, Case, Document

ACU = {"acu_labels": [1, 0], "acu": 0.5, "normalized_acu": 0.375}
PROTOCOLS = {"prior": 3.5, "ref_based": 2.25, "ref_free": 4.0}
ROW = {
    "example_id": "1a2b",
    "count_id": 7,
    "source": "The river rose.",
    "reference": "A flood came.\nIt rained.",
    "reference_acus": ["A flood came", "It rained"],
    "annotations": {"bart": {**PROTOCOLS, **ACU}, "brio-ext": ACU},
    "system_outputs": {"brio-ext": "Rain.", "bart": "A flood.", "gold": "Water."},
}
RATINGS = {"acu": 0.5, "normalized_acu": 0.375}
CASE = Case(
    Document("1a2b", "The river rose.", ("A flood came.\nIt rained.",)),
    (
        Candidate("brio-ext", "Rain.", RATINGS),
        Candidate("bart", "A flood.", PROTOCOLS | RATINGS),
        Candidate("gold", "Water."),
    ),
)


def test_json_lines(read, lines):
    got = read(lines(ROW), form="rose")
    assert got.cases == [CASE]
    assert (got.rated, got.absent_ratings) == (2, 0)


def test_a_json_list(read, tmp_path):
    (tmp_path / "rose.json").write_text(json.dumps([ROW, ROW | {"example_id": "3c"}], indent=2))
    got = read(tmp_path / "rose.json", form="rose")
    assert [case.document.doc_id for case in got.cases] == ["1a2b", "3c"]
    assert got.cases[0] == CASE


def test_parquet_in_which_every_row_has_every_system(read, tmp_path):
    other = {"system_outputs": {"t0": "A t0."}, "annotations": {"t0": PROTOCOLS | ACU}}
    rows = [ROW, {**ROW, "example_id": "3c", **other}]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "rose.parquet")
    first, second = read(tmp_path / "rose.parquet", form="rose").cases
    assert first.document == CASE.document
    assert {c.system: c.text for c in first.candidates} == ROW["system_outputs"]
    assert {c.system: c.ratings for c in second.candidates} == {"t0": PROTOCOLS | RATINGS}


@pytest.mark.parametrize(
    "name", ["example_id", "source", "reference", "annotations", "system_outputs"]
)
def test_a_field_that_is_missing_is_named(read, lines, name):
    row = {k: v for k, v in ROW.items() if k != name}
    assert read(lines(ROW, row), "skip", "rose").skipped == (f"cases.jsonl:2: no `{name}`",)


WRONG = [
    (("annotations", "t0", ACU), "no `system_outputs` of 't0', which has `annotations`"),
    (("annotations", "bart", 4), "`bart` in `annotations` must be an object, not int"),
    (("system_outputs", "bart", ["a"]), "`bart` in `system_outputs` must be a string, not list"),
    (
        ("annotations", "bart", {"score": 4}),
        "`annotations` of 'bart' has none of prior, ref_based, ref_free, acu, normalized_acu",
    ),
    (("annotations", "bart", {"acu": [1]}), "`acu` of 'bart' must be a number, not list"),
    (("annotations", "bart", {"acu": "high"}), "`acu` of 'bart' must be a number, not 'high'"),
]


@pytest.mark.parametrize(("change", "problem"), WRONG)
def test_what_is_not_recognised_is_refused(read, lines, change, problem):
    row = copy.deepcopy(ROW)
    part, system, value = change
    row[part][system] = value
    assert read(lines(row), "skip", "rose").skipped == (f"cases.jsonl:1: {problem}",)
