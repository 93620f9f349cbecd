"""Ratings rater by rater: each is kept, in its rater's place; their mean is the rating."""

import json
import sys
import tempfile
from fractions import Fraction
from hashlib import blake2b
from itertools import product
from math import isfinite, nan
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaljudge.agreement.agree import ceiling
from evaljudge.analysis.tables import Tables
from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.corpora.rows import ratings_of
from evaljudge.errors import UserError
from evaljudge.records import Candidate, Case
from evaljudge.storage.tables import from_table, to_table

ROW = {"doc_id": "d", "source": "s", "system": "A", "text": "t"}
RATED = {"coherence": [4, 5, 4.5], "fluency": 3, "relevance": [2]}
AS_READ = Candidate(
    "A",
    "t",
    {"coherence": 4.5, "fluency": 3.0, "relevance": 2.0},
    {"coherence": (4.0, 5.0, 4.5), "relevance": (2.0,)},
)


@pytest.mark.parametrize(
    ("head", "cells"),
    [
        ("ratings", [json.dumps(RATED)]),
        ("ratings.coherence,ratings.fluency,ratings.relevance", ["[4, 5, 4.5]", "3", " [2]"]),
        (
            "ratings.coherence,ratings",
            ['{"a": 4, "b": 5, "c": 4.5}', '{"fluency": 3, "relevance": [2]}'],
        ),
    ],
)
def test_csv_cells_hold_lists_and_names_as_json(read, tmp_path, head, cells):
    path = tmp_path / "c.csv"
    quoted = ",".join('"{}"'.format(cell.replace('"', '""')) for cell in cells)
    path.write_text(f"doc_id,source,system,text,{head}\nd,s,A,t,{quoted}\n")
    got = read(path).cases[0].candidates[0]
    assert (got.ratings, got.raters) == (AS_READ.ratings, AS_READ.raters)


def test_named_raters_have_a_place_each(read, tmp_path):
    path = tmp_path / "c.jsonl"
    given = [{"x": {"anna": 5, "ben": 4}}, {"x": {"ben": 3}}, {"x": {"cy": 2, "anna": None}}]
    rows = [ROW | {"system": f"{n}", "ratings": ratings} for n, ratings in enumerate(given)]
    path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    corpus = read(path)
    assert [text.raters["x"] for text in corpus.cases[0].candidates] == [
        (5.0, 4.0), (nan, 3.0), (nan, nan, 2.0),
    ]  # fmt: skip
    assert corpus.absent_ratings == 1


def test_the_order_in_which_raters_are_named_says_nothing(read, lines):
    given = [{"x": {"zoe": 5, "ben": 4}}, {"x": {"ben": 3, "anna": 2}}, {"x": {"anna": 1}}]
    rows = [ROW | {"system": f"{n}", "ratings": ratings} for n, ratings in enumerate(given)]
    one, other = read(lines(*rows)), read(lines(*rows[::-1]))
    assert one.ratings_digest == other.ratings_digest
    assert [text.raters["x"] for text in one.cases[0].candidates] == [
        (nan, 4.0, 5.0), (2.0, 3.0), (1.0,),
    ]  # fmt: skip
    assert one.cases[0].candidates == other.cases[0].candidates[::-1]


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


def written(folder, form, ratings):
    path = Path(folder) / f"c.{form}"
    if form == "jsonl":
        path.write_text(json.dumps({**ROW, "ratings": {"x": ratings}}))
    elif form == "csv":
        path.write_text(f'doc_id,source,system,text,ratings.x\nd,s,A,t,"{json.dumps(ratings)}"\n')
    else:
        columns = {name: [value] for name, value in ROW.items()}
        columns["ratings.x"] = pa.array([ratings], pa.list_(pa.float64()))
        pq.write_table(pa.table(columns), path)
    return path


absent = st.none() | st.just(float("nan"))


@given(st.lists(absent | st.integers(1, 5).map(float), max_size=5))
@example([None, 4.0, float("nan"), 5.0, None])
@example([None])
def test_every_form_says_the_same_and_survives_storage(read, ratings):
    with tempfile.TemporaryDirectory() as folder:
        found = [read(written(folder, form, ratings)) for form in ("jsonl", "csv", "parquet")]
    for one in found:
        assert one.cases == found[0].cases
        assert one.absent_ratings == found[0].absent_ratings
        assert one.ratings_digest == found[0].ratings_digest
        # As a run compares its shards with the corpus: nothing is to be refreshed.
        assert list(from_table(Case, to_table(Case, one.cases))) == one.cases


def digest_of(read, lines, ratings):
    return read(lines({**ROW, "ratings": ratings})).ratings_digest


