"""Scores for a handful of texts in memory, and an engine that stays open from one call to the next.

    outcome = score(cases, judges="geval", model="Qwen/Qwen3-8B")

    with Scorer(judges="geval", model="Qwen/Qwen3-8B") as scorer:
        first = scorer.score(cases)       loads the engine
        second = scorer.score(others)     finds it loaded

Each call is a whole run of its own, in this process and without Ray. Where no `out` is named, its
folder is a temporary one, removed as soon as nothing refers to the outcome any more.
"""

import os
import sys
import tempfile
import time
import weakref
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import replace
from functools import partial
from glob import glob
from pathlib import Path
from shutil import rmtree
from threading import RLock
from typing import Any, Never, Self, cast

from evaljudge.config import Config, load_config
from evaljudge.corpora.memory import A_ROW
from evaljudge.engines import Engines, VllmEngines
from evaljudge.engines.warm import WarmEngines
from evaljudge.errors import UserError
from evaljudge.execution import executor_name
from evaljudge.runs.job import make_job
from evaljudge.runs.outcome import Outcome
from evaljudge.runs.pipeline import run_job
from evaljudge.runs.progress import Log
from evaljudge.runs.watching import Watcher
from evaljudge.settings import TEMPORARY, AnyPath, as_path
from evaljudge.text import shown

Names = str | Sequence[str] | Mapping[str, Any]
"""One name, several names, or names with their settings, as in a configuration."""
HERE = {"executor": "local"}
_OF_NAMES = ("judges", "metrics", "axes")
_MISPLACED = {
    "corpus": "corpus: the texts are the first argument of `score`: leave `corpus` out",
    "out": "out: a Scorer has no folder of its own: give `out` to its `score`",
    "study": "study: `score` has no grid of settings: use evaljudge.run_study",
}
_ONE_AT_A_TIME = RLock()
"""The lock of all calls of this process: vLLM's engines share a part of it, so that one that is
loaded or freed while another answers would break it."""
A_MOMENT = 3.0  # seconds that a call may take before it shows its progress


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

    `cases`: rows as dicts, an Arrow table, a data frame, or a path; `columns={"article": "source"}`
    renames theirs, and `"fluency_1": "ratings.fluency"` says which are people's ratings. `judges`
    and `metrics`: names, or a dict with the settings of each. `model`: as in a configuration: a hub
    name, a folder, a URL, or `nano`. `config`: further keys of a configuration, such as `prompts`
    or `seed`: `evaljudge settings` lists them.
    """
    names = {"judges": judges, "model": model, "task": task, "axes": axes, "metrics": metrics}
    settings = _settings(names | config)

    def work(folder: str) -> Outcome:
        with _ONE_AT_A_TIME:
            config = _config(settings, cases, folder)
            return run_job(make_job(config, engines), _LateLog() if progress else Watcher())

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
        self._warm = WarmEngines(engines or VllmEngines())
        made = _config(self._given, Path("cases"), "out")
        if any(own.get("examples") for own in made.judges.values()):
            raise UserError("examples: a Scorer has no corpus with ratings: take `evaljudge.run`")
        self._job = make_job(made, cast(Engines, self._warm))
        self._is_closed = False
        # where a notebook's cell runs again, its name stands for the next Scorer
        weakref.finalize(self, self._warm.close).atexit = False

    def __repr__(self) -> str:
        names = [*(s.name for s in self._job.judges), *(s.name for s in self._job.metrics)]
        sources = dict.fromkeys(part.source.source for part in self._job.passes)
        model = f" with {', '.join(sources)}" if sources else ""
        state = "closed" if self._is_closed else "loaded" if self._warm.opened else "not loaded"
        return f"Scorer({', '.join(names)}{model}; {state})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def score(self, cases: Any, *, out: AnyPath | None = None, **settings: Never) -> Outcome:
        """A run of these texts; its folder is `out`, or a temporary one."""
        for key in settings:
            raise UserError(f"{key}: give it to the Scorer, Scorer({key}=…), not to its `score`")
        with _ONE_AT_A_TIME:
            if self._is_closed:
                raise UserError("this Scorer is closed, so it has no engine: make another one")
            return _in_a_folder(out, partial(self._score, cases))

    def _score(self, cases: Any, out: str) -> Outcome:
        config = _config(self._given, cases, out)
        job = replace(self._job, config=config, since=time.monotonic())
        self._warm.begin_run()
        return run_job(job, _LateLog() if self._progress else Watcher())

    def close(self) -> None:
        """Waits for a call that is at work in another thread."""
        with _ONE_AT_A_TIME:
            self._is_closed = True
            self._warm.close()


def _settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    for key, message in _MISPLACED.items():
        if key in settings:
            raise UserError(message)
    names = {k: [settings[k]] if isinstance(settings[k], str) else settings[k] for k in _OF_NAMES}
    lists = {k: list(v) if isinstance(v, tuple) else v for k, v in names.items() if v is not None}
    rest = {key: value for key, value in settings.items() if value is not None}
    return {"workers": HERE} | rest | lists


def _config(settings: Mapping[str, Any], cases: Any, out: str) -> Config:
    if isinstance(cases, Mapping) and "path" not in cases:
        raise UserError("cases: is one row: give a list of rows, [row]")
    if isinstance(cases, Sized) and not len(cases):
        raise UserError("cases: holds no row")
    for path in cases if isinstance(cases, list) else [cases]:
        if isinstance(path, str) and not _is_there(path):
            raise UserError(f"cases: {shown(path)}: no such file or folder; a row is {A_ROW}")
    if columns := settings.get("columns"):
        base = cases if isinstance(cases, Mapping) else {"path": cases}
        cases = {**base, "columns": {**(base.get("columns") or {}), **columns}}
    others = {key: value for key, value in settings.items() if key != "columns"}
    config = load_config({**others, "corpus": cases, "out": out})
    if executor_name(config.workers) != "local":
        raise UserError(
            "workers: `score` works in this process alone: leave `workers` out, or use "
            "evaljudge.run"
        )
    return config


def _is_there(path: str) -> bool:
    return "://" in path or os.path.lexists(os.path.expanduser(path)) or bool(glob(path))


def _in_a_folder(out: AnyPath | None, work: Callable[[str], Outcome]) -> Outcome:
    if out is not None:
        return work(as_path(out, "out"))
    folder = tempfile.mkdtemp(prefix=TEMPORARY)
    try:
        outcome = work(f"{folder}/run")
    except BaseException:
        rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(outcome, rmtree, folder, ignore_errors=True)
    return outcome


class _LateLog(Log):
    """Shows nothing of a call that takes a moment only; of others what a job's log has."""

    def __init__(self) -> None:
        super().__init__(sys.stderr, first=A_MOMENT)
        self._shown_from, self._kept = time.monotonic() + A_MOMENT, list[str]()

    def _say(self, line: str) -> None:
        self._kept.append(line)
        if time.monotonic() >= self._shown_from:
            kept, self._kept = self._kept, []
            super()._say("\n".join(kept))
