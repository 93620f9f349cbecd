"""Scores for a handful of texts in memory, and an engine that stays open from one call to the next.

    outcome = score(cases, judges="geval", model="Qwen/Qwen3-8B")

    with Scorer(judges="geval", model="Qwen/Qwen3-8B") as scorer:
        first = scorer.score(cases)       loads the engine
        second = scorer.score(others)     finds it loaded

Each call is a whole run of its own, in this process and without Ray: its folder has the scores, the
evidence and the report that any run has. Where no `out` is named, the folder is a temporary one
that is removed as soon as nothing refers to the outcome any more.
"""

from __future__ import annotations

import io
import sys
import tempfile
import time
import weakref
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from shutil import rmtree
from threading import Lock, RLock, Timer
from typing import Any, Self, TypeVar, cast

from evaljudge.config import Config, load_config
from evaljudge.engines import Engine, Engines, ModelSource, VllmEngines
from evaljudge.errors import EngineDead, UserError
from evaljudge.execution import executor_name
from evaljudge.runs.job import make_job
from evaljudge.runs.outcome import Outcome
from evaljudge.runs.pipeline import run, run_job
from evaljudge.runs.progress import Log
from evaljudge.runs.watching import Watcher
from evaljudge.settings import AnyPath, as_path

Names = str | Sequence[str] | Mapping[str, Any]
"""One name, several names, or names with their settings, as in a configuration."""
R = TypeVar("R")
HERE = {"executor": "local"}
_OF_NAMES = ("judges", "metrics")
_MISPLACED = {
    "corpus": "corpus: the texts are the first argument of `score`: leave `corpus` out",
    "out": "out: a Scorer has no folder of its own: give `out` to its `score`",
    "study": "study: `score` has no grid of settings: use evaljudge.run_study",
}
_ONE_AT_A_TIME = RLock()
"""For all calls of this process: vLLM's engines share a part of it, so that one that is loaded or
freed while another answers would break it."""
A_MOMENT = 3.0
"""Seconds that a call may take before it shows its progress."""


def score(
    cases: Any,
    *,
    judges: Names = "synthetic",
    model: str | Mapping[str, Any] | None = None,
    task: str = "summary",
    axes: Sequence[str] | None = None,
    metrics: Names = (),
    out: AnyPath | None = None,
    progress: bool = True,
    engines: Engines | None = None,
    **config: Any,
) -> Outcome:
    """Score these texts once: everything is loaded for this call, and freed after it.

    `cases`: rows as dicts, an Arrow table, a data frame, or a path. `config`: further keys of a
    configuration, such as `prompts` or `seed`.
    """
    names = {"judges": judges, "model": model, "task": task, "axes": axes, "metrics": metrics}
    given = _settings(names | config)

    def work(folder: str) -> Outcome:
        with _ONE_AT_A_TIME, _late_log(shown=progress) as watcher:
            return run(_config(given, cases, folder), watcher=watcher, engines=engines)

    return _in_a_folder(out, work)


class Scorer:
    """Scores texts again and again with the same judges, whose engine stays loaded in between.

    The configuration is checked at once; the engine is loaded by the first score. Calls from
    several threads wait for each other, those of other Scorers too. After an error, the next call
    finds the scorer as before; only an engine that died is loaded again. `close` frees the engine's
    memory and ends its processes; so does Python where nothing refers to the Scorer any more. With
    a `writer` that is another model there are two engines: they must fit together into the memory.
    """

    def __init__(
        self,
        *,
        judges: Names = "synthetic",
        model: str | Mapping[str, Any] | None = None,
        task: str = "summary",
        axes: Sequence[str] | None = None,
        metrics: Names = (),
        progress: bool = True,
        engines: Engines | None = None,
        **config: Any,
    ) -> None:
        names = {"judges": judges, "model": model, "task": task, "axes": axes, "metrics": metrics}
        self._given, self._progress = _settings(names | config), progress
        self._warm = _WarmEngines(engines or VllmEngines())
        self._job = make_job(_config(self._given, "cases", "out"), self._warm.as_engines())
        self._is_closed = False
        # where a notebook's cell runs again, its name stands for the next Scorer
        weakref.finalize(self, self._warm.close).atexit = False

    def __repr__(self) -> str:
        names = [*(one.name for one in self._job.judges), *(one.name for one in self._job.metrics)]
        sources = dict.fromkeys(panel.model.source for panel in self._job.panels if panel.model)
        model = f" with {', '.join(sources)}" if sources else ""
        state = "closed" if self._is_closed else "loaded" if self._warm.is_loaded else "not loaded"
        return f"Scorer({', '.join(names)}{model}; {state})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def score(self, cases: Any, *, out: AnyPath | None = None) -> Outcome:
        """A run of these texts; its folder is `out`, or a temporary one."""
        with _ONE_AT_A_TIME:
            if self._is_closed:
                raise UserError("this Scorer is closed, so it has no engine: make another one")
            return _in_a_folder(out, partial(self._score, cases))

    def _score(self, cases: Any, out: str) -> Outcome:
        config = _config(self._given, cases, out)
        job = replace(self._job, config=config, since=time.monotonic())
        with _late_log(shown=self._progress) as watcher:
            return run_job(job, watcher)

    def close(self) -> None:
        """Waits for a call that is at work in another thread."""
        with _ONE_AT_A_TIME:
            self._is_closed = True
            self._warm.close()


