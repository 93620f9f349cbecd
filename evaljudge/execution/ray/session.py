"""The Ray that a run works on: the one it finds itself in, the one named, or a local one."""

from __future__ import annotations

import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any

from evaljudge.config import WorkersConfig
from evaljudge.errors import GivenUp, UserError
from evaljudge.execution.ray.placement import Placement, place, ray_cluster

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # its notes on itself, on our stderr
    "RAY_COLOR_PREFIX": "0",  # what it says of workers that died goes to logs, too
    # Ray Data would double an autoscaled cluster again and again, each time after its machines
    # came; how much work there is for them is known from the start
    "RAY_DATA_DEFAULT_CLUSTER_SCALING_UP_FACTOR": "1000",
}
_CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Switched off, all processes of a Ray that is started here listen on 127.0.0.1 only, on Linux too.
Ray has no other setting for this."""
LONGEST_END = 60.0
_THREADS = ("StreamingExecutor", "iter_threaded")
"""How the names of Ray Data's threads begin that do the work and that fetch its rows."""


def import_ray() -> None:
    """To be called before anything else imports Ray; what the user has set stays.

    Ray reads whether it may listen beyond this machine as it is imported. Afterwards the variable
    is removed, as it would make `ray start --address` fail for all programs that are started here.
    """
    os.environ.update({**_ENVIRONMENT, **os.environ})
    is_own = not os.environ.get("RAY_ADDRESS") and _CLUSTERS not in os.environ
    if is_own:
        os.environ[_CLUSTERS] = "0"
    import ray  # noqa: F401

    if is_own:
        del os.environ[_CLUSTERS]


@contextmanager
def ray_session(workers: WorkersConfig) -> Iterator[None]:
    """Connected to Ray for this block; within a block that is connected already, the same."""
    import_ray()
    import ray

    ours = not ray.is_initialized()
    if ours:
        _connect(workers)
    try:
        yield
    except SystemExit:  # with this process ends a Ray of ours, and all that it began on a cluster
        ours = False
        raise
    finally:
        if ours:
            _let_ray_data_end()
            ray.shutdown()


def _let_ray_data_end() -> None:
    """A thread of Ray Data's that finds Ray gone would end our process without a word."""
    for thread in threading.enumerate():
        if thread.name.startswith(_THREADS):
            thread.join(timeout=LONGEST_END)


@contextmanager
def placed(workers: WorkersConfig, engine_sizes: Collection[int]) -> Iterator[None]:
    """Refuse engines that can never be placed, before any work is done.

    A Ray of our own that needs to provide CPUs only is not started for this.
    """
    is_plain = workers.gpus in ("auto", 0) and workers.accelerator_type is None
    if not engine_sizes or (is_plain and not os.environ.get("RAY_ADDRESS")):
        yield
        return
    with ray_session(workers):
        for size in engine_sizes:
            placement(workers, size)
        yield


def placement(workers: WorkersConfig, engine_size: int) -> Placement:
    return place(workers, engine_size, ray_cluster())


class Fetcher:
    """One worker's place, until its model is there."""

    def begin(self) -> None:
        """Answers when there is a machine."""

    def fetch(self, fetch: Callable[[], None]) -> None:
        try:
            fetch()
        except Exception as error:  # the worker will meet it too, and the driver says it then
            print(f"the model could not be fetched: {error}", file=sys.stderr, flush=True)


@contextmanager
def fetching(workers: WorkersConfig, fetch: Callable[[], None], engine_size: int) -> Iterator[None]:
    """Get the workers' machines and their model while the driver reads the corpus.

    An autoscaler starts machines, and a machine downloads a checkpoint, for minutes. An actor that
    takes what a worker takes has both done before there is a shard to work on. It loads no engine
    and writes nothing to the run's folder, so it is no matter if the corpus is refused. There are
    as many as there are workers at least, and none unless Ray is connected already.

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


def cpus_wanted(most: int) -> int:
    """All CPUs there are, or as many as may be wanted of an autoscaler."""
    import ray

    return max(1, most, int(ray.cluster_resources().get("CPU", 1)))


def _connect(workers: WorkersConfig) -> None:
    """Ray would end the process at SIGTERM in its own way: without a word, with another code."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        if named := os.environ.get("RAY_ADDRESS"):
            _connect_to(named)
        else:
            _start(workers)
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _connect_to(address: str) -> None:
    _refuse_silence(address)
    try:
        _init(address="auto")
    except (RuntimeError, ConnectionError) as error:  # another Ray or Python, say
        raise UserError(f"RAY_ADDRESS: {address}: {error}") from error


def _start(workers: WorkersConfig) -> None:
    """On a busy machine Ray gives up after 30 s: it is tried twice."""
    import ray

    each = 1 if workers.cpus == "auto" else workers.cpus
    cpus = max(os.cpu_count() or 1, int(each * workers.min))
    for is_last in (False, True):
        try:
            _init(address="local", num_cpus=cpus, include_dashboard=False)
            return
        except Exception as error:  # Ray's own are of no kind
            if is_last:
                message = f"a local Ray did not start ({error}); is this machine busy?"
                raise GivenUp(message) from error
            ray.shutdown()


def _init(**options: Any) -> None:
    """Ray's core notes its own log level on stderr, past Python; shown only if starting fails."""
    import ray

    sys.stderr.flush()
    kept, is_ending = os.dup(2), False
    with tempfile.TemporaryFile() as noted:
        os.dup2(noted.fileno(), 2)
        try:
            ray.init(logging_level=logging.ERROR, log_to_driver=False, **options)
        except SystemExit:  # the process ends, and what Ray notes of that is not for the user
            is_ending = True
            raise
        except Exception:
            noted.seek(0)
            os.write(kept, noted.read())
            raise
        finally:
            if not is_ending:
                os.dup2(kept, 2)
            os.close(kept)


def _refuse_silence(address: str) -> None:
    """Ray itself would try for minutes, and then fail with a traceback."""
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not port.isdigit():
        return  # `auto`, `local`
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except OSError as error:
        raise UserError(f"RAY_ADDRESS: no Ray answers at {address} ({error})") from None
