"""The board: which orders wait, who has which in hand, who may commit, and what workers tell.

It is an actor on the driver's node. Ray Data's rows are turns of workers, not shards: a worker with
a turn takes an order from the board, does it and tells the receipt, until none is left for it. So
any worker can do any shard. What a dead worker or a lost node had in hand is the next to be taken;
and once no order waits, a worker that has nothing else to do gets copies of the oldest in hand. A
shard that has killed a worker is not copied.

Two copies may answer differently on a card, so only one of them counts. A worker asks the board
before it writes the first file of a stage; the first that asks may, and nobody else until it has
told that it committed, or is dead. So the files of one stage are one worker's. A worker that is cut
off gets no answer, and one that Ray has declared dead is refused: so neither writes.

The driver hands the orders over in pieces, as they run low. If the board is lost, Ray starts
another, to which the driver hands again what it has not heard of; whoever takes that looks first at
what is committed. The notes of attempts are lost with a board, which only costs more tries.
"""

import asyncio
import pickle
import sys
import time
import uuid
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from threading import Event as Flag
from threading import RLock, Thread
from typing import Any, NamedTuple

from evaljudge.errors import finishing
from evaljudge.execution.attempts import MOST_LOADS
from evaljudge.execution.budget import NOTHING, Amounts, Budget
from evaljudge.execution.protocol import Event, Watch, tell_receipt

EVERY = 1.0  # seconds between two looks at the board
PIECE = 1000  # the board gets so many orders at once, when fewer wait there
MOST_CALLS = 100_000
"""Workers without an order wait in their calls of the board, as do those whose work may be lost."""
Given = tuple[int, list[str], str]
"""A shard's number, the stages that it lacks, and the order as text."""


@dataclass
class _Doing:
    ticket: int
    since: float
    cases: int = 0


@dataclass
class _Order:
    """One that is not done yet; without doers, it waits."""

    stages: list[str]
    text: str
    is_again: bool
    """Some of it may be committed by a worker that could not tell; then it is not copied."""
    doers: dict[str, _Doing] = field(default_factory=dict)
    """By worker; the first is not a copy."""
    writer: str = ""  # the one that may commit
    has_killed: bool = False

    @property
    def first(self) -> str:
        return next(iter(self.doers), "")


class Taken(NamedTuple):
    """What the board gives a worker; between processes it is a plain tuple, as is `Told`."""

    shard: int
    stages: Sequence[str]
    text: str
    is_again: bool
    is_copy: bool


class Told(NamedTuple):
    board: str
    waiting: int
    events: Sequence[tuple[Any, ...]]
    receipts: Sequence[dict[str, Any]]
    spent: Amounts
    has_spent_all: bool


