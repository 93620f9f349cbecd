"""What workers tell: to the driver by a board, to Prometheus by Ray's own metrics endpoint.

The board is an actor on which workers post events, and from which the driver reads. Where it is
lost, Ray starts another; meanwhile the receipts of whole shards show how far the run is. On it each
worker notes, too, that it begins, before anything of evaljudge is imported in its process; and the
driver says there that no other shard is to be begun, as it is to end after those in hand.

    ray_evaljudge_cases_total{stage="judge"} 96.0
    ray_evaljudge_asks_total{stage="judge", judge="synthetic"} 4032.0

A worker counts the shards that it has committed, when they are committed. Ray puts `ray_` before
each name and, after those of counters, `_total`; it adds the labels of the node and the worker.
`jobs/grafana.json` is a dashboard of these. Ray's counters take no 0, so a series is not there
before its first count, and the dashboard takes it for 0 then.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Event as Flag
from threading import Thread
from typing import Any

from evaljudge.errors import finishing
from evaljudge.execution.attempts import MOST_LOADS
from evaljudge.execution.protocol import Event, Watch

EVERY = 1.0
"""Seconds between two looks at the board."""
COUNTERS = {
    "evaljudge_cases": ("Cases done.", ("stage",)),
    "evaljudge_asks": ("Questions put to a model.", ("stage", "judge")),
    "evaljudge_prompt_tokens": ("Prompt tokens of all requests.", ("stage", "judge")),
    "evaljudge_cached_tokens": ("Those from the prefix cache.", ("stage", "judge")),
    "evaljudge_generated_tokens": ("Tokens that came out.", ("stage", "judge")),
    "evaljudge_judge_seconds": (
        "Seconds of cases with a judge, waiting for the engine included; cases overlap.",
        ("stage", "judge"),
    ),
    "evaljudge_unscored": ("Texts and briefs without a score.", ("stage", "reason")),
}
WORKER_SECONDS = "evaljudge_worker_seconds"
"""How long a worker has been there, loading its model included."""
TOKENS = {
    "evaljudge_asks": "asks",
    "evaljudge_prompt_tokens": "prompt",
    "evaljudge_cached_tokens": "cached",
    "evaljudge_generated_tokens": "generated",
}


class Board:
    """Sent by value, as is `CountedWorker`: an import of evaljudge may be what ends processes."""

    def __init__(self) -> None:
        self._posted: dict[tuple[Any, ...], Event] = {}
        self._beginnings: dict[str, list[str]] = {}
        self._is_finishing = False

    def finish(self) -> None:
        self._is_finishing = True

    def is_finishing(self) -> bool:
        return self._is_finishing

    def begins(self, worker: str, node: str) -> int:
        """How often this worker has died before it could work, on nodes that are still up."""
        import ray

        up = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
        before = self._beginnings.get(worker, [])
        self._beginnings[worker] = [*before, node]
        return sum(earlier in up for earlier in before)

    def has_begun(self, worker: str) -> None:
        self._beginnings.pop(worker, None)

    def post(self, events: Sequence[Event]) -> None:
        self._posted |= {event[:3]: event for event in events}

    def take(self) -> list[Event]:
        """The last event of each kind for each shard, of those posted since the last call."""
        taken, self._posted = self._posted, {}
        return list(taken.values())


class CountedWorker:
    """A worker from its first moment on; after a few deaths it refuses its orders.

    Ray starts a worker again as often as its process dies. Deaths while it works are counted in
    the run's folder (attempts.py), those while it imports evaljudge or the module of a judge or a
    metric, or loads its model, on the board.
    """

    def __init__(self, packed: Any, board: Any, refusal: str) -> None:
        """`packed`: where the worker's class and its arguments lie; `refusal`: a receipt."""
        import ray

        context = ray.get_runtime_context()
        worker = context.get_actor_id()
        deaths = ray.get(board.begins.remote(worker, context.get_node_id()))
        self._refusal = [refusal] if deaths >= MOST_LOADS else []
        if not self._refusal:
            made, arguments = ray.cloudpickle.loads(ray.get(packed))
            self._worker = made(*arguments)
            ray.get(board.has_begun.remote(worker))

    async def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        return {"receipt": self._refusal} if self._refusal else await self._worker(batch)


@contextmanager
def reading_board(watch: Watch) -> Iterator[Any]:
    """Gives the board's handle, for workers; for this block, `watch` gets what they post.

    The board lies on the driver's node, which outlives those of workers. It takes no CPU of Ray's,
    so no worker has less room for it.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ray.cloudpickle.register_pickle_by_value(sys.modules[__name__])
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    lasting = {"num_cpus": 0, "max_restarts": -1, "max_task_retries": -1}
    board = ray.remote(**lasting, scheduling_strategy=here)(Board).remote()
    over = Flag()

    def look() -> None:
        asked = board.take.remote()
        while not over.wait(EVERY):
            if finishing.is_set():
                board.finish.remote()
            if not ray.wait([asked], timeout=EVERY)[0]:
                continue
            try:
                posted = ray.get(asked)
            except ray.exceptions.RayError:  # it is lost, and another is being started
                posted = []
            for event in posted:
                watch(event)
            asked = board.take.remote()

    reader = Thread(target=look, name="board", daemon=True)
    reader.start()
    try:
        yield board
    finally:
        over.set()
        reader.join()  # a thread that finds Ray gone would end this process


class Counters:
    def __init__(self) -> None:
        from ray.util.metrics import Counter, Gauge

        self._counters = {
            name: Counter(name, description, tag_keys=labels)
            for name, (description, labels) in COUNTERS.items()
        }
        self._seconds = Gauge(WORKER_SECONDS, "Seconds since it began to load its model.")

    def add(self, receipt: Mapping[str, Any]) -> None:
        stage = receipt["stage"]
        self._add("evaljudge_cases", receipt["cases"], stage=stage)
        for judge, asked in receipt.get("asked", {}).items():
            labels = {"stage": stage, "judge": judge}
            for name, counted in TOKENS.items():
                self._add(name, asked["tokens"][counted], **labels)
            self._add("evaljudge_judge_seconds", asked["seconds"], **labels)
        for reason, times in receipt["reasons"].items():
            self._add("evaljudge_unscored", times, stage=stage, reason=reason)
        self._seconds.set(receipt["worker_seconds"])

    def _add(self, name: str, amount: float, **labels: str) -> None:
        if amount > 0:
            self._counters[name].inc(amount, tags=labels)
