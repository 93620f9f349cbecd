"""Giving up on workers that die before they have done anything, as Ray would restart them for ever.

A worker's first act is a note that it loads its model, and what it dies of later is counted by such
notes (attempts.py). One that dies before that, in an import that kills it or for want of memory,
leaves none. So the driver looks at Ray's own count of restarts until the first note is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event, Thread

from evaljudge.errors import GivenUp, UserError
from evaljudge.storage import Output

EVERY = 2.0
MOST_RESTARTS = 4


@contextmanager
def ending_the_unbegun(output: Output, worker: type) -> Iterator[None]:
    """For this block; `worker`: the class of the actors."""
    over, ended = Event(), Event()
    before = set(_restarts(worker))

    def look() -> None:
        while not over.wait(EVERY) and not _has_notes(output):
            restarts = {n: times for n, times in _restarts(worker).items() if n not in before}
            if sum(restarts.values()) >= MOST_RESTARTS:
                ended.set()
                for name in restarts:
                    _kill(name)
                return

    looking = Thread(target=look, name="unbegun", daemon=True)
    looking.start()
    try:
        yield
    except GivenUp as error:
        if not ended.is_set():
            raise
        raise GivenUp(
            f"a worker died {MOST_RESTARTS} times before it began to load its model: look at the "
            "logs of Ray's workers (in the folder `logs` of a Ray session); too little memory on "
            "its machine, or a package that fails there, is the first suspect"
        ) from error
    finally:
        over.set()
        looking.join()  # it asks Ray, which may be shut down next


def _has_notes(output: Output) -> bool:
    try:
        return bool(output.place.names("attempts"))
    except (UserError, GivenUp, OSError):  # the workers meet it too, and say it
        return True


def _restarts(worker: type) -> dict[str, int]:
    """How often each of this driver's actors was started again."""
    import ray

    job = ray.get_runtime_context().get_job_id()
    return {
        name: int(of["NumRestarts"])
        for name, of in ray._private.state.actors().items()
        if of["ActorClassName"].endswith(f"({worker.__name__}))")
        and of["JobID"] == job
        and of["State"] != "DEAD"
    }


def _kill(name: str) -> None:
    import ray

    actor = ray.ActorID(bytes.fromhex(name))
    ray._private.worker.global_worker.core_worker.kill_actor(actor, True)
