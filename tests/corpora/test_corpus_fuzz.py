"""Whatever a file holds, it is read, skipped or refused in one line."""

import json
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from evaljudge.errors import UserError

FIELDS = ["doc_id", "source", "references", "context", "candidates", "system", "text", "ratings"]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=3), inner, max_size=6)
    ),
    max_leaves=12,
)
likely = st.sampled_from(["d", "e", "", None, 1, [], {}, {"x": 1}, [{"system": "A", "text": "t"}]])
rows = st.dictionaries(st.sampled_from(FIELDS), likely | anything)


def outcome(read, path):
    try:
        got = read(path, "skip")
    except UserError as error:
        return str(error)
    assert len(got.skipped) == min(got.skipped_rows, 20)
    return ", ".join(got.skipped)


def read_or_refuse(read, name, content):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        said = outcome(read, path)
    assert "\n" not in said


@settings(max_examples=150, deadline=None)
@given(st.lists(rows | anything, max_size=8))
def test_any_json_lines(read, found):
    content = "".join(json.dumps(row) + "\n" for row in found)
    read_or_refuse(read, "c.jsonl", content.encode())


pieces = st.lists(st.sampled_from([b'"', b",", b"\n", b"\r", b"\xff", b"\0", b"a", b"{", b"["]))


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=100, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 255))
@example(4, 255)
@example(310, 128)  # a column whose name is not UTF-8
def test_a_parquet_file_with_one_byte_changed(read, table, at, byte):
    at %= len(table)
    read_or_refuse(read, "c.parquet", table[:at] + bytes([byte]) + table[at + 1 :])
