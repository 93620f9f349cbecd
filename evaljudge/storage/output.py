"""A run's output folder: every path named once, and the commit that makes a shard's files count.

    run.json  shards.json  cases/00003.parquet  scores/00000-00007.parquet
    commits/judge/00003.zip  commits/measure/00003.zip  briefs/z1f0c9a2b/00003.zip
    partial/judge/00003.json  briefs/common/4e1d….json  selected/good.jsonl  report/agreement.json
    labels/sheet.json  spent.json

A stage of a shard is one bundle, which is written when the stage is done and is its marker, too.
What is in it is asked for by the names that its parts have:

    briefs/synthetic/00003-1f0c9a2b.parquet  verdicts/synthetic/00003.parquet
    checks/synthetic/00003.parquet  measures/rouge1/00003.parquet  commits/judge/00003.json

Where the judges of a run have several models, each model is a panel, with markers of its own
(`commits/judge-3fa29c1b/00003.zip`) and with its own briefs (`briefs/z1f0c9a2b-3fa29c1b/`). A shard
is done with a stage when all of the run's panels have committed it.

What lies in `partial/` is what workers have done of a shard; a finished run has none of it. Every
file that others are made of is sealed (seals.py). Files of other names than these nobody reads.
"""

import json
import os
import re
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from itertools import chain, groupby
from typing import Any, Literal, TypeVar, get_args

import pyarrow as pa
import pyarrow.parquet as pq

from evaljudge.errors import Damaged, UserError, first_words
from evaljudge.records import Brief, Case, Critique, Document, Score, Verdict
from evaljudge.storage import tables
from evaljudge.storage.files import (
    BRIEFS,
    BUNDLED,
    COMMON,
    GONE,
    LAYOUT,
    LOOSE,
    RUN,
    SHARDS,
    SPENT,
    Panel,
    RunFiles,
    ended,
    panels_of,
)
from evaljudge.storage.seals import Unsound, parquet, parts_of, seal_of, sealed_json, sealed_object
from evaljudge.storage.tables import R

Stage = Literal["prepare", "judge", "measure"]
T = TypeVar("T")
S = TypeVar("S")
_DIGEST = re.compile(r"[0-9a-f]+\.json")
_MARKER = re.compile(r"(\d{5,})\.(json|zip)")
_BUNDLES = re.compile(rf"({BUNDLED}\w+?)(?:-(\w+))?")
"""A folder of bundled briefs: a run, and the panel of that run, if it is not the first."""
_PARQUET = re.compile(r"\d{5,}\.parquet")
BATCH = "partial/replies.json"
SCORED_TOGETHER = 8
AT_ONCE, AT_ONCE_HERE = 16, 1
"""Threads for work that waits for other machines, and for work with files of this one, where
threads would only take turns, which costs 40% more processor time."""


def ahead(work: Callable[[T], S], items: Iterable[T], at_once: int = AT_ONCE) -> Iterator[S]:
    """The results in the order of the items; at most `at_once` are worked on, or wait."""
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
    """A numbered piece of the work: some cases, as runs/binding.py cuts them."""

    number: int
    cases: int
    candidates: int
    seal: str = field(default="", compare=False)
    """What the file of its cases proves itself by, so that a copy from before its ratings changed
    is noticed."""

    @property
    def file(self) -> str:
        return f"{self.number:05d}.parquet"