def _settings(given: Mapping[str, Any]) -> dict[str, Any]:
    """As in a configuration, where a single name is a list of one, and None is left out."""
    for key, said in _MISPLACED.items():
        if key in given:
            raise UserError(said)
    names = {k: [given[k]] if isinstance(given[k], str) else given[k] for k in _OF_NAMES}
    lists = {k: v if isinstance(v, Mapping) else list(v) for k, v in names.items() if v is not None}
    rest = {key: value for key, value in given.items() if value is not None}
    return {"workers": HERE} | rest | lists


def _config(given: Mapping[str, Any], cases: Any, out: str) -> Config:
    if isinstance(cases, Mapping) and "path" not in cases:
        raise UserError("cases: is one row: give a list of rows, [row]")
    if isinstance(cases, Sized) and not len(cases):
        raise UserError("cases: holds no row")
    config = load_config({**given, "corpus": cases, "out": out})
    if executor_name(config.workers) != "local":
        raise UserError(
            "workers: `score` works in this process alone: leave `workers` out, or use "
            "evaljudge.run"
        )
    return config


def _in_a_folder(out: AnyPath | None, work: Callable[[str], Outcome]) -> Outcome:
    """Where none is named, in a temporary one: it goes with its outcome, or after an error."""
    if out is not None:
        return work(as_path(out, "out"))
    folder = tempfile.mkdtemp(prefix="evaljudge-score-")
    try:
        outcome = work(f"{folder}/run")
    except BaseException:
        rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(outcome, rmtree, folder, ignore_errors=True)
    return outcome


class _WarmEngines:
    """Opens each engine once; runs that close it leave it open. All else is the engines' own."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines
        self._opened: dict[str, _WarmEngine] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engines, name)

    def as_engines(self) -> Engines:
        return cast(Engines, self)

    def open(self, source: ModelSource, seed: int) -> Engine:
        name = f"{source} {seed}"
        warm = self._opened.pop(name, None)
        if warm is None or warm.is_dead:
            warm = _WarmEngine(self._engines.open(source, seed))
        self._opened[name] = warm
        return cast(Engine, warm)

    @property
    def is_loaded(self) -> bool:
        return bool(self._opened) and not any(warm.is_dead for warm in self._opened.values())

    def close(self) -> None:
        while self._opened:
            _, warm = self._opened.popitem()
            warm.engine.close()


class _WarmEngine:
    def __init__(self, engine: Engine) -> None:
        self.engine, self.is_dead = engine, False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.engine, name)
        is_ask = name in ("write", "choose", "weigh", "embed")
        return self._noting_death(found) if is_ask else found

    def close(self) -> None:
        """A run is over."""
        if self.is_dead:
            self.engine.close()

    def _noting_death(self, ask: Callable[..., Awaitable[R]]) -> Callable[..., Awaitable[R]]:
        async def asked(*what: Any, **how: Any) -> R:
            try:
                return await ask(*what, **how)
            except EngineDead:
                self.is_dead = True
                raise

        return asked


@contextmanager
def _late_log(*, shown: bool) -> Iterator[Watcher]:
    """Shows nothing of a call that takes a moment only; of others what a job's log has."""
    if not shown:
        yield Watcher()
        return
    stream = _LateStream(sys.stderr)
    timer = Timer(A_MOMENT, stream.begin)
    timer.daemon = True
    timer.start()
    try:
        yield Log(stream)
    finally:
        timer.cancel()


class _LateStream(io.StringIO):
    """Keeps what is written until it is to be shown."""

    def __init__(self, shown_on: Any) -> None:
        super().__init__()
        self._shown_on, self._has_begun, self._changing = shown_on, False, Lock()

    def begin(self) -> None:
        with self._changing:
            self._has_begun = True
            self._shown_on.write(self.getvalue())
            self._shown_on.flush()

    def write(self, text: str, /) -> int:
        with self._changing:
            return int(self._shown_on.write(text) if self._has_begun else super().write(text))

    def flush(self) -> None:
        if self._has_begun:
            self._shown_on.flush()
