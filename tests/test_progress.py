"""What a run says while it goes: literally, and at most once a minute."""

import io
import os
import threading
import time
from typing import Any

import pytest

from evaljudge.analysis.costs import Price
from evaljudge.execution.protocol import Event
from evaljudge.runs.progress import Bar, Log
from evaljudge.runs.watching import ProgressTally, as_clock
from evaljudge.storage import Stage

LOADING, LOADED = Event("loading"), Event("loaded")


def cases(stage: Stage, shard: int, n: int) -> Event:
    return Event("cases", stage, shard, n)


def committed(stage: Stage, n: int, shard: int = 0, gpu_seconds: float = 0) -> Event:
    return Event("committed", stage, shard, n, receipt(stage, gpu_seconds))


def receipt(stage: Stage, seconds: float, **asked: Any) -> dict[str, Any]:
    """Of a worker with a GPU."""
    spent = {"worker": "w", "worker_seconds": seconds, "gpus": 1, "cache_block": None}
    return {"stage": stage, "asked": asked} | spent


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_a_tally_in_words(clock):
    tally = ProgressTally({"prepare": (4, 10), "judge": (8, 10)}, clock)
    assert str(tally) == "prepared 6/10 documents, judged 2/10"
    clock.now = 60
    for event in (
        Event("unscored", "prepare", 0, 3),
        committed("prepare", 4),
        Event("unscored", "judge", 0, 5),
        committed("judge", 5, gpu_seconds=3600),
    ):
        tally.add(event)
    clock.now = 120
    assert str(tally) == (
        "prepared 10/10 documents, judged 7/10 at 5 a minute; about 0:36 left, 5 unscored, "
        "1.00 GPU-hours"
    )
    tally.add(committed("judge", 3, 1))
    assert str(tally).startswith("prepared 10/10 documents, judged 10/10; took 2:00, 5 unscored")


def test_cases_in_hand_count_until_the_receipt_of_their_shard_corrects_them(clock):
    tally = ProgressTally({"judge": (100, 100)}, clock)
    tally.add(cases("judge", 0, 12))
    tally.add(cases("judge", 1, 3))
    assert tally.steps_done == 15
    tally.add(cases("judge", 1, 1))  # its worker was lost, and another has begun it again
    assert tally.steps_done == 13
    tally.add(committed("judge", 32))
    tally.add(cases("judge", 0, 31))  # late
    assert tally.steps_done == 33


def test_loading_a_model_is_no_time_of_the_cases(clock):
    tally = ProgressTally({"judge": (100, 100)}, clock)
    tally.add(LOADING)
    clock.now = 300
    tally.add(LOADED)
    assert str(tally) == "judged 0/100 documents"
    clock.now = 360
    tally.add(cases("judge", 0, 10))
    assert str(tally) == "judged 10/100 documents at 10 a minute; about 9:00 left"


def test_stages_have_their_own_speeds(clock):
    """Ten seconds a case to prepare, one to judge: a rate of both together would be far off. Where
    shards are in both stages, the time is shared out."""
    tally = ProgressTally({"prepare": (100, 100), "judge": (100, 100)}, clock)
    for stage, seconds in (("prepare", 10), ("judge", 1)):
        tally.add(cases(stage, 0, 0))
        for case in range(1, 11):
            clock.now += seconds
            tally.add(cases(stage, 0, case))
    assert f"about {as_clock(90 * 10 + 90 * 1)} left" in str(tally)
    tally.add(cases("prepare", 1, 0))  # a shard in either stage from now on
    clock.now += 60
    tally.add(cases("judge", 0, 20))
    tally.add(cases("prepare", 1, 5))
    left = 85 * (100 + 30) / 15 + 80 * (10 + 30) / 20
    assert f"about {as_clock(left)} left" in str(tally)


def test_the_rates_shown_are_those_of_the_time_left(clock):
    """Both stages have had part of the time: 16 cases at 40 a minute and 31 at 10 a minute."""
    tally = ProgressTally({"prepare": (36, 36), "judge": (36, 36)}, clock)
    clock.now = 30
    tally.add(cases("prepare", 0, 20))
    tally.add(cases("judge", 0, 0))
    clock.now = 60
    tally.add(cases("judge", 0, 5))
    assert str(tally) == (
        "prepared 20/36 documents at 40 a minute, judged 5/36 at 10 a minute; about 3:30 left"
    )
    prepare, judge = tally.as_fields()
    assert (prepare["rate"], prepare["left_seconds"]) == (40, 24)
    assert (judge["rate"], judge["left_seconds"]) == (10, 186)


def test_rates_are_of_late(clock):
    """More workers have come: what the first hour was like says nothing of the next."""
    tally = ProgressTally({"judge": (10_000, 10_000)}, clock)
    done = 0
    for minute in range(1, 81):
        clock.now += 60
        done += 1 if minute <= 60 else 30
        tally.add(cases("judge", 0, done))
    assert "at 30 a minute" in str(tally)
    assert f"about {as_clock((10_000 - done) / 30 * 60)} left" in str(tally)
    clock.now += 3600
    assert "at 0" not in str(tally)  # nothing is said to be fast that has stood still


@pytest.mark.parametrize(
    ("stages", "steps", "said"),
    [
        ("judge", [(20, ("judge", 4))], "judged 4/100 documents"),
        ("judge", [(20, ("judge", 4)), (20, ("judge", 5))],
         "judged 5/100 documents at 15 a minute; about 6:20 left"),
        ("judge", [(1200, ("judge", 6))],
         "judged 6/100 documents at 18 an hour; about 5:13:20 left"),
        ("prepare judge", [(60, ("prepare", 20))],
         "prepared 20/100 documents at 20 a minute, judged 0/100; about 4:00 left to prepare"),
    ],
    ids=["few", "enough", "slow", "a stage that has not begun"],
)  # fmt: skip
def test_rates_in_words(clock, stages, steps, said):
    tally = ProgressTally(dict.fromkeys(stages.split(), (100, 100)), clock)
    for clock.now, (stage, count) in steps:
        tally.add(cases(stage, 0, count))
    assert str(tally) == said


