"""Whatever a file holds, it is read, skipped or refused in one line."""

import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaljudge.errors import UserError

FIELDS = ["doc_id", "source", "references", "context", "candidates", "system", "text", "ratings"]
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3)
anything = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=12,
)
likely = st.sampled_from(["d", "e", "", None, 1, [], {}, {"x": 1}, [{"system": "A", "text": "t"}]])
rows = st.dictionaries(st.sampled_from(FIELDS), likely | anything)


def outcome(read, path, form="generic"):
    try:
        got = read(path, "skip", form)
    except UserError as error:
        return str(error)
    assert len(got.skipped) == min(got.skipped_rows, 20)
    return ", ".join(got.skipped)


def read_or_refuse(read, name, content, form="generic"):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        said = outcome(read, path, form)
    assert "\n" not in said


@given(st.lists(rows | anything, max_size=8))
def test_any_json_lines(read, found):
    content = "".join(json.dumps(row) + "\n" for row in found)
    read_or_refuse(read, "c.jsonl", content.encode())


NAMES = {
    "summeval": "id decoded expert_annotations references model_id filepath text coherence",
    "topicalchat": "context fact responses response model Natural Overall Engaging",
    "rose": "example_id source reference annotations system_outputs bart acu prior",
    "govreport": "dataset dataset_id model_type model_summary relevance a1 a2 document_id summary",
}
texts = st.sampled_from(["GovReport", "bart", "4", "", "a\nb"])


def rows_with(names):
    names = st.sampled_from(names) | st.just("x\ny") | st.text(max_size=3)
    values = st.recursive(
        texts | plain,
        lambda inner: st.dictionaries(names, inner) | st.lists(inner, max_size=3),
        max_leaves=12,
    )
    return st.lists(st.dictionaries(names, values), max_size=4)


ROWS = {form: rows_with(names.split()) for form, names in NAMES.items()}


@given(st.sampled_from(sorted(ROWS)), st.data())
def test_any_json_in_a_published_form(read, form, chance):
    found = chance.draw(ROWS[form])
    read_or_refuse(read, "c.jsonl", "\n".join(map(json.dumps, found)).encode(), form)


HEADS = {
    "hanna": b"Story ID,Prompt,Human,Story,Model,Relevance,Coherence,Empathy,Surprise,Engagement,"
    b"Complexity\n",
    "newsroom": b"ArticleID,System,ArticleText,SystemSummary,CoherenceRating,FluencyRating,"
    b"InformativenessRating,RelevanceRating\n",
    "arxiv": b"dataset,dataset_id,model_type,model_summary,relevance,factual_consistency\n",
}
cells = st.sampled_from([b"1", b"2", b"x", b"", b"nan", b"arXiv", b"\xff", b'"a\nb"', b"&lt;<p>"])


@given(st.sampled_from(sorted(HEADS)), st.lists(st.lists(cells, min_size=5, max_size=12)))
def test_any_cells_in_a_published_form(read, form, found):
    content = HEADS[form] + b"\n".join(map(b",".join, found))
    read_or_refuse(read, "c.csv", content, form)


pieces = st.lists(st.sampled_from([b'"', b",", b"\n", b"\r", b"\xff", b"\0", b"a", b"{", b"["]))


@given(st.sampled_from(["c.jsonl", "c.csv", "c.parquet", "c.csv.gz"]), pieces)
def test_any_bytes(read, name, found):
    head = b"" if name.endswith("gz") else b"doc_id,source,system,text\n"
    read_or_refuse(read, name, head + b"".join(found))


@pytest.fixture(scope="module")
def table():
    """A good Parquet file, as bytes."""
    columns = {name: ["a", "b"] for name in ("doc_id", "source", "system", "text")}
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink)
    return sink.getvalue().to_pybytes()


@given(st.integers(0, 10_000), st.integers(0, 255))
@example(4, 255)
@example(310, 128)  # a column whose name is not UTF-8
def test_a_parquet_file_with_one_byte_changed(read, table, at, byte):
    at %= len(table)
    read_or_refuse(read, "c.parquet", table[:at] + bytes([byte]) + table[at + 1 :])
