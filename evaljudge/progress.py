"""How a run is watched: a bar on a terminal, one line a minute in a job's log."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TextIO

from evaljudge.journey import Watcher

if TYPE_CHECKING:
    from rich.progress import Progress

A_MINUTE = 60.0


class Tally:
    """Cases done by this process, and what may be said of them."""

    def __init__(self, cases: int, of_cases: int) -> None:
        self.before, self.of_cases = of_cases - cases, of_cases
        self.done = self.unscored = 0
        self._alive: dict[str, float] = {}
        self._since = time.monotonic()

    def add(self, receipt: Mapping[str, Any]) -> None:
        self.done += receipt["cases"]
        self.unscored += receipt["unscored"]
        self._alive[receipt["worker"]] = receipt["worker_seconds"] * receipt["gpus"]

    def __str__(self) -> str:
        seconds = max(time.monotonic() - self._since, 1e-9)
        rate = self.done / seconds
        left = (self.of_cases - self.before - self.done) / rate if rate else float("inf")
        parts = [
            f"{self.before + self.done:,}/{self.of_cases:,} cases",
            f"{rate * 60:,.0f} a minute",
            f"{_clock(left)} left" if rate else "no time to tell yet",
            f"{self.unscored:,} unscored",
        ]
        gpu_hours = sum(self._alive.values()) / 3600
        return ", ".join([*parts, f"{gpu_hours:.2f} GPU-hours"] if gpu_hours else parts)


class Log(Watcher):
    """One line when it starts, one a minute, one when it ends."""

    def __init__(self, stream: TextIO, every: float = A_MINUTE) -> None:
        self._stream, self._every = stream, every

    def starting(self, what: str, shards: int, cases: int, of_cases: int) -> None:
        self._what, self._tally, self._said = what, Tally(cases, of_cases), time.monotonic()
        if cases:
            self._say(f"{cases:,} of {of_cases:,} cases to do, in {shards} shards; loading")
        else:
            self._say("nothing left to ask")

    def receipt(self, receipt: Mapping[str, Any]) -> None:
        self._tally.add(receipt)
        if time.monotonic() - self._said >= self._every:
            self._said = time.monotonic()
            self._say(str(self._tally))

    def done(self) -> None:
        if self._tally.done:
            self._say(str(self._tally))

    def _say(self, line: str) -> None:
        print(f"{self._what}: {line}", file=self._stream, flush=True)


class Bar(Watcher):
    """A live bar on a terminal."""

    def starting(self, what: str, shards: int, cases: int, of_cases: int) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn

        self._tally = Tally(cases, of_cases)
        columns = (SpinnerColumn(), TextColumn("{task.fields[what]}"), BarColumn(30))
        said = TextColumn("{task.description}")
        self._bar: Progress = Progress(*columns, said, console=Console(stderr=True))
        self._bar.start()
        text = "loading the engine" if cases else "nothing left to ask"
        self._task = self._bar.add_task(text, total=of_cases, what=what)
        self._bar.update(self._task, completed=self._tally.before if cases else of_cases)

    def receipt(self, receipt: Mapping[str, Any]) -> None:
        self._tally.add(receipt)
        completed = self._tally.before + self._tally.done
        self._bar.update(self._task, completed=completed, description=str(self._tally))

    def done(self) -> None:
        self._bar.stop()


def watcher() -> Watcher:
    return Bar() if sys.stderr.isatty() else Log(sys.stderr)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
