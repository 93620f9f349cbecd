"""A Ray that a run starts for itself: reached from this machine only, and ended in order."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable

import pytest

from evaljudge.execution.ray.session import _let_ray_data_end
from tests.lazily import Lazily

ray = Lazily("ray")

LISTENING = """
import json, psutil
from evaljudge.config import WorkersConfig
from evaljudge.execution import make_executor

executor = make_executor(WorkersConfig(executor="ray"), "out")

with executor.session():
    import ray

    @ray.remote
    class Worker:
        def niceness(self):
            return psutil.Process().nice()

    worker = Worker.remote()
    me = psutil.Process()
    assert ray.get(worker.niceness.remote()) == me.nice()
    found = {}
    for process in (me, *me.children(recursive=True)):
        sockets = process.net_connections("inet")
        own = [one.laddr.ip for one in sockets if one.laddr and not one.raddr]
        found[f"{process.pid} {process.name()}"] = own
print("found", json.dumps(found))
"""


@pytest.mark.parametrize("name", ["StreamingExecutor-1f0c", "iter_threaded"])
def test_threads_of_ray_data_are_waited_for(name):
    """They would end the process."""
    may_end, ended = threading.Event(), threading.Event()

    def work(until: Callable[[], object] = may_end.wait) -> None:
        until()
        ended.set()

    thread = threading.Thread(target=work, name=name)
    thread.start()
    threading.Timer(0.2, may_end.set).start()
    _let_ray_data_end()
    assert ended.is_set()


@pytest.mark.long
@pytest.mark.ray
def test_every_process_of_a_ray_of_our_own_listens_on_loopback_only():
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    command = [sys.executable, "-c", LISTENING]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout.rpartition("found ")[2])
    names = " ".join(found)
    for name in ("gcs_server", "raylet", "ray::Worker"):
        assert name in names
    addresses = {address for own in found.values() for address in own}
    assert addresses
    assert addresses <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}, found
