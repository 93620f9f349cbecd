"""How a run is watched: a bar on a terminal, one line a minute in a job's log.

prepared 60/100 cases at 28 a minute, judged 32/100 at 14 a minute; about 6:17 left, 3 unscored,
0.21 GPU-hours
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self, TextIO

from evaljudge.execution import InHand
from evaljudge.runs.json_lines import json_is_wanted
from evaljudge.runs.pipeline import LOADING, Todo, Watcher
from evaljudge.runs.tally import A_MINUTE, ProgressTally
from evaljudge.text import LONG, one_line

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.status import Status

FIRST_LINE = 10.0
"""Seconds after which a log says how far the run is, before it does so each minute."""
BAR = 10
"""Columns, so that the words beside it fit on a terminal of a hundred."""


class Log(Watcher):
    """One line when the asking starts, one when it ends, and one each minute in between; the first
    of these comes early, and again early when a model is loaded.
    """

    def __init__(self, stream: TextIO, every: float = A_MINUTE, first: float = FIRST_LINE) -> None:
        self._stream, self._every, self._first = stream, every, first
        self._tally: ProgressTally | None = None
        self._now: object = "beginning"
        self._any, self._end = False, threading.Event()
        self._due = time.monotonic() + first

    def __enter__(self) -> Self:
        self._clock = threading.Thread(target=self._tick, name="log", daemon=True)
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._clock.join()

    def entering(self, phase: str) -> None:
        self._now = phase
        if self._tally and phase == LOADING:
            self._tally.loading()

    def warning(self, line: str) -> None:
        self._say(f"warning: {one_line(line, LONG)}")

    def starting(self, todo: Todo) -> None:
        self._tally = ProgressTally(todo)
        left = " and ".join(f"{stage} {n:,}" for stage, (n, _) in todo.items() if n)
        self._say(f"to {left} cases" if left else "nothing left to ask")
        self._now = self._tally

    def in_hand(self, counts: InHand) -> None:
        if self._tally:
            self._tally.count(counts)
            self._goes_on(self._tally)

    def receipt(self, receipt: Mapping[str, Any]) -> None:
        if self._tally:
            self._tally.add(receipt)
            self._any = True
            self._goes_on(self._tally)

    def _goes_on(self, tally: ProgressTally) -> None:
        if self._now is not tally:
            self._now, self._due = tally, time.monotonic() + self._first

    def done(self) -> None:
        if self._any:
            self._progress()

    def _tick(self) -> None:
        while not self._end.wait(min(1.0, self._every, self._first)):
            if time.monotonic() >= self._due:
                self._due = time.monotonic() + self._every
                self._progress()

    def _progress(self) -> None:
        self._say(str(self._now))

    def _say(self, line: str) -> None:
        print(line, file=self._stream, flush=True)


class Bar(Watcher):
    """A live bar on a terminal."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._status: Status | None = None
        self._bar: Progress | None = None

    def __exit__(self, *_: object) -> None:
        self._stop_status()

    def entering(self, phase: str) -> None:
        if self._bar:
            self._tally.loading()
            self._bar.update(self._task, description=phase)
            return
        self._stop_status()
        self._status = self._console.status(phase)
        self._status.start()

    def warning(self, line: str) -> None:
        self._console.print(f"warning: {one_line(line, LONG)}", markup=False, highlight=False)

    def starting(self, todo: Todo) -> None:
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn
        from rich.table import Column

        self._stop_status()
        self._tally = ProgressTally(todo)
        words = TextColumn("{task.description}", table_column=Column())  # wrapped, not cut
        columns = (SpinnerColumn(), BarColumn(BAR), words)
        self._bar = Progress(*columns, console=self._console)
        self._bar.start()
        left = self._tally.steps - self._tally.steps_done
        text = "beginning" if left else "nothing left to ask"
        self._task = self._bar.add_task(text, total=self._tally.steps)
        self._bar.update(self._task, completed=self._tally.steps_done)

    def in_hand(self, counts: InHand) -> None:
        self._tally.count(counts)
        self._show()

    def receipt(self, receipt: Mapping[str, Any]) -> None:
        self._tally.add(receipt)
        self._show()

    def _show(self) -> None:
        if self._bar:
            done, said = self._tally.steps_done, str(self._tally)
            self._bar.update(self._task, completed=done, description=said)

    def done(self) -> None:
        if self._bar:
            self._bar.stop()
            self._bar = None

    def _stop_status(self) -> None:
        if self._status:
            self._status.stop()
            self._status = None


def watcher() -> Watcher:
    if json_is_wanted():
        from evaljudge.runs.json_log import JsonLog  # it is a log, too

        return JsonLog(sys.stderr)
    return Bar() if sys.stderr.isatty() else Log(sys.stderr)
