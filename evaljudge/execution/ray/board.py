"""An actor on which workers post how many cases they have done, and from which the driver reads.

Nothing depends on it. Where it is lost with its node, Ray starts another; meanwhile the receipts of
whole shards show how far the run is.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread
from typing import Any

from evaljudge.execution import InHand, Tell

EVERY = 1.0
"""Seconds between two looks at the board."""


class Board:
    def __init__(self) -> None:
        self._posted: InHand | None = None

    def post(self, counts: InHand) -> None:
        self._posted = (self._posted or {}) | counts

    def take(self) -> InHand | None:
        """What was posted since the last call; None if nothing was."""
        taken, self._posted = self._posted, None
        return taken


@contextmanager
def reading_board(tell: Tell) -> Iterator[Any]:
    """Gives the board's handle, for workers; what they post is told for the length of this block.

    The board lies on the driver's node, which outlives those of workers. It takes no CPU of Ray's,
    so no worker has less room for it.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=True)
    board = ray.remote(num_cpus=0, max_restarts=-1, scheduling_strategy=here)(Board).remote()
    over = Event()

    def look() -> None:
        asked = board.take.remote()
        while not over.wait(EVERY):
            if not ray.wait([asked], timeout=EVERY)[0]:
                continue
            try:
                posted = ray.get(asked)
            except ray.exceptions.RayError:  # it is lost, and another is being started
                posted = None
            if posted is not None:
                tell(posted)
            asked = board.take.remote()

    reader = Thread(target=look, name="board", daemon=True)
    reader.start()
    try:
        yield board
    finally:
        over.set()
        reader.join()  # a thread that finds Ray gone would end this process
