"""What a worker does with one shard: read its cases, ask, write the files, then the marker.

Nothing here knows Ray. Cases of several shards are open at once over one engine, oldest first, so
that no round of one waits for a round of another; a shard is committed when all its cases are done.
"""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from evaljudge.asks import Options
from evaljudge.engines import Engine, Engines, Identity, ModelSource
from evaljudge.judges import Judge, Part
from evaljudge.model import Model
from evaljudge.model.counting import Counting, Masses
from evaljudge.model.remembering import Remembering
from evaljudge.records import Brief, Case, Document, Tokens, Verdict
from evaljudge.signature import brief_key
from evaljudge.storage import Output, Shard, Stage

MOST_OPEN_CASES = 64
R = TypeVar("R")
Briefs = dict[str, Brief]
"""By key."""


@dataclass(frozen=True)
class Assignment:
    """All that a worker needs to know besides its shards; it travels once."""

    out: str
    briefs: str | None
    run: str
    judges: Sequence[Judge]
    engines: Engines
    source: ModelSource
    writer: Identity
    signatures: Mapping[str, str]
    seed: int

    def open_output(self) -> Output:
        return Output(self.out, self.briefs, self.run)

    def open_engine(self) -> Engine:
        engine = self.engines.open(self.source, self.seed)
        offered: dict[Options, None] = {o: None for judge in self.judges for o in judge.options}
        for options in offered:
            engine.prepare(options)
        return engine


@dataclass(frozen=True)
class Order:
    """One shard to be done: which stages of it are missing, which files may hold its briefs."""

    shard: Shard
    stages: Sequence[Stage]
    brief_files: Mapping[str, Sequence[str]]


@dataclass
class Asked:
    """What a stage asked of its model, for one judge."""

    tokens: Tokens = Tokens()
    masses: Masses = Masses()

    def add(self, model: Counting) -> None:
        self.tokens += model.tokens
        self.masses += model.masses


class ShardWork:
    """Does orders over one engine, several at once."""

    def __init__(
        self, assignment: Assignment, engine: Engine | None = None, gpus: float = 0
    ) -> None:
        self._since = time.monotonic()  # loading the engine is time that is paid for
        self._job, self._gpus = assignment, gpus
        self._engine = engine or assignment.open_engine()
        self._output = assignment.open_output()
        self._open_cases = asyncio.Semaphore(MOST_OPEN_CASES)
        self._heads: set[int] = set()
        self._worker = f"{os.uname().nodename}-{os.getpid()}"

    async def do(self, order: Order) -> list[dict[str, Any]]:
        """The receipts of the stages done, each already committed."""
        cases = await asyncio.to_thread(self._output.cases, order.shard)
        known = await asyncio.to_thread(self._known_briefs, order)
        stages = {"prepare": self._prepare, "judge": self._judge}
        return [await stages[stage](order.shard, cases, known) for stage in order.stages]

    async def _prepare(
        self, shard: Shard, cases: Sequence[Case], known: Mapping[str, Briefs]
    ) -> dict[str, Any]:
        """Stage one: every brief that these documents lack; the file holds those they had too."""
        started, asked, missing = time.monotonic(), dict[str, Asked](), 0
        for judge in self._job.judges:
            ask = self._asking(asked.setdefault(judge.name, Asked()))
            work = (ask(self._brief, judge, case, known[judge.name]) for case in cases)
            briefs = [brief for mine in await asyncio.gather(*work) for brief in mine]
            known[judge.name].update((brief.key, brief) for brief in briefs)
            missing += sum(brief.status == "unscored" for brief in briefs)
            await asyncio.to_thread(self._output.write_briefs, judge.name, shard, briefs)
        return await self._commit("prepare", shard, started, asked, missing)

    async def _judge(
        self, shard: Shard, cases: Sequence[Case], known: Mapping[str, Briefs]
    ) -> dict[str, Any]:
        """Stage two: every candidate before every judge."""
        started, asked, unscored = time.monotonic(), dict[str, Asked](), 0
        for judge in self._job.judges:
            ask = self._asking(asked.setdefault(judge.name, Asked()))
            work = (ask(self._verdicts, judge, case, known[judge.name]) for case in cases)
            verdicts = [verdict for mine in await asyncio.gather(*work) for verdict in mine]
            unscored += sum(verdict.status == "unscored" for verdict in verdicts)
            await asyncio.to_thread(self._output.write_verdicts, judge.name, shard, verdicts)
        return await self._commit("judge", shard, started, asked, unscored)

    async def _brief(self, judge: Judge, case: Case, known: Briefs, model: Model) -> list[Brief]:
        keys = self._keys(judge, case.document)
        had = [known[key] for key in keys.values() if key in known and known[key].status == "ok"]
        new = await judge.brief(case.document, had, model)
        signature = self._job.signatures[judge.scorers[0]]
        return [
            *(replace(brief, doc_id=case.document.doc_id) for brief in had),
            *(replace(b, key=keys[b.axis, b.part], signature=signature) for b in new),
        ]

    async def _verdicts(
        self, judge: Judge, case: Case, known: Briefs, model: Model
    ) -> list[Verdict]:
        keys = self._keys(judge, case.document).values()
        return await judge.verdicts(case, [known[key] for key in keys if key in known], model)

    def _asking(self, asked: Asked) -> Callable[..., Awaitable[Any]]:
        """Opens a case when its turn comes, with a model of its own that remembers and counts."""

        async def ask(work: Callable[..., Awaitable[R]], *given: Any) -> R:
            async with self._open_cases:
                counting = Counting(self._engine, self._heads)
                result = await work(*given, Remembering(counting))
                asked.add(counting)
                return result

        return ask

    def _keys(self, judge: Judge, document: Document) -> dict[tuple[str, str], str]:
        def key(part: Part) -> str:
            return brief_key(judge, part, document, self._job.writer)

        return {(part.axis, part.name): key(part) for part in judge.parts()}

    def _known_briefs(self, order: Order) -> dict[str, Briefs]:
        """What other files hold, to be reused, and the shard's own, which is the last word."""
        own, known = self._output.brief_file(order.shard), {}
        for judge in self._job.judges:
            others = [file for file in order.brief_files.get(judge.name, ()) if file != own]
            mine = [own] if self._output.has_briefs(judge.name, order.shard) else []
            found = self._output.briefs(judge.name, [*others, *mine])
            known[judge.name] = {brief.key: brief for brief in found}
        return known

    async def _commit(
        self, stage: Stage, shard: Shard, started: float, asked: Mapping[str, Asked], unscored: int
    ) -> dict[str, Any]:
        now = time.monotonic()
        receipt = {
            "stage": stage,
            "shard": shard.number,
            "cases": shard.cases,
            "candidates": shard.candidates,
            "unscored": unscored,
            "asked": {judge: asdict(of) for judge, of in asked.items()},
            "seconds": round(now - started, 3),
            "worker": self._worker,
            "worker_seconds": round(now - self._since, 3),
            "gpus": self._gpus,
        }
        await asyncio.to_thread(self._output.commit, stage, shard, receipt)
        return receipt
