"""How a run is watched where logs are JSON: an object for each stage, once a minute.

    {"time": "…", "level": "info", "event": "progress", "stage": "judge", "done": 32, "of": 100,
     "unscored": 3, "rate": 14.2, "left_seconds": 287, "gpu_hours": 0.21}

`rate` is in cases a minute; it and `left_seconds` are there once they are known.
"""

from __future__ import annotations

from typing import Any

from evaljudge.runs.json_lines import json_line
from evaljudge.runs.pipeline import Todo
from evaljudge.runs.progress import Log
from evaljudge.runs.tally import ProgressTally
from evaljudge.text import LONG, one_line


class JsonLog(Log):
    """At the same times as the log for people."""

    def entering(self, phase: str) -> None:
        super().entering(phase)
        self._event("info", "phase", phase=phase)

    def warning(self, line: str) -> None:
        self._event("warning", "warning", message=one_line(line, LONG))

    def starting(self, todo: Todo) -> None:
        self._now = self._tally = ProgressTally(todo)
        for stage, (left, of) in todo.items():
            self._event("info", "starting", stage=stage, left=left, of=of)

    def _progress(self) -> None:
        for fields in self._tally.as_fields() if self._tally else ():
            self._event("info", "progress", **fields)

    def _event(self, level: str, event: str, **fields: Any) -> None:
        self._say(json_line(level, event, **fields))
