"""How a run is watched where logs are JSON: an object for each stage, once a minute.

    {"time": "…", "level": "info", "event": "progress", "stage": "judge", "done": 32, "of": 100,
     "rate": 14.2, "left_seconds": 287, "unscored": 3, "gpu_hours": 0.21}

`rate` is in cases a minute; it and `left_seconds` are there when the stage has got on.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self, TextIO

from evaljudge.runs.json_lines import json_line
from evaljudge.runs.pipeline import Todo, Watcher
from evaljudge.text import LONG, one_line

A_MINUTE = 60.0


@dataclass
class StageTally:
    """What is done of one stage."""

    of: int
    done: int
    before: int
    unscored: int = 0

    def as_fields(self, seconds: float) -> dict[str, Any]:
        fields = {"done": self.done, "of": self.of, "unscored": self.unscored}
        if not (new := self.done - self.before):
            return fields
        rate = new / max(seconds, 1e-9)
        left = round((self.of - self.done) / rate)
        return fields | {"rate": round(rate * A_MINUTE, 1), "left_seconds": left}


class JsonLog(Watcher):
    def __init__(self, stream: TextIO, every: float = A_MINUTE) -> None:
        self._stream, self._every = stream, every
        self._stages: dict[str, StageTally] = {}
        self._gpu_seconds: dict[str, float] = {}
        self._since, self._end = 0.0, threading.Event()

    def __enter__(self) -> Self:
        self._clock = threading.Thread(target=self._tick, name="log", daemon=True)
        self._clock.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._end.set()
        self._clock.join()

    def entering(self, phase: str) -> None:
        self._say("info", "phase", phase=phase)

    def warning(self, line: str) -> None:
        self._say("warning", "warning", message=one_line(line, LONG))

    def starting(self, todo: Todo) -> None:
        self._stages = {s: StageTally(of, of - left, of - left) for s, (left, of) in todo.items()}
        self._since = time.monotonic()
        for stage, (left, of) in todo.items():
            self._say("info", "starting", stage=stage, left=left, of=of)

    def receipt(self, receipt: Mapping[str, Any]) -> None:
        tally = self._stages[receipt["stage"]]
        tally.done += receipt["cases"]
        tally.unscored += receipt["unscored"]
        self._gpu_seconds[receipt["worker"]] = receipt["worker_seconds"] * receipt["gpus"]

    def done(self) -> None:
        self._progress()
        self._stages = {}

    def _tick(self) -> None:
        while not self._end.wait(self._every):
            self._progress()

    def _progress(self) -> None:
        hours = round(sum(self._gpu_seconds.values()) / 3600, 4)
        for stage, tally in list(self._stages.items()):
            fields = tally.as_fields(time.monotonic() - self._since)
            self._say("info", "progress", stage=stage, **fields, gpu_hours=hours)

    def _say(self, level: str, event: str, **fields: Any) -> None:
        print(json_line(level, event, **fields), file=self._stream, flush=True)
