"""The files of a run by their names in it: sealed as they are written, proven as they are read.

    verdicts/synthetic/00003.parquet    wherever the run lies
    briefs/synthetic/00003-s1f0c.parquet    in the run's folder, or in one that runs share

A file that is not as it was written is a Damaged, which says what can be done.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from evaljudge.errors import Damaged, UserError, first_words
from evaljudge.storage import tables
from evaljudge.storage.disk import DAMAGE, DiskError
from evaljudge.storage.place import Place
from evaljudge.storage.seals import Unsound, parquet, read_json, read_parquet, sealed_json
from evaljudge.storage.streams import FolderInPlace
from evaljudge.storage.tables import R

if TYPE_CHECKING:
    import pyarrow as pa

RUN, SHARDS = "run.json", "shards.json"
COMMON = "briefs/common/"
SEALED = "s"
"""The id of a run whose every file is sealed begins so; the ids of earlier runs are hexadecimal."""
GONE = "is gone"
OTHER_TIME = "is not the file that shards.json lists (ratings have changed between the two)"
BRIEFS = re.compile(r"(\d{5,})-(\w+?)(?:-(\w+))?\.parquet")
"""A shard's number, its run, and the panel of that run (see output.py), if it is not the first."""
_BY_RUN = "`evaljudge run CONFIG` sets it aside and does its shard again"
_BY_REPORT = "`evaljudge report CONFIG` makes it anew"
_NONE = "put it back from a copy, or take another `out` (its `briefs` can be those of this run)"
REMEDIES: Mapping[str, str] = MappingProxyType(
    {
        RUN: _NONE,
        SHARDS: _NONE,
        "cases": "`evaljudge run CONFIG` makes it anew, if the corpus is as it was when this was "
        "cut from it: without candidates that `--extend` has added to its documents since",
        "commits": _BY_RUN,
        "verdicts": _BY_RUN,
        "checks": _BY_RUN,
        "attempts": "a note of a worker, which is ignored",
        "briefs": "remove it, and `evaljudge run CONFIG` writes it again",
        COMMON: "put it back from a copy: without it, `--extend` asks for it again, and the answer "
        "may differ from the one that the other documents have",
        "labels": "put it back from a copy: without it, its sheet's ratings belong to no text",
        **dict.fromkeys(("measures", "scores", "report", "selected"), _BY_REPORT),
    }
)
"""What can be done about a damaged file of each folder."""


