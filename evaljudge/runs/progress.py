"""How a run is watched: a bar on a terminal, one line a minute in a job's log.

prepared 60/100, judged 32/100 cases; 14 a minute, 7:42 left, 3 unscored, 0.21 GPU-hours
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TextIO

from evaljudge.runs.pipeline import Todo, Watcher
from evaljudge.text import LONG, one_line

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.status import Status

A_MINUTE = 60.0
DONE_IN_WORDS = {"prepare": "prepared", "judge": "judged", "measure": "measured"}


class ProgressTally:
    """What is done of each stage, and how fast."""

    def __init__(self, todo: Todo) -> None:
        self._of = {stage: of for stage, (_, of) in todo.items()}
        self._done = {stage: of - left for stage, (left, of) in todo.items()}
        self.steps = sum(self._of.values())
        self._before = self.steps_done
        self._unscored = 0
        self._gpu_seconds: dict[str, float] = {}
        self._since = time.monotonic()

    @property
    def steps_done(self) -> int:
        return sum(self._done.values())

    def add(self, receipt: Mapping[str, Any]) -> None:
        self._done[receipt["stage"]] += receipt["cases"]
        self._unscored += receipt["unscored"] if receipt["stage"] != "prepare" else 0
        self._gpu_seconds[receipt["worker"]] = receipt["worker_seconds"] * receipt["gpus"]

    def __str__(self) -> str:
        stages = (f"{DONE_IN_WORDS[s]} {n:,}/{self._of[s]:,}" for s, n in self._done.items())
        rate = (self.steps_done - self._before) / max(time.monotonic() - self._since, 1e-9)
        said = [f"{rate * A_MINUTE / len(self._of):,.0f} a minute"]
        if rate:
            said.append(f"{_clock((self.steps - self.steps_done) / rate)} left")
        said.append(f"{self._unscored:,} unscored")
        if gpu_seconds := sum(self._gpu_seconds.values()):
            said.append(f"{gpu_seconds / 3600:.2f} GPU-hours")
        return f"{', '.join(stages)} cases; {', '.join(said)}"


class Log(Watcher):
    """One line when the asking starts, one when it ends, and one each minute in between."""

    def __init__(self, stream: TextIO, every: float = A_MINUTE) -> None:
        self._stream, self._every = stream, every
        self._tally: ProgressTally | None = None
        self._now: object = "beginning"
        self._any, self._end = False, threading.Event()

    def __enter__(self) -> Self:
        self._clock = threading.Thread(target=self._tick, name="log", daemon=True)
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._clock.join()

    def entering(self, phase: str) -> None:
        self._now = phase

    def warning(self, line: str) -> None:
        self._say(f"warning: {one_line(line, LONG)}")

    def starting(self, todo: Todo) -> None:
        self._tally = ProgressTally(todo)
        left = " and ".join(f"{stage} {n:,}" for stage, (n, _) in todo.items() if n)
        self._say(f"to {left} cases{_first(todo)}" if left else "nothing left to ask")
        self._now = self._tally

    def receipt(self, receipt: Mapping[str, Any]) -> None:
        if self._tally:
            self._tally.add(receipt)
            self._any = True

    def done(self) -> None:
        if self._any:
            self._say(str(self._tally))

    def _tick(self) -> None:
        while not self._end.wait(self._every):
            self._say(str(self._now))

    def _say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class Bar(Watcher):
    """A live bar on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._status: Status | None = None

    def __exit__(self, *_: object) -> None:
        self._stop_status()

    def entering(self, phase: str) -> None:
        self._stop_status()
        self._status = self._console.status(phase)
        self._status.start()

    def warning(self, line: str) -> None:
        self._console.print(f"warning: {one_line(line, LONG)}", markup=False, highlight=False)

    def starting(self, todo: Todo) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        self._stop_status()
        self._tally = ProgressTally(todo)
        columns = (SpinnerColumn(), BarColumn(24), TextColumn("{task.description}"))
        self._bar: Progress = Progress(*columns, console=self._console)
        self._bar.start()
        left = self._tally.steps - self._tally.steps_done
        text = f"beginning{_first(todo)}" if left else "nothing left to ask"
        self._task = self._bar.add_task(text, total=self._tally.steps)
        self._bar.update(self._task, completed=self._tally.steps_done)

    def receipt(self, receipt: Mapping[str, Any]) -> None:
        self._tally.add(receipt)
        done = self._tally.steps_done
        self._bar.update(self._task, completed=done, description=str(self._tally))

    def done(self) -> None:
        self._bar.stop()

    def _stop_status(self) -> None:
        if self._status:
            self._status.stop()
            self._status = None


def _first(todo: Todo) -> str:
    return "" if todo.keys() == {"measure"} else "; loading the model"


def watcher() -> Watcher:
    return Bar() if sys.stderr.isatty() else Log(sys.stderr)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
