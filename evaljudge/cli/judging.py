"""The commands that judge a corpus, and what a run prints at its end."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import evaljudge
from evaljudge.cli.options import Changes, ConfigFile, Extend

if TYPE_CHECKING:
    from evaljudge.runs.pipeline import Outcome

RARELY = 100_000
"""So many new values before garbage is looked for: a plan makes millions, and leaves no garbage."""


def run(config: ConfigFile, changes: Changes = None, extend: Extend = False) -> None:
    """Everything: briefs, verdicts, scores, report. Rerun it to resume."""
    from evaljudge.runs.progress import watcher

    _print_outcome(evaljudge.run(config, changes or (), extend=extend, watcher=watcher()))


def prepare(config: ConfigFile, changes: Changes = None, extend: Extend = False) -> None:
    """Stage one: what depends on the documents alone (the synthetic references)."""
    from evaljudge.runs.progress import watcher

    out = evaljudge.prepare(config, changes or (), extend=extend, watcher=watcher())
    print(f"briefs are ready: {out}")


def judge(config: ConfigFile, changes: Changes = None) -> None:
    """Stage two: every candidate before every judge."""
    from evaljudge.runs.progress import watcher

    print(f"verdicts are in: {evaljudge.judge(config, changes or (), watcher=watcher())}")


def report(config: ConfigFile, changes: Changes = None) -> None:
    """Scores, agreement and selected files from the verdicts there are; asks nothing."""
    from evaljudge.runs.progress import watcher

    _print_outcome(evaljudge.make_report(config, changes or (), watcher=watcher()))


def plan(
    config: ConfigFile,
    changes: Changes = None,
    throughput: Annotated[
        float | None,
        typer.Option(min=1, help="Tokens a second that one engine gets through: for GPU-hours."),
    ] = None,
) -> None:
    """What a run or a study has left to ask, in asks and tokens; loads no model, writes nothing."""
    from evaljudge.commands.plan import planned_text

    gc.freeze()  # what was imported stays, and need not be looked through
    gc.set_threshold(RARELY)
    print(planned_text(config, changes or (), throughput), end="")


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
    """
    from evaljudge.commands.prompts import PromptsOptions, prompts_text

    print(prompts_text(config, changes or (), PromptsOptions(doc, system, judge, axis)), end="")


def study(config: ConfigFile, changes: Changes = None) -> None:
    """A grid of settings over one corpus, compared in one table. Rerun it to resume."""
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
    out: Annotated[Path, typer.Option(help="Where the demo's files go.")] = Path("runs/demo"),
    documents: Annotated[int, typer.Option(min=2, help="How many to judge texts of.")] = 36,
    seed: Annotated[int, typer.Option(help="Which documents are invented.")] = 0,
) -> None:
    """The whole journey on a small invented corpus, with the judge that comes with evaljudge."""
    from evaljudge.commands.demo import run_demo
    from evaljudge.runs.progress import watcher

    _print_outcome(run_demo(out, documents, seed, watcher()))


def _print_outcome(outcome: Outcome) -> None:
    """What a run came to: coverage first, then agreement, then where things lie."""
    from evaljudge.report import agreement_text, asked_line, floor_line, unscored_text
    from evaljudge.sections.figures import percent

    print(f"coverage   {floor_line(outcome.findings)}")
    print(unscored_text(outcome.findings), end="")
    print(f"asked      {asked_line(outcome.findings)}")
    print(agreement_text(outcome.findings), end="", flush=True)
    for warning in outcome.findings.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for selection in outcome.findings.selections:
        print(f"selected   {selection.selected:,} of {selection.considered:,}: "
              f"{outcome.out}/selected/{selection.name}.jsonl")  # fmt: skip
    print(f"report     {outcome.out}/report/index.html")
    print(f"scores     {outcome.out}/scores/")
    if outcome.exit_code:
        floor = outcome.findings.coverage_floor
        print(f"coverage {percent(outcome.coverage)} is under the floor of {floor:.1%} "
              "(the report says what was unscored and why)", file=sys.stderr)  # fmt: skip
        raise typer.Exit(outcome.exit_code)
