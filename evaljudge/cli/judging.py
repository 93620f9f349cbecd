"""The commands that write a configuration and judge a corpus, and what a run prints at its end."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import evaljudge
from evaljudge.commands.options import (
    Changes,
    Command,
    ConfigFile,
    Extend,
    Full,
    InitOptions,
    command,
)
from evaljudge.errors import UserError

if TYPE_CHECKING:
    from evaljudge.runs.outcome import Outcome

RARELY = 100_000
"""So many new values before garbage is looked for: a plan makes millions, and leaves no garbage."""


def _init(options: InitOptions) -> None:
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


def run(
    config: ConfigFile,
    changes: Changes = None,
    extend: Extend = False,
    full: Full = False,
    until: Annotated[Literal["prepare", "judge"] | None, typer.Option(
        help="Stop after this stage: `prepare` is what judges need of each document before they "
        "see a text, `judge` the verdicts. Without --until, scores and the report follow.")] = None,
    limit: Annotated[int | None, typer.Option(
        min=1, help="Judge only so many documents, in the folder OUT-first-N beside `out`, and "
        "print the seconds of each step.")] = None,
) -> None:  # fmt: skip
    """Judge a corpus and write the report. Run it again to resume.

    The judges first prepare what they need of each document, such as references to compare with,
    then judge every text. Scores, the agreement with people and the report follow (see `report`).
    What is finished is not asked again.

    Example: evaljudge run config.yaml --set out=runs/second
    """
    from evaljudge.commands.limit import StepTimes, limited
    from evaljudge.config import load_config
    from evaljudge.runs.progress import watcher

    times, changed = StepTimes(watcher()), changes or ()
    try:
        given = limited(config, changed, limit) if limit else load_config(config, changed)
        if until == "prepare":
            print(f"briefs are ready: {evaljudge.prepare(given, extend=extend, watcher=times)}")
        elif until == "judge":
            print(f"verdicts are in: {evaljudge.judge(given, extend=extend, watcher=times)}")
        else:
            _print_outcome(evaljudge.run(given, extend=extend, watcher=times), full)
    finally:
        if limit:
            print(times.text, end="", flush=True)


def report(config: ConfigFile, changes: Changes = None, full: Full = False) -> None:
    """Write the scores, the report and the selected texts again, without asking a model.

    Use it after a change of settings that ask nothing, such as `select` or `metrics`.

    Example: evaljudge report config.yaml
    """
    from evaljudge.runs.progress import watcher

    _print_outcome(evaljudge.make_report(config, changes or (), watcher=watcher()), full)


def plan(
    config: ConfigFile,
    changes: Changes = None,
    throughput: Annotated[
        float | None,
        typer.Option(
            min=1,
            help="How many tokens one engine processes in a second. With it, the plan states "
            "GPU-hours.",
        ),
    ] = None,
    throughput_of: Annotated[
        str | None,
        typer.Option(metavar="OUT", help="Take the rate that an earlier run reached."),
    ] = None,
    gpu: Annotated[
        str | None,
        typer.Option(metavar="CARD", help="A card, such as l4: compute whether the model fits."),
    ] = None,
) -> None:
    """List all mistakes of a configuration, and count what a run or a study still has to ask.

    Counted are questions and tokens. No model is loaded and nothing is written. The exit code is 2
    if there is an error.

    Example: evaljudge plan config.yaml --throughput 20000
    """
    from evaljudge.commands.plan import planned
    from evaljudge.commands.plan import throughput_of as rate_of

    gc.freeze()  # what was imported stays, and need not be looked through
    gc.set_threshold(RARELY)
    rate = rate_of(throughput_of) if throughput_of else throughput
    made = planned(config, changes or (), rate, gpu=gpu)
    print(made.text, end="")
    if made.exit_code:
        raise typer.Exit(made.exit_code)


def prompts(
    config: ConfigFile,
    changes: Changes = None,
    doc: Annotated[str | None, typer.Option(
        help="The document's id in the corpus (`doc_id`). Without it, the first document is "
        "taken.")] = None,
    system: Annotated[str | None, typer.Option(
        help="Only the questions about this system's text.")] = None,
    judge: Annotated[str | None, typer.Option(help="Only the questions of this judge.")] = None,
    axis: Annotated[str | None, typer.Option(help="Only the questions about this axis.")] = None,
) -> None:  # fmt: skip
    """Print what the judges would ask the model about one document, before any run.

    Of every kind of question the first one is printed, with the number of times that it is asked.
    No engine is loaded. Text that the model would write during the run is a placeholder.

    Example: evaljudge prompts config.yaml --doc d17 --judge synthetic --axis fluency
    """
    from evaljudge.commands.prompts import PromptsOptions, prompts_text

    print(prompts_text(config, changes or (), PromptsOptions(doc, system, judge, axis)), end="")


def study(config: ConfigFile, changes: Changes = None) -> None:
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
        print("coverage is under the floor (the reports say what was unscored and why)",
              file=sys.stderr)  # fmt: skip
        raise typer.Exit(made.exit_code)


def demo(
    out: Annotated[Path, typer.Option(help="The folder that the demo writes into.")] = Path(
        "runs/demo"
    ),
    documents: Annotated[int, typer.Option(min=2, help="How many documents to invent.")] = 36,
    seed: Annotated[
        int, typer.Option(help="Seed of the invented documents: another one gives other documents.")
    ] = 0,
    full: Full = False,
) -> None:
    """Run everything on a small invented corpus, with the small judge that comes with evaljudge.

    It takes about a minute on a laptop and needs neither a GPU nor a download.

    Example: evaljudge demo --out runs/demo
    """
    from evaljudge.commands.demo import run_demo
    from evaljudge.runs.progress import watcher

    _print_outcome(run_demo(out, documents, seed, watcher()), full)


def _print_outcome(outcome: Outcome, full: bool) -> None:
    """What a run came to: a summary, or all that a terminal can show."""
    from evaljudge.report import full_summary, summary
    from evaljudge.sections.figures import percent

    show = full_summary if full else summary
    shown = show(outcome.findings, outcome.out, outcome.first_document)
    print(shown.text, end="", flush=True)
    for warning in shown.warnings:
        print(warning, file=sys.stderr, flush=True)
    print(shown.places, end="", flush=True)
    if outcome.exit_code:
        floor = outcome.findings.coverage_floor
        print(f"coverage {percent(outcome.coverage)} is under the floor of {floor:.1%} "
              "(the report says what was unscored and why)", file=sys.stderr)  # fmt: skip
        raise typer.Exit(outcome.exit_code)


_PANEL = "Judge a corpus"
COMMANDS = {
    "init": Command(command(InitOptions, _init), "Begin", 10),
    "demo": Command(demo, _PANEL, 20),
    "prompts": Command(prompts, _PANEL, 21),
    "plan": Command(plan, _PANEL, 22),
    "run": Command(run, _PANEL, 23),
    "report": Command(report, _PANEL, 24),
    "study": Command(study, _PANEL, 25),
}
