"""How a run is watched: a bar on a terminal, one line a minute in a job's log.

prepared 60/100 cases at 28 a minute, judged 32/100 at 14 a minute; about 7:42 left, 3 unscored,
0.21 GPU-hours

Cases count as soon as they are done; those of a shard whose worker is lost are taken back when
another begins it again. Of receipts alone, counts would move by up to 32 cases at once.

The time left: each stage has its own seconds per case, over the last ten minutes. Where workers
prepare some shards while they judge others, the seconds that pass are shared out by how many shards
are in either stage. A stage of which fewer than five cases are done says nothing yet. The cases of
an engine end in bursts at first, as they began together, so first figures are too pessimistic.
"""

from __future__ import annotations

import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self, TextIO

from evaljudge.execution import InHand
from evaljudge.runs.json_lines import json_is_wanted
from evaljudge.runs.json_log import JsonLog
from evaljudge.runs.pipeline import LOADING, Todo, Watcher
from evaljudge.storage import Stage
from evaljudge.text import LONG, one_line

if TYPE_CHECKING:
    from rich.progress import Progress
    from rich.status import Status

A_MINUTE, AN_HOUR = 60.0, 3600.0
FIRST_LINE = 10.0
"""Seconds after which a log says how far the run is, before it does so each minute."""
WINDOW, BETWEEN_MARKS = 600.0, 5.0
"""Seconds over which rates are taken; and after which what was done so far is noted for them."""
FEWEST_CASES = 5
"""Of a stage, before anything is said of its time."""
DONE_IN_WORDS = {"prepare": "prepared", "judge": "judged", "measure": "measured"}


@dataclass(frozen=True)
class _Mark:
    """How far the run was at some time."""

    at: float
    done: Mapping[Stage, int]
    seconds: Mapping[Stage, float]
    """That each stage has had, without those in which a model was loaded."""


