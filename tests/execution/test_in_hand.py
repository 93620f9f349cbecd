"""Cases are counted as they are done, not only when their shard is; what is lost is taken back."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.errors import EngineDead
from evaljudge.execution import shards
from evaljudge.execution.case import InHand
from evaljudge.execution.protocol import Event
from evaljudge.execution.shards import Counts
from evaljudge.runs import binding
from evaljudge.runs.watching import LOADING, ProgressTally, Todo, Watcher
from tests import build

CASES = 16
FATAL = "number 12."


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(shards, "TELL_EVERY", 0.05)


def test_changes_of_a_period_are_told_together():
    told: list[list[Event]] = []

    async def work() -> None:
        counts = Counts(lambda events: told.append(list(events)))
        counts.note("prepare", 3, 0)
        counts.note("judge", 4, 0)
        counts.note("judge", 4, 1)
        await asyncio.sleep(0.2)
        counts.note("judge", 4, 2)
        await asyncio.sleep(0.2)

    asyncio.run(work())
    of = [[event[1:4] for event in events] for events in told]
    assert of == [[("prepare", 3, 0), ("judge", 4, 1)], [("judge", 4, 2)]]


class Slow(Scripted):
    """Documents are answered one after the other; from the eighth on each waits until the driver
    has heard of those before, however busy the machine is. Where the file is called `died`, one of
    them kills the engine, once; afterwards each takes as long as the others.
    """

    def __init__(self, died: str, seconds: float) -> None:
        super().__init__()
        self._died, self._seconds = Path(died), seconds
        self._told = self._died.with_name("told")

    async def choose(self, prompts: Any, options: Any, samples: int = 0) -> Any:
        place = int(prompts[0].text.partition("number ")[2].partition(".")[0])
        has_died = self._died.exists()
        await asyncio.sleep(self._seconds * (1 if has_died else place))
        while not has_died and place >= 8 and self._heard() <= CASES + (8 if place >= 12 else 0):
            await asyncio.sleep(0.02)
        if FATAL in prompts[0].text and not has_died and self._died.name == "died":
            self._died.touch()
            raise EngineDead("it was too much")
        return await super().choose(prompts, options, samples)

    def _heard(self) -> int:
        return int(self._told.read_text() or 0) if self._told.exists() else 0


class SlowEngines(ScriptedEngines):
    def __init__(self, died: Path, seconds: float) -> None:
        self._how = str(died), seconds

    def open(self, source: Any, seed: int) -> Scripted:
        return Slow(*self._how)


class Noting(Watcher):
    """What it hears while a model is asked: each phase, and how far the run is, which it tells."""

    def __init__(self, told: Path) -> None:
        self.heard: list[Any] = []
        self._told = told

    def starting(self, todo: Todo) -> None:
        self.tally = ProgressTally(todo)
        self.heard.clear()

    def event(self, event: Event) -> None:
        self.tally.add(event)
        if event.kind == "loading":
            self.heard.append(LOADING)
        elif event.kind in ("loaded", "cases"):
            self.heard.append(self.tally.steps_done)
            self._told.write_text(str(self.tally.steps_done))

    def done(self) -> None:
        self.heard.append("done")


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Sixteen cases in one shard."""
    monkeypatch.setattr(binding, "LEAST_SHARDS", 1)

    def run(died: Path, executor: str = "local") -> list[Any]:
        build.jsonl(tmp_path / "cases.jsonl", build.numbered(*range(CASES)))
        config = build.config(tmp_path, judges={"geval": {}}, workers={"executor": executor})
        watcher = Noting(died.with_name("told"))
        engines = SlowEngines(died, 0.25 if executor == "ray" else 0.03)
        evaljudge.run(config, watcher=watcher, engines=engines)
        assert watcher.tally.steps_done == 2 * CASES
        return watcher.heard[: watcher.heard.index("done")]

    return run


@pytest.mark.parametrize(
    "executor",
    ["local", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.long])],
    indirect=True,
)
def test_counts_move_while_the_only_shard_is_in_hand(tmp_path, run, executor):
    phase, *counts = run(tmp_path / "never", executor)
    assert phase == LOADING and counts[0] == 0
    assert len(set(counts)) >= 3 and counts == sorted(counts)
    assert any(CASES < count < 2 * CASES for count in counts)


def test_counts_of_a_worker_that_is_lost_are_taken_back(tmp_path, run, monkeypatch):
    """It has saved nothing."""

    async def save(kept: InHand[Any]) -> None:
        pass

    monkeypatch.setattr(InHand, "save", save)
    first, *heard = run(tmp_path / "died")
    again = heard.index(LOADING)
    before, after = heard[:again], heard[again + 1 :]
    assert first == LOADING and max(before) > CASES + 4
    assert min(after[1:]) < max(before)
    assert after[1:] == sorted(after[1:])
