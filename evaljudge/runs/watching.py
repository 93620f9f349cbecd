"""What a run calls as it goes on; how far it is, how fast, and how long the rest will take.

Cases count as soon as they are done; those of a shard whose worker is lost are taken back when
another begins it again. Each stage has its own seconds per case, over the last ten minutes. Where
workers prepare some shards while they judge others, the seconds that pass are shared out by how
many shards are in either stage.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

from evaljudge.analysis.costs import NO_PRICE, Accounts, Price
from evaljudge.execution.attempts import EARLY_DEATH
from evaljudge.execution.protocol import Event
from evaljudge.storage import Stage
from evaljudge.text import counted

Todo = Mapping[Stage, tuple[int, int]]
"""How many cases are left to do in each wanted stage, of how many."""
LOADING = "loading the model"
A_MINUTE, AN_HOUR = 60.0, 3600.0
WINDOW, BETWEEN_MARKS = 600.0, 5.0
"""Seconds over which rates are taken; and after which what was done so far is noted for them."""
FEWEST_CASES = 5  # cases of a stage that must be done before its remaining time is estimated
DONE_IN_WORDS = {"prepare": "prepared", "judge": "judged", "measure": "measured"}


class Watcher:
    """Called as a run goes on. This one prints nothing; see progress.py for those that do."""

    price = NO_PRICE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def entering(self, phase: str) -> None: ...

    def warning(self, line: str) -> None: ...

    def worker_died(self, event: Event) -> None:
        hand = f"{counted(event.n, 'shard', 'shards')} in hand (the first is {event.shard})"
        during = f"at {event.stage}, with {hand}: others will do them"
        self.warning(f"a worker died {during if event.n else EARLY_DEATH}")

    def starting(self, todo: Todo) -> None: ...

    def event(self, event: Event) -> None:
        """Called from any thread, for the work that `starting` has announced."""

    def done(self) -> None: ...


@dataclass(frozen=True)
class _Mark:
    at: float
    done: Mapping[Stage, int]
    seconds: Mapping[Stage, float]  # seconds spent in each stage, without model loading


class _Stage(NamedTuple):
    name: Stage
    done: int
    of: int
    each: float  # seconds per case; 0 where too few are done to say


class ProgressTally:
    def __init__(
        self, todo: Todo, clock: Callable[[], float] = time.monotonic, price: Price = NO_PRICE,
        accounts: Accounts | None = None,
    ) -> None:  # fmt: skip
        """`accounts`: those of earlier stages, to which these are added."""
        self._clock, self._lock = clock, threading.RLock()
        self._total = {stage: n for stage, (_, n) in todo.items()}
        self._committed = {stage: n - left for stage, (left, n) in todo.items()}
        self._over = set[tuple[Stage, int]]()
        self._in_hand: dict[tuple[Stage, int], int] = {}
        self.steps = sum(self._total.values())
        self._unscored: dict[Stage, int] = dict.fromkeys(self._total, 0)
        self._price, self.accounts = price, accounts or Accounts((), price)
        self._seconds: dict[Stage, float] = dict.fromkeys(self._total, 0.0)
        self._is_loading, self._since = False, clock()
        self._begun = self._since
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
        kind, stage, shard, n, receipt = event
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
                if "asked" in receipt:
                    self.accounts.add(receipt)
            self._keep_mark()

    def __str__(self) -> str:
        with self._lock:
            now = self._mark_now()
            stages = self._stages(now)
            rest = ", ".join(self._rest(now, stages))
        done = [f"{DONE_IN_WORDS[s.name]} {s.done:,}/{s.of:,}" for s in stages]
        rates = [_rate(s.each) if s.each and s.done < s.of else "" for s in stages]
        units = [" documents", *[""] * len(stages)]
        said = ", ".join(map("".join, zip(done, units, rates, strict=False)))
        return said + (f"; {rest}" if rest else "")

    def as_fields(self) -> list[dict[str, Any]]:
        with self._lock:
            return [self._fields(stage) for stage in self._stages(self._mark_now())]

    def _fields(self, s: _Stage) -> dict[str, Any]:
        fields: dict[str, Any] = {"stage": s.name, "done": s.done, "of": s.of}
        fields["unscored"] = self._unscored[s.name]
        if s.each:
            rate, left = round(A_MINUTE / s.each, 1), round((s.of - s.done) * s.each)
            fields |= {"rate": rate, "left_seconds": left}
        cost = self.accounts.cost
        so_far = {
            "gpu_hours": round(cost["gpu_hours"], 4),
            "worker_hours": round(cost["worker_seconds"] / AN_HOUR, 4),
            "asks": self.accounts.total["asks"],
        }
        return fields | {"run": so_far | ({"cost": cost["money"]} if self._price else {})}

    def _stages(self, now: _Mark) -> list[_Stage]:
        return [
            _Stage(stage, done, self._total[stage], self._seconds_per_case(stage, now))
            for stage, done in now.done.items()
        ]

    def _rest(self, now: _Mark, stages: Sequence[_Stage]) -> Iterator[str]:
        left = [stage for stage in stages if stage.done < stage.of]
        if rated := [stage for stage in left if stage.each]:
            seconds = sum((stage.of - stage.done) * stage.each for stage in rated)
            of_what = "" if len(rated) == len(left) else f" to {rated[0].name}"
            yield f"about {as_clock(seconds)} left{of_what}"
        elif not left and now.done != self._first.done:
            yield f"took {as_clock(now.at - self._begun)}"
        if texts := sum(n for stage, n in self._unscored.items() if stage != "prepare"):
            yield f"{texts:,} unscored"
        cost = self.accounts.cost
        if cost["gpu_hours"]:
            yield f"{cost['gpu_hours']:.2f} GPU-hours"
        if cost.get("money"):
            yield self._price.money(cost["money"])

    def _seconds_per_case(self, stage: Stage, now: _Mark) -> float:
        """The recent rate; the overall one where the stage stood still recently; 0 if unknown."""
        if now.done[stage] - self._first.done[stage] < FEWEST_CASES:
            return 0.0
        has_moved = now.done[stage] > self._marks[0].done[stage]
        then = self._marks[0] if has_moved else self._first
        cases = now.done[stage] - then.done[stage]
        return (now.seconds[stage] - then.seconds[stage]) / cases

    def _share_out_time(self) -> None:
        """Where no shard is in hand, the first stage that is not done has them."""
        now = self._clock()
        passed, self._since = now - self._since, now
        if self._is_loading:
            return
        stages = {shard: stage for stage, shard in sorted(self._in_hand, key=_in_order)}
        done, n = self._done, self._total
        now_in = list(stages.values()) or [stage for stage in n if n[stage] > done[stage]][:1]
        for stage in now_in:
            self._seconds[stage] += passed / len(now_in)

    def _mark_now(self) -> _Mark:
        self._share_out_time()
        return self._mark()

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


def _rate(seconds_per_case: float) -> str:
    each_minute = A_MINUTE / seconds_per_case
    if each_minute < 1:
        return f" at {each_minute * AN_HOUR / A_MINUTE:.2g} an hour"
    return f" at {each_minute:,.0f} a minute"


def as_clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
