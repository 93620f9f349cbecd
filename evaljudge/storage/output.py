"""A run's output folder: every path named once, and the commit that makes a shard's files count.

    run.json  shards.json  cases/00003.parquet  commits/judge/00003.json
    briefs/synthetic/00003-1f0c9a2b.parquet  verdicts/synthetic/00003.parquet  scores/00003.parquet
    checks/synthetic/00003.parquet  briefs/common/4e1d….json  measures/rouge1/00003.parquet
    selected/good.jsonl  report/agreement.json  attempts/00003.json  labels/sheet.json

Data first, marker last: a shard's files are whole before `commits/STAGE/NUMBER.json` appears, and
readers see committed shards only. A rerun of a shard overwrites its files under the same names.
Where the judges of a run have several models, each model is a panel, with markers of its own
(`commits/judge-3fa29c1b/00003.json`) and with its own briefs (`00003-1f0c9a2b-3fa29c1b.parquet`). A
shard is done with a stage when all of the run's panels have committed it.

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
from copy import copy
from dataclasses import dataclass, field, replace
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeVar, get_args

from evaljudge.errors import Damaged, UserError
from evaljudge.records import Brief, Case, Document, Score, Verdict
from evaljudge.storage import tables
from evaljudge.storage.files import BRIEFS, COMMON, GONE, RUN, SHARDS, RunFiles
from evaljudge.storage.seals import parquet, seal_of, sealed_json
from evaljudge.storage.streams import FolderInPlace
from evaljudge.storage.tables import R

if TYPE_CHECKING:
    import pyarrow as pa

Stage = Literal["prepare", "judge", "measure"]
T = TypeVar("T")
S = TypeVar("S")
UNSIGNED: Mapping[str, str] = MappingProxyType({})
_COMMON = re.compile(r"[0-9a-f]+\.json")
_MARKER = re.compile(r"(\d{5,})\.json")
AT_ONCE, AT_ONCE_HERE = 16, 1
"""Threads for work that waits for other machines, and for work with files of this one, where
threads would only take turns, which costs 40% more processor time."""


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
class Panel:
    """The judges of one model, by the ends of the names of what is written for them.

    Both ends are empty for the model that a configuration names for all judges.
    """

    prepare: str = ""
    """The end of the names of briefs and their markers: their writer's."""
    judge: str = ""

    def folder(self, stage: Stage) -> str:
        """Where its markers of the stage are; metrics, which no model measures, have one."""
        ends: Mapping[Stage, str] = {"prepare": self.prepare, "judge": self.judge}
        end = ends.get(stage)
        return f"commits/{stage}-{end}" if end else f"commits/{stage}"


@dataclass(frozen=True, slots=True)
class Shard:
    """A numbered piece of the work: at most 32 cases."""

    number: int
    cases: int
    candidates: int
    seal: str = field(default="", compare=False)
    """What the file of its cases proves itself by, so that a copy from before its ratings changed
    is noticed; empty in runs of earlier versions."""

    @property
    def file(self) -> str:
        return f"{self.number:05d}.parquet"


