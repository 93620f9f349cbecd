"""The files of a run by their names in it: sealed as they are written, proven as they are read.

    verdicts/synthetic/00003.parquet    wherever the run lies
    briefs/synthetic/00003-s1f0c.parquet    in the run's folder, or in one that runs share

What a stage of a shard writes is a part of the stage's bundle (seals.py), and has the same name as
if it were a file of its own.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import pyarrow as pa

from evaljudge.errors import Damaged, UserError, absent
from evaljudge.storage import tables
from evaljudge.storage.failures import DAMAGE, DiskError
from evaljudge.storage.place import Place
from evaljudge.storage.seals import (
    END,
    Bundle,
    Recent,
    Unsound,
    bundled,
    parquet,
    read_json,
    read_parquet,
    sealed_json,
)
from evaljudge.storage.tables import R

RUN, SHARDS, SPENT = "run.json", "shards.json", "spent.json"
COMMON = "briefs/common/"
LAYOUT = 3  # what run.json says of how the run's files are made; a run of another is refused
BUNDLED, LOOSE = "z", "s"
"""A run's id begins with the first; in the names of its briefs that are no part of a bundle, with
the second."""
GONE = "is gone"
OTHER_TIME = "is not the file that shards.json lists (ratings have changed between the two)"
BRIEFS = re.compile(r"(\d{5,})-(\w+?)(?:-(\w+))?\.parquet")
"""A shard's number, its run, and the panel of that run, if it is not the first."""
_OF_SHARD = re.compile(r"(commits|verdicts|checks|measures|briefs)/(.+)/((\d{5,}).+)")
_NONE = "put it back from a copy, or take another `out` (its `briefs` can be those of this run)"
_KEPT = ("cases/", "scores/")  # whose files are read several times by one report
REMEDIES: Mapping[str, str] = {
    RUN: _NONE,
    SHARDS: _NONE,
    "cases": "`evaljudge run CONFIG` makes it anew, if the corpus is as it was when this was "
    "cut from it: without candidates that `--extend` has added to its documents since",
    "commits": "`evaljudge run CONFIG` sets it aside and does its shard again",
    "partial": "the documents that were saved there are asked about again",
    "briefs": "remove it, and `evaljudge run CONFIG` writes it again",
    COMMON: "put it back from a copy: without it, `--extend` asks for it again, and the answer "
    "may differ from the one that the other documents have",
    SPENT: "remove it: then only what is committed counts for `most`",
    "labels": "put it back from a copy: without it, its sheet's ratings belong to no text",
    "cascade.json": "put it back from a copy: else no report says what was passed on",
    "why": "remove it, and `evaljudge why` has it written again",
    **dict.fromkeys(("scores", "report", "selected"), "`evaljudge report CONFIG` makes it anew"),
}
"""What can be done about a damaged file of each folder."""


@dataclass(frozen=True, slots=True)
class Panel:
    """The judges of one model, by the ends of the names of what is written for them; both are empty
    for the model that a configuration names for all judges."""

    prepare: str = ""  # the end of the names of briefs and their markers: their writer's
    judge: str = ""


def panels_of(run: Mapping[str, Any]) -> dict[str, Panel]:
    """Each judge's, by what run.json says; none where all judges have the model for all."""
    return {judge: Panel(*ends) for judge, ends in run.get("panels", {}).items()}


def ended(name: str, end: str) -> str:
    return f"{name}-{end}" if end else name


def _has_run(uri: str) -> bool:
    return Place(uri).kind(RUN) == "File"