def test_digests_see_what_is_rated_and_where(read, lines):
    said = '["d", [["A", [["x", 3.0]], [["x", [null, 4.0, 2.0]]]]]]'
    expected = blake2b(said.encode(), digest_size=32).hexdigest()
    assert digest_of(read, lines, {"x": [None, 4, 2]}) == expected
    assert digest_of(read, lines, {"x": [float("nan"), 4, 2]}) == expected
    places = [[None, 4, 2], [4, None, 2], [4, 2], [None, None, 4, 2]]
    assert len({digest_of(read, lines, {"x": listed}) for listed in places}) == 4
    bare, trailed = ({"x": listed} for listed in ([4, 2], [4, 2, None, None]))
    assert digest_of(read, lines, bare) == digest_of(read, lines, trailed)


@pytest.mark.parametrize(
    ("ratings", "digest"),
    [
        ({"x": [3, 5], "y": 4}, "3d8d38ea25af6261dbf61f99e3ac7c3463f67ce060d17c1630e86fe6a46083a3"),
        ({"x": [4, 5, None]}, "2dc17552b52ecad06f4da2b25603a135b02fc12bf0638c4050c17a2c3727710e"),
    ],
)
def test_without_a_gap_the_digest_is_that_of_before_places_were_kept(read, lines, ratings, digest):
    assert digest_of(read, lines, ratings) == digest


def rows_of(matrix, systems):
    """Documents of so many candidates; null where the matrix has NaN."""
    for place, given_ in enumerate(matrix):
        names = {"doc_id": f"d{place // systems}", "system": f"s{place % systems}"}
        listed = [number if isfinite(number) else None for number in given_]
        yield {**ROW, **names, "ratings": {"x": listed}}


def rated(got):
    tables = Tables([])
    for case in got.cases:
        tables.add(case, {})
    return tables.as_rated()


@pytest.mark.parametrize("seed", range(4))
def test_the_ceiling_is_that_of_the_full_matrix(read, lines, seed):
    stream = np.random.default_rng(seed)
    matrix = stream.integers(1, 6, size=(24, 3)).astype(float)
    matrix[:8, 0] = nan  # the first rater came late
    matrix[8:, 2][stream.random(16) < 0.3] = nan  # the last one left some out
    documents, systems = zip(*product(range(6), range(4)), strict=True)
    of = rated(read(lines(*rows_of(matrix, 4))))
    np.testing.assert_array_equal(of.table("x"), matrix)
    np.testing.assert_array_equal(of.human["x"], np.nanmean(matrix, axis=1))
    assert ceiling(of.documents, of.systems, of.table("x")) == ceiling(documents, systems, matrix)


def test_rows_of_one_text_may_be_of_several_raters(read, lines):
    """As if they stood in one row by their names, in any order of the rows."""
    given = [("anna", 5, 1), ("ben", 4, None), ("cy", None, 3)]
    rows = [ROW | {"rater": who, "ratings": {"x": x, "y": y}} for who, x, y in given]
    by_name = {"x": {who: x for who, x, _ in given}, "y": {who: y for who, _, y in given}}
    digests = set[str]()
    for of_one_text in (rows, rows[::-1], [ROW | {"ratings": by_name}]):
        corpus = read(lines(*of_one_text))
        (text,) = corpus.cases[0].candidates
        assert text.ratings == {"x": 4.5, "y": 2.0} and text.raters["x"] == (5.0, 4.0)
        digests.add(corpus.ratings_digest)
    assert len(digests) == 1
    with pytest.raises(UserError, match="c.*:4: the same rater rates 'x' of this text again"):
        read(lines(*rows, rows[0]))


BEN = {"rater": "ben", "ratings": {"x": 5}}
NESTED = {"doc_id": "d", "source": "s", "candidates": [{"system": "A", "text": "t"}]}


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([ROW | {"ratings": {"x": 1}}, ROW | BEN], ":2: the text of .*:1 again"),
        ([ROW | BEN, ROW | {"rater": "NA", "ratings": {"x": 1}}], ":2: the text of .*:1 again"),
        ([NESTED, NESTED | {"rater": "ben"}], ":2: the text of .*:1 again"),
        (
            [{k: v for k, v in ROW.items() if k != "system"} | BEN] * 2,
            ":1: a row of one rater needs",
        ),
    ],
)
def test_no_rating_is_lost_whose_rater_is_not_known(read, lines, rows, said):
    with pytest.raises(UserError, match=said):
        read(lines(*rows))


def test_a_slip_in_a_later_row_of_a_text_is_not_blamed_on_the_first(read, lines):
    rows = [ROW | {"system": f"{n}", "rater": who, "ratings": {"x": 1 + n % 5}}
            for n in range(12) for who in ("anna", "ben")]  # fmt: skip
    rows[3]["ratings"] = {"x": 55}
    with open_corpus(CorpusSource(str(lines(*rows)))) as corpus:
        (slip,) = [note for note in corpus.unread if "55" in note]
    assert slip.startswith("cases.jsonl:3 or a later row: ")
