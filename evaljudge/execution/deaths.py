"""A shard whose measuring killed its worker: tried again case by case, and the deadly set aside.

    attempts/measure-00003.json  {"session": "9f…", "tries": 3, "open": ["bertscore", "d7"],
                                  "deaths": {"bertscore d7": 2}}

The first death is the shard's; from then on one case is open at a time, and its deaths are its own.
A case that died alone DEATHS_ALONE times is set aside: three deaths with the first. A worker has
one shard at a time, so nobody is blamed for another's. Notes of other sessions do not count.
"""

from __future__ import annotations

from typing import Any

from evaljudge.errors import GivenUp
from evaljudge.storage import Output

DEATHS_ALONE, MOST_TRIES = 2, 30


class Deaths:
    """What is known of a shard's earlier tries in this session."""

    def __init__(self, output: Output, name: str, session: str) -> None:
        self._output, self._name = output, f"measure-{name}"
        before = output.attempt(self._name)
        if before.get("session") != session:
            before = {}
        self._note: dict[str, Any] = {
            "session": session,
            "tries": before.get("tries", 0) + 1,
            "open": None,
            "deaths": before.get("deaths", {}),
        }
        if open_then := before.get("open"):
            key = _key(*open_then)
            self._note["deaths"][key] = self._note["deaths"].get(key, 0) + 1
        if self._note["tries"] > MOST_TRIES:
            raise GivenUp(f"measuring shard {name} killed its worker {MOST_TRIES} times")
        self._write()

    @property
    def is_first(self) -> bool:
        return bool(self._note["tries"] == 1)

    def is_aside(self, metric: str, doc_id: str) -> bool:
        return bool(self._note["deaths"].get(_key(metric, doc_id), 0) >= DEATHS_ALONE)

    def opening(self, metric: str, doc_id: str) -> None:
        self._note["open"] = [metric, doc_id]
        self._write()

    def end(self) -> None:
        self._output.forget_attempt(self._name)

    def _write(self) -> None:
        self._output.note_attempt(self._name, self._note)


def _key(metric: str, doc_id: str) -> str:
    return f"{metric} {doc_id}"
