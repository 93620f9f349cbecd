"""Ending a Ray of our own: Ray Data's threads end first, for they would end the process."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest

from evaljudge.execution.ray.session import _let_ray_data_end


@pytest.mark.parametrize("name", ["StreamingExecutor-1f0c", "iter_threaded"])
def test_threads_of_ray_data_are_waited_for(name: str) -> None:
    may_end, ended = threading.Event(), threading.Event()

    def work(until: Callable[[], object] = may_end.wait) -> None:
        until()
        ended.set()

    thread = threading.Thread(target=work, name=name)
    thread.start()
    threading.Timer(0.2, may_end.set).start()
    _let_ray_data_end()
    assert ended.is_set()
