"""What a worker does with one shard: read its cases, ask, write the files, then the marker.

Nothing here knows Ray. Cases of several shards are open at once over one engine, oldest first, so
that no round of one waits for a round of another; a shard is committed when all its cases are done.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, TypeVar

from evaljudge.cluster.attempts import ENGINE_DIED, Attempt, Here
from evaljudge.cluster.orders import Assignment, Order
from evaljudge.cluster.room import Room
from evaljudge.engines import Engine
from evaljudge.judges import Judge, Part
from evaljudge.model import Model
from evaljudge.model.counting import Counting, Masses
from evaljudge.model.remembering import Remembering
from evaljudge.records import Brief, Case, Document, Tokens, Verdict
from evaljudge.signature import brief_key
from evaljudge.storage import Shard, Stage

MOST_OPEN_CASES = 64
R = TypeVar("R")
Briefs = dict[str, Brief]
"""By key."""
Asking = Callable[[Case, Callable[[Model], Awaitable[R]]], Awaitable[R]]
"""Opens a case when its turn comes, and does this with it."""


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
        self, assignment: Assignment, here: Here, engine: Engine | None = None, gpus: float = 0
    ) -> None:
        self._since = time.monotonic()  # loading the engine is time that is paid for
        self._job, self._here, self._gpus = assignment, here, gpus
        self._engine = engine or assignment.open_engine()
        self._output = assignment.open_output()
        self._room = Room(MOST_OPEN_CASES)
        self._heads: set[int] = set()

    async def do(self, order: Order) -> list[dict[str, Any]]:
        """The receipts of the stages done, each already committed."""
        name = f"{order.shard.number:05d}"
        attempt = await asyncio.to_thread(Attempt, self._output, name, self._here)
        cases = await asyncio.to_thread(self._output.cases, order.shard)
        known = await asyncio.to_thread(self._known_briefs, order)
        work = {"prepare": self._prepare, "judge": self._judge}
        receipts = []
        for stage in order.stages:
            done = None if attempt.is_first else await self._receipt_left(stage, order.shard)
            receipts.append(done or await work[stage](order.shard, cases, known, attempt))
        await asyncio.to_thread(attempt.end)
        return receipts

    async def _receipt_left(self, stage: Stage, shard: Shard) -> dict[str, Any] | None:
        """Of an attempt that committed the stage and died thereafter.

        An older one does not count: what it speaks of may be gone, which is why it is ordered anew.
        """
        left = await asyncio.to_thread(self._output.receipt, stage, shard)
        return left if left and left["session"] == self._here.session else None

    async def _prepare(
        self, shard: Shard, cases: Sequence[Case], known: Mapping[str, Briefs], attempt: Attempt
    ) -> dict[str, Any]:
        """Stage one: every brief that these documents lack; the file holds those they had too."""
        started, asked, missing = time.monotonic(), dict[str, Asked](), 0
        for judge in self._job.judges:
            mine = known[judge.name]
            ask = self._asking(attempt, asked.setdefault(judge.name, Asked()))
            work = (self._briefs(judge, case, mine, attempt, ask) for case in cases)
            briefs = [brief for some in await asyncio.gather(*work) for brief in some]
            mine.update((brief.key, brief) for brief in briefs)
            missing += sum(brief.status == "unscored" for brief in briefs)
            await asyncio.to_thread(self._output.write_briefs, judge.name, shard, briefs)
        return await self._commit("prepare", shard, started, asked, missing)

    async def _judge(
        self, shard: Shard, cases: Sequence[Case], known: Mapping[str, Briefs], attempt: Attempt
    ) -> dict[str, Any]:
        """Stage two: every candidate before every judge."""
        started, asked, unscored = time.monotonic(), dict[str, Asked](), 0
        for judge in self._job.judges:
            mine = known[judge.name]
            ask = self._asking(attempt, asked.setdefault(judge.name, Asked()))
            work = (self._verdicts(judge, case, mine, attempt, ask) for case in cases)
            verdicts = [verdict for some in await asyncio.gather(*work) for verdict in some]
            unscored += sum(verdict.status == "unscored" for verdict in verdicts)
            await asyncio.to_thread(self._output.write_verdicts, judge.name, shard, verdicts)
        return await self._commit("judge", shard, started, asked, unscored)

    async def _briefs(
        self, judge: Judge, case: Case, known: Briefs, attempt: Attempt, ask: Asking[list[Brief]]
    ) -> list[Brief]:
        document, keys = case.document, self._keys(judge, case.document)
        had = [known[key] for key in keys.values() if key in known and known[key].status == "ok"]
        if document.doc_id in attempt.aside:
            new = _briefs_aside(judge, document, had)
        else:
            new = await ask(case, lambda model: judge.brief(document, had, model))
        signature = self._job.signatures[judge.scorers[0]]
        return [
            *(replace(brief, doc_id=document.doc_id) for brief in had),
            *(replace(b, key=keys[b.axis, b.part], signature=signature) for b in new),
        ]

    async def _verdicts(
        self, judge: Judge, case: Case, known: Briefs, attempt: Attempt, ask: Asking[list[Verdict]]
    ) -> list[Verdict]:
        keys = self._keys(judge, case.document).values()
        briefs = [known[key] for key in keys if key in known]
        killed_the_writer = any(brief.reason == ENGINE_DIED for brief in briefs)
        if killed_the_writer or case.document.doc_id in attempt.aside:
            return _verdicts_aside(judge, case)
        return await ask(case, lambda model: judge.verdicts(case, briefs, model))

    def _asking(self, attempt: Attempt, asked: Asked) -> Asking[Any]:
        """Each case has a model of its own that remembers and counts."""

        async def ask(case: Case, work: Callable[[Model], Awaitable[R]]) -> R:
            async with attempt.opening(case.document.doc_id, self._room):
                counting = Counting(self._engine, self._heads)
                result = await work(Remembering(counting))
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
            found = [
                *self._output.briefs(judge.name, others),
                *self._output.own_briefs(judge.name, order.shard),
            ]
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
            "session": self._here.session,
            "worker": self._here.worker,
            "worker_seconds": round(now - self._since, 3),
            "gpus": self._gpus,
        }
        await asyncio.to_thread(self._output.commit, stage, shard, receipt)
        return receipt


def _briefs_aside(judge: Judge, document: Document, had: Sequence[Brief]) -> list[Brief]:
    there = {(brief.axis, brief.part) for brief in had}
    lacking = [part for part in judge.parts() if (part.axis, part.name) not in there]
    known, reason = (document.doc_id, "", judge.name), ("unscored", ENGINE_DIED)
    return [Brief(*known, part.axis, part.name, {}, *reason) for part in lacking]  # type: ignore[arg-type]


def _verdicts_aside(judge: Judge, case: Case) -> list[Verdict]:
    return [
        Verdict(
            case.document.doc_id, candidate.system, judge.name, axis, {}, "unscored", ENGINE_DIED
        )
        for candidate in case.candidates
        for axis in judge.axes
    ]
