"""Getting the workers' machines and their model while the driver reads the corpus.

An autoscaler starts machines, and a machine downloads a checkpoint, for minutes. An actor that
takes what a worker takes has both done before there is a shard to work on. It loads no engine and
writes nothing to the run's folder, so it is no matter if the corpus is refused.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from evaljudge.config import WorkersConfig
from evaljudge.execution.ray.session import placement


class Fetcher:
    """One worker's place, until its model is there."""

    def begin(self) -> None:
        """Is answered when there is a machine."""

    def fetch(self, fetch: Callable[[], None]) -> None:
        try:
            fetch()
        except Exception as error:  # the worker will meet it too, and the driver says it then
            print(f"the model could not be fetched: {error}", file=sys.stderr, flush=True)


@contextmanager
def fetching(workers: WorkersConfig, fetch: Callable[[], None], engine_size: int) -> Iterator[None]:
    """For as many workers as there are at least; only where Ray is connected already.

    At the end those without a machine are given up, as the workers themselves now wait for one. The
    others go on, since their machine's worker needs the same files.
    """
    import ray

    if not ray.is_initialized():
        yield
        return
    options = placement(workers, engine_size).ray_options
    fetchers = [ray.remote(**options)(Fetcher).remote() for _ in range(workers.min)]
    begun = [fetcher.begin.remote() for fetcher in fetchers]
    for fetcher in fetchers:
        fetcher.fetch.remote(fetch)
    waiting = begun
    try:
        yield
        _, waiting = ray.wait(begun, num_returns=len(begun), timeout=0)
    finally:
        for fetcher, its_beginning in zip(fetchers, begun, strict=True):
            if its_beginning in waiting:
                ray.kill(fetcher)
