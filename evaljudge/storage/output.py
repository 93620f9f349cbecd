"""A run's output folder: every path named once, and the commit that makes a shard's files count.

    run.json  shards.json  cases/00003.parquet  commits/judge/00003.json
    briefs/synthetic/00003-1f0c9a2b.parquet  verdicts/synthetic/00003.parquet  scores/00003.parquet
    checks/synthetic/00003.parquet  briefs/common/4e1d….json  measures/rouge1/00003.parquet
    selected/good.jsonl  report/agreement.json  attempts/00003.json

Data first, marker last: a shard's files are whole before `commits/STAGE/NUMBER.json` appears, and
readers see committed shards only. A rerun of a shard overwrites its files under the same names.
Attempts are notes that workers leave for those after them; a finished run has none.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from evaljudge.errors import UserError
from evaljudge.records import Brief, Case, Document, Score, Verdict
from evaljudge.storage import tables
from evaljudge.storage.place import Place
from evaljudge.storage.tables import R, Scale

if TYPE_CHECKING:
    import pyarrow as pa

Stage = Literal["prepare", "judge", "measure"]
T = TypeVar("T")
S = TypeVar("S")
RUN, SHARDS = "run.json", "shards.json"
UNSIGNED: Mapping[str, str] = MappingProxyType({})
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
        self._briefs = Place(briefs or self.place.at("briefs"))
        self.name = run

    # run.json and shards.json

    def run(self) -> dict[str, Any] | None:
        return self.place.find_json(RUN)

    def bind(self, content: Mapping[str, Any]) -> None:
        """Write the first run.json, unless another job does so at this very moment."""
        if not self.place.create_json(RUN, content):
            raise UserError(f"{self.uri}: another job has just begun a run there")

    def write_run(self, content: Mapping[str, Any]) -> None:
        self.place.write_json(RUN, content)

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

    def listing(self) -> dict[str, Any] | None:
        return self.place.find_json(SHARDS)

    def write_listing(self, content: Mapping[str, Any]) -> None:
        self.place.write_json(SHARDS, content)

    def shards(self) -> list[Shard]:
        listed = (self.listing() or {"shards": []})["shards"]
        return [Shard(*numbers) for numbers in listed]

    def ahead(self, work: Callable[[T], S], items: Iterable[T]) -> Iterator[S]:
        """What `work`, which reads or writes this run's files, makes of each item, in order."""
        return ahead(work, items, AT_ONCE_HERE if self.place.is_local else AT_ONCE)

    # commits

    def committed(self, stage: Stage) -> set[int]:
        """The numbers of the shards that are done with the stage."""
        return {int(name.removesuffix(".json")) for name in self.place.names(f"commits/{stage}")}

    def commit(self, stage: Stage, shard: Shard, receipt: Mapping[str, Any]) -> None:
        self.place.write_json(_marker(stage, shard), receipt)

    def receipt(self, stage: Stage, shard: Shard) -> dict[str, Any] | None:
        return self.place.find_json(_marker(stage, shard))

    def receipts(self, stage: Stage) -> Iterator[dict[str, Any]]:
        names = self.place.names(f"commits/{stage}")
        return self.ahead(lambda name: self.place.read_json(f"commits/{stage}/{name}"), names)

    # attempts

    def attempt(self, name: str) -> dict[str, Any]:
        """What was noted; empty where nothing was."""
        return self.place.find_json(f"attempts/{name}.json") or {}

    def note_attempt(self, name: str, note: Mapping[str, Any]) -> None:
        self.place.write_json(f"attempts/{name}.json", note)

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
        table = self.place.read_table(f"cases/{shard.file}", columns=["doc_id"])
        return list(table["doc_id"].to_pylist())

    def sources(self, shard: Shard) -> list[Document]:
        """Its documents, with nothing but their ids and sources."""
        table = self.place.read_table(f"cases/{shard.file}", columns=["doc_id", "source"])
        return [Document(**row) for row in table.to_pylist()]

    def cases(self, shard: Shard) -> list[Case]:
        return list(tables.from_table(Case, self._cases(shard)))

    def texts(self, shard: Shard) -> list[tuple[str, str, str]]:
        """Each candidate's document, system and text, in the order of the cases."""
        return tables.texts_of(self._cases(shard, ["doc_id", "candidates"]))

    def _cases(self, shard: Shard, columns: list[str] | None = None) -> pa.Table:
        name = f"cases/{shard.file}"
        try:
            return self.place.read_table(name, columns)
        except FileNotFoundError:
            raise UserError(
                f"{self.place.at(name)}: is gone, or lies on the disk of another machine than "
                f"{os.uname().nodename}; it holds what is to be judged"
            ) from None

    def write_cases(self, shard: Shard, cases: Iterable[Case]) -> None:
        self._write("cases", shard, Case, cases)

    def keep_cases(self, shards: Iterable[Shard]) -> None:
        """Remove the case files of all others."""
        self.place.keep("cases", {shard.file for shard in shards})

    def verdicts(self, judge: str, shard: Shard, *, with_tokens: bool = True) -> Iterator[Verdict]:
        """`with_tokens`: with what each cost; else less is read."""
        return self._committed("judge", f"verdicts/{judge}", shard, Verdict, with_tokens)

    def write_verdicts(self, judge: str, shard: Shard, verdicts: Iterable[Verdict]) -> None:
        self._write(f"verdicts/{judge}", shard, Verdict, verdicts)

    def checks(self, judge: str, shard: Shard, *, with_tokens: bool = True) -> Iterator[Verdict]:
        return self._committed("judge", f"checks/{judge}", shard, Verdict, with_tokens)

    def write_checks(self, judge: str, shard: Shard, checks: Iterable[Verdict]) -> None:
        self._write(f"checks/{judge}", shard, Verdict, checks)

    def measures(self, metric: str, shard: Shard) -> Iterator[Score]:
        return self._committed("measure", f"measures/{metric}", shard, Score)

    def write_measures(self, metric: str, shard: Shard, scores: Iterable[Score]) -> None:
        self._write(f"measures/{metric}", shard, Score, scores)

    def scores(self, shard: Shard) -> Iterator[Score]:
        return tables.from_table(Score, self.place.read_table(f"scores/{shard.file}"))

    def numbers(
        self, shard: Shard, scales: Collection[Scale], columns: Sequence[str]
    ) -> list[tuple[Any, ...]]:
        """These columns of its scores on these scales, of those that are finite numbers."""
        needed = list({"scorer", "axis", "value", *columns})
        table = self.place.read_table(f"scores/{shard.file}", columns=needed)
        found = tables.numbers_on(scales, table)
        return list(zip(*(found[name].to_pylist() for name in columns), strict=True))

    def write_scores(
        self, shard: Shard, scores: Iterable[Score], signatures: Mapping[str, str] = UNSIGNED
    ) -> None:
        """`signatures`: of the scorers whose scores do not yet hold theirs."""
        name, table = f"scores/{shard.file}", tables.score_table(scores, signatures)
        self.place.write_table(name, table, is_derived=True)

    def _write(self, folder: str, shard: Shard, kind: type[R], records: Iterable[R]) -> None:
        self.place.write_table(f"{folder}/{shard.file}", tables.to_table(kind, records))

    def _committed(
        self, stage: Stage, folder: str, shard: Shard, kind: type[R], with_tokens: bool = True
    ) -> Iterator[R]:
        """The records of a shard whose marker says that they are there."""
        name, columns = f"{folder}/{shard.file}", None if with_tokens else tables.but_tokens(kind)
        try:
            return tables.from_table(kind, self.place.read_table(name, columns))
        except FileNotFoundError:
            marker = self.place.at(_marker(stage, shard))
            raise UserError(f"{self.place.at(name)}: is gone; remove {marker} and rerun") from None

    # briefs: their files carry the run's name too, since other runs may write beside them

    def brief_file(self, shard: Shard) -> str:
        return f"{shard.number:05d}-{self.name}.parquet"

    def brief_files(self, judge: str) -> list[str]:
        return self._briefs.names(judge)

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
        column = self._briefs.read_table(f"{judge}/{file}", columns=["doc_id"])["doc_id"]
        return list(dict.fromkeys(column.to_pylist()))

    def try_briefs(self) -> None:
        """Refuse a briefs' folder that cannot be written to, before any engine is loaded."""
        if self._briefs.uri != self.place.at("briefs"):
            self._briefs.try_out()

    def briefs(self, judge: str, files: Sequence[str]) -> Iterator[Brief]:
        for file in files:
            yield from tables.from_table(Brief, self._briefs.read_table(f"{judge}/{file}"))

    def common_reply(self, name: str) -> dict[str, Any] | None:
        """What was written once for all documents."""
        return self._briefs.find_json(f"common/{name}.json")

    def keep_common_reply(self, name: str, reply: Mapping[str, Any]) -> bool:
        return self._briefs.create_json(f"common/{name}.json", reply)

    def own_briefs(self, judge: str, shard: Shard) -> list[Brief]:
        """The briefs of the shard's own file, if there is one already."""
        try:
            return list(self.briefs(judge, [self.brief_file(shard)]))
        except FileNotFoundError:
            return []

    def write_briefs(self, judge: str, shard: Shard, briefs: Iterable[Brief]) -> None:
        self._briefs.write_table(
            f"{judge}/{self.brief_file(shard)}", tables.to_table(Brief, briefs)
        )


def _marker(stage: Stage, shard: Shard) -> str:
    return f"commits/{stage}/{shard.number:05d}.json"
