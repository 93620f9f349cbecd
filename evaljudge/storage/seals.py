"""Seals: every file of a run proves by itself that it is as it was written.

    {"stage": "judge", …, "sha256": "9f86d081…"}    a JSON file: its last key
    sha256 = 9f86d081…                              a Parquet file: metadata in its footer

The digest is of the run's id and the file's name, and of the file's bytes with 64 zeros in the
digest's place. So a changed byte is noticed, a file that was cut short, and one of another shard or
another run. A file and what proves it are written at once, whatever is killed in between.

Parquet pages have checksums besides, as other readers know them. Files of earlier versions have no
seal: of those it is only known that they can be read.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from evaljudge.errors import first_words

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

SEAL, PARTS = "sha256", "shards"
NO_PARTS: Mapping[str, Any] = MappingProxyType({})
ZEROS = "0" * 64
NOTED = 16
"""Digits of a seal that are noted elsewhere."""
_IN_JSON = f'"{SEAL}": "'.encode()
_IN_PARQUET = SEAL.encode() + b"\x18\x40"  # Thrift: a text of 64 bytes follows
WITH_DICTIONARY = ["signature"]
"""The only column that repeats long texts."""


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


def read_json(content: bytes, name: str, *, is_sealed: bool) -> tuple[dict[str, Any], bool]:
    """The object in the file, and whether a seal proves it; `is_sealed`: it must have one."""
    is_proven = _check(content, _IN_JSON, name, is_sealed)
    try:
        parsed = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise Unsound(f"cannot be read ({first_words(error)})") from None
    if not isinstance(parsed, dict):
        raise Unsound("holds no JSON object")
    parsed.pop(SEAL, None)
    return parsed, is_proven


def seal_of(content: bytes) -> str:
    """The first digits of a sealed Parquet file's own seal."""
    at = content.rindex(_IN_PARQUET) + len(_IN_PARQUET)
    return content[at : at + NOTED].decode()


def parquet(table: "pa.Table", name: str = "", parts: "Mapping[str, pa.Table]" = NO_PARTS) -> bytes:
    """The file of few rows: without statistics, as nobody searches by them, and with a dictionary
    only of what repeats and is long. So a file is smaller, and read in less time.

    It is sealed where it has a name. `parts`: row groups instead of one table, by their names.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

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
        if name:
            writer.add_key_value_metadata({SEAL: ZEROS})
    plain: bytes = content.getvalue().to_pybytes()
    return _sealed(plain, _IN_PARQUET, name) if name else plain


def read_parquet(
    content: bytes,
    name: str,
    columns: list[str] | None = None,
    part: str = "",
    *,
    is_sealed: bool,
    is_proven: bool = False,
) -> "tuple[pa.Table, bool]":
    """The table in the file, or a part of it, and whether a seal proves it.

    `is_sealed`: it must have a seal; `is_proven`: it has proven itself before.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    is_proven = is_proven or _check(content, _IN_PARQUET, name, is_sealed)
    try:
        file = pq.ParquetFile(
            pa.BufferReader(content),
            pre_buffer=False,
            page_checksum_verification=not is_proven,  # where pages have checksums
        )
        if not part:
            return file.read(columns, use_threads=False), is_proven  # few: threads cost more
        if part not in (names := parts_of(file.metadata)):
            raise Unsound(f"has no rows of shard {part}")
        return file.read_row_group(names.index(part), columns, use_threads=False), is_proven
    except (pa.ArrowException, OSError, ValueError) as error:
        raise Unsound(f"cannot be read ({first_words(error)})") from None


def parts_of(metadata: "pq.FileMetaData") -> list[str]:
    noted: Mapping[bytes, bytes] = metadata.metadata or {}
    return noted.get(PARTS.encode(), b"").decode().split()


def _sealed(content: bytes, mark: bytes, name: str) -> bytes:
    at = content.rindex(mark) + len(mark)
    return content[:at] + _digest(content, at, name) + content[at + len(ZEROS) :]


def _check(content: bytes, mark: bytes, name: str, is_sealed: bool) -> bool:
    """Whether a seal proves the content; Unsound where it disproves it, or is not there and must
    be."""
    if not content:
        raise Unsound("is empty")
    before = content.rfind(mark)
    at = before + len(mark)
    if before < 0 and not is_sealed:
        return False
    if before < 0 or content[at : at + len(ZEROS)] != _digest(content, at, name):
        raise Unsound("is not as it was written (its content does not match its sha256)")
    return True


def _digest(content: bytes, at: int, name: str) -> bytes:
    made = sha256(f"{name}\n".encode())
    whole = memoryview(content)
    for piece in (whole[:at], ZEROS.encode(), whole[at + len(ZEROS) :]):
        made.update(piece)
    return made.hexdigest().encode()
