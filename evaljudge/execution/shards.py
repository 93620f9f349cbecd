"""What a worker does with one shard: read its cases, ask, and commit what came of it.

Nothing here knows Ray. Cases of several shards are open at once over one engine, oldest first, so
that no round of one waits for a round of another; a shard is committed when all its cases are done.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Mapping,
    Sequence,
)
from contextlib import suppress
from dataclasses import asdict, replace
from functools import partial
from itertools import chain
from math import ceil, inf
from typing import Any, TypeVar

from evaljudge.engines import Engine, ModelSource
from evaljudge.errors import Unasked
from evaljudge.execution.attempts import ENGINE_DIED, Attempt, CaseSlots, Here
from evaljudge.execution.budget import Mine, Paying
from evaljudge.execution.case import Briefs, InHand, Models, add_counts, case_models, try_scoring
from evaljudge.execution.measuring import measured_beside
from evaljudge.execution.protocol import Assignment, Event, Order, Tell
from evaljudge.identity import brief_key, common_key
from evaljudge.judges.checked import briefs_of, own_code, verdicts_of
from evaljudge.judges.protocol import Judge, Judged
from evaljudge.model import Model
from evaljudge.model.remembering import Common
from evaljudge.reasons import by_kind
from evaljudge.records import Brief, Case, Document, Verdict
from evaljudge.storage import Shard, Stage, common_file
from evaljudge.text import CERTAIN, is_not_expected

MOST_OPEN_CASES = 64
MOST_IN_HAND = 16  # shards, however few cases they have: others should get some
TIMES_AT_A_SERVER = 4  # so many times as much is open where nothing of this machine answers
TELL_EVERY = 1.0  # seconds in which changed counts are collected
R = TypeVar("R")
Known = Mapping[str, Briefs]  # the keys are the judges' kinds


class Counts:
    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._changed: dict[tuple[Stage, int], int] = {}

    def note(self, stage: Stage, shard: int, cases: int) -> None:
        if not self._changed:
            asyncio.get_running_loop().call_later(TELL_EVERY, self._send)
        self._changed[stage, shard] = cases

    def _send(self) -> None:
        changed, self._changed = self._changed, {}
        self._tell([Event("cases", *at, cases) for at, cases in changed.items()])


def shards_at_once(shards: Collection[Shard], source: ModelSource) -> int:
    """How many of these a worker has in hand: their cases are those that may be open, and about as
    many again that are read meanwhile."""
    times = TIMES_AT_A_SERVER if source.endpoint else 1
    wanted = 2 * MOST_OPEN_CASES * len(shards) / sum(shard.cases for shard in shards)
    return times * min(MOST_IN_HAND, max(2, ceil(wanted)))


class Superseded(Exception):
    """Another worker's work counts."""


MayCommit = Callable[[int, Stage], Awaitable[dict[str, float] | None]]
"""None: no; else what others did of this stage of the shard, in vain."""


async def always(shard: int, stage: Stage) -> dict[str, float]:
    return {}


