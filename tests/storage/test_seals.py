"""A sealed file proves itself: no byte of it can change, and it cannot lie elsewhere, unnoticed."""

import pickle
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaljudge.errors import Damaged
from evaljudge.storage.seals import Unsound, parquet, read_json, read_parquet, sealed_json

NAME = "s1f0c/verdicts/synthetic/00003.parquet"
CONTENT = {"stage": "judge", "seconds": 0.1, "files": ["ü"], "sha256": "another's"}
TABLE = pa.table({"doc_id": ["a", "b"] * 20, "signature": ["long"] * 40, "n": range(40)})
Read = Callable[..., Any]
KINDS = [
    pytest.param(sealed_json(CONTENT, NAME), read_json, id="json"),
    pytest.param(parquet(TABLE, NAME), read_parquet, id="parquet"),
]


def test_what_was_sealed_is_read_and_nothing_else():
    plain = {name: value for name, value in CONTENT.items() if name != "sha256"}
    assert read_json(sealed_json(CONTENT, NAME), NAME) == plain
    assert read_parquet(parquet(TABLE, NAME), NAME, ["n"]).equals(TABLE.select(["n"]))
    unsealed = pa.BufferOutputStream()
    pq.write_table(TABLE, unsealed)
    for content, said in ((b"", "is empty"), (b'{"a": 1}', "not as it was"), (b"{", "not as it")):
        with pytest.raises(Unsound, match=said):
            read_json(content, NAME)
    with pytest.raises(Unsound, match="not as it was written"):
        read_parquet(unsealed.getvalue().to_pybytes(), NAME)


@pytest.mark.parametrize(("content", "read"), KINDS)
def test_every_changed_byte_is_noticed(content, read):
    for at in range(len(content)):
        changed = content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]
        with pytest.raises(Unsound, match="not as it was written"):
            read(changed, NAME)


@pytest.mark.parametrize(("content", "read"), KINDS)
def test_every_cut_is_noticed(content, read):
    for size in range(len(content)):
        with pytest.raises(Unsound):
            read(content[:size], NAME)


@pytest.mark.parametrize(("content", "read"), KINDS)
def test_a_file_in_another_s_place_is_noticed(content, read):
    for name in (NAME.replace("3", "4"), NAME.replace("1f0c", "1f0d")):
        with pytest.raises(Unsound):
            read(content, name)


def test_readers_and_processes_are_told_of_damage():
    content = parquet(pa.table({"text": ["one long text of a document"]}), NAME)
    at = content.index(b"long text")
    changed = pa.BufferReader(content[:at] + b"L" + content[at + 1 :])
    with pytest.raises(OSError, match="CRC checksum verification failed"):
        pq.ParquetFile(changed, page_checksum_verification=True).read()
    error = Damaged("runs/first/run.json", "is empty", "put it back")
    said = "runs/first/run.json: is empty: put it back"
    copy = pickle.loads(pickle.dumps(error))
    assert isinstance(copy, Damaged)
    assert (str(copy), copy.file) == (said, error.file)