class Heard(io.StringIO):
    """Lets a test wait until a number of lines has been said."""

    def __init__(self) -> None:
        super().__init__()
        self._said = threading.Condition()

    def write(self, text: str) -> int:
        with self._said:
            self._said.notify_all()
            return super().write(text)

    def wait_for(self, words: str) -> bool:
        with self._said:
            return self._said.wait_for(lambda: words in self.getvalue(), timeout=60)


def test_a_log_speaks_each_period_whatever_happens():
    stream = Heard()
    with Log(stream, every=0.01, first=0.01) as log:
        log.entering("reading cases.jsonl")
        assert stream.wait_for("reading cases.jsonl\n" * 2)
        log.starting({"judge": (9, 9)})
        log.event(LOADING)
        assert stream.wait_for("loading the model\n" * 2)
        log.event(LOADED)
        assert stream.wait_for("judged 0/9 documents")
        log.event(cases("judge", 0, 2))
        assert stream.wait_for("judged 2/9 documents")
        log.event(committed("judge", 3))
        assert stream.wait_for("judged 3/9 documents")
        log.event(committed("judge", 6, 1))
        assert stream.wait_for("; took ")
        time.sleep(0.05)
        log.done()
    assert stream.getvalue().count("; took ") == 1
    said = stream.getvalue()
    time.sleep(0.05)
    assert stream.getvalue() == said


def test_a_tally_adds_up_the_cost(clock):
    """Of workers' and GPUs' hours, and of tokens, of which the judge's have no price here."""
    price = Price(2, 8, "EUR", {"prepare a": (10, 10, 30)})
    tally = ProgressTally({"prepare": (4, 4), "judge": (4, 4)}, clock, price)
    tokens = {"asks": 7, "prompt": 100_000, "generated": 200_000}
    asked = {"tokens": tokens, "masses": {}, "axes": {}}
    tally.add(Event("committed", "prepare", 0, 4, receipt("prepare", 3600, a=asked)))
    tally.add(Event("committed", "judge", 0, 4, receipt("judge", 5400, a=asked)))
    assert str(tally).endswith("; took 0:00, 1.50 GPU-hours, 22.00 EUR")
    _, judge = tally.as_fields()
    assert judge["run"] == {
        "asks": 14,
        "gpu_hours": 1.5,
        "worker_hours": 1.5,
        "cost": 1.5 * 10 + 1 + 6,
    }


def test_a_log_says_that_a_worker_died():
    log = Log(stream := io.StringIO())
    log.worker_died(Event("died", "judge", 3, 2))
    doing = "at judge, with 2 shards in hand (the first is 3)"
    assert stream.getvalue() == f"warning: a worker died {doing}: others will do them\n"


def test_a_log_says_how_long_a_phase_takes(monkeypatch):
    monkeypatch.setattr("evaljudge.runs.progress.A_MINUTE", 0.02)
    stream = Heard()
    with Log(stream, every=0.01, first=0.01) as log:
        log.starting({"judge": (9, 9)})
        for _worker in range(2):
            log.event(LOADING)
            assert stream.wait_for("loading the model (2 min so far)\n")
        log.event(LOADED)
        assert stream.wait_for("judged 0/9 documents (")


@pytest.mark.parametrize(
    ("todo", "shards", "said"),
    [
        ({"prepare": (0, 2), "judge": (2, 2)}, 2,
         "to judge 2 documents\nprepared 2/2 documents, judged 2/2; took 0:00\n"),
        ({"judge": (0, 2)}, 0, "nothing left to ask\n"),
    ],
)  # fmt: skip
def test_a_log_is_brief(todo, shards, said):
    stream = io.StringIO()
    log = Log(stream, every=1000)
    log.starting(todo)
    for shard in range(shards):
        log.event(committed("judge", 1, shard))
    log.done()
    assert stream.getvalue() == said


def test_a_bar_and_its_words_fit_in_a_hundred_columns(clock, monkeypatch):
    stream, todo = io.StringIO(), {"prepare": (100, 100), "judge": (100, 100)}
    monkeypatch.setattr("sys.stderr", stream)
    made = ProgressTally(todo, clock)
    monkeypatch.setattr("evaljudge.runs.progress.ProgressTally", lambda *_, **__: made)
    monkeypatch.setenv("COLUMNS", "100")
    with Bar() as bar:
        bar.entering("reading cases.jsonl")
        bar.starting(todo)
        bar.event(LOADING)
        bar.event(LOADED)
        clock.now = 128
        bar.event(cases("prepare", 0, 60))
        bar.event(cases("prepare", 0, 60))
        bar.event(cases("judge", 0, 0))
        clock.now = 265.2
        bar.event(cases("prepare", 0, 60))
        bar.event(cases("judge", 0, 32))
        bar.done()
        bar.entering("scoring and reporting")
    line = stream.getvalue().rstrip().splitlines()[-1]
    assert line.endswith(
        " 0:00 prepared 60/100 documents at 28 a minute, judged 32/100 at 14 a minute; "
        "about 6:17 left"
    ), "how long it has taken, and how long it will"


def test_a_run_goes_on_though_nobody_reads_its_log():
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as gone, Log(gone) as log:
        log.warning("nobody hears this")
        log.warning("and nobody this")
