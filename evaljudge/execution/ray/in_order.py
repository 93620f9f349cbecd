"""One piece of work done on every shard by Ray's tasks, the results in the order of the shards."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from evaljudge.errors import GivenUp
from evaljudge.storage import Shard

R = TypeVar("R")


def results_in_order(work: Callable[[Shard], R], shards: Sequence[Shard], most: int) -> Iterator[R]:
    """On all CPUs there are, or as many as may be wanted of an autoscaler.

    Some are begun ahead of the one that is awaited, and never so many that results pile up.
    """
    import ray

    cpus = max(1, most, int(ray.cluster_resources().get("CPU", 1)))
    task, known = ray.remote(num_cpus=1, max_retries=3)(_done), ray.put(work)
    begun = deque[Any]()
    try:
        for shard in shards:
            begun.append(task.remote(known, shard))
            if len(begun) > 2 * cpus:
                yield ray.get(begun.popleft())
        while begun:
            yield ray.get(begun.popleft())
    except ray.exceptions.RayTaskError as error:  # with the worker's traceback in its text
        raise error.cause from None
    except (ray.exceptions.WorkerCrashedError, ray.exceptions.OutOfMemoryError) as error:
        raise GivenUp(f"the workers that score were lost ({type(error).__name__})") from error
    finally:
        for task_begun in begun:  # where the driver stops before the end
            ray.cancel(task_begun)


def _done(work: Callable[[Shard], R], shard: Shard) -> R:
    return work(shard)
