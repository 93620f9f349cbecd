"""`evaljudge run CONFIG --limit N`: the first documents in a folder of their own, with times."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, Self

from evaljudge.config import Config, load_config
from evaljudge.corpora import open_corpus, refuse_empty
from evaljudge.errors import UserError
from evaljudge.execution.protocol import Event
from evaljudge.records import Case
from evaljudge.runs.job import corpus_of
from evaljudge.runs.watching import LOADING, Todo, Watcher

STARTING = "starting the workers"


def limited(given: str | Mapping[str, Any], changes: Sequence[str], limit: int) -> Config:
    """The configuration for the first documents that have a text; its briefs are its own, too."""
    config = load_config(given, changes)
    with open_corpus(corpus_of(config), config.bad_rows) as corpus:
        refuse_empty(corpus, config.corpus_name, "judge")
        cases = list(islice((case for case in corpus if case.candidates), limit))
    if not cases:
        raise UserError(f"{config.corpus_name}: no document has a candidate, so there is nothing "
                        "to judge")  # fmt: skip
    out = f"{config.out.rstrip('/')}-first-{limit}"
    its_own = {"corpus": [_row(case) for case in cases], "out": out, "briefs": None}
    return load_config(config.as_given() | its_own)


def _row(case: Case) -> dict[str, Any]:
    candidates = [
        {"system": text.system, "text": text.text, "ratings": dict(text.ratings)}
        for text in case.candidates
    ]
    return asdict(case.document) | {"candidates": candidates}


class StepTimes(Watcher):
    def __init__(self, inner: Watcher) -> None:
        self._inner, self._seconds = inner, dict[str, float]()
        self._asking, self._now, self._since = "", "", 0.0

    def __enter__(self) -> Self:
        self._inner.__enter__()
        self._begin("reading the settings")
        return self

    def __exit__(self, *error: object) -> None:
        self._begin("")
        self._inner.__exit__(*error)

    def entering(self, phase: str) -> None:
        self._begin(phase)
        self._inner.entering(phase)

    def warning(self, line: str) -> None:
        self._inner.warning(line)

    def starting(self, todo: Todo) -> None:
        self._asking = " and ".join(stage for stage, (left, _) in todo.items() if left)
        self._begin(self._asking if "measure" in todo else STARTING)
        self._inner.starting(todo)

    def event(self, event: Event) -> None:
        if event.kind != "loaded":
            self._begin(LOADING if event.kind == "loading" else self._asking)
        self._inner.event(event)

    def done(self) -> None:
        self._inner.done()

    def _begin(self, step: str) -> None:
        now = time.monotonic()
        if self._now:
            self._seconds[self._now] = self._seconds.get(self._now, 0.0) + now - self._since
        self._now, self._since = step, now

    @property
    def text(self) -> str:
        width = max(map(len, self._seconds), default=0)
        steps = self._seconds.items()
        return "".join(f"{step:<{width}}  {seconds:>8.1f} s\n" for step, seconds in steps)