class ProgressTally:
    """What is done of each stage, how fast, and how long the rest will take."""

    def __init__(self, todo: Todo, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.RLock()
        self._of = {stage: of for stage, (_, of) in todo.items()}
        self._committed = {stage: of - left for stage, (left, of) in todo.items()}
        self._receipts = set[tuple[Stage, int]]()
        self._in_hand: InHand = {}
        self.steps = sum(self._of.values())
        self._unscored = 0
        self._gpu_seconds: dict[str, float] = {}
        self._seconds: dict[Stage, float] = dict.fromkeys(self._of, 0.0)
        self._is_loading, self._since = False, clock()
        self._first = self._mark()
        self._marks = deque([self._first])

    @property
    def steps_done(self) -> int:
        with self._lock:
            return sum(self._done.values())

    @property
    def _done(self) -> dict[Stage, int]:
        in_hand = dict.fromkeys(self._of, 0)
        for (stage, _), cases in self._in_hand.items():
            in_hand[stage] += cases
        return {stage: cases + in_hand[stage] for stage, cases in self._committed.items()}

    def loading(self) -> None:
        """Until `count` is called, time passes that no stage has."""
        with self._lock:
            self._share_out_time()
            self._is_loading = True

    def count(self, counts: InHand) -> None:
        """Cases done of shards in hand; late counts of a shard that is committed are ignored."""
        with self._lock:
            self._share_out_time()
            if self._is_loading and len(self._marks) == 1:
                self._first = self._mark()
                self._marks = deque([self._first])
            self._is_loading = False
            for at, cases in counts.items():
                if at not in self._receipts:
                    self._in_hand[at] = cases
            self._keep_mark()

    def add(self, receipt: Mapping[str, Any]) -> None:
        with self._lock:
            self._share_out_time()
            stage = receipt["stage"]
            self._receipts.add((stage, receipt["shard"]))
            self._in_hand.pop((stage, receipt["shard"]), None)
            self._committed[stage] += receipt["cases"]
            self._unscored += receipt["unscored"] if stage != "prepare" else 0
            self._gpu_seconds[receipt["worker"]] = receipt["worker_seconds"] * receipt["gpus"]
            self._keep_mark()

    def __str__(self) -> str:
        with self._lock:
            self._share_out_time()
            now = self._mark()
            return f"{', '.join(self._stages(now))}; {', '.join(self._rest(now))}"

    def _stages(self, now: _Mark) -> Iterator[str]:
        for stage, cases in now.done.items():
            unit = " cases" if stage == next(iter(now.done)) else ""
            rate = self._rate(stage, now) if cases < self._of[stage] else ""
            yield f"{DONE_IN_WORDS[stage]} {cases:,}/{self._of[stage]:,}{unit}{rate}"

    def _rest(self, now: _Mark) -> Iterator[str]:
        if left := self._left(now):
            yield left
        yield f"{self._unscored:,} unscored"
        if gpu_seconds := sum(self._gpu_seconds.values()):
            yield f"{gpu_seconds / AN_HOUR:.2f} GPU-hours"

    def _rate(self, stage: Stage, now: _Mark) -> str:
        """By the clock on the wall."""
        oldest = self._marks[0]
        cases, seconds = now.done[stage] - oldest.done[stage], now.at - oldest.at
        if cases <= 0 or not seconds or not self._is_known(stage, now):
            return ""
        each_minute = cases / seconds * A_MINUTE
        if each_minute < 1:
            return f" at {cases / seconds * AN_HOUR:.2g} an hour"
        return f" at {each_minute:,.0f} a minute"

    def _left(self, now: _Mark) -> str:
        if now.done == self._of:
            done_here = now.done != self._first.done
            return f"took {_clock(sum(now.seconds.values()))}" if done_here else ""
        left = {stage: of - now.done[stage] for stage, of in self._of.items()}
        open_stages = [stage for stage, cases in left.items() if cases]
        known = [stage for stage in open_stages if self._is_known(stage, now)]
        if not known:
            return ""
        seconds = sum(left[stage] * self._seconds_per_case(stage, now) for stage in known)
        is_all = len(known) == len(open_stages)
        return f"about {_clock(seconds)} left" + ("" if is_all else f" to {known[0]}")

    def _is_known(self, stage: Stage, now: _Mark) -> bool:
        return now.done[stage] - self._first.done[stage] >= FEWEST_CASES

    def _seconds_per_case(self, stage: Stage, now: _Mark) -> float:
        """Of late; over all where the stage has stood still of late."""
        has_moved = now.done[stage] > self._marks[0].done[stage]
        then = self._marks[0] if has_moved else self._first
        cases = now.done[stage] - then.done[stage]
        return (now.seconds[stage] - then.seconds[stage]) / cases

    def _share_out_time(self) -> None:
        """The seconds since the last call, over the stages in which shards are now. Where no shard
        is in hand, the first stage that is not done has them.
        """
        now = self._clock()
        passed, self._since = now - self._since, now
        if self._is_loading:
            return
        stages = {shard: stage for stage, shard in sorted(self._in_hand, key=_in_order)}
        done, of = self._done, self._of
        now_in = list(stages.values()) or [stage for stage in of if of[stage] > done[stage]][:1]
        for stage in now_in:
            self._seconds[stage] += passed / len(now_in)

    def _mark(self) -> _Mark:
        return _Mark(self._since, self._done, dict(self._seconds))

    def _keep_mark(self) -> None:
        if self._since - self._marks[-1].at >= BETWEEN_MARKS:
            self._marks.append(self._mark())
        while len(self._marks) > 1 and self._marks[1].at < self._since - WINDOW:
            self._marks.popleft()


def _in_order(at: tuple[Stage, int]) -> int:
    """A shard is prepared before it is judged."""
    return list(DONE_IN_WORDS).index(at[0])


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
        self._say(f"to {left} cases{_first(todo)}" if left else "nothing left to ask")
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
            self._say(str(self._tally))

    def _tick(self) -> None:
        while not self._end.wait(min(1.0, self._every, self._first)):
            if time.monotonic() >= self._due:
                self._due = time.monotonic() + self._every
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
        columns = (SpinnerColumn(), BarColumn(24), words)
        self._bar = Progress(*columns, console=self._console)
        self._bar.start()
        left = self._tally.steps - self._tally.steps_done
        text = f"beginning{_first(todo)}" if left else "nothing left to ask"
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


def _first(todo: Todo) -> str:
    return "" if todo.keys() == {"measure"} else "; loading the model"


def watcher() -> Watcher:
    if json_is_wanted():
        return JsonLog(sys.stderr)
    return Bar() if sys.stderr.isatty() else Log(sys.stderr)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
