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
from typing import Any

from evaljudge.asks import Options
from evaljudge.engines import Engine, Engines, Identity, ModelSource
from evaljudge.judges import Judge
from evaljudge.model import Model
from evaljudge.model.counting import Counting
from evaljudge.model.remembering import Remembering
from evaljudge.records import Brief, Case, Tokens, Verdict
from evaljudge.signature import brief_key
from evaljudge.storage import Output, Shard, Stage

MOST_OPEN_CASES = 64
Tally = dict[str, Tokens]
"""What was asked, by judge."""


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


class ShardWork:
    """Does orders over one engine, several at once."""

    def __init__(self, assignment: Assignment, engine: Engine) -> None:
        self._job, self._engine = assignment, engine
        self._output = assignment.open_output()
        self._open_cases = asyncio.Semaphore(MOST_OPEN_CASES)
        self._heads: set[int] = set()
        self._name = f"{os.uname().nodename}-{os.getpid()}-{time.time_ns()}"
        self._since = time.monotonic()

    async def do(self, order: Order) -> list[dict[str, Any]]:
        """The receipts of the stages done, each already committed."""
        cases = await asyncio.to_thread(self._output.cases, order.shard)
        known = await asyncio.to_thread(self._known_briefs, order, cases)
        stages = {"prepare": self._prepare, "judge": self._judge}
        return [await stages[stage](order.shard, cases, known) for stage in order.stages]

    def _known_briefs(self, order: Order, cases: Sequence[Case]) -> dict[str, Brief]:
        """Usable briefs of these documents, by key; of this shard's own file also failures."""
        found: dict[str, Brief] = {}
        documents = {case.document.doc_id for case in cases}
        own = self._output.brief_file(order.shard)
        for judge in self._job.judges:
            files = list(order.brief_files.get(judge.name, ()))
            if self._output.has_briefs(judge.name, order.shard) and own not in files:
                files.append(own)
            for brief in self._output.briefs(judge.name, files):
                if brief.doc_id in documents or brief.status == "ok":
                    found[brief.key] = brief
        return found

    async def _prepare(
        self, shard: Shard, cases: Sequence[Case], known: dict[str, Brief]
    ) -> dict[str, Any]:
        usable = {key: brief for key, brief in known.items() if brief.status == "ok"}
        started, tally = time.monotonic(), Tally()
        for judge in self._job.judges:

            async def brief(case: Case, model: Model, judge: Judge = judge) -> list[Brief]:
                return await self._brief(judge, case, usable, model)

            mine = await self._over(cases, judge.name, tally, brief)
            new = [b for briefs in mine for b in briefs]
            await asyncio.to_thread(self._output.write_briefs, judge.name, shard, new)
            known |= {b.key: b for b in new}
        missing = sum(b.status == "unscored" for b in known.values())
        counts = {"cases": len(cases), "briefs": len(known), "missing": missing}
        return await self._commit("prepare", shard, counts, tally, started)

    async def _judge(
        self, shard: Shard, cases: Sequence[Case], known: dict[str, Brief]
    ) -> dict[str, Any]:
        started, tally, unscored, masses = time.monotonic(), Tally(), 0, _Masses()
        for judge in self._job.judges:

            async def verdicts(case: Case, model: Model, judge: Judge = judge) -> list[Verdict]:
                briefs = [b for b in self._briefs_of(judge, case, known).values() if b]
                return await judge.verdicts(case, briefs, model)

            mine = [v for vs in await self._over(cases, judge.name, tally, verdicts) for v in vs]
            await asyncio.to_thread(self._output.write_verdicts, judge.name, shard, mine)
            unscored += sum(v.status == "unscored" for v in mine)
        counts = {"cases": len(cases), "candidates": shard.candidates, "unscored": unscored}
        return await self._commit("judge", shard, counts, tally, started)
