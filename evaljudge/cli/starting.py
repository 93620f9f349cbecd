"""The command that writes a first configuration."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from evaljudge.errors import UserError


def init(
    corpus: Annotated[str | None, typer.Option(
        help="The texts to judge: a file, a folder, a glob pattern or a URI.")] = None,
    task: Annotated[str | None, typer.Option(
        help="What the texts are: summary, dialogue, story, or a path to a task file.")] = None,
    model: Annotated[str | None, typer.Option(
        help="The model that judges: a name on the hub, a folder, a URI, or nano.")] = None,
    judge: Annotated[list[str] | None, typer.Option(
        help="A judge, as `evaljudge list judges` names it. May be repeated.")] = None,
    to: Annotated[Path, typer.Option(help="The file to write.")] = Path("config.yaml"),
    out: Annotated[str, typer.Option(help="Where the run's files will go.")] = "runs/first",
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file.")] = False,
) -> None:  # fmt: skip
    """Write a configuration that runs, after a look at the corpus and four questions.

    Options answer the questions, so that nothing is asked.

    Example: evaljudge init --corpus texts.csv --task summary --model nano --judge synthetic
    """
    from evaljudge.commands.init import InitOptions
    from evaljudge.commands.init import init as write_configuration

    wanted = InitOptions(corpus, task, model, judge or (), to, out, force)
    made = write_configuration(wanted, _ask if sys.stdin.isatty() else None)
    for warning in made.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    print(made.text, end="")


def _ask(question: str, default: str) -> str:
    try:
        return str(typer.prompt(question, default=default or None, prompt_suffix=" "))
    except typer.Abort:  # Ctrl-D
        print()  # ends the line of the question
        raise UserError("nothing was written") from None
