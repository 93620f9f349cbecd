"""A run's output folder: every path named once, and the commit that makes a shard's files count.

    run.json  shards.json  cases/00003.parquet  commits/judge/00003.json
    briefs/synthetic/00003-1f0c9a2b.parquet  verdicts/synthetic/00003.parquet  scores/00003.parquet
    checks/synthetic/00003.parquet  briefs/common/4e1d….json  measures/rouge1/00003.parquet
    selected/good.jsonl  report/agreement.json  attempts/00003.json

Data first, marker last: a shard's files are whole before `commits/STAGE/NUMBER.json` appears, and
readers see committed shards only. A rerun of a shard overwrites its files under the same names.
Attempts are notes that workers leave for those after them; a finished run has none.

Every file that others are made of is sealed (seals.py). One that is not as it was written is an
error, Damaged, which says what to do. Files of other names than these are not ours: nobody reads
them.
"""

from __future__ import annotations

import os
import re
import sys
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from evaljudge.errors import Damaged, UserError, first_words
from evaljudge.records import Brief, Case, Document, Score, Verdict
from evaljudge.storage import tables
from evaljudge.storage.place import Place
from evaljudge.storage.seals import Unsound, parquet, read_json, read_parquet, sealed_json
from evaljudge.storage.streams import FolderInPlace
from evaljudge.storage.tables import R, Scale

if TYPE_CHECKING:
    import pyarrow as pa

Stage = Literal["prepare", "judge", "measure"]
T = TypeVar("T")
S = TypeVar("S")
RUN, SHARDS = "run.json", "shards.json"
SEALED = "s"
"""The id of a run whose every file is sealed begins so; the ids of earlier runs are hexadecimal."""
UNSIGNED: Mapping[str, str] = MappingProxyType({})
_BY_RUN = "`evaljudge run` sets it aside and does its shard again"
_BY_REPORT = "`evaljudge report` makes it anew"
_NONE = "put it back from a copy, or take another `out` (its `briefs` can be those of this run)"
REMEDIES: Mapping[str, str] = MappingProxyType({
    RUN: _NONE,
    SHARDS: _NONE,
    "cases": "`evaljudge run` makes it anew, if the corpus is as it was when the run was begun",
    "commits": _BY_RUN,
    "verdicts": _BY_RUN,
    "checks": _BY_RUN,
    "attempts": "a note of a worker, which is ignored",
    "briefs": "remove it, and `evaljudge run` writes it again",
    **dict.fromkeys(("measures", "scores", "report", "selected"), _BY_REPORT),
})  # fmt: skip
"""By the folder, what can be done about a file that is damaged."""
_KEYS: Mapping[str, set[str]] = MappingProxyType({
    RUN: {"id", "fingerprint"},
    SHARDS: {"corpus", "ratings", "shards"},
    "commits": {"stage", "shard", "worker", "worker_seconds"},
    "briefs": {"text", "finish"},
})  # fmt: skip
"""Without a seal, what tells a file of ours from any other JSON."""
_GONE = "is gone"
_COMMON = re.compile(r"[0-9a-f]+\.json")
_MARKER, _BRIEFS = re.compile(r"(\d{5,})\.json"), re.compile(r"(\d{5,})-(\w+)\.parquet")
AT_ONCE, AT_ONCE_HERE = 16, 1
"""Of work that waits for other machines, and of work with files of this one: there threads would
only take turns, which costs 40% more processor time."""


def ahead(work: Callable[[T], S], items: Iterable[T], at_once: int = AT_ONCE) -> Iterator[S]:
    """The results in the order of the items: at most `at_once` are worked on, or wait, at a time.

    For many small reads and writes, which take their time one after the other.
    """
    begun: deque[Future[S]] = deque()
    with ThreadPoolExecutor(at_once) as pool:
        for item in items:
            begun.append(pool.submit(work, item))
            if len(begun) >= at_once:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()


@dataclass(frozen=True, slots=True)
class Shard:
    """A numbered piece of the work: at most 32 cases."""

    number: int
    cases: int
    candidates: int

    @property
    def file(self) -> str:
        return f"{self.number:05d}.parquet"


