"""Many small reads and writes in order, several at once, and never many in memory."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")
AT_ONCE = 16


def ahead(work: Callable[[T], R], items: Iterable[T], at_once: int = AT_ONCE) -> Iterator[R]:
    """The results in the order of the items, each begun while earlier ones are still awaited."""
    begun: deque[Future[R]] = deque()
    with ThreadPoolExecutor(at_once) as pool:
        for item in items:
            begun.append(pool.submit(work, item))
            if len(begun) >= at_once:
                yield begun.popleft().result()
        while begun:
            yield begun.popleft().result()
