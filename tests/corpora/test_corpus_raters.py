"""Ratings given rater by rater: each is kept, their mean is the rating."""

import json
import sys
from fractions import Fraction
from math import isfinite, nan

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.corpora.fragment import Ratings, ratings_of
from evaljudge.records import Candidate

ROW = {"doc_id": "d", "source": "s", "system": "A", "text": "t"}
RATED = {"coherence": [4, 5, 4.5], "fluency": 3, "relevance": [2]}
AS_READ = Candidate(
    "A",
    "t",
    {"coherence": 4.5, "fluency": 3.0, "relevance": 2.0},
    {"coherence": (4.0, 5.0, 4.5), "relevance": (2.0,)},
)


def test_a_list_of_ratings_is_kept_beside_its_mean(read, lines):
    got = read(lines({**ROW, "ratings": RATED}))
    assert got.cases[0].candidates == (AS_READ,)
    assert (got.rated, got.absent_ratings) == (1, 0)


def test_absent_ratings_of_a_list_keep_their_place_and_are_counted(read, lines):
    raw = b'{"x": [NaN, 4, null, 2], "y": [null, Infinity], "z": [], "w": [1%s]}' % (b"0" * 400)
    row = json.dumps({**ROW, "ratings": 0}).encode().replace(b'"ratings": 0', b'"ratings": ' + raw)
    got = read(lines(row))
    assert got.cases[0].candidates == (
        Candidate("A", "t", {"x": 3.0}, {"x": (nan, 4.0, nan, 2.0)}),
    )
    assert got.absent_ratings == 2 + 2 + 1 + 1


def test_only_absent_ratings_are_no_rating(read, lines):
    got = read(lines({**ROW, "ratings": {"x": [None], "y": []}}))
    assert got.cases[0].candidates == (Candidate("A", "t"),)
    assert (got.rated, got.absent_ratings) == (0, 2)


@pytest.mark.parametrize(
    ("head", "cells"),
    [
        ("ratings", [json.dumps(RATED)]),
        (
            "ratings.coherence,ratings.fluency,ratings.relevance",
            ["[4, 5, 4.5]", "3", " [2]"],
        ),
        ("ratings.coherence,ratings", ["[4, 5, 4.5]", '{"fluency": 3, "relevance": [2]}']),
    ],
)
def test_csv_cells_hold_lists_as_json(read, tmp_path, head, cells):
    path = tmp_path / "c.csv"
    quoted = ",".join('"{}"'.format(cell.replace('"', '""')) for cell in cells)
    path.write_text(f"doc_id,source,system,text,{head}\nd,s,A,t,{quoted}\n")
    got = read(path).cases[0].candidates[0]
    assert (got.ratings, got.raters) == (AS_READ.ratings, AS_READ.raters)


@pytest.mark.parametrize("cell", ["[4, 5", '["4"]', "[[4]]", "{}"])
def test_a_csv_cell_that_is_no_list_of_numbers_is_refused(read, tmp_path, cell):
    path = tmp_path / "c.csv"
    quoted = cell.replace('"', '""')
    path.write_text(f'doc_id,source,system,text,ratings.x\nd,s,A,t,"{quoted}"\n')
    (said,) = read(path, "skip").skipped
    assert said.startswith(("c.csv:2: rating 'x' must be a", "c.csv:2: rating 'x' is the text"))


LIST = pa.list_(pa.float64())


@pytest.mark.parametrize(
    "ratings",
    [
        pa.array([{"x": [4, None, 2], "y": None}], pa.struct({"x": LIST, "y": LIST})),
        pa.array([[("x", [4, None, 2]), ("y", None)]], pa.map_(pa.string(), LIST)),
        pa.array(['{"x": [4, null, 2], "y": null}']),
    ],
)
def test_parquet_holds_lists_as_struct_map_or_json(read, tmp_path, ratings):
    expected = Candidate("A", "t", {"x": 3.0}, {"x": (4.0, nan, 2.0)})
    flat = pa.table({name: [value] for name, value in ROW.items()} | {"ratings": ratings})
    candidates = pa.StructArray.from_arrays(
        [pa.array(["A"]), pa.array(["t"]), ratings], ["system", "text", "ratings"]
    )
    nested = {
        "doc_id": ["d"],
        "source": ["s"],
        "candidates": pa.ListArray.from_arrays([0, 1], candidates),
    }
    for table in (flat, pa.table(nested)):
        pq.write_table(table, tmp_path / "c.parquet")
        got = read(tmp_path / "c.parquet")
        assert (got.cases[0].candidates, got.absent_ratings) == ((expected,), 2)


def test_parquet_columns_of_lists(read, tmp_path):
    columns = {name: [value] for name, value in ROW.items()}
    ratings = {"ratings.x": pa.array([[4, 5]], LIST), "ratings.y": [1.5]}
    pq.write_table(pa.table(columns | ratings), tmp_path / "c.parquet")
    got = read(tmp_path / "c.parquet").cases[0].candidates[0]
    assert (got.ratings, got.raters) == ({"x": 4.5, "y": 1.5}, {"x": (4.0, 5.0)})


def digests_of(read, lines, ratings):
    got = read(lines({**ROW, "ratings": ratings}))
    return got.digest, got.ratings_digest


@pytest.mark.parametrize("ratings", [{"x": 4}, {"x": [4]}, {"x": [5, 3]}, {"x": [3, 4, 5]}])
def test_raters_change_the_digest_of_ratings_only(read, lines, ratings):
    content, rated = digests_of(read, lines, {"x": [3, 5]})
    other, other_rated = digests_of(read, lines, ratings)
    assert other == content
    assert other_rated != rated


def test_rows_of_one_document_keep_their_raters_in_any_order(read, lines):
    rows = [{**ROW, "system": s, "ratings": {"x": [n, n + 1]}} for n, s in enumerate("ABC")]
    here, there = read(lines(*rows)), read(lines(*rows[::-1]))
    assert here.ratings_digest == there.ratings_digest
    assert {c.system: c.raters["x"] for c in there.cases[0].candidates} == {
        "A": (0.0, 1.0),
        "B": (1.0, 2.0),
        "C": (2.0, 3.0),
    }


TINY = Fraction(5e-324)
finite = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(finite, min_size=1, max_size=8))
def test_the_mean_is_the_true_one_but_for_two_roundings(numbers):
    exact = sum(map(Fraction, numbers)) / len(numbers)
    mean = ratings_of({"x": numbers}).mean["x"]
    assert abs(Fraction(mean) - exact) <= abs(exact) * Fraction(sys.float_info.epsilon) + TINY
    assert mean == ratings_of({"x": numbers[::-1]}).mean["x"]


@given(st.lists(st.none() | finite | st.just(float("nan")), max_size=6))
def test_every_rating_of_a_list_is_kept_or_counted(numbers):
    got = ratings_of({"x": numbers})
    kept = got.raters.get("x", ())
    assert sum(map(isfinite, kept)) + got.absent == max(len(numbers), 1)
    assert got.mean.keys() == got.raters.keys()
    for place, number in enumerate(numbers):
        if number is not None and isfinite(number):
            assert kept[place] == number
        else:
            assert place >= len(kept) or kept[place] is nan
    assert not kept or isfinite(kept[-1])


def test_no_ratings():
    assert ratings_of(None) == ratings_of({}) == Ratings({}, {}, 0)
