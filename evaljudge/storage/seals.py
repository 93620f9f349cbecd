"""Seals: every file of a run proves by itself that it is as it was written.

    {"stage": "judge", …, "sha256": "9f86d081…"}    a JSON file: its last key
    sha256 = 9f86d081…                              a Parquet file: metadata in its footer

The digest is of the run's id and the file's name, and of the file's bytes with 64 zeros in the
digest's place. So a changed byte is noticed, a file that was cut short, and one of another shard or
another run. A file and what proves it are written at once, whatever is killed in between.

A stage of a shard is one object: a zip, not compressed, of the files that it wrote, each with the
name and the seal of a file of its own, and last the receipt that they count. Its end, where the
receipt and the directory lie, can be read without the rest.
"""

import io
import json
import struct
import zlib
from collections.abc import Mapping
from hashlib import sha256
from threading import Lock
from types import MappingProxyType
from typing import Any
from zipfile import BadZipFile, ZipFile, ZipInfo

import pyarrow as pa
import pyarrow.parquet as pq

from evaljudge.errors import first_words

SEAL, PARTS = "sha256", "shards"
NO_PARTS: Mapping[str, Any] = MappingProxyType({})
ZEROS = "0" * 64
NOTED = 16  # digits of a seal that are noted elsewhere
_IN_JSON = f'"{SEAL}": "'.encode()
_IN_PARQUET = SEAL.encode() + b"\x18\x40"  # Thrift: a text of 64 bytes follows
WITH_DICTIONARY = ["signature"]  # the only column that repeats long texts


class Unsound(Exception):
    """What is wrong with a file's content."""


def json_text(content: Any) -> str:
    return json.dumps(content, indent=1, ensure_ascii=False) + "\n"


def sealed_json(content: Mapping[str, Any], name: str) -> bytes:
    """`name`: of the file, with the run's id."""
    return _sealed(json_text({**content, SEAL: ZEROS}).encode(), _IN_JSON, name)


def sealed_object(content: bytes, name: str) -> bytes:
    """The same of an object that is JSON already."""
    return _sealed(content[:-1] + f', {_IN_JSON.decode()}{ZEROS}"}}'.encode(), _IN_JSON, name)


def read_json(content: bytes, name: str) -> dict[str, Any]:
    """The object in the file, which its seal proves."""
    _check(content, _IN_JSON, name)
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Unsound(f"cannot be read ({first_words(error)})") from None
    if not isinstance(parsed, dict):
        raise Unsound("holds no JSON object")
    parsed.pop(SEAL, None)
    return parsed


def seal_of(content: bytes) -> str:
    """The first digits of a sealed Parquet file's own seal."""
    at = content.rindex(_IN_PARQUET) + len(_IN_PARQUET)
    return content[at : at + NOTED].decode()


def parquet(table: pa.Table, name: str, parts: Mapping[str, pa.Table] = NO_PARTS) -> bytes:
    """The file of few rows: without statistics, as nobody searches by them, and with a dictionary
    only of what repeats and is long. So a file is smaller, and read in less time.

    `parts`: row groups instead of one table, by their names.
    """
    content = pa.BufferOutputStream()
    with pq.ParquetWriter(
        content,
        table.schema,
        use_dictionary=WITH_DICTIONARY,
        write_statistics=False,
        write_page_checksum=True,
    ) as writer:
        for each in parts.values() if parts else [table]:
            writer.write_table(each)
        if parts:
            writer.add_key_value_metadata({PARTS: " ".join(parts)})
        writer.add_key_value_metadata({SEAL: ZEROS})
    return _sealed(content.getvalue().to_pybytes(), _IN_PARQUET, name)