class ShardWork:
    """Does orders over one engine, several at once.

    `may_commit`: asked before the first file of a stage is written (see ray/board.py).
    """

    def __init__(
        self,
        assignment: Assignment,
        here: Here,
        engine: Engine | None = None,
        gpus: float = 0,
        tell: Tell = lambda events: None,
        may_commit: MayCommit = always,
        budget: Mine | None = None,
    ) -> None:
        self._since = time.monotonic()  # loading the engine is time that is paid for
        self._job, self._here, self._gpus = assignment, here, gpus
        self._engine = engine or assignment.open_engine()
        asked: Model = self._engine
        if budget:
            price, thinks = assignment.source.price, assignment.source.thinking
            by_time = assignment.price.of(1, gpus), self._since
            thoughts = (thinks.samples, thinks.tokens) if thinks else (0, 0)
            asked = Paying(asked, budget, price, *by_time, thoughts)
        self._output, self._may_commit = assignment.output, may_commit
        times = TIMES_AT_A_SERVER if assignment.source.endpoint else 1
        self._slots, self._counts = CaseSlots(MOST_OPEN_CASES * times), Counts(tell)
        self._heads: set[int] = set()
        self._judging = assignment.judging or assignment.judges
        self._untried = {judge.name for judge in self._judging}
        """The judges that have no scored verdict yet."""
        self._blocks: defaultdict[str, set[int]] = defaultdict(set)
        self._brief_keys: dict[tuple[str, str], Mapping[tuple[str, str], str]] = {}
        """The brief's key for each axis and part, by document and judge; open cases only."""
        self._in_hand: dict[int, InHand[Any]] = {}
        """By shard; also of work that was cut short, unless it was dropped."""
        self._prepared: dict[int, dict[str, Any]] = {}
        """Receipts of stage one, each to be read with the one of stage two."""
        self._common = Common(
            asked,
            self._output.common_reply,
            self._output.keep_common_reply,
            lambda prompt, how: common_key(prompt, how, assignment.writer),
        )

    async def do(self, order: Order) -> AsyncIterator[dict[str, Any]]:
        """The receipt of each stage as it is committed, by an earlier attempt perhaps."""
        name = f"{order.shard.number:05d}{'-copy' if order.is_copy else ''}"
        attempt = await asyncio.to_thread(Attempt, name, self._here)
        order = replace(order, is_again=order.is_again or not attempt.is_first)
        cases = await asyncio.to_thread(self._output.cases, order.shard)
        known = await asyncio.to_thread(self._known_briefs, order)
        work = {"prepare": self._prepare, "judge": self._judge}
        try:
            for stage in order.stages:
                receipt = None
                if order.is_again:
                    receipt = await asyncio.to_thread(self._output.receipt, stage, order.shard)
                yield receipt or await work[stage](order, cases, known, attempt)
        finally:
            for case in cases:
                self._blocks.pop(case.document.doc_id, None)
                for judge in self._job.judges:
                    self._brief_keys.pop((case.document.doc_id, judge.name), None)
        await asyncio.to_thread(attempt.end)

    async def save(self) -> None:
        """What is done of all shards that were begun and are not committed."""
        await asyncio.gather(*(kept.save() for kept in self._in_hand.values()))

    def drop(self, shard: int) -> None:
        """Its work is given up, as another worker's counts."""
        self._in_hand.pop(shard, None)

    def close(self) -> None:
        self._engine.close()

    async def _prepare(
        self, order: Order, cases: Sequence[Case], known: Known, attempt: Attempt
    ) -> dict[str, Any]:
        """Stage one: every brief that these documents lack; the files hold those they had too."""
        shard, files, missing = order.shard, list[str](), list[str]()
        kept = InHand[dict[str, Briefs]](self._output, "prepare", shard, self._job.judges)
        briefs_of = partial(self._briefs, known=known, attempt=attempt, kept=kept)
        written, repeated = await self._done_for_each(kept, order, cases, briefs_of)
        for kind, mine in known.items():
            briefs = [brief for each in written for brief in each[kind].values()]
            mine.update((brief.key, brief) for brief in briefs)
            missing += [brief.reason for brief in briefs if brief.status == "unscored"]
            files.append(await asyncio.to_thread(self._output.write_briefs, kind, shard, briefs))
        files += map(common_file, self._common.kept)
        receipt = await self._commit(kept, shard, missing, files, repeated)
        if receipt["worker"] != self._here.worker:  # it was first, and its briefs count
            for kind, mine in known.items():
                theirs = await asyncio.to_thread(self._output.own_briefs, kind, shard)
                mine.update((brief.key, brief) for brief in theirs)
        self._prepared[shard.number] = receipt
        return receipt

    async def _judge(
        self, order: Order, cases: Sequence[Case], known: Known, attempt: Attempt
    ) -> dict[str, Any]:
        """Stage two: every candidate before every judge."""
        shard, output, files, unscored = order.shard, self._output, list[str](), list[str]()
        kept = InHand[dict[str, Judged]](output, "judge", shard, self._judging)
        metrics = self._job.metrics if attempt.is_first else ()
        measured = await asyncio.to_thread(measured_beside, metrics, cases, self._job.signatures)
        verdicts_of = partial(self._verdicts, known=known, attempt=attempt, kept=kept)
        judged, repeated = await self._done_for_each(kept, order, cases, verdicts_of)
        for judge in self._judging:
            verdicts = [verdict for each in judged for verdict in each[judge.name][0]]
            checks = [check for each in judged for check in each[judge.name][1]]
            reasons = [verdict.reason for verdict in verdicts if verdict.status == "unscored"]
            unscored += [reason for reason in reasons if not is_not_expected(reason)]
            written = (judge.name, shard, verdicts)
            with own_code(judge, "verdicts"):  # its evidence may be no JSON
                files.append(await asyncio.to_thread(output.write_verdicts, *written))
            if judge.has_checks:
                written = (judge.name, shard, checks)
                files.append(await asyncio.to_thread(output.write_checks, *written))
        for name, scores in measured.items():
            files.append(output.write_measures(f"judge/{name}", shard, scores))
        return await self._commit(kept, shard, unscored, files, repeated, measured)

    async def _done_for_each(
        self,
        kept: InHand[R],
        order: Order,
        cases: Sequence[Case],
        work: Callable[[Case], Coroutine[Any, Any, R]],
    ) -> tuple[list[R], dict[str, float]]:
        """What each case gives, and what others did in vain, once it may be committed."""
        results, stage, number = kept.results, kept.stage, order.shard.number
        if order.is_again or order.is_copy:
            await asyncio.to_thread(kept.find)
        if not order.is_copy:
            self._in_hand[number] = kept

        async def done(case: Case) -> None:
            if case.document.doc_id not in results:
                with suppress(Unasked):  # the others go on, as far as they may
                    results[case.document.doc_id] = await work(case)
                    kept.replies.pop(case.document.doc_id)
            self._counts.note(stage, number, len(results))

        self._counts.note(stage, number, len(results))
        async with kept.saved(inf if order.is_copy else self._job.commit_every):
            await _together(map(done, cases))
        if len(results) < len(cases):
            await kept.save()
            raise Unasked
        if (repeated := await self._may_commit(number, stage)) is None:
            raise Superseded
        return [results[case.document.doc_id] for case in cases], repeated

    async def _briefs(
        self, case: Case, known: Known, attempt: Attempt, kept: InHand[Any]
    ) -> dict[str, Briefs]:
        """Briefs by kind: what one judge has written, the next judge of its kind need not write."""
        briefs: dict[str, Briefs] = {kind: {} for kind in known}
        new_of: dict[str, list[Brief]] = {}
        async with attempt.opening(case.document.doc_id, self._slots):
            models = self._models(case, kept)
            for judge in self._job.judges:
                if not self._job.passed_on.of(judge, case).candidates and case.candidates:
                    new_of[judge.name] = []
                    continue
                mine = briefs[judge.kind]
                there = known[judge.kind] | mine
                with suppress(Unasked), kept.asked[judge.name].timed():
                    had, new = await self._brief(judge, case, there, attempt, models)
                    new_of[judge.name] = new
                    mine |= {brief.key: brief for brief in (*had, *new)}
        if len(new_of) < len(self._job.judges):  # each had its turn, though one may not ask
            raise Unasked
        add_counts(kept.asked, models)
        for name, new in new_of.items():
            kept.asked[name].add_axes(new)
        return briefs

    async def _brief(
        self, judge: Judge, case: Case, known: Briefs, attempt: Attempt, models: Models
    ) -> tuple[list[Brief], list[Brief]]:
        document, keys = case.document, self._keys(judge, case.document)
        had = [known[key] for key in keys.values() if key in known and known[key].status == "ok"]
        if document.doc_id in attempt.quarantined:
            new = _quarantined_briefs(judge, document, had)
        else:
            new = await briefs_of(judge, document, had, models[judge.name])
        signature = self._job.signatures[judge.scorers[0]]
        return (
            [replace(brief, doc_id=document.doc_id) for brief in had],
            [replace(b, key=keys[b.axis, b.part], signature=signature) for b in new],
        )

    async def _verdicts(
        self, case: Case, known: Known, attempt: Attempt, kept: InHand[Any]
    ) -> dict[str, Judged]:
        """All judges of one case after each other, so that its prefixes are still in the cache."""
        judged_by: dict[str, Judged] = {}
        async with attempt.opening(case.document.doc_id, self._slots):
            models = self._models(case, kept)
            for judge in self._judging:
                keys = self._keys(judge, case.document).values()
                briefs = [known[judge.kind][key] for key in keys if key in known[judge.kind]]
                killed_the_writer = any(brief.reason == ENGINE_DIED for brief in briefs)
                if killed_the_writer or case.document.doc_id in attempt.quarantined:
                    judged_by[judge.name] = Judged(_unscored(judge, case, ENGINE_DIED))
                    continue
                with suppress(Unasked), kept.asked[judge.name].timed():
                    judged = await self._judged(judge, case, briefs, models[judge.name])
                    judged_by[judge.name] = judged
                    if judge.name in self._untried and try_scoring(judge, case, judged.verdicts):
                        self._untried.remove(judge.name)
        if len(judged_by) < len(self._judging):
            raise Unasked
        add_counts(kept.asked, models)
        for name, judged in judged_by.items():
            kept.asked[name].add_axes([*judged.verdicts, *judged.checks])
        return judged_by

    async def _judged(
        self, judge: Judge, case: Case, briefs: Sequence[Brief], model: Model
    ) -> Judged:
        passed_on, judged = self._job.passed_on, Judged([])
        asked = passed_on.of(judge, case)
        if judge.name == passed_on.judge:
            judged = passed_on.said.get(case.document.doc_id, judged)
        said = {verdict.system for verdict in judged.verdicts}
        new = replace(asked, candidates=tuple(c for c in asked.candidates if c.system not in said))
        if new.candidates or not case.candidates:
            verdicts, checks = await verdicts_of(judge, new, briefs, model)
            judged = Judged([*judged.verdicts, *verdicts], checks)
        rest = (c for c in case.candidates if c not in asked.candidates)
        certain = _unscored(judge, replace(case, candidates=tuple(rest)), CERTAIN)
        return judged._replace(verdicts=[*judged.verdicts, *certain])

    def _models(self, case: Case, kept: InHand[Any]) -> Models:
        doc_id = case.document.doc_id
        read = self._heads, self._blocks[doc_id]
        return case_models(self._common, kept.asked, *read, kept.replies[doc_id])

    def _keys(self, judge: Judge, document: Document) -> Mapping[tuple[str, str], str]:
        """The keys of the judge's briefs, cached for the second stage while the case is open."""
        at, writer = (document.doc_id, judge.name), self._job.writer
        if at not in self._brief_keys:
            parts = judge.parts()
            keys = {(p.axis, p.name): brief_key(judge, p, document, writer) for p in parts}
            self._brief_keys[at] = keys
        return self._brief_keys[at]

    def _known_briefs(self, order: Order) -> dict[str, Briefs]:
        """The briefs of other files, to be reused, and the shard's own, which replace them."""
        output, own_file = self._output, self._output.brief_file(order.shard)
        may_be_there = order.is_again or "prepare" not in order.stages
        known: dict[str, Briefs] = {}
        for kind in dict.fromkeys(judge.kind for judge in self._job.judges):
            others = [file for file in order.brief_files.get(kind, ()) if file != own_file]
            own = output.own_briefs(kind, order.shard) if may_be_there else ()
            known[kind] = {brief.key: brief for brief in chain(output.briefs(kind, others), own)}
        return known

    async def _commit(
        self,
        kept: InHand[Any],
        shard: Shard,
        reasons: Sequence[str],
        files: Sequence[str],
        repeated: Mapping[str, float],
        measured: Iterable[str] = (),
    ) -> dict[str, Any]:
        """The receipt that counts: of two workers that did the same the first one's.

        `reasons`: why each unscored brief or verdict has no score."""
        stage, now = kept.stage, time.monotonic()
        self.drop(shard.number)
        receipt = {
            "stage": stage,
            "shard": shard.number,
            "cases": shard.cases,
            "candidates": shard.candidates,
            "unscored": len(reasons),
            "reasons": by_kind(reasons),
            "asked": {judge: asdict(counts) for judge, counts in kept.asked.items()},
            "seconds": round(now - kept.since, 3),
            "worker": self._here.worker,
            "worker_seconds": round(now - self._since, 3),
            "gpus": self._gpus,
            "cache_block": self._engine.cache_block,
            "files": files,
            "measured": {name: self._job.signatures[name] for name in measured},
        } | ({"repeated": dict(repeated)} if repeated else {})
        before = self._prepared.pop(shard.number, None) if stage == "judge" else None
        whole = receipt | ({"prepared": before} if before else {})
        if await asyncio.to_thread(self._output.commit, stage, shard, whole):
            return receipt
        marker = self._output.marker(stage, shard)
        return await asyncio.to_thread(self._output.prove, marker)


async def _together(work: Iterable[Coroutine[Any, Any, R]]) -> list[R]:
    """Where one fails, the others are cancelled."""
    tasks = [asyncio.create_task(item) for item in work]
    try:
        return await asyncio.gather(*tasks)
    except BaseException:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        raise


def _quarantined_briefs(judge: Judge, document: Document, had: Sequence[Brief]) -> list[Brief]:
    there = {(brief.axis, brief.part) for brief in had}
    key = (document.doc_id, "", judge.kind)
    return [
        Brief(*key, part.axis, part.name, {}, status="unscored", reason=ENGINE_DIED)
        for part in judge.parts()
        if (part.axis, part.name) not in there
    ]


def _unscored(judge: Judge, case: Case, why: str) -> list[Verdict]:
    doc_id = case.document.doc_id
    return [
        Verdict(doc_id, candidate.system, judge.name, axis, {}, "unscored", why)
        for candidate in case.candidates
        for axis in judge.axes
    ]
