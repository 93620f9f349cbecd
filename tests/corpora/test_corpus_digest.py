"""One corpus has one digest, in whatever order and form it is written."""

import csv
import json
import random
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
name = st.text(st.characters(exclude_categories=["Cs"]), max_size=4).map(str.strip).filter(bool)
rating = st.floats(-5, 5) | st.integers(-5, 5)
ratings = st.dictionaries(st.sampled_from(["coherence", "fluency"]), rating)
candidates = st.dictionaries(name, st.tuples(text, ratings), min_size=1, max_size=4)
documents = st.dictionaries(
    name,
    st.tuples(text, st.none() | text, st.lists(text, max_size=2), candidates),
    min_size=1,
    max_size=4,
)


def nested_rows(corpus):
    for doc_id, (source, context, references, candidates) in corpus.items():
        yield {
            "doc_id": doc_id,
            "source": source,
            "context": context,
            "references": references,
            "candidates": [
                {"system": s, "text": t, "ratings": r} for s, (t, r) in candidates.items()
            ],
        }


def flat_rows(corpus):
    for row in nested_rows(corpus):
        for candidate in row.pop("candidates"):
            yield {**row, **candidate}


def write_lines(path, rows):
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_csv(path, rows):
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        for row in rows:
            packed = {k: json.dumps(row[k]) if row[k] else "" for k in ("references", "ratings")}
            writer.writerow({**row, **packed})


def write_parquet(path, rows):
    kind = pa.struct({"coherence": pa.float64(), "fluency": pa.float64()})
    parts = {"system": pa.string(), "text": pa.string(), "ratings": kind}
    fields = {"doc_id": pa.string(), "source": pa.string(), "context": pa.string()}
    fields["references"] = pa.list_(pa.string())
    rest = {"candidates": pa.list_(pa.struct(parts))} if "candidates" in rows[0] else parts
    pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema(fields | rest)), path)


def as_set(got):
    return {
        (
            case.document,
            frozenset((c.system, c.text, frozenset(c.ratings.items())) for c in case.candidates),
        )
        for case in got.cases
    }


@given(documents, st.randoms(use_true_random=False))
def test_forms_and_orders_of_one_corpus_are_equal(read, corpus, chance):
    nested, flat = list(nested_rows(corpus)), list(flat_rows(corpus))
    shuffled = chance.sample(flat, len(flat))
    turned = [
        {**r, "candidates": chance.sample(r["candidates"], len(r["candidates"]))} for r in nested
    ]
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        write_lines(at / "nested.jsonl", nested)
        write_lines(at / "flat.jsonl", flat)
        write_csv(at / "flat.csv", flat)
        write_parquet(at / "nested.parquet", nested)
        write_parquet(at / "flat.parquet", flat)
        write_lines(at / "shuffled.jsonl", shuffled)
        write_lines(at / "turned.jsonl", turned[::-1])
        first, *others = [read(path) for path in sorted(at.iterdir())]
        ordered = [read(path).cases for path in at.glob("flat.*")]
    for other in others:
        assert as_set(other) == as_set(first)
        assert (other.digest, other.ratings_digest) == (first.digest, first.ratings_digest)
    assert ordered[0] == ordered[1] == ordered[2]
    assert [c.document.doc_id for c in ordered[0]] == list(corpus)


CORPUS = {
    "d1": ("s", "c", ["r", "q"], {"A": ("a", {"x": 1.0}), "B": ("b", {})}),
    "d2": ("s", None, [], {"A": ("a", {})}),
}


def digests_of(read, tmp_path, rows):
    write_lines(tmp_path / "c.jsonl", rows)
    got = read(tmp_path / "c.jsonl")
    return got.digest, got.ratings_digest


def changed(document, **fields):
    rows = list(nested_rows(CORPUS))
    rows[document].update(fields)
    return rows


@pytest.mark.parametrize(
    "rows",
    [
        changed(0, source="S"),
        changed(0, context=None),
        changed(1, context="c"),
        changed(0, references=["q", "r"]),
        changed(0, references=["rq"]),
        changed(0, references=["r"]),
        changed(1, candidates=[{"system": "A", "text": "b"}]),
        changed(1, candidates=[{"system": "B", "text": "a"}]),
        changed(1, candidates=[]),
        changed(1, candidates=[{"system": s, "text": "a"} for s in "AB"]),
    ],
)
def test_any_text_changes_the_digest_only(read, tmp_path, rows):
    content, rated = digests_of(read, tmp_path, nested_rows(CORPUS))
    other, other_rated = digests_of(read, tmp_path, rows)
    assert other != content
    assert other_rated == rated


@pytest.mark.parametrize(
    "ratings",
    [
        {"x": 2},
        {"y": 1},
        {},
        {"x": 1, "y": 1},
        {"x": 1.0000000000000002},
        {"x": [1]},
        {"x": [0, 2]},
    ],
)
def test_a_rating_changes_the_ratings_digest_only(read, tmp_path, ratings):
    content, rated = digests_of(read, tmp_path, nested_rows(CORPUS))
    rows = list(nested_rows(CORPUS))
    rows[0]["candidates"][0]["ratings"] = ratings
    other, other_rated = digests_of(read, tmp_path, rows)
    assert other == content
    assert other_rated != rated


def test_digests_do_not_change_from_release_to_release(read, tmp_path):
    rows = list(flat_rows(CORPUS))
    random.Random(0).shuffle(rows)
    assert digests_of(read, tmp_path, rows) == (
        "68839c84c6767c17494b1a0bc060a69485f4e2c48809a01e2c2e51e58ad476b1",
        "08d42a18e7ad7b19c20e13f50d4d65e1d298faa88f1db8b58de87089ab273f7c",
    )