class Output(RunFiles):
    def of(self, panel: Panel) -> "Output":
        return self._but(panel=panel)

    def of_judge(self, judge: str) -> "Output":
        return self.of(panels_of(self.run() or {}).get(judge, Panel()))

    # run.json and shards.json

    def bind(self, content: Mapping[str, Any]) -> None:
        """Write the first run.json, unless another job does so at this very moment."""
        if not self.place.create(RUN, sealed_json({"layout": LAYOUT, **content}, RUN)):
            raise UserError(f"{self.uri}: another job has just begun a run there")

    def write_run(self, content: Mapping[str, Any]) -> None:
        self._known.pop(RUN, None)
        self.place.write(RUN, sealed_json({"layout": LAYOUT, **content}, RUN))

    @property
    def is_untouched(self) -> bool:
        """Of no shard anything is kept, so there is nothing that a rerun could resume."""
        return not (any(map(self.begun, get_args(Stage))) or self.place.entries("partial"))

    @property
    def holds_no_answer(self) -> bool:
        """Nothing committed here was asked of a model (every text was empty or too long, say).

        What was measured without a model counts only in a run that has no judge.
        """
        if self.place.entries("partial") or not self.begun("prepare"):
            return self.is_untouched
        receipts = chain(self.receipts("prepare"), self.receipts("judge"))
        asked = (judge["tokens"]["asks"] for r in receipts for judge in r["asked"].values())
        return not any(asked)

    def release(self) -> None:
        """Free the folder for another run. Briefs stay: their keys say who can reuse them."""
        for name in (SHARDS, RUN, SPENT):
            self.place.remove(name)
        self.reread()
        for folder in ("cases", "commits", "attempts", "partial"):
            self.place.remove_folder(folder)

    def reread(self) -> None:
        """Forget what was read: others may have written since."""
        self._known.clear()
        self._recent.clear()

    def listing(self) -> dict[str, Any] | None:
        if SHARDS not in self._known:
            if (stored := self._find_json(SHARDS)) is None:
                return None
            self._known[SHARDS] = stored
        return dict(self._known[SHARDS])

    def write_listing(self, content: Mapping[str, Any]) -> None:
        self._known.pop(SHARDS, None)
        self.keep(SHARDS, content)

    def shards(self) -> list[Shard]:
        listed = (self.listing() or {"shards": []})["shards"]
        return [Shard(*numbers) for numbers in listed]

    def ahead(self, work: Callable[[T], S], items: Iterable[T]) -> Iterator[S]:
        return ahead(work, items, AT_ONCE_HERE if self.place.is_local else AT_ONCE)

    # commits

    def panels(self) -> list[Panel]:
        if self.panel is not None:
            return [self.panel]
        return list(dict.fromkeys(panels_of(self.run() or {}).values())) or [Panel()]

    def folders(self, stage: Stage) -> list[str]:
        return list(dict.fromkeys(marked_in(panel, stage) for panel in self.panels()))

    def committed(self, stage: Stage) -> set[int]:
        return set[int].intersection(*map(self.marked, self.folders(stage)))

    def begun(self, stage: Stage) -> set[int]:
        """The numbers of the shards for which any panel has done the stage."""
        return set[int]().union(*map(self.marked, self.folders(stage)))

    def marked(self, folder: str) -> set[int]:
        place, at = self._where(self.bundle(marker(folder, 0)).rpartition("/")[0])
        matches = map(_MARKER.fullmatch, place.entries(at))
        return {int(name[1]) for name in matches if name and name[2] == "zip"}

    def commit(self, stage: Stage, shard: Shard, receipt: Mapping[str, Any]) -> bool:
        """What was written of this stage counts from now on; False where another has committed it
        meanwhile: then that one's files count."""
        return self._commit(self.marker(stage, shard), receipt, is_changed=stage == "measure")

    def uncommit(self, marker: str) -> None:
        """The stage that this is the marker of is to be done again."""
        place, at = self._where(self.bundle(marker))
        self._recent.clear()
        place.remove(at)

    def marker(self, stage: Stage, shard: Shard) -> str:
        return marker(marked_in(self.panel or Panel(), stage), shard.number)

    def receipt(self, stage: Stage, shard: Shard) -> dict[str, Any] | None:
        return self._find_json(self.marker(stage, shard))

    def receipts(self, stage: Stage, but: Collection[int] = ()) -> Iterator[dict[str, Any]]:
        """The receipts of all panels; `but`: the numbers of shards that are left out."""
        folders = self.folders(stage)
        names = [marker(at, n) for at in folders for n in sorted(self.marked(at) - set(but))]

        def read(name: str) -> dict[str, Any]:
            if (content := self._find_at_end(name)) is None:
                raise self.damaged(name, GONE)
            return self._object(name, content)

        return self.ahead(read, names)

    def receipts_of(self, shard: Shard) -> list[dict[str, Any]]:
        """Those of what was asked of models for this shard, which all panels have judged."""
        prepared, judged = dict[str, dict[str, Any] | None](), list[dict[str, Any]]()
        for panel in self.panels():
            at, name = marked_in(panel, "prepare"), marker(marked_in(panel, "judge"), shard.number)
            judged.append(receipt := self._json(name))
            if "prepared" in receipt:
                prepared[at] = receipt["prepared"]
        for at in self.folders("prepare"):
            name = marker(at, shard.number)
            if at not in prepared and (content := self._find_at_end(name)) is not None:
                prepared[at] = self._object(name, content)
        return [*filter(None, prepared.values()), *judged]

    # what is done of shards that are in hand

    def saved(self, stage: Stage) -> set[int]:
        names = self.place.entries(self._partial(stage, 0).rpartition("/")[0])
        return {int(name[1]) for name in map(_MARKER.fullmatch, names) if name}

    def partial(self, stage: Stage, shard: Shard) -> dict[str, Any] | None:
        return self._find_json(self._partial(stage, shard.number))

    def write_partial(self, stage: Stage, shard: Shard, content: bytes) -> None:
        """`content`: a JSON object."""
        name = self._partial(stage, shard.number)
        self._put(name, sealed_object(content, self._sealed_name(name)))

    def _partial(self, stage: Stage, number: int) -> str:
        return marker(marked_in(self.panel or Panel(), stage, "partial"), number)

    def forget_saved(self) -> None:
        self.place.remove_folder("partial")

    def sweep(self) -> None:
        """Remove what killed processes of this run have left half-written; in a folder of briefs
        that runs share, others may be writing."""
        self.place.sweep()
        if self._shared and self.name:
            self._shared.sweep(f"/{self.name}")

    # what came of batch files, and what was spent in all

    def kept(self, name: str) -> dict[str, Any]:
        return self._find_json(name) or {}

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

    # what a model wrote about scores once they were there

    def critique_files(self) -> list[str]:
        return [f"why/{name}" for name in self.place.names("why") if _DIGEST.fullmatch(name)]

    def critiques(self, scores: Iterable[Score]) -> list[Critique]:
        there = {*self.critique_files()}
        found = list[Critique]()
        for file in map(_about_score, scores if there else ()):
            if file in there:
                with suppress(Damaged):  # no score needs it, and `check` names it
                    found.append(Critique(**self._json(file)))
        return found

    def keep_critique(self, score: Score, critique: Critique) -> None:
        self.keep(_about_score(score), asdict(critique))

    # a shard's records

    def documents(self, shard: Shard) -> list[str]:
        return list(self.case_table(shard, ["doc_id"])["doc_id"].to_pylist())

    def sources(self, shard: Shard) -> list[Document]:
        """The shard's documents, with only their ids, sources and references."""
        rows = self.case_table(shard, ["doc_id", "source", "references"]).to_pylist()
        return [Document(r["doc_id"], r["source"], tuple(r["references"] or ())) for r in rows]

    def cases(self, shard: Shard) -> list[Case]:
        with self._gone_or_elsewhere():
            return list(self._records(Case, f"cases/{shard.file}", seal=shard.seal))

    def texts(self, shard: Shard, field: str = "text") -> list[tuple[str, str, Any]]:
        """Each candidate's document, system and text, or another field, in the order of the
        cases."""
        nested = (f"candidates.list.element.{name}" for name in ("system", field))
        rows = self.case_table(shard, ["doc_id", *nested]).to_pylist()
        return [(row["doc_id"], c["system"], c[field]) for row in rows for c in row["candidates"]]

    def case_table(self, shard: Shard, columns: list[str]) -> pa.Table:
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
            if _PARQUET.fullmatch(name) and name not in kept:
                self.place.remove(f"cases/{name}")

    def verdicts(self, judge: str, shard: Shard, *, with_tokens: bool = True) -> Iterator[Verdict]:
        """`with_tokens`: with what each cost; else less is read."""
        columns = None if with_tokens else tables.BUT_TOKENS
        return self._records(Verdict, f"verdicts/{judge}/{shard.file}", columns)

    def write_verdicts(self, judge: str, shard: Shard, verdicts: Iterable[Verdict]) -> str:
        return self._write(f"verdicts/{judge}/{shard.file}", Verdict, verdicts)

    def checks(self, judge: str, shard: Shard) -> Iterator[Verdict]:
        return self._records(Verdict, f"checks/{judge}/{shard.file}", tables.BUT_TOKENS)

    def write_checks(self, judge: str, shard: Shard, checks: Iterable[Verdict]) -> str:
        return self._write(f"checks/{judge}/{shard.file}", Verdict, checks)

    def measures(self, metric: str, shard: Shard) -> Iterator[Score]:
        """`metric`: its name, or `judge/NAME` where it was committed with the verdicts."""
        return self._records(Score, f"measures/{metric}/{shard.file}")

    def keep_measures(self, shard: Shard, but: Collection[str]) -> dict[str, str]:
        """The signatures of the metrics whose measures stay as they are, by name; they will be in
        the bundle that is committed next, too."""
        if (receipt := self.receipt("measure", shard)) is None:
            return {}
        kept = {name: line for name, line in receipt["measured"].items() if name not in but}
        for name in (f"measures/{metric}/{shard.file}" for metric in kept):
            self._put(name, self._read(name))
        return kept

    def write_measures(self, metric: str, shard: Shard, scores: Iterable[Score]) -> str:
        return self._write(f"measures/{metric}/{shard.file}", Score, scores)

    def scores_file(self, shard: Shard) -> str:
        """The file of its scores, which several shards share."""
        first = shard.number - shard.number % SCORED_TOGETHER
        return f"scores/{first:05d}-{first + SCORED_TOGETHER - 1:05d}.parquet"

    def scored_together(self, shards: Sequence[Shard]) -> list[list[Shard]]:
        return [list(each) for _, each in groupby(shards, self.scores_file)]

    def scored(self, shards: Sequence[Shard]) -> list[Shard]:
        there = {f"scores/{name}" for name in self.place.names("scores")}
        shards = [shard for shard in shards if self.scores_file(shard) in there]
        files = dict.fromkeys(map(self.scores_file, shards))
        numbers = set(chain.from_iterable(self.ahead(self._scored_in, files)))
        return [shard for shard in shards if f"{shard.number}" in numbers]

    def _scored_in(self, name: str) -> list[str]:
        with self._reading(name):
            try:
                metadata = pq.read_metadata(pa.BufferReader(self._read(name)))
            except (pa.ArrowException, OSError) as error:
                raise Unsound(f"cannot be read ({first_words(error)})") from None
        return parts_of(metadata)

    def score_table(self, shard: Shard, columns: list[str] | None = None) -> pa.Table:
        """The shard's scores as they are stored; `columns`: others than all but signatures."""
        few = ["doc_id", "system", "scorer", "axis", "value", "reason", "doubt"]
        return self.table(self.scores_file(shard), columns or few, part=f"{shard.number}")

    def scores(self, shard: Shard) -> Iterator[Score]:
        return self._records(Score, self.scores_file(shard), part=f"{shard.number}")

    def write_scores(
        self, scores: Mapping[Shard, Sequence[Score]], signatures: Mapping[str, str] = {}
    ) -> None:
        """The scores of all shards that share a file.

        `signatures`: of the scorers whose scores do not yet hold theirs."""
        (name,) = {self.scores_file(shard) for shard in scores}
        made, at = tables.score_tables(list(scores.values()), signatures), self._sealed_name(name)
        parts = {f"{shard.number}": table for shard, table in zip(scores, made, strict=True)}
        content = parquet(made[0], at, parts)
        self._put(name, content, is_derived=True)

    def forget_scores(self, shard: Shard) -> None:
        """Remove them, and those that lie in the same file."""
        name = self.scores_file(shard)
        self._recent.forget(name)
        self.place.remove(name)

    def _write(self, name: str, kind: type[R], records: Iterable[R]) -> str:
        self._write_table(name, tables.to_table(kind, records))
        return name

    # briefs: their files carry the run's name too, since other runs may write beside them

    def loose(self) -> "Output":
        """The same, as it writes briefs that are no part of a bundle: those that the shards' own
        will be made from."""
        return self._but(name=self.name.replace(BUNDLED, LOOSE, 1))

    def brief_file(self, shard: Shard) -> str:
        return f"{shard.number:05d}{self._own_end}"

    @property
    def _own_end(self) -> str:
        """How the names of its own files of briefs end."""
        return f"-{ended(self.name, (self.panel or Panel()).prepare)}.parquet"

    def brief_files(self, judge: str) -> list[str]:
        """All that may hold briefs for this kind of judge, bundles by the names of such a part."""
        place, above = self._where("briefs/")
        names = [name for name in place.names(f"{above}{judge}") if BRIEFS.fullmatch(name)]
        for folder in filter(_BUNDLES.fullmatch, place.folders(above.rstrip("/"))):
            files = map(_MARKER.fullmatch, place.names(f"{above}{folder}"))
            names += [f"{file[1]}-{folder}.parquet" for file in files if file and file[2] == "zip"]
        return names

    def reusable_briefs(self, judge: str) -> list[str]:
        """The files where a shard may find briefs besides its own: those of other runs, and of
        shards that were cut before this run was last extended."""
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
        if not self.has_part(f"briefs/{judge}/{file}"):
            return []
        column = self.table(f"briefs/{judge}/{file}", ["doc_id"])["doc_id"]
        return list(dict.fromkeys(column.to_pylist()))

    def try_briefs(self) -> None:
        """Refuse a briefs' folder that cannot be written to, before any engine is loaded."""
        if self._shared:
            self._shared.try_out()

    def briefs(self, judge: str, files: Sequence[str]) -> Iterator[Brief]:
        for name in (f"briefs/{judge}/{file}" for file in files):
            if self.has_part(name):
                yield from self._records(Brief, name)

    def common_files(self) -> list[str]:
        place, folder = self._where("briefs/common")
        return [name for name in place.names(folder) if _DIGEST.fullmatch(name)]

    def common_reply(self, name: str) -> dict[str, Any] | None:
        return self._find_json(common_file(name))

    def keep_common_reply(self, name: str, reply: Mapping[str, Any]) -> bool:
        file = common_file(name)
        place, at = self._where(file)
        return place.create(at, sealed_json(reply, self._sealed_name(file)))

    def own_briefs(self, judge: str, shard: Shard) -> list[Brief]:
        try:
            return list(self._records(Brief, f"briefs/{judge}/{self.brief_file(shard)}"))
        except Damaged as error:
            if error.problem != GONE:
                raise
            return []

    def write_briefs(self, judge: str, shard: Shard, briefs: Iterable[Brief]) -> str:
        return self._write(f"briefs/{judge}/{self.brief_file(shard)}", Brief, briefs)


def marker(folder: str, number: int) -> str:
    return f"{folder}/{number:05d}.json"


def marked_in(panel: Panel, stage: Stage, within: str = "commits") -> str:
    """The folder of a panel's markers of a stage; metrics, which no model measures, have one."""
    ends: Mapping[Stage, str] = {"prepare": panel.prepare, "judge": panel.judge}
    return f"{within}/{ended(stage, ends.get(stage, ''))}"


def _about_score(score: Score) -> str:
    about = [score.doc_id, score.system, score.scorer, score.axis, score.value]
    return f"why/{blake2b(json.dumps(about).encode(), digest_size=16).hexdigest()}.json"


def common_file(name: str) -> str:
    return f"{COMMON}{name}.json"


def judge_kinds(run: Mapping[str, Any]) -> dict[str, str]:
    judges = run["fingerprint"]["judges"]
    return {name: asked.get("judge", name) for name, asked in judges.items()}
