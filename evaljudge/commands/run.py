"""`evaljudge run`, `report`, `study` and `demo`, and what a run prints at its end.

The demo's corpus is of evaljudge's own small world, its held-out half: reports, and six invented
systems' texts about them whose true levels are known. The judge was trained on the other half.
"""

import json
import shlex
import sys
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Self

import typer

from evaljudge.commands.options import DemoOptions, ReportOptions, RunOptions, StudyOptions
from evaljudge.config import load_config
from evaljudge.engines.internals import installed_build
from evaljudge.execution.protocol import Event
from evaljudge.report.lines import floor_line
from evaljudge.report.study import study_text
from evaljudge.report.summary import MORE, full_summary, program, summary
from evaljudge.runs import pipeline
from evaljudge.runs.json_lines import say
from evaljudge.runs.outcome import Outcome
from evaljudge.runs.pipeline import run
from evaljudge.runs.progress import watcher
from evaljudge.runs.watching import LOADING, Todo, Watcher
from evaljudge.studies.study import run_study

STARTING = "starting the workers"


def run_config(wanted: RunOptions) -> None:
    config, changes, limit = wanted.config, wanted.changes or (), wanted.limit
    times = StepTimes(watcher())
    how: dict[str, Any] = {"extend": wanted.extend, "watcher": times}
    try:
        loaded = load_config(config, changes)
        loaded = pipeline.limited(loaded, limit) if limit else loaded
        if wanted.until == "prepare":
            say(f"briefs are ready: {pipeline.prepare(loaded, **how)}\n")
        elif wanted.until == "judge":
            say(f"verdicts are in: {pipeline.judge(loaded, **how)}\n")
        else:
            print_outcome(pipeline.run(loaded, **how), wanted.full)
    finally:
        if limit:
            say(times.text)


def report(wanted: ReportOptions) -> None:
    made = pipeline.make_report(wanted.config, wanted.changes or (), watcher=watcher())
    print_outcome(made, wanted.full, is_run=False)


def study(wanted: StudyOptions) -> None:
    made = run_study(wanted.config, wanted.changes or (), watching=watcher)
    say(study_text(made.sections, made.lead, full=wanted.full))
    say(f"\ntables     {made.out}/study.html  study.md  study.json\n")
    say("" if wanted.full else f"{MORE}\n")
    for outcome in made.outcomes:
        say(f"report     {outcome.out}/report/index.html\n")
    if made.exit_code:
        message = "coverage is under the floor (the reports say what was unscored and why)"
        say(f"{message}\n", sys.stderr)
        raise typer.Exit(made.exit_code)


def print_outcome(outcome: Outcome, full: bool, *, is_run: bool = True) -> None:
    show = full_summary if full else summary
    shown = show(outcome.findings, outcome.out, outcome.first_document)
    say(shown.text)
    said = "corpus: not read" if is_run else None  # at the run's start
    for warning in (w for w in shown.warnings if not said or said not in w):
        say(f"{warning}\n", sys.stderr)
    say(shown.places)
    if outcome.exit_code:
        message = f"coverage: {floor_line(outcome.findings)}"
        say(f"{message} (the report says what was unscored and why)\n", sys.stderr)
        raise typer.Exit(outcome.exit_code)


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

    def worker_died(self, event: Event) -> None:
        self._inner.worker_died(event)

    def starting(self, todo: Todo) -> None:
        self._asking = " and ".join(stage for stage, (left, _) in todo.items() if left)
        self._begin(self._asking if "measure" in todo else STARTING)
        self._inner.price = self.price
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


ABOUT = """\
The demo's judge is evaljudge's own, a model of 1.3 million parameters. It knows the small world of
this corpus and nothing else; the agreement below is with the true levels of its texts.
A real model in its place:
  {program} run {config} --set model=Qwen/Qwen3-8B --set prompts=null --set out={other}
Settings of its judge compared in one table, with the references of this run:
  {program} study {study}
"""


def demo(wanted: DemoOptions) -> None:
    out = wanted.out
    installed_build()  # else the demo would promise what no engine is there for
    config = write_demo(out, wanted.documents, wanted.seed)
    files = {"config": config, "other": out / "real", "study": out / "study.yaml"}
    quoted = {name: shlex.quote(str(file)) for name, file in files.items()}
    say(ABOUT.format(program=program(), **quoted) + "\n")
    print_outcome(run(str(config), watcher=watcher()), wanted.full)


def write_demo(out: Path, documents: int, seed: int) -> Path:
    from evaljudge.bundled.world import as_jsonl, make_cases

    out.mkdir(parents=True, exist_ok=True)
    cases, config = out / "cases.jsonl", out / "config.yaml"
    cases.write_text(as_jsonl(make_cases(documents, seed)), encoding="utf-8")
    demo = demo_config(cases, out / "run")
    config.write_text(_yaml(demo), encoding="utf-8")
    (out / "study.yaml").write_text(_yaml(demo_study(demo, out)), encoding="utf-8")
    return config


def demo_config(cases: Path, out: Path) -> dict[str, Any]:
    return {
        "corpus": str(cases),
        "out": str(out),
        "rated_by": "the true levels",
        "title": "The demo of evaljudge",
        "task": "summary",
        "prompts": "nano",
        "model": {"source": "nano", "engine": {"kv_cache_memory_bytes": 1 << 28}},
        "judges": {"synthetic": {"levels": 5, "max_tokens": 96}},
        "metrics": ["importance", "rouge1", "words"],
        "workers": {"executor": "ray" if find_spec("ray") else "local"},
        "calibrate": ["synthetic"],
        "select": [
            {"name": name, "all": [{"scorer": scorer, "axis": "fluency", **asked}]}
            for name, scorer, asked in (
                ("best-fifth", "synthetic.ordinal", {"top_fraction": 0.2}),
                ("mostly-fluent", "synthetic", {"good": 4, "precision": 0.9}),
            )
        ],
    }


def demo_study(demo: Mapping[str, Any], out: Path) -> dict[str, Any]:
    kept = {name: demo[name] for name in ("corpus", "task", "prompts")}
    # what each judge is asked first, before a checklist is written, is none of what it was taught
    kept["model"] = demo["model"] | {"least_mass": 0}
    synthetic = demo["judges"]["synthetic"] | {"predict": ["probabilities", "sampled"]}
    judges = [
        {"judge": "synthetic", **synthetic, "levels": [2, 3, 5]},
        {"judge": "synthetic", **demo["judges"]["synthetic"], "layout": ["ladder"]},
        {"judge": "checklist", "max_tokens": 96},
        {"judge": "geval", "max_tokens": 96},
        {"judge": "direct", "steps": False},
    ]
    where = {"out": str(out / "study"), "briefs": str(out / "run" / "briefs")}
    return kept | where | {"metrics": ["rouge1"], "study": {"judges": judges}}


def _yaml(config: dict[str, Any]) -> str:
    return "".join(f"{key}: {json.dumps(value)}\n" for key, value in config.items())