class Board:
    """Sent by value, as are `CountedWorker` and the budget: an import of evaljudge may be what ends
    processes."""

    def __init__(self, may_copy: bool, budget: tuple[Amounts, Amounts] | None = None) -> None:
        self._name, self._may_copy = uuid.uuid4().hex, may_copy and not budget
        self._budget = Budget(*(budget or (NOTHING, NOTHING)))
        self._orders = dict[int, _Order]()
        self._queue = deque[int]()
        self._hands = defaultdict[str, set[int]](set)
        """The shards that each worker has in hand."""
        self._has_all = self._is_over = False
        self._actors, self._nodes = dict[str, str](), dict[str, str]()
        """The worker that each actor is now, and each worker's node."""
        self._up, self._draining = frozenset[str](), frozenset[str]()
        self._leaving, self._dead = set[str](), set[str]()
        self._idle = set[str]()  # workers that wait for an order and have none
        self._changes = dict[str, asyncio.Event]()  # what workers wait for
        self._beginnings = defaultdict[str, list[str]](list)
        self._notes = dict[str, dict[str, Any]]()
        self._events = dict[tuple[Any, ...], Any]()
        self._receipts = list[dict[str, Any]]()

    # for the driver

    async def give(
        self, board: str, orders: Sequence[Given], is_again: bool, are_last: bool
    ) -> None:
        """`board`: the one that is meant; Ray sends a call again to the one after it. Calls may
        come in another order than they were made."""
        if board != self._name:
            return
        for shard, stages, text in orders:
            self._orders[shard] = _Order(stages, text, is_again)
            self._queue.append(shard)
        self._has_all = self._has_all or are_last
        self._wake_all()

    async def told(self, up: frozenset[str], draining: frozenset[str], is_over: bool) -> Any:
        """What was told since the last call; of each shard's events of a kind, only the last."""
        lost, self._up = self._up - up, up
        if draining != self._draining:
            self._draining = draining
            self._wake_all()
        for worker in [worker for worker, node in self._nodes.items() if node in lost]:
            self._bury(worker, is_suspect=False)
        if is_over:
            await self.finish()
        events, self._events = self._events, {}
        receipts, self._receipts = self._receipts, []
        spent = self._budget.spent, self._budget.is_over
        return self._name, len(self._queue), list(events.values()), receipts, *spent

    async def was_spent(self, amounts: Amounts) -> None:
        """What the driver knows of a board that was lost."""
        self._budget.spent = amounts

    async def finish(self) -> None:
        """No other order is begun."""
        self._is_over = True
        self._wake_all()

    async def end(self) -> None:
        """What is in hand is dropped, too."""
        self._hands.clear()
        await self.finish()

    # for workers

    async def begins(self, actor: str, worker: str, node: str) -> int:
        """How often this actor has died before, on nodes that are still up."""
        import ray

        up = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        before = self._actors.get(actor)
        if before != worker:  # else this call was sent twice
            if before:
                is_suspect = self._nodes.get(before) in up
                if is_suspect and self._beginnings[actor]:
                    self._events["died", before] = ("died",)  # before it had begun
                self._bury(before, is_suspect=is_suspect)
            self._actors[actor], self._nodes[worker] = worker, node
            self._beginnings[actor].append(node)
        return sum(earlier in up for earlier in self._beginnings[actor][:-1])

    async def has_begun(self, actor: str) -> None:
        self._beginnings.pop(actor, None)

    async def take(self, worker: str, actor: str, node: str, ticket: int) -> Any:
        """The next order, as soon as there is one; None: the turn is over. `ticket`: the same where
        Ray sends the same call twice; then the same order is given."""
        self._actors.setdefault(actor, worker)  # a board that was lost knew this, too
        self._nodes[worker] = node
        while not self._is_done and worker not in self._dead:
            is_staying = worker not in self._leaving and node not in self._draining
            shard = self._given(worker, ticket)
            if shard is None and is_staying:
                shard = self._next(worker)
            if shard is not None:
                order = self._orders[shard]
                order.doers.setdefault(worker, _Doing(ticket, time.monotonic()))
                self._hands[worker].add(shard)
                is_copy = order.first != worker
                return shard, order.stages, order.text, order.is_again, is_copy
            if is_staying and not self._hands[worker]:
                if self._has_all and self._is_shared:
                    return None
                self._idle.add(worker)
            await self._change(worker)
        return None

    @property
    def _is_done(self) -> bool:
        return self._is_over or (self._has_all and not self._orders)

    @property
    def _is_shared(self) -> bool:
        """No order will be in want of a worker, unless both that have it die."""
        return not self._may_copy or all(len(order.doers) > 1 for order in self._orders.values())

    def _given(self, worker: str, ticket: int) -> int | None:
        mine = ((shard, self._orders[shard].doers[worker]) for shard in self._hands[worker])
        return next((shard for shard, doing in mine if doing.ticket == ticket), None)

    def _next(self, worker: str) -> int | None:
        if self._queue:
            return self._queue.popleft()
        mine = (self._orders[shard] for shard in self._hands[worker])
        if not self._may_copy or any(order.first == worker for order in mine):
            return None
        return next((n for n, order in self._orders.items() if self._lends(order, worker)), None)

    def _lends(self, order: _Order, worker: str) -> bool:
        is_alone = len(order.doers) == 1 and worker not in order.doers
        return is_alone and not (order.writer or order.is_again or order.has_killed)

    async def may_commit(self, worker: str, shard: int, stage: str) -> dict[str, float] | None:
        """Where this worker's work counts, what others have done in vain; else None.

        Then nobody else's counts, until this one has told that it committed.
        """
        order = self._orders.get(shard)
        is_doing = order and worker in order.doers and stage in order.stages
        if order is None or not is_doing or order.writer not in ("", worker):
            self._drop(worker, shard)
            return None
        order.writer, now = worker, time.monotonic()
        others = {doer: doing for doer, doing in order.doers.items() if doer != worker}
        for other in others:
            self._drop(other, shard)
        if not others:
            return {}
        cases = sum(doing.cases for doing in others.values())
        seconds = sum(now - doing.since for doing in others.values())
        return {"copies": len(others), "cases": cases, "seconds": round(seconds, 1)}

    async def committed(self, worker: str, receipt: dict[str, Any]) -> None:
        self._receipts.append(receipt)
        shard = receipt["shard"]
        if order := self._orders.get(shard):
            if order.writer == worker:
                order.writer = ""
            order.stages = [stage for stage in order.stages if stage != receipt["stage"]]
            for doer, doing in list(order.doers.items()):
                order.doers[doer] = _Doing(doing.ticket, time.monotonic())
                if not order.stages:
                    self._drop(doer, shard)
            if not order.stages:
                del self._orders[shard]
                if not self._orders:
                    self._wake_all()
            while self._idle:
                self._wake(self._idle.pop())

    async def spend(self, worker: str, wanted: list[Amounts]) -> int:
        return await self._budget.take(worker, wanted)

    async def settle(self, worker: str, held: Amounts, spent: Amounts) -> None:
        await self._budget.settle(worker, held, spent)

    async def unasked(self, worker: str, shard: int) -> None:
        """Nothing may be asked about it any more."""
        self._drop(worker, shard)
        await self.finish()

    async def lost(self, worker: str, shard: int) -> None:
        """Answers when the shard is no longer in this worker's hands."""
        while shard in self._hands[worker]:
            await self._change(worker)

    async def leaves(self, worker: str) -> None:
        """It is to end: it gets no other order. Answers when it has none in hand."""
        self._leaving.add(worker)
        while self._hands[worker]:
            await self._change(worker)

    async def notice(self, worker: str) -> None:
        """Answers when its node is to go, or it is dead."""
        while worker not in self._dead and self._nodes.get(worker) not in self._draining:
            await self._change(worker)

    async def post(self, worker: str, events: Sequence[tuple[Any, ...]]) -> None:
        """The driver does not hear of copies."""
        for event in events:
            order = self._orders.get(event[2])
            if order and worker in order.doers and event[0] == "cases":
                order.doers[worker].cases = event[3]
            if order is None or order.first in ("", worker):
                self._events[event[:3]] = event

    # the notes of attempts (see attempts.py)

    async def attempt(self, name: str) -> dict[str, Any]:
        return self._notes.get(name, {})

    async def note_attempt(self, name: str, note: dict[str, Any]) -> None:
        self._notes.pop(name, None)
        self._notes |= {name: note} if note else {}

    def _bury(self, worker: str, *, is_suspect: bool) -> None:
        """`is_suspect`: a shard that it had in hand may be what it died of."""
        self._dead.add(worker)
        if mine := sorted(self._hands[worker]):
            first = self._orders[mine[0]]
            self._events["died", worker] = "died", first.stages[0], mine[0], len(mine)
        self._nodes.pop(worker, None)
        self._budget.bury(worker)
        for shard in [*self._hands[worker]]:
            self._orders[shard].has_killed |= is_suspect
            self._drop(worker, shard)

    def _drop(self, worker: str, shard: int) -> None:
        self._wake(worker)
        order = self._orders.get(shard)
        if shard not in self._hands[worker] or order is None:
            return
        self._hands[worker].remove(shard)
        del order.doers[worker]
        if order.writer == worker:
            order.writer, order.is_again = "", True
        if not order.doers and order.stages:
            self._queue.appendleft(shard)
            self._wake_all()

    async def _change(self, worker: str) -> None:
        await self._changes.setdefault(worker, asyncio.Event()).wait()

    def _wake(self, worker: str) -> None:
        if change := self._changes.pop(worker, None):
            change.set()

    def _wake_all(self) -> None:
        for worker in [*self._changes]:
            self._wake(worker)