class RunFiles:
    """`briefs` may lie elsewhere, shared with other runs; `run`: the run's id, if it is known.

    `panel`: the one that is asked or read; without one, those of all panels of the run are read.
    """

    def __init__(
        self, uri: str, briefs: str | None = None, run: str = "", panel: Panel | None = None
    ) -> None:
        self.place, self.panel = Place(uri), panel
        self.uri = self.place.uri
        shared = Place(briefs or self.place.at("briefs"))
        self._shared = None if shared.uri == self.place.at("briefs") else shared
        self._run = run
        self._recent = Recent()
        self._known: dict[str, dict[str, Any]] = {}
        """run.json and shards.json, as they were read."""
        self._unbundled: dict[str, dict[str, bytes]] = {}
        """The parts of bundles that are not written yet."""

    def __reduce__(self) -> tuple[Any, ...]:
        """What travels to a worker reads everything itself."""
        shared = self._shared.uri if self._shared else None
        return type(self), (self.uri, shared, self.name, self.panel)

    def _but(self, **changes: Any) -> Self:
        """Another one that knows and keeps what this one does."""
        other = object.__new__(type(self))
        other.__dict__ |= self.__dict__ | changes
        return other

    @cached_property
    def name(self) -> str:
        """The run's id; empty where no run lies here."""
        return self._run or str((self.run() or {}).get("id", ""))

    def run(self) -> dict[str, Any] | None:
        if RUN in self._known:
            return dict(self._known[RUN])
        if (content := self._find(RUN)) is None:
            return None
        with self._reading(RUN):
            stored = read_json(content, RUN)
        if (layout := stored.get("layout")) != LAYOUT:
            raise UserError(
                f"{self.uri}: a run of another version of evaljudge lies here (its layout is "
                f"{layout}, and this version reads {LAYOUT}): take another `out`"
            )
        self._known[RUN] = stored
        return dict(stored)

    @property
    def has_listing(self) -> bool:
        return self.place.kind(SHARDS) != "NotFound"

    def known_run(self) -> dict[str, Any]:
        """Refused where no run lies here, with a run above it, or one or a configuration below."""
        if (stored := self.run()) is not None:
            return stored
        if self.has_listing:
            raise self.damaged(RUN, GONE)
        above = map(str, Path(self.uri).parents) if self.place.is_local else ()
        near = next(filter(_has_run, above), None)
        near = near or next(filter(_has_run, map(self.place.at, self.place.folders(""))), None)
        if near:
            raise UserError(f"{self.uri}: no run lies here; {near} is one")
        for name in self.place.names(""):
            if name.endswith((".yaml", ".yml")):
                raise UserError(f"{self.uri}: no run lies here; {self.place.at(name)} may make one")
        raise absent(self.uri, "no run lies here")

    def prove(self, name: str, seal: str = "") -> dict[str, Any]:
        """What a JSON file holds. Raises Damaged where its seal does not prove a file.

        A bundle's receipt is proven with all other parts. `seal`: what shards.json says of this
        file's seal."""
        if not name.endswith(".json"):
            self.table(name, seal=seal)
            return {}
        stored = self._json(name)
        if bundle := self.bundle(name):
            with self._reading(bundle):
                there = Bundle(self._whole(bundle) or b"").names
            parts = [part for part in stored["files"] if not part.startswith(COMMON)]
            for part in {*parts, *there} - {name}:
                self.table(part)
        return stored

    def damaged(self, name: str, problem: str) -> Damaged:
        file = self.bundle(name) or name
        place, at = self._where(file)
        kind = COMMON if name.startswith(COMMON) else file.partition("/")[0]
        if file not in (name, f"{name.removesuffix('json')}zip") and problem != GONE:
            problem = f"its part {name} {problem}"
        return Damaged(place.at(at), problem, REMEDIES[kind])

    def set_aside(self, name: str) -> None:
        """Move a file to `damaged/`, if it is there, or the bundle that it is a part of."""
        place, at = self._where(self.bundle(name) or name)
        self._recent.clear()
        place.set_aside(at)

    def name_of(self, error: Damaged) -> str:
        if self._shared and error.file.startswith(self._shared.at("")):
            return f"briefs{error.file.removeprefix(self._shared.uri)}"
        return error.file.removeprefix(f"{self.uri}/")

    def bundle(self, name: str) -> str:
        """The bundle in which a file of this name lies; empty where it is no part of any."""
        if not (match := _OF_SHARD.fullmatch(name)):
            return ""
        folder, of, file, number = match.groups()
        if folder == "briefs":
            briefs = BRIEFS.fullmatch(file)
            if briefs is None or not briefs[2].startswith(BUNDLED):
                return ""
            return f"briefs/{ended(briefs[2], briefs[3])}/{number}.zip"
        stage, _, end = of.partition("-")
        if folder == "commits" and stage == "prepare":
            return f"briefs/{ended(self.name, end)}/{number}.zip"
        if folder in ("verdicts", "checks"):
            panel = self.panel or panels_of(self.run() or {}).get(of, Panel())
            of = ended("judge", panel.judge)
        if folder == "measures":
            of = of.rpartition("/")[0] or "measure"
        return f"commits/{of}/{number}.zip"

    def _where(self, name: str) -> tuple[Place, str]:
        if self._shared and name.startswith("briefs/"):
            return self._shared, name.removeprefix("briefs/")
        return self.place, name

    def _sealed_name(self, name: str) -> str:
        """What a file's seal covers besides its content: its name and the run's, which is in the
        names of briefs already, and in run.json."""
        is_enough = name == RUN or name.startswith("briefs/")
        return name if is_enough else f"{self.name}/{name}"

    def _read(self, name: str) -> bytes:
        if (content := self._find(name)) is None:
            raise self.damaged(name, GONE)
        return content

    def _find(self, name: str) -> bytes | None:
        if not (bundle := self.bundle(name)):
            return self._whole(name, is_kept=name.startswith(_KEPT))
        if (whole := self._whole(bundle, is_kept=True)) is None:
            return None
        with self._reading(bundle):
            return Bundle(whole).part(name)

    def _find_at_end(self, name: str) -> bytes | None:
        """The same of a receipt, of which no more is read than the end of its bundle."""
        bundle = self.bundle(name)
        if not bundle or self._recent.get(bundle):
            return self._find(name)
        if (content := self._whole(bundle, last=END)) is None:
            return None
        with self._reading(bundle):
            end = Bundle(content)
            return self._find(name) if end.lies_before(name) else end.part(name)

    def has_part(self, name: str) -> bool:
        """Whether its bundle, if it is there, has this part; true of what is no part of any."""
        bundle = self.bundle(name)
        content = self._whole(bundle, is_kept=True) if bundle else None
        if content is None:
            return True
        with self._reading(bundle):
            return name in Bundle(content).names

    def _whole(self, name: str, last: int | None = None, *, is_kept: bool = False) -> bytes | None:
        """A file as it lies there, or `last` bytes of it; `is_kept`: it will be read again."""
        with self._recent.reading(name) if is_kept else nullcontext():
            if (kept := self._recent.get(name)) is not None:
                return kept
            content = self._from_place(name, last)
            if content is not None and is_kept:
                self._recent.keep(name, content)
            return content

    def _from_place(self, name: str, last: int | None) -> bytes | None:
        place, at = self._where(name)
        try:
            return place.read(at, last)
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
        return self._object(name, self._read(name))

    def _find_json(self, name: str) -> dict[str, Any] | None:
        content = self._find(name)
        return None if content is None else self._object(name, content)

    def _object(self, name: str, content: bytes) -> dict[str, Any]:
        with self._reading(name):
            return read_json(content, self._sealed_name(name))

    def keep(self, name: str, content: Mapping[str, Any]) -> None:
        self._put(name, sealed_json(content, self._sealed_name(name)))

    def table(
        self, name: str, columns: list[str] | None = None, seal: str = "", part: str = ""
    ) -> pa.Table:
        """What a Parquet file of the run holds, of these columns those that it has; `part`: of
        which shard, where it holds several."""
        content = self._read(name)
        with self._reading(name):
            read = read_parquet(content, self._sealed_name(name), columns, part)
            if seal.encode() not in content:
                raise Unsound(OTHER_TIME)
        return read

    def _records(
        self, kind: type[R], name: str, columns: list[str] | None = None, **how: str
    ) -> Iterator[R]:
        """`how`: the seal or the part, as for `table`."""
        return tables.from_table(kind, self.table(name, columns, **how))

    def _write_table(self, name: str, table: pa.Table) -> bytes:
        content = parquet(table, self._sealed_name(name))
        self._put(name, content)
        return content

    def _put(self, name: str, content: bytes, *, is_derived: bool = False) -> None:
        """Write a file, or keep what will be a part of a bundle until that is written."""
        if bundle := self.bundle(name):
            self._unbundled.setdefault(bundle, {})[name] = content
            return
        place, at = self._where(name)
        self._recent.forget(name)
        place.write(at, content, is_derived=is_derived)

    def _commit(self, name: str, receipt: Mapping[str, Any], *, is_changed: bool) -> bool:
        """Write a marker, with all that is ready of its bundle; False where there was one already,
        which stays. `is_changed`: then it is replaced."""
        place, at = self._where(bundle := self.bundle(name))
        sealed = sealed_json(receipt, self._sealed_name(name))
        whole = bundled(self._unbundled.pop(bundle, {}) | {name: sealed})
        is_ours = (place.write if is_changed else place.create)(at, whole) is not False
        if is_ours:
            self._recent.keep(bundle, whole)
        return is_ours
