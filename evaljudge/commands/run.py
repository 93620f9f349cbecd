"""`evaljudge run`, `report` and `study`, and what a run prints at its end.

With `--limit N` the first documents are judged in a folder of their own, with times.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import islice
from typing import Any, Self

import typer

from evaljudge.commands.options import ReportOptions, RunOptions, StudyOptions
from evaljudge.config import Config, load_config
from evaljudge.corpora import open_corpus, refuse_empty
from evaljudge.errors import UserError
from evaljudge.execution.protocol import Event
from evaljudge.records import Case
from evaljudge.report import full_summary, summary
from evaljudge.runs import pipeline
from evaljudge.runs.job import corpus_of
from evaljudge.runs.outcome import Outcome
from evaljudge.runs.progress import watcher
from evaljudge.runs.watching import LOADING, Todo, Watcher
from evaljudge.sections.figures import percent
from evaljudge.studies.study import run_study

STARTING = "starting the workers"


def run_config(wanted: RunOptions) -> None:
    config, changes, limit = wanted.config, wanted.changes or (), wanted.limit
    times = StepTimes(watcher())
    try:
        loaded = limited(config, changes, limit) if limit else load_config(config, changes)
        if wanted.until == "prepare":
            made = pipeline.prepare(loaded, extend=wanted.extend, watcher=times)
            print(f"briefs are ready: {made}")
        elif wanted.until == "judge":
            made = pipeline.judge(loaded, extend=wanted.extend, watcher=times)
            print(f"verdicts are in: {made}")
        else:
            outcome = pipeline.run(loaded, extend=wanted.extend, watcher=times)
            print_outcome(outcome, wanted.full)
    finally:
        if limit:
            print(times.text, end="", flush=True)


def report(wanted: ReportOptions) -> None:
    made = pipeline.make_report(wanted.config, wanted.changes or (), watcher=watcher())
    print_outcome(made, wanted.full)


def study(wanted: StudyOptions) -> None:
    made = run_study(wanted.config, wanted.changes or (), watching=watcher)
    print(made.text, end="", flush=True)
    print(f"\ntables     {made.out}/study.html  study.md  study.json")
    for outcome in made.outcomes:
        print(f"report     {outcome.out}/report/index.html")
    if made.exit_code:
        message = "coverage is under the floor (the reports say what was unscored and why)"
        print(message, file=sys.stderr)
        raise typer.Exit(made.exit_code)


def print_outcome(outcome: Outcome, full: bool) -> None:
    show = full_summary if full else summary
    shown = show(outcome.findings, outcome.out, outcome.first_document)
    print(shown.text, end="", flush=True)
    for warning in shown.warnings:
        print(warning, file=sys.stderr, flush=True)
    print(shown.places, end="", flush=True)
    if outcome.exit_code:
        floor = f"{outcome.findings.coverage_floor:.1%}"
        message = f"coverage {percent(outcome.coverage)} is under the floor of {floor}"
        print(f"{message} (the report says what was unscored and why)", file=sys.stderr)
        raise typer.Exit(outcome.exit_code)


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
