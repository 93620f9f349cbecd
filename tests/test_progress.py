"""What a run says while it goes: literally, and at most once a minute."""

from __future__ import annotations

import io
import threading
import time
from typing import Any

from evaljudge.runs.progress import Log, ProgressTally, _clock


def receipt(stage: str, cases: int, **more: Any) -> dict[str, Any]:
    usual = {"unscored": 0, "worker": "w", "worker_seconds": 36.0, "gpus": 0}
    return {"stage": stage, "cases": cases} | usual | more


def test_a_tally_in_words() -> None:
    tally = ProgressTally({"prepare": (4, 10), "judge": (8, 10)})
    assert str(tally).startswith("prepared 6/10, judged 2/10 cases; 0 a minute, 0 unscored")
    tally.add(receipt("prepare", 4, unscored=3))
    tally.add(receipt("judge", 2, unscored=5, gpus=100))
    assert str(tally).startswith("prepared 10/10, judged 4/10 cases; ")
    assert str(tally).endswith(" left, 5 unscored, 1.00 GPU-hours")


def test_a_log_is_brief() -> None:
    stream = io.StringIO()
    log = Log(stream, every=1000)
    log.starting({"prepare": (0, 2), "judge": (2, 2)})
    for _ in range(2):
        log.receipt(receipt("judge", 1))
    log.done()
    first, last = stream.getvalue().splitlines()
    assert first == "to judge 2 cases; loading the model"
    assert last.startswith("prepared 2/2, judged 2/2 cases")


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


def test_a_log_speaks_each_period_whatever_happens() -> None:
    stream = Heard()
    with Log(stream, every=0.01) as log:
        log.entering("reading cases.jsonl")
        assert stream.wait_for("reading cases.jsonl\n" * 2)
        log.starting({"judge": (2, 2)})
        assert stream.wait_for("judged 0/2 cases")
        log.receipt(receipt("judge", 1))
        assert stream.wait_for("judged 1/2 cases")
    said = stream.getvalue()
    time.sleep(0.05)
    assert stream.getvalue() == said


def test_nothing_left() -> None:
    stream = io.StringIO()
    log = Log(stream)
    log.starting({"judge": (0, 2)})
    log.done()
    assert stream.getvalue() == "nothing left to ask\n"


def test_clock() -> None:
    assert [_clock(s) for s in (0, 61, 3600, 36061)] == ["0:00", "1:01", "1:00:00", "10:01:01"]