def read_parquet(
    content: bytes, name: str, columns: list[str] | None = None, part: str = ""
) -> pa.Table:
    """The table in the file, or a part of it, which its seal proves."""
    _check(content, _IN_PARQUET, name)
    try:
        file = pq.ParquetFile(pa.BufferReader(content), pre_buffer=False)
        if not part:
            return file.read(columns, use_threads=False)  # few: threads cost more
        if part not in (names := parts_of(file.metadata)):
            raise Unsound(f"has no rows of shard {part}")
        return file.read_row_group(names.index(part), columns, use_threads=False)
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Unsound(f"cannot be read ({first_words(error)})") from None


def parts_of(metadata: pq.FileMetaData) -> list[str]:
    noted: Mapping[bytes, bytes] = metadata.metadata or {}
    return noted.get(PARTS.encode(), b"").decode().split()


def _sealed(content: bytes, mark: bytes, name: str) -> bytes:
    at = content.rindex(mark) + len(mark)
    return content[:at] + _digest(content, at, name) + content[at + len(ZEROS) :]


def _check(content: bytes, mark: bytes, name: str) -> None:
    """Unsound where no seal proves the content."""
    if not content:
        raise Unsound("is empty")
    before = content.rfind(mark)
    at = before + len(mark)
    if before < 0 or content[at : at + len(ZEROS)] != _digest(content, at, name):
        raise Unsound("is not as it was written (its content does not match its sha256)")


def _digest(content: bytes, at: int, name: str) -> bytes:
    made = sha256(f"{name}\n".encode())
    whole = memoryview(content)
    for piece in (whole[:at], ZEROS.encode(), whole[at + len(ZEROS) :]):
        made.update(piece)
    return made.hexdigest().encode()


END = 1 << 16  # bytes at the end of a bundle that hold its receipt, or nearly always do
_END_RECORD = 22  # bytes of a zip's last record, of a zip without a comment
_BROKEN = (
    *(BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, LookupError, OSError),
    *(struct.error, zlib.error),
)
"""What reading a damaged zip may raise."""


def bundled(parts: Mapping[str, bytes]) -> bytes:
    """The same parts make the same bytes, whenever that is."""
    made = io.BytesIO()
    with ZipFile(made, "w") as archive:
        for name, content in parts.items():
            archive.writestr(ZipInfo(name), content)
    return made.getvalue()


class Bundle:
    def __init__(self, content: bytes) -> None:
        """`content`: the whole bundle, or its end."""
        if not content:
            raise Unsound("is empty")
        try:
            self._archive = ZipFile(io.BytesIO(content))
        except _BROKEN as error:
            raise Unsound(f"cannot be read ({first_words(error)})") from None
        if content[-_END_RECORD:][:4] != b"PK\x05\x06":  # zipfile reads past what follows it
            raise Unsound("has bytes after its end")
        self.names = self._archive.namelist()

    def lies_before(self, name: str) -> bool:
        """Whether a part lies before the end that was read."""
        return name in self.names and self._archive.getinfo(name).header_offset < 0

    def part(self, name: str) -> bytes:
        if name not in self.names:
            raise Unsound(f"has no part {name}")
        try:
            return self._archive.read(name)
        except _BROKEN as error:
            raise Unsound(f"its part {name} cannot be read ({first_words(error)})") from None


class Recent:
    """The files last read or written whole, up to so many bytes in all: so the parts of a bundle
    are one request."""

    def __init__(self, most: int = 32 << 20) -> None:
        self._most, self._lock = most, Lock()
        self._kept: dict[str, bytes] = {}
        self._reading = [Lock() for _ in range(64)]

    def reading(self, name: str) -> Lock:
        """Held while a file is read, so that threads that want it at once read it once."""
        return self._reading[hash(name) % len(self._reading)]

    def get(self, name: str) -> bytes | None:
        with self._lock:
            return self._kept.get(name)

    def keep(self, name: str, content: bytes) -> None:
        with self._lock:
            self._kept.pop(name, None)
            if len(content) <= self._most:
                self._kept[name] = content
            while sum(map(len, self._kept.values())) > self._most:
                del self._kept[next(iter(self._kept))]

    def forget(self, name: str) -> None:
        with self._lock:
            self._kept.pop(name, None)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