class Output(RunFiles):
    """Reads and writes a run's files; `briefs` may lie elsewhere, shared with other runs.

    `panel`: the one that is asked or read; without one, markers are those of all panels of the run.
    """

    def __init__(
        self, uri: str, briefs: str | None = None, run: str = "", panel: Panel | None = None
    ) -> None:
        super().__init__(uri, briefs, run)
        self.panel = panel

    def of(self, panel: Panel) -> Output:
        """The same files, as one panel of the run reads and writes them."""
        other = copy(self)
        other.panel = panel
        return other

    def of_judge(self, judge: str) -> Output:
        """The output as this judge's panel reads it."""
        return self.of(panels_of(self.run() or {}).get(judge, Panel()))

    # run.json and shards.json

    def bind(self, content: Mapping[str, Any]) -> None:
        """Write the first run.json, unless another job does so at this very moment."""
        if not self.place.create(RUN, sealed_json(content, RUN)):
            raise UserError(f"{self.uri}: another job has just begun a run there")

    def write_run(self, content: Mapping[str, Any]) -> None:
        self.place.write(RUN, sealed_json(content, RUN))

    @property
    def is_untouched(self) -> bool:
        """No shard of any stage is committed, so there is nothing that a rerun could resume."""
        return not any(self.begun(stage) for stage in get_args(Stage))

    @property
    def holds_no_answer(self) -> bool:
        """Nothing committed here was asked of a model (every text was empty or too long, say).

        What was measured without a model counts only in a run that has no judge.
        """
        if not self.begun("prepare"):
            return self.is_untouched
        receipts = chain(self.receipts("prepare"), self.receipts("judge"))
        asked = (judge["tokens"]["asks"] for r in receipts for judge in r["asked"].values())
        return not any(asked)

    def release(self) -> None:
        """Free the folder for another run. Briefs stay: their keys say who can reuse them."""
        self.place.remove(SHARDS)
        self.place.remove(RUN)
        for folder in ("cases", "commits", "verdicts", "checks", "measures", "attempts"):
            self.place.remove_folder(folder)

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

    def panels(self) -> list[Panel]:
        """The run's panels, each once."""
        if self.panel is not None:
            return [self.panel]
        return list(dict.fromkeys(panels_of(self.run() or {}).values())) or [Panel()]

    def folders(self, stage: Stage) -> list[str]:
        """Where the stage's markers are."""
        return list(dict.fromkeys(panel.folder(stage) for panel in self.panels()))

    def committed(self, stage: Stage) -> set[int]:
        """The numbers of the shards that are done with the stage."""
        return set[int].intersection(*map(self.marked, self.folders(stage)))

    def begun(self, stage: Stage) -> set[int]:
        """The numbers of the shards for which any panel has done the stage."""
        return set[int]().union(*map(self.marked, self.folders(stage)))

    def marked(self, folder: str) -> set[int]:
        """The numbers of the shards that have a marker in this folder."""
        matches = map(_MARKER.fullmatch, self.place.names(folder))
        return {int(name[1]) for name in matches if name}

    def commit(self, stage: Stage, shard: Shard, receipt: Mapping[str, Any]) -> None:
        self._write_json(self.marker(stage, shard), receipt)

    def uncommit(self, marker: str) -> None:
        """The stage that this is the marker of is to be done again."""
        self.place.remove(marker)

    def marker(self, stage: Stage, shard: Shard) -> str:
        return marker((self.panel or Panel()).folder(stage), shard.number)

    def receipt(self, stage: Stage, shard: Shard) -> dict[str, Any] | None:
        return self._find_json(self.marker(stage, shard))

    def receipts(self, stage: Stage, but: Collection[int] = ()) -> Iterator[dict[str, Any]]:
        """The receipts of all panels; `but`: the numbers of shards that are left out."""
        folders = self.folders(stage)
        names = [marker(at, n) for at in folders for n in sorted(self.marked(at) - set(but))]
        return self.ahead(self._json, names)

    # attempts

    def attempt(self, name: str) -> dict[str, Any]:
        """What was noted; empty where nothing was, and where a note is damaged: the notes only
        help to find out what crashed."""
        try:
            return self._find_json(f"attempts/{name}.json") or {}
        except Damaged as error:
            print(f"warning: {error}", file=sys.stderr, flush=True)
            return {}

    def note_attempt(self, name: str, note: Mapping[str, Any]) -> None:
        self._write_json(f"attempts/{name}.json", note)

    def forget_attempt(self, name: str) -> None:
        self.place.remove(f"attempts/{name}.json")

    def forget_attempts(self) -> None:
        names = self.place.names("attempts")
        notes = [name for name in names if name.endswith(".json")]
        for name in notes:
            self.place.remove(f"attempts/{name}")
        if len(notes) == len(names):
            self.place.remove_folder("attempts")

    def tidy(self) -> None:
        """Remove what is only needed while a run goes on, or after its process died."""
        self.forget_attempts()
        self.sweep()

    def sweep(self) -> None:
        """Remove what killed processes of this run have left half-written; in a folder of briefs
        that runs share, others may be writing."""
        self.place.sweep()
        if self._shared and self.name:
            self._shared.sweep(f"-{self.name}.")

    # the keys of sheets that people fill in

    def label_keys(self) -> list[str]:
        names = self.place.names("labels")
        return [name.removesuffix(".json") for name in names if name.endswith(".json")]

    def label_key(self, name: str) -> dict[str, Any]:
        """Which text each label of a sheet stands for, and how the texts were drawn."""
        return self._json(f"labels/{name}.json")

    def create_label_key(self, name: str, key: Mapping[str, Any]) -> bool:
        """False where there is one of this name, which stays."""
        file = f"labels/{name}.json"
        return self.place.create(file, sealed_json(key, self._sealed_name(file)))

    def forget_label_key(self, name: str) -> None:
        self.place.remove(f"labels/{name}.json")

    # a shard's records

    def documents(self, shard: Shard) -> list[str]:
        """The ids of its documents, without their texts."""
        return list(self.case_table(shard, ["doc_id"])["doc_id"].to_pylist())

    def sources(self, shard: Shard) -> list[Document]:
        """The shard's documents, with only their ids, sources and references."""
        rows = self.case_table(shard, ["doc_id", "source", "references"]).to_pylist()
        return [Document(r["doc_id"], r["source"], tuple(r["references"] or ())) for r in rows]

    def cases(self, shard: Shard) -> list[Case]:
        with self._gone_or_elsewhere():
            return list(self._records(Case, f"cases/{shard.file}", seal=shard.seal))

    def texts(self, shard: Shard) -> list[tuple[str, str, str]]:
        """Each candidate's document, system and text, in the order of the cases."""
        return tables.texts_of(self.case_table(shard, ["doc_id", "candidates"]))

    def ratings(self, shard: Shard) -> dict[tuple[str, str], list[tuple[str, float]]]:
        """Each candidate's ratings by axis, by its document and system."""
        return tables.ratings_of(self.case_table(shard, tables.RATED))

    def case_table(self, shard: Shard, columns: list[str]) -> pa.Table:
        """These columns of the shard's cases, as they are stored."""
        with self._gone_or_elsewhere():
            return self.table(f"cases/{shard.file}", columns, shard.seal)

    @contextmanager
    def _gone_or_elsewhere(self) -> Iterator[None]:
        """Cases are the first that a worker reads."""
        try:
            yield
        except Damaged as error:
            if error.problem != GONE:
                raise
            elsewhere = f"{GONE}, or lies on the disk of another machine than {os.uname().nodename}"
            raise Damaged(error.file, elsewhere, error.remedy) from None

    def write_cases(self, shard: Shard, cases: Iterable[Case]) -> Shard:
        """The shard with the seal of the file written."""
        content = self._write_table(f"cases/{shard.file}", tables.to_table(Case, cases))
        return replace(shard, seal=seal_of(content))

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

    def score_table(self, shard: Shard) -> pa.Table:
        """The shard's scores as they are stored, without their signatures."""
        columns = ["doc_id", "system", "scorer", "axis", "value", "reason", "doubt"]
        return self.table(f"scores/{shard.file}", columns)

    def scores(self, shard: Shard) -> Iterator[Score]:
        return self._records(Score, f"scores/{shard.file}")

    def write_scores(
        self, shard: Shard, scores: Iterable[Score], signatures: Mapping[str, str] = UNSIGNED
    ) -> None:
        """`signatures`: of the scorers whose scores do not yet hold theirs."""
        name, table = f"scores/{shard.file}", tables.score_table(scores, signatures)
        self._put(name, parquet(table, self._sealed_name(name)), is_derived=True)

    def forget_scores(self, shard: Shard) -> None:
        name = f"scores/{shard.file}"
        try:
            self.place.remove(name)
        except FolderInPlace:
            self.set_aside(name)

    def _write(self, folder: str, shard: Shard, kind: type[R], records: Iterable[R]) -> str:
        """Gives the file's name."""
        name = f"{folder}/{shard.file}"
        self._write_table(name, tables.to_table(kind, records))
        return name

    def _verdicts(self, name: str, with_tokens: bool) -> Iterator[Verdict]:
        return self._records(Verdict, name, None if with_tokens else tables.but_tokens(Verdict))

    # briefs: their files carry the run's name too, since other runs may write beside them

    def brief_file(self, shard: Shard) -> str:
        return f"{shard.number:05d}{self._own_end}"

    @property
    def _own_end(self) -> str:
        """How the names of its own files of briefs end."""
        end = f"-{self.panel.prepare}" if self.panel and self.panel.prepare else ""
        return f"-{self.name}{end}.parquet"

    def prepared(self, kinds: Iterable[str]) -> set[int]:
        """The shards that are prepared, and whose own files of briefs of these kinds still lie
        there."""
        there = [set(self.brief_files(kind)) for kind in kinds]
        committed, shards = self.committed("prepare"), self.shards()
        own = ((shard.number, self.brief_file(shard)) for shard in shards)
        return {n for n, file in own if n in committed and all(file in files for files in there)}

    def brief_files(self, judge: str) -> list[str]:
        place, folder = self._where(f"briefs/{judge}")
        return [name for name in place.names(folder) if BRIEFS.fullmatch(name)]

    def reusable_briefs(self, judge: str) -> list[str]:
        """The files where a shard may find briefs besides its own.

        These are the files of other runs, and of this run those of shards that were cut before it
        was last extended.
        """
        cuts = (self.listing() or {}).get("cuts", [0])
        return [
            name
            for name in self.brief_files(judge)
            if (match := BRIEFS.fullmatch(name))
            and (
                match[2] != self.name or (name.endswith(self._own_end) and int(match[1]) < cuts[-1])
            )
        ]

    def brief_documents(self, judge: str, file: str) -> list[str]:
        column = self.table(f"briefs/{judge}/{file}", ["doc_id"])["doc_id"]
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
        return self._find_json(common_file(name))

    def keep_common_reply(self, name: str, reply: Mapping[str, Any]) -> bool:
        file = common_file(name)
        place, at = self._where(file)
        return place.create(at, sealed_json(reply, self._sealed_name(file)))

    def own_briefs(self, judge: str, shard: Shard) -> list[Brief]:
        """The briefs of the shard's own file, if there is one already."""
        try:
            return list(self.briefs(judge, [self.brief_file(shard)]))
        except Damaged as error:
            if error.problem != GONE:
                raise
            return []

    def write_briefs(self, judge: str, shard: Shard, briefs: Iterable[Brief]) -> str:
        name = f"briefs/{judge}/{self.brief_file(shard)}"
        self._write_table(name, tables.to_table(Brief, briefs))
        return name


def marker(folder: str, number: int) -> str:
    return f"{folder}/{number:05d}.json"


def common_file(name: str) -> str:
    return f"{COMMON}{name}.json"


def panels_of(run: Mapping[str, Any]) -> dict[str, Panel]:
    """Each judge's, by what run.json says; none where all judges have the model for all."""
    return {judge: Panel(*ends) for judge, ends in run.get("panels", {}).items()}


def judge_kinds(run: Mapping[str, Any]) -> dict[str, str]:
    """The kind of each of a run's judges, by its name."""
    judges = run["fingerprint"]["judges"]
    return {name: asked.get("judge", name) for name, asked in judges.items()}