class Output:
    """Reads and writes a run's files; `briefs` may lie elsewhere, shared with other runs."""

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

    # run.json and shards.json

    def run(self) -> dict[str, Any] | None:
        content = self._find(RUN)
        if content is None:
            return None
        with self._reading(RUN):
            found, is_proven = read_json(content, RUN, is_sealed=False)
            if not is_proven:
                self._expect(RUN, found)
                if str(found["id"]).startswith(SEALED):
                    raise Unsound("has lost its sha256")
        return found

    def bind(self, content: Mapping[str, Any]) -> None:
        """Write the first run.json, unless another job does so at this very moment."""
        if not self.place.create(RUN, sealed_json(content, RUN)):
            raise UserError(f"{self.uri}: another job has just begun a run there")

    def write_run(self, content: Mapping[str, Any]) -> None:
        self.place.write(RUN, sealed_json(content, RUN))

    @property
    def is_untouched(self) -> bool:
        """No shard of any stage is committed, so there is nothing that a rerun could resume."""
        return not any(self.committed(stage) for stage in get_args(Stage))

    @property
    def holds_no_answer(self) -> bool:
        """Nothing committed here was asked of a model (every text was empty or too long, say).

        What was measured without a model counts only in a run that has no judge.
        """
        if not any(self.committed(stage) for stage in ("prepare", "judge")):
            return self.is_untouched
        receipts = chain(self.receipts("prepare"), self.receipts("judge"))
        asked = (judge["tokens"]["asks"] for one in receipts for judge in one["asked"].values())
        return not any(asked)

    def release(self) -> None:
        """Free the folder for another run. Briefs stay: their keys say who can reuse them."""
        self.place.remove(SHARDS)
        self.place.remove(RUN)
        for folder in ("cases", "commits", "verdicts", "checks", "measures", "attempts"):
            self.place.remove_folder(folder)

    @property
    def has_listing(self) -> bool:
        return self.place.kind(SHARDS) != "NotFound"

    def listing(self) -> dict[str, Any] | None:
        return self._find_json(SHARDS)

    def write_listing(self, content: Mapping[str, Any]) -> None:
        self._write_json(SHARDS, content)

    def shards(self) -> list[Shard]:
        listed = (self.listing() or {"shards": []})["shards"]
        return [Shard(*numbers) for numbers in listed]

    def ahead(self, work: Callable[[T], S], items: Iterable[T]) -> Iterator[S]:
        """What `work`, which reads or writes this run's files, makes of each item, in order."""
        return ahead(work, items, AT_ONCE_HERE if self.place.is_local else AT_ONCE)

    # commits

    def committed(self, stage: Stage) -> set[int]:
        """The numbers of the shards that are done with the stage."""
        found = map(_MARKER.fullmatch, self.place.names(f"commits/{stage}"))
        return {int(name[1]) for name in found if name}

    def commit(self, stage: Stage, shard: Shard, receipt: Mapping[str, Any]) -> None:
        self._write_json(marker(stage, shard.number), receipt)

    def uncommit(self, stage: Stage, shard: Shard) -> None:
        """The stage is to be done again."""
        self.place.remove(marker(stage, shard.number))

    def receipt(self, stage: Stage, shard: Shard) -> dict[str, Any] | None:
        return self._find_json(marker(stage, shard.number))

    def receipts(self, stage: Stage, but: Collection[int] = ()) -> Iterator[dict[str, Any]]:
        """`but`: the numbers of shards that are left out."""
        numbers = sorted(self.committed(stage) - set(but))
        return self.ahead(lambda number: self._json(marker(stage, number)), numbers)

    # attempts

    def attempt(self, name: str) -> dict[str, Any]:
        """What was noted; empty where nothing was, and where a note is damaged: the notes only
        help to find out what crashed."""
        file = f"attempts/{name}.json"
        try:
            if (content := self._find(file)) is None:
                return {}
            with self._reading(file):
                return read_json(content, self._sealed_name(file), is_sealed=True)[0]
        except Damaged as error:
            print(f"warning: {error}", file=sys.stderr, flush=True)
            return {}

    def note_attempt(self, name: str, note: Mapping[str, Any]) -> None:
        self._write_json(f"attempts/{name}.json", note)

    def forget_attempt(self, name: str) -> None:
        self.place.remove(f"attempts/{name}.json")

    def forget_attempts(self) -> None:
        self.place.remove_folder("attempts")

    def tidy(self) -> None:
        """Remove what is only needed while a run goes on, or after its process died."""
        self.forget_attempts()
        self.place.sweep()

    # a shard's records

    def documents(self, shard: Shard) -> list[str]:
        """The ids of its documents, without their texts."""
        return list(self._cases(shard, ["doc_id"])["doc_id"].to_pylist())

    def sources(self, shard: Shard) -> list[Document]:
        """Its documents, with nothing but their ids and sources."""
        return [Document(**row) for row in self._cases(shard, ["doc_id", "source"]).to_pylist()]

    def cases(self, shard: Shard) -> list[Case]:
        with self._gone_or_elsewhere():
            return list(self._records(Case, f"cases/{shard.file}"))

    def texts(self, shard: Shard) -> list[tuple[str, str, str]]:
        """Each candidate's document, system and text, in the order of the cases."""
        return tables.texts_of(self._cases(shard, ["doc_id", "candidates"]))

    def _cases(self, shard: Shard, columns: list[str]) -> pa.Table:
        with self._gone_or_elsewhere():
            return self._table(f"cases/{shard.file}", columns)

    @contextmanager
    def _gone_or_elsewhere(self) -> Iterator[None]:
        """Cases are the first that a worker reads."""
        try:
            yield
        except Damaged as error:
            if error.problem != _GONE:
                raise
            elsewhere = (
                f"{_GONE}, or lies on the disk of another machine than {os.uname().nodename}"
            )
            raise Damaged(error.file, elsewhere, error.remedy) from None

    def write_cases(self, shard: Shard, cases: Iterable[Case]) -> None:
        self._write("cases", shard, Case, cases)

    def keep_cases(self, shards: Iterable[Shard]) -> None:
        """Remove the case files of all others."""
        kept = {shard.file for shard in shards}
        for name in self.place.names("cases"):
            if re.fullmatch(r"\d{5,}\.parquet", name) and name not in kept:
                self.place.remove(f"cases/{name}")

    def verdicts(self, judge: str, shard: Shard, *, with_tokens: bool = True) -> Iterator[Verdict]:
        """`with_tokens`: with what each cost; else less is read."""
        return self._verdicts(f"verdicts/{judge}/{shard.file}", with_tokens)

    def write_verdicts(self, judge: str, shard: Shard, verdicts: Iterable[Verdict]) -> str:
        return self._write(f"verdicts/{judge}", shard, Verdict, verdicts)

    def checks(self, judge: str, shard: Shard, *, with_tokens: bool = True) -> Iterator[Verdict]:
        return self._verdicts(f"checks/{judge}/{shard.file}", with_tokens)

    def write_checks(self, judge: str, shard: Shard, checks: Iterable[Verdict]) -> str:
        return self._write(f"checks/{judge}", shard, Verdict, checks)

    def measures(self, metric: str, shard: Shard) -> Iterator[Score]:
        return self._records(Score, f"measures/{metric}/{shard.file}")

    def write_measures(self, metric: str, shard: Shard, scores: Iterable[Score]) -> str:
        return self._write(f"measures/{metric}", shard, Score, scores)

    def scores(self, shard: Shard) -> Iterator[Score]:
        return self._records(Score, f"scores/{shard.file}")

    def numbers(
        self, shard: Shard, scales: Collection[Scale], columns: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """These columns of its scores on these scales, of those that are finite numbers."""
        needed = list({"scorer", "axis", "value", *columns})
        table = self._table(f"scores/{shard.file}", needed)
        found = tables.numbers_on(scales, table)
        return list(zip(*(found[name].to_pylist() for name in columns), strict=True))

    def write_scores(
        self, shard: Shard, scores: Iterable[Score], signatures: Mapping[str, str] = UNSIGNED
    ) -> None:
        """`signatures`: of the scorers whose scores do not yet hold theirs."""
        name, table = f"scores/{shard.file}", tables.score_table(scores, signatures)
        self._put(name, parquet(table, self._sealed_name(name)), is_derived=True)

    def forget_scores(self, shard: Shard) -> None:
        self.place.remove(f"scores/{shard.file}")

    def _write(self, folder: str, shard: Shard, kind: type[R], records: Iterable[R]) -> str:
        """Gives the file's name."""
        name = f"{folder}/{shard.file}"
        self._write_table(name, tables.to_table(kind, records))
        return name

    def _verdicts(self, name: str, with_tokens: bool) -> Iterator[Verdict]:
        return self._records(Verdict, name, None if with_tokens else tables.but_tokens(Verdict))

    # briefs: their files carry the run's name too, since other runs may write beside them

    def brief_file(self, shard: Shard) -> str:
        return f"{shard.number:05d}-{self.name}.parquet"

    def brief_files(self, judge: str) -> list[str]:
        place, folder = self._where(f"briefs/{judge}")
        return [name for name in place.names(folder) if _BRIEFS.fullmatch(name)]

    def reusable_briefs(self, judge: str) -> list[str]:
        """The files where a shard may find briefs besides its own.

        These are the files of other runs, and of this run those of shards that were cut before it
        was last extended.
        """
        own, cuts = f"-{self.name}.parquet", (self.listing() or {}).get("cuts", [0])
        return [
            name
            for name in self.brief_files(judge)
            if not name.endswith(own) or int(name.removesuffix(own)) < cuts[-1]
        ]

    def brief_documents(self, judge: str, file: str) -> list[str]:
        column = self._table(f"briefs/{judge}/{file}", ["doc_id"])["doc_id"]
        return list(dict.fromkeys(column.to_pylist()))

    def try_briefs(self) -> None:
        """Refuse a briefs' folder that cannot be written to, before any engine is loaded."""
        if self._shared:
            self._shared.try_out()

    def briefs(self, judge: str, files: Sequence[str]) -> Iterator[Brief]:
        for file in files:
            yield from self._records(Brief, f"briefs/{judge}/{file}")

    def common_files(self) -> list[str]:
        place, folder = self._where("briefs/common")
        return [name for name in place.names(folder) if _COMMON.fullmatch(name)]

    def common_reply(self, name: str) -> dict[str, Any] | None:
        """What was written once for all documents."""
        return self._find_json(f"briefs/common/{name}.json")

    def keep_common_reply(self, name: str, reply: Mapping[str, Any]) -> bool:
        file = f"briefs/common/{name}.json"
        place, at = self._where(file)
        return place.create(at, sealed_json(reply, self._sealed_name(file)))

    def own_briefs(self, judge: str, shard: Shard) -> list[Brief]:
        """The briefs of the shard's own file, if there is one already."""
        try:
            return list(self.briefs(judge, [self.brief_file(shard)]))
        except Damaged as error:
            if error.problem != _GONE:
                raise
            return []

    def write_briefs(self, judge: str, shard: Shard, briefs: Iterable[Brief]) -> str:
        name = f"briefs/{judge}/{self.brief_file(shard)}"
        self._write_table(name, tables.to_table(Brief, briefs))
        return name

    # files by their names in the run, wherever briefs lie

    def prove(self, name: str) -> tuple[dict[str, Any], bool]:
        """What a JSON file holds, and whether its seal proves a file; it does not where an earlier
        version wrote it without one, and it can be read. Raises Damaged."""
        content = self._read(name)
        if name.endswith(".json"):
            return self._object(name, content)
        with self._reading(name):
            at, must = self._sealed_name(name), self._is_sealed(name)
            return {}, read_parquet(content, at, is_sealed=must)[1]

    def damaged(self, name: str, problem: str) -> Damaged:
        place, at = self._where(name)
        return Damaged(place.at(at), problem, REMEDIES[name.partition("/")[0]])

    def set_aside(self, name: str) -> None:
        """Move a file to `damaged/`, if it is there."""
        place, at = self._where(name)
        place.set_aside(at)

    def _where(self, name: str) -> tuple[Place, str]:
        if self._shared and name.startswith("briefs/"):
            return self._shared, name.removeprefix("briefs/")
        return self.place, name

    def _sealed_name(self, name: str) -> str:
        """What a file's seal is of besides its content: its name, and the run's, which is in the
        names of briefs already, and in run.json."""
        is_enough = name == RUN or name.startswith("briefs/")
        return name if is_enough else f"{self.name}/{name}"

    def _is_sealed(self, name: str) -> bool:
        """Whether the run that wrote it sealed all of its files."""
        if name.startswith("briefs/"):
            found = _BRIEFS.fullmatch(name.rpartition("/")[2])
            return bool(found and found[2].startswith(SEALED))
        return self.name.startswith(SEALED)

    def _read(self, name: str) -> bytes:
        if (content := self._find(name)) is None:
            raise self.damaged(name, _GONE)
        return content

    def _find(self, name: str) -> bytes | None:
        """None where there is no such file."""
        place, at = self._where(name)
        try:
            return place.read(at)
        except (FileNotFoundError, NotADirectoryError):
            return None
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
            found, is_proven = read_json(content, at, is_sealed=must)
            if not is_proven:
                self._expect(name, found)
        return found, is_proven

    def _expect(self, name: str, found: Mapping[str, Any]) -> None:
        if lacking := _KEYS[name.partition("/")[0]] - found.keys():
            raise Unsound(f"is no such file of evaljudge (it lacks {min(lacking)!r})")

    def _write_json(self, name: str, content: Mapping[str, Any]) -> None:
        self._put(name, sealed_json(content, self._sealed_name(name)))

    def _table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        content = self._read(name)
        with self._reading(name):
            at, must = self._sealed_name(name), self._is_sealed(name)
            return read_parquet(content, at, columns, is_sealed=must)[0]

    def _records(self, kind: type[R], name: str, columns: list[str] | None = None) -> Iterator[R]:
        table = self._table(name, columns)
        if self._is_sealed(name):
            return tables.from_table(kind, table)
        try:  # another table than ours may lie there
            return iter(list(tables.from_table(kind, table)))
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise self.damaged(name, f"cannot be read ({first_words(error)})") from None

    def _write_table(self, name: str, table: pa.Table) -> None:
        self._put(name, parquet(table, self._sealed_name(name)))

    def _put(self, name: str, content: bytes, *, is_derived: bool = False) -> None:
        place, at = self._where(name)
        try:
            place.write(at, content, is_derived=is_derived)
        except FolderInPlace:
            place.set_aside(at)
            place.write(at, content, is_derived=is_derived)


def marker(stage: Stage, number: int) -> str:
    return f"commits/{stage}/{number:05d}.json"
