"""The Ray that a run works on: the one it finds itself in, the one named, or a local one."""

import logging
import os
import signal
import socket
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evaljudge.config import WorkersConfig
from evaljudge.errors import GivenUp, UserError

_ENVIRONMENT = {
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_DATA_DISABLE_PROGRESS_BARS": "1",
    "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0",
    "RAY_BACKEND_LOG_LEVEL": "fatal",  # its notes on itself, on our stderr
    "RAY_worker_niceness": "0",  # of a Ray that is started here; with Ray's own, 15, workers starve
    "RAY_COLOR_PREFIX": "0",  # what it says of workers that died goes to logs, too
}
_CLUSTERS = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Switched off, all processes of a Ray that is started here listen on 127.0.0.1 only, on Linux too.
Ray has no other setting for this."""
OBJECT_STORE = 1 << 30
"""Bytes of a Ray that is started here: Ray would take three tenths of the machine's memory, and
only judges, metrics and results of some shards lie there."""
LONGEST_END = 60.0
_THREADS = ("StreamingExecutor", "iter_threaded")
"""How the names of Ray Data's threads begin that do the work and that fetch its rows."""


def import_ray() -> None:
    """To be called before anything else imports Ray, which then reads whether it may listen beyond
    this machine; what the user has set stays. Afterwards the variable is removed, as it would make
    `ray start --address` fail for all programs that are started here."""
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


def _connect(workers: WorkersConfig) -> None:
    """Ray would end the process at SIGTERM in its own way: without a word, with another code."""
    before = signal.getsignal(signal.SIGTERM)
    try:
        if not (address := os.environ.get("RAY_ADDRESS")):
            _start(workers)
            return
        _refuse_silence(address)
        try:
            _init(address="auto")
        except (RuntimeError, ConnectionError) as error:  # another Ray or Python, say
            raise UserError(f"RAY_ADDRESS: {address}: {error}") from error
    finally:
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, before or signal.SIG_DFL)


def _start(workers: WorkersConfig) -> None:
    """On a busy machine Ray gives up after 30 s: it is tried twice."""
    import ray

    each = 1 if workers.cpus == "auto" else workers.cpus
    cpus = max(os.cpu_count() or 1, int(each * workers.min))
    for is_last in (False, True):
        try:
            _init(
                address="local",
                num_cpus=cpus,
                include_dashboard=False,
                object_store_memory=OBJECT_STORE,
            )
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
