"""What a run calls as it goes on; how far it is, how fast, and how long the rest will take.

Cases count as soon as they are done; those of a shard whose worker is lost are taken back when
another begins it again. Of receipts alone, counts would move by up to 32 cases at once.

Rates and the time left: each stage has its own seconds per case, over the last ten minutes, so that
what is left of both stages at their rates is the time left. Where workers prepare some shards while
they judge others, the seconds that pass are shared out by how many shards are in either stage. A
stage of which fewer than five cases are done says nothing yet. The cases of an engine end in bursts
at first, as they began together, so first figures are too pessimistic.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

from evaljudge.execution.protocol import Event
from evaljudge.storage import Stage

Todo = Mapping[Stage, tuple[int, int]]
"""How many cases are left to do in each wanted stage, of how many."""
LOADING = "loading the model"
A_MINUTE, AN_HOUR = 60.0, 3600.0
WINDOW, BETWEEN_MARKS = 600.0, 5.0
"""Seconds over which rates are taken; and after which what was done so far is noted for them."""
FEWEST_CASES = 5
"""Cases of a stage that must be done before its remaining time is estimated."""
DONE_IN_WORDS = {"prepare": "prepared", "judge": "judged", "measure": "measured"}


class Watcher:
    """Called as a run goes on. This one prints nothing; see progress.py for those that do."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def entering(self, phase: str) -> None: ...

    def warning(self, line: str) -> None: ...

    def starting(self, todo: Todo) -> None: ...

    def event(self, event: Event) -> None:
        """Called from any thread, for the work that `starting` has announced."""

    def done(self) -> None: ...


@dataclass(frozen=True)
class _Mark:
    at: float
    done: Mapping[Stage, int]
    seconds: Mapping[Stage, float]
    """Seconds spent in each stage, without model loading."""


class ProgressTally:
    """How much of each stage is done, how fast, and how long the rest will take."""

    def __init__(self, todo: Todo, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._lock = clock, threading.RLock()
        self._total = {stage: n for stage, (_, n) in todo.items()}
        self._committed = {stage: n - left for stage, (left, n) in todo.items()}
        self._over = set[tuple[Stage, int]]()
        self._in_hand: dict[tuple[Stage, int], int] = {}
        self.steps = sum(self._total.values())
        self._unscored: dict[Stage, int] = dict.fromkeys(self._total, 0)
        self._gpu_seconds = 0.0
        self._seconds: dict[Stage, float] = dict.fromkeys(self._total, 0.0)
        self._is_loading, self._since = False, clock()
        self._first = self._mark()
        self._marks = deque([self._first])

    @property
    def steps_done(self) -> int:
        with self._lock:
            return sum(self._done.values())

    @property
    def _done(self) -> dict[Stage, int]:
        in_hand = dict.fromkeys(self._total, 0)
        for (stage, _), cases in self._in_hand.items():
            in_hand[stage] += cases
        return {stage: cases + in_hand[stage] for stage, cases in self._committed.items()}

    def add(self, event: Event) -> None:
        """While a model is loaded, time passes that no stage has. Late counts of a shard that is
        committed are ignored."""
        kind, stage, shard, n, seconds = event
        at = stage, shard
        with self._lock:
            self._share_out_time()
            if kind == "loading":
                self._over.clear()  # another model may do the same stage of the same shards
                self._is_loading = True
                return
            if self._is_loading and len(self._marks) == 1:
                self._first = self._mark()
                self._marks = deque([self._first])
            self._is_loading = False
            if kind == "cases" and at not in self._over:
                self._in_hand[at] = n
            elif kind == "unscored":
                self._unscored[stage] += n
            elif kind == "committed":
                self._over.add(at)
                self._in_hand.pop(at, None)
                self._committed[stage] += n
                self._gpu_seconds += seconds
            self._keep_mark()

    def __str__(self) -> str:
        with self._lock:
            self._share_out_time()
            now = self._mark()
            rest = ", ".join(self._rest(now))
            return ", ".join(self._stages(now)) + (f"; {rest}" if rest else "")

    def _stages(self, now: _Mark) -> Iterator[str]:
        for stage, cases in now.done.items():
            unit = " documents" if stage == next(iter(now.done)) else ""
            rate = self._rate(stage, now) if cases < self._total[stage] else ""
            yield f"{DONE_IN_WORDS[stage]} {cases:,}/{self._total[stage]:,}{unit}{rate}"

    def _rest(self, now: _Mark) -> Iterator[str]:
        if left := self._left(now):
            yield left
        if texts := sum(n for stage, n in self._unscored.items() if stage != "prepare"):
            yield f"{texts:,} unscored"
        if hours := self._gpu_hours:
            yield f"{hours:.2f} GPU-hours"

    @property
    def _gpu_hours(self) -> float:
        return self._gpu_seconds / AN_HOUR

    def as_fields(self) -> list[dict[str, Any]]:
        """How far each stage is; `rate` (cases a minute) and `left_seconds` where known."""
        with self._lock:
            self._share_out_time()
            now = self._mark()
            hours = round(self._gpu_hours, 4)
            return [self._fields(stage, now) | {"gpu_hours": hours} for stage in now.done]

    def _fields(self, stage: Stage, now: _Mark) -> dict[str, Any]:
        done, n = now.done[stage], self._total[stage]
        fields: dict[str, Any] = {
            "stage": stage,
            "done": done,
            "of": n,
            "unscored": self._unscored[stage],
        }
        if each_case := self._seconds_per_case(stage, now):
            left = round((n - done) * each_case)
            fields |= {"rate": round(A_MINUTE / each_case, 1), "left_seconds": left}
        return fields

    def _rate(self, stage: Stage, now: _Mark) -> str:
        each_case = self._seconds_per_case(stage, now)
        if not each_case:
            return ""
        each_minute = A_MINUTE / each_case
        if each_minute < 1:
            return f" at {each_minute * AN_HOUR / A_MINUTE:.2g} an hour"
        return f" at {each_minute:,.0f} a minute"

    def _left(self, now: _Mark) -> str:
        if now.done == self._total:
            done_here = now.done != self._first.done
            return f"took {_clock(sum(now.seconds.values()))}" if done_here else ""
        left = {stage: n - now.done[stage] for stage, n in self._total.items()}
        open_stages = [stage for stage, cases in left.items() if cases]
        rated = [stage for stage in open_stages if self._is_known(stage, now)]
        if not rated:
            return ""
        seconds = sum(left[stage] * self._seconds_per_case(stage, now) for stage in rated)
        is_all = len(rated) == len(open_stages)
        return f"about {_clock(seconds)} left" + ("" if is_all else f" to {rated[0]}")

    def _is_known(self, stage: Stage, now: _Mark) -> bool:
        return now.done[stage] - self._first.done[stage] >= FEWEST_CASES

    def _seconds_per_case(self, stage: Stage, now: _Mark) -> float:
        """The recent rate; the overall one where the stage stood still recently; 0 if unknown."""
        if not self._is_known(stage, now):
            return 0.0
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
        done, n = self._done, self._total
        now_in = list(stages.values()) or [stage for stage in n if n[stage] > done[stage]][:1]
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


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