class RunFiles:
    """`briefs` may lie elsewhere, shared with other runs; `run`: the run's id, if it is known."""

    def __init__(self, uri: str, briefs: str | None = None, run: str = "") -> None:
        self.place = Place(uri)
        self.uri = self.place.uri
        shared = Place(briefs or self.place.at("briefs"))
        self._shared = None if shared.uri == self.place.at("briefs") else shared
        self._run = run

    @cached_property
    def name(self) -> str:
        """The run's id; empty where no run lies here."""
        return self._run or str((self.run() or {}).get("id", ""))

    def run(self) -> dict[str, Any] | None:
        content = self._find(RUN)
        if content is None:
            return None
        with self._reading(RUN):
            stored, is_proven = read_json(content, RUN, is_sealed=False)
            is_ours = {"id", "fingerprint"} <= stored.keys()
            if not is_proven and (not is_ours or str(stored["id"]).startswith(SEALED)):
                raise Unsound("has lost its sha256")
        return stored

    @property
    def has_listing(self) -> bool:
        return self.place.kind(SHARDS) != "NotFound"

    def known_run(self) -> dict[str, Any]:
        """What run.json says; refused where no run lies here, with the first run in a folder below
        (of a demo or a study)."""
        if (stored := self.run()) is not None:
            return stored
        if self.has_listing:
            raise self.damaged(RUN, GONE)
        within = self.place.folder_with(RUN)
        advice = f"; {self.place.at(within)} is one" if within else ""
        raise UserError(f"{self.uri}: no run lies here{advice}")

    def prove(self, name: str, seal: str = "") -> tuple[dict[str, Any], bool]:
        """What a JSON file holds, and whether its seal proves a file; it does not where an earlier
        version wrote it without one, and it can be read. Raises Damaged.

        `seal`: what shards.json says of this file's seal."""
        if name.endswith(".json"):
            return self._object(name, self._read(name))
        return {}, self._parquet(name, None, seal)[1]

    def damaged(self, name: str, problem: str) -> Damaged:
        place, at = self._where(name)
        kind = COMMON if name.startswith(COMMON) else name.partition("/")[0]
        return Damaged(place.at(at), problem, REMEDIES[kind])

    def set_aside(self, name: str) -> None:
        """Move a file to `damaged/`, if it is there."""
        place, at = self._where(name)
        place.set_aside(at)

    def name_of(self, error: Damaged) -> str:
        """The damaged file's name."""
        if self._shared and error.file.startswith(self._shared.at("")):
            return f"briefs{error.file.removeprefix(self._shared.uri)}"
        return error.file.removeprefix(f"{self.uri}/")

    def _where(self, name: str) -> tuple[Place, str]:
        if self._shared and name.startswith("briefs/"):
            return self._shared, name.removeprefix("briefs/")
        return self.place, name

    def _sealed_name(self, name: str) -> str:
        """What a file's seal covers besides its content: its name and the run's, which is in the
        names of briefs already, and in run.json."""
        is_enough = name == RUN or name.startswith("briefs/")
        return name if is_enough else f"{self.name}/{name}"

    def _is_sealed(self, name: str) -> bool:
        """Whether the run that wrote it sealed all of its files."""
        if name.startswith("briefs/"):
            match = BRIEFS.fullmatch(name.rpartition("/")[2])
            return bool(match and match[2].startswith(SEALED))
        return self.name.startswith(SEALED)

    def _read(self, name: str) -> bytes:
        if (content := self._find(name)) is None:
            raise self.damaged(name, GONE)
        return content

    def _find(self, name: str) -> bytes | None:
        """The file's JSON object; None where there is no such file."""
        place, at = self._where(name)
        try:
            return place.read(at)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except DiskError as error:
            if error.number not in DAMAGE:
                raise
            raise self.damaged(name, error.problem) from None
        except OSError:
            if place.kind(at) != "Directory":
                raise
            raise self.damaged(name, "is a folder") from None

    @contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        try:
            yield
        except Unsound as error:
            raise self.damaged(name, str(error)) from None

    def _json(self, name: str) -> dict[str, Any]:
        return self._object(name, self._read(name))[0]

    def _find_json(self, name: str) -> dict[str, Any] | None:
        content = self._find(name)
        return None if content is None else self._object(name, content)[0]

    def _object(self, name: str, content: bytes) -> tuple[dict[str, Any], bool]:
        with self._reading(name):
            at, must = self._sealed_name(name), self._is_sealed(name)
            stored, is_proven = read_json(content, at, is_sealed=must)
            if not is_proven and name.startswith(COMMON) and "text" not in stored:
                raise Unsound("is no reply of a model")
        return stored, is_proven

    def _write_json(self, name: str, content: Mapping[str, Any]) -> None:
        self._put(name, sealed_json(content, self._sealed_name(name)))

    def table(self, name: str, columns: list[str] | None = None, seal: str = "") -> pa.Table:
        """What a Parquet file of the run holds, of these columns those that it has."""
        return self._parquet(name, columns, seal)[0]

    def _parquet(self, name: str, columns: list[str] | None, seal: str) -> tuple[pa.Table, bool]:
        content = self._read(name)
        with self._reading(name):
            at, must = self._sealed_name(name), self._is_sealed(name)
            read = read_parquet(content, at, columns, is_sealed=must)
            if seal.encode() not in content:
                raise Unsound(OTHER_TIME)
        return read

    def _records(
        self, kind: type[R], name: str, columns: list[str] | None = None, seal: str = ""
    ) -> Iterator[R]:
        table = self.table(name, columns, seal)
        if self._is_sealed(name):
            return tables.from_table(kind, table)
        try:  # another table than ours may lie there
            return iter(list(tables.from_table(kind, table)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise self.damaged(name, f"cannot be read ({first_words(error)})") from None

    def _write_table(self, name: str, table: pa.Table) -> bytes:
        content = parquet(table, self._sealed_name(name))
        self._put(name, content)
        return content

    def _put(self, name: str, content: bytes, *, is_derived: bool = False) -> None:
        place, at = self._where(name)
        try:
            place.write(at, content, is_derived=is_derived)
        except FolderInPlace:
            place.set_aside(at)
            place.write(at, content, is_derived=is_derived)
