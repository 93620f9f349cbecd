"""The commands that write a configuration and judge a corpus, and what a run prints at its end."""

from __future__ import annotations

import gc
import sys
from typing import TYPE_CHECKING

import typer

import evaljudge
from evaljudge.commands import options as declared
from evaljudge.commands.options import Command, command
from evaljudge.errors import UserError

if TYPE_CHECKING:
    from evaljudge.runs.outcome import Outcome

RARELY = 100_000
"""So many new values before garbage is looked for: a plan makes millions, and leaves no garbage."""


def _init(options: declared.InitOptions) -> None:
    from evaljudge.commands.init import init as write_configuration

    made = write_configuration(options, _ask if sys.stdin.isatty() else None)
    for warning in made.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(made.text, end="")


def _ask(question: str, default: str) -> str:
    try:
        return str(typer.prompt(question, default=default or None, prompt_suffix=" "))
    except typer.Abort:  # Ctrl-D
        print()  # ends the line of the question
        raise UserError("nothing was written") from None


def _run(options: declared.RunOptions) -> None:
    from evaljudge.commands.limit import StepTimes, limited
    from evaljudge.config import load_config
    from evaljudge.runs.progress import watcher

    config, changes, limit = options.config, options.changes or (), options.limit
    times = StepTimes(watcher())
    try:
        loaded = limited(config, changes, limit) if limit else load_config(config, changes)
        if options.until == "prepare":
            made = evaljudge.prepare(loaded, extend=options.extend, watcher=times)
            print(f"briefs are ready: {made}")
        elif options.until == "judge":
            made = evaljudge.judge(loaded, extend=options.extend, watcher=times)
            print(f"verdicts are in: {made}")
        else:
            outcome = evaljudge.run(loaded, extend=options.extend, watcher=times)
            _print_outcome(outcome, options.full)
    finally:
        if limit:
            print(times.text, end="", flush=True)


def report(
    config: declared.ConfigFile, changes: declared.Changes = None, full: declared.Full = False
) -> None:
    """Write the scores, the report and the selected texts again, without asking a model.

    Use it after a change of settings that ask nothing, such as `select` or `metrics`.

    Example: evaljudge report config.yaml
    """
    from evaljudge.runs.progress import watcher

    _print_outcome(evaljudge.make_report(config, changes or (), watcher=watcher()), full)


def _plan(options: declared.PlanOptions) -> None:
    from evaljudge.commands.plan import planned, throughput_of

    gc.freeze()  # what was imported stays, and need not be looked through
    gc.set_threshold(RARELY)
    earlier = options.throughput_of
    rate = throughput_of(earlier) if earlier else options.throughput
    made = planned(options.config, options.changes or (), rate, gpu=options.gpu)
    print(made.text, end="")
    if made.exit_code:
        raise typer.Exit(made.exit_code)


def _prompts(
    options: declared.PromptsOptions, config: declared.ConfigFile, changes: declared.Changes = None
) -> None:
    from evaljudge.commands.prompts import prompts_text

    print(prompts_text(config, changes or (), options), end="")


def study(config: declared.ConfigFile, changes: declared.Changes = None) -> None:
    """Run every combination of the settings under `study` and compare them in one table.

    Run it again to resume.

    Example: evaljudge study config.yaml
    """
    from evaljudge.runs.progress import watcher
    from evaljudge.studies.study import run_study

    made = run_study(config, changes or (), watching=watcher)
    print(made.text, end="", flush=True)
    print(f"\ntables     {made.out}/study.html  study.md  study.json")
    for outcome in made.outcomes:
        print(f"report     {outcome.out}/report/index.html")
    if made.exit_code:
        message = "coverage is under the floor (the reports say what was unscored and why)"
        print(message, file=sys.stderr)
        raise typer.Exit(made.exit_code)


def _demo(options: declared.DemoOptions, full: declared.Full = False) -> None:
    from evaljudge.commands.demo import run_demo
    from evaljudge.runs.progress import watcher

    made = run_demo(options.out, options.documents, options.seed, watcher())
    _print_outcome(made, full)


def _print_outcome(outcome: Outcome, full: bool) -> None:
    from evaljudge.report import full_summary, summary
    from evaljudge.sections.figures import percent

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


_PANEL = "Judge a corpus"
COMMANDS = {
    "init": Command(command(declared.InitOptions, _init), "Begin", 10),
    "demo": Command(command(declared.DemoOptions, _demo), _PANEL, 20),
    "prompts": Command(command(declared.PromptsOptions, _prompts), _PANEL, 21),
    "plan": Command(command(declared.PlanOptions, _plan), _PANEL, 22),
    "run": Command(command(declared.RunOptions, _run), _PANEL, 23),
    "report": Command(report, _PANEL, 24),
    "study": Command(study, _PANEL, 25),
}