class CountedWorker:
    """Refuses its turns after a few deaths while it imports or loads, which the board counts; those
    while it works are counted by the notes of attempts."""

    def __init__(self, packed: Any, board: Any, refusal: bytes) -> None:
        """`packed`: where the worker's class and its arguments lie; `refusal`: how its turns end
        where it refuses them."""
        import ray

        context = ray.get_runtime_context()
        actor, node, name = context.get_actor_id(), context.get_node_id(), uuid.uuid4().hex
        deaths = ray.get(board.begins.remote(actor, name, node))
        self._refusal = refusal if deaths >= MOST_LOADS else b""
        if not self._refusal:
            made, arguments = ray.cloudpickle.loads(ray.get(packed))
            self._worker = made(board, (name, actor, node), *arguments)
            ray.get(board.has_begun.remote(actor))

    async def __call__(self, turn: dict[str, Any]) -> dict[str, Any]:
        return {"ending": [self._refusal or pickle.dumps(await self._worker.take_turn())]}


class BoardReader:
    """The driver's side: hands the orders over, and tells `watch` what workers tell."""

    def __init__(
        self, board: Any, orders: Iterable[Given], watch: Watch, budget: Budget | None
    ) -> None:
        self.board, self._orders, self._watch = board, iter(orders), watch
        self.budget = budget
        self._name = ""
        self._left = dict[int, Given]()  # the orders that were handed over and are not done
        self._has_all, self._lock, self.over = False, RLock(), Flag()
        self._error: BaseException | None = None

    @property
    def is_done(self) -> bool:
        return self._has_all and not self._left

    def look(self) -> None:
        with self._lock:
            if self._error:
                raise self._error
            if told := self._told():
                self._hear(told)

    def _told(self) -> Told | None:
        """None where the board is lost, and another is being started."""
        import ray

        up = frozenset(node["NodeID"] for node in ray.nodes() if node["Alive"])
        asked = self.board.told.remote(up, _draining(), finishing.is_set())
        while not ray.wait([asked], timeout=EVERY)[0]:
            if self.over.is_set():
                return None
        try:
            return Told(*ray.get(asked))
        except ray.exceptions.RayError:
            return None

    def _hear(self, told: Told) -> None:
        is_another, self._name = told.board != self._name, told.board
        if self.budget and is_another:
            self.board.was_spent.remote(self.budget.spent)
        elif self.budget:
            self.budget.spent, self.budget.is_over = told.spent, told.has_spent_all
        for event in told.events:
            self._watch(Event(*event))
        for receipt in told.receipts:
            _, stages, _ = self._left.get(receipt["shard"], (0, [], ""))
            if receipt["stage"] in stages:  # else it was heard of already
                stages.remove(receipt["stage"])
                tell_receipt(self._watch, receipt)
                if not stages:
                    del self._left[receipt["shard"]]
        if is_another:
            left = list(self._left.values())
            self.board.give.remote(told.board, left, True, self._has_all)
        if not self._has_all and told.waiting < PIECE:
            piece = list(islice(self._orders, PIECE))
            self._has_all = len(piece) < PIECE
            self._left |= {order[0]: order for order in piece}
            self.board.give.remote(told.board, piece, False, self._has_all)

    def keep_looking(self) -> None:
        """In a thread: an error is raised in the driver's own, when a turn ends."""
        while not self.over.wait(EVERY):
            try:
                self.look()
            except BaseException as error:
                self._error = error
                self.board.end.remote()
                return


@contextmanager
def reading_board(
    orders: Iterable[Given], watch: Watch, budget: Budget | None = None, *, may_copy: bool
) -> Iterator[BoardReader]:
    """The board lies on the driver's node, which outlives those of workers. It takes no CPU of
    Ray's, so no worker has less room for it."""
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    for module in (__name__, Budget.__module__):
        ray.cloudpickle.register_pickle_by_value(sys.modules[module])
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    lasting = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1}
    lasting |= {"max_concurrency": MOST_CALLS}
    terms = (budget.most, budget.spent) if budget else None
    board = ray.remote(**lasting, scheduling_strategy=here)(Board).remote(may_copy, terms)
    reader = BoardReader(board, orders, watch, budget)
    reader.look()
    looking = Thread(target=reader.keep_looking, name="board", daemon=True)
    looking.start()
    try:
        yield reader
    finally:
        reader.over.set()
        looking.join()  # a thread that finds Ray gone would end this process


def _draining() -> frozenset[str]:
    """The nodes that are to go: Ray's public functions do not tell."""
    from ray._private.state import state

    return frozenset(state.get_draining_nodes())
