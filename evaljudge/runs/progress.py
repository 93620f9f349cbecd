"""How a run is watched: a bar on a terminal, one line a minute in a job's log.

    prepared 60/100 documents at 28 a minute, judged 32/100 at 14 a minute; about 6:17 left,
    3 unscored, 0.21 GPU-hours (4 min so far)

Where logs are JSON, an object for each stage (docs/cluster.md has the fields).
"""

import sys
import threading
import time
from typing import TYPE_CHECKING, Any, Self, TextIO

from evaljudge.execution.attempts import EARLY_DEATH
from evaljudge.execution.protocol import Event
from evaljudge.runs.json_lines import json_is_wanted, json_line, say
from evaljudge.runs.watching import A_MINUTE, LOADING, ProgressTally, Todo, Watcher, as_clock
from evaljudge.text import LONG, one_line

if TYPE_CHECKING:
    from rich.progress import Progress, ProgressColumn, Task

BAR = 5  # columns, so that the words beside it fit on a terminal of a hundred


class Log(Watcher):
    """A line when the asking starts and ends, and one each minute; the first is early."""

    def __init__(self, stream: TextIO, every: float = A_MINUTE, first: float = 10.0) -> None:
        self._stream, self._every, self._first = stream, every, first
        self._tally: ProgressTally | None = None
        self._now: object = "beginning"
        self._ended: object = None  # the tally whose last line is said
        self._begun = self._since = time.monotonic()
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
        if self._now != phase:
            self._now, self._since = phase, time.monotonic()

    def warning(self, line: str) -> None:
        self._say(f"warning: {one_line(line, LONG)}")

    def starting(self, todo: Todo) -> None:
        self._tally, self._begun = ProgressTally(todo, price=self.price), time.monotonic()
        left = " and ".join(f"{stage} {n:,}" for stage, (n, _) in todo.items() if n)
        documents = "document" if left.endswith(" 1") else "documents"
        self._say(f"to {left} {documents}" if left else "nothing left to ask")
        self._now, self._since = self._tally, self._begun

    def event(self, event: Event) -> None:
        if self._tally is None:
            return
        self._tally.add(event)
        self._any |= event.kind == "committed"
        if event.kind == "loading":
            self.entering(LOADING)
        elif self._now is not self._tally:
            self._now, self._due = self._tally, time.monotonic() + self._first
            self._since = self._begun

    def done(self) -> None:
        if self._any:
            self._progress()

    def _tick(self) -> None:
        while not self._end.wait(min(1.0, self._every, self._first)):
            if time.monotonic() >= self._due:
                self._due = time.monotonic() + self._every
                self._progress()

    def _progress(self) -> None:
        minutes, line = int((time.monotonic() - self._since) / A_MINUTE), f"{self._now}"
        is_last = "; took " in line
        if not (is_last and self._now is self._ended):
            self._say(line + ("" if is_last or not minutes else f" ({minutes:,} min so far)"))
        self._ended = self._now if is_last else None

    def _say(self, line: str) -> None:
        say(f"{line}\n", self._stream)


class JsonLog(Log):
    def entering(self, phase: str) -> None:
        super().entering(phase)
        self._say_fields("info", "phase", phase=phase)

    def warning(self, line: str) -> None:
        self._say_fields("warning", "warning", message=one_line(line, LONG))

    def starting(self, todo: Todo) -> None:
        so_far = self._tally.accounts if self._tally else None
        self._now = self._tally = ProgressTally(todo, price=self.price, accounts=so_far)
        self._begun = self._since = time.monotonic()
        for stage, (left, total) in todo.items():
            self._say_fields("info", "starting", stage=stage, left=left, of=total)

    def worker_died(self, event: Event) -> None:
        died = {"stage": event.stage, "shard": event.shard, "in_hand": event.n}
        self._say_fields("warning", "worker_died", **died if event.n else {"why": EARLY_DEATH})

    def _progress(self) -> None:
        if self._tally is None or self._now is not self._tally:
            seconds = round(time.monotonic() - self._since)
            self._say_fields("info", "phase", phase=self._now, seconds=seconds)
            return
        for fields in self._tally.as_fields():
            self._say_fields("info", "progress", **fields)

    def _say_fields(self, level: str, event: str, **fields: Any) -> None:
        self._say(json_line(level, event, **fields))


class Bar(Watcher):
    """What is done now, and for how long."""

    def __init__(self) -> None:
        from rich.console import Console

        self._console = Console(stderr=True)
        self._tally: ProgressTally | None = None
        self._bar: Progress | None = None

    def __exit__(self, *_: object) -> None:
        self.done()

    def entering(self, phase: str) -> None:
        self._tally = None
        self._begin(phase)

    def warning(self, line: str) -> None:
        self._console.print(f"warning: {one_line(line, LONG)}", markup=False, highlight=False)

    def starting(self, todo: Todo) -> None:
        from rich.progress import BarColumn

        tally = ProgressTally(todo, price=self.price)
        text = "beginning" if tally.steps > tally.steps_done else "nothing left to ask"
        self._begin(text, BarColumn(BAR), total=tally.steps, completed=tally.steps_done)
        self._tally = tally

    def event(self, event: Event) -> None:
        if self._tally and self._bar:
            self._tally.add(event)
            message = LOADING if event.kind == "loading" else str(self._tally)
            self._bar.update(self._task, completed=self._tally.steps_done, description=message)

    def done(self) -> None:
        if self._bar:
            self._bar.stop()
            self._bar = None

    def _begin(self, text: str, *bar: "ProgressColumn", **steps: Any) -> None:
        """A line with the time that passes, which stays if it has a bar."""
        from rich.progress import Progress, ProgressColumn, SpinnerColumn, TextColumn
        from rich.table import Column
        from rich.text import Text

        class Elapsed(ProgressColumn):
            def render(self, task: "Task") -> Text:
                return Text(as_clock(task.elapsed or 0.0))

        self.done()
        words = TextColumn("{task.description}", table_column=Column(), markup=False)  # wrapped
        columns = SpinnerColumn(), *bar, Elapsed(), words
        self._bar = Progress(*columns, console=self._console, transient=not bar)
        self._bar.start()
        self._task = self._bar.add_task(text, **steps)


def watcher() -> Watcher:
    if json_is_wanted():
        return JsonLog(sys.stderr)
    return Bar() if sys.stderr.isatty() else Log(sys.stderr)
