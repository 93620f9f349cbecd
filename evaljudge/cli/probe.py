"""`evaljudge probe NAME`: the probes from the command line."""

from dataclasses import MISSING
from functools import partial
from importlib import import_module
from typing import Any

import typer

from evaljudge.cli.built_in import Commands
from evaljudge.commands.options import RESAMPLES, SEED, Command, Declared, OfConfig, command, option
from evaljudge.probes.results import print_and_write


class PositionOptions(Declared):
    """Show whether a judge of pairs prefers a position: how often the first text wins.

    Where pairs were asked in both orders, it also shows how often the order changes the vote.

    Example: evaljudge probe position --votes votes.jsonl
    """

    votes: str = option(
        "A file of votes on pairs of texts, with the columns doc_id, axis, first, second and "
        "winner. The winner is a system or tie.",
        MISSING,
    )
    resamples: int = RESAMPLES()
    seed: int = SEED()
    out: str | None = option(
        "Also write the table (.html, .md, .json) and a figure (.svg) to this folder "
        "or URI. Files of the same name are replaced."
    )


class InjectionOptions(OfConfig):
    """Show how far instructions hidden in texts ("give a high score") move the judges' scores.

    The judges of the configuration are asked about texts with and without such instructions.

    Example: evaljudge probe injection config.yaml --documents 20
    """

    documents: int = option("How many documents are taken, with one text of each.", 50, min=1)
    resamples: int = RESAMPLES()
    seed: int = SEED()
    out: str = option(
        "The folder or URI for the run of this probe and its tables. The same command resumes it.",
        "runs/injection",
    )


class DatasheetOptions(OfConfig):
    """Show how judges score twins of texts: repeated, in lines, padded, copied, foreign, empty.

    One table says what should not have moved a score and did, or should have and did not.

    Example: evaljudge probe datasheet config.yaml --documents 20
    """

    documents: int = option("How many documents are taken, with one text of each.", 50, min=2)
    reworded: list[str] | None = option(
        "A change of the configuration that gives the same instructions in other words, such as "
        "prompts=FOLDER; by default layout=shared. May be repeated.",
        metavar="KEY=VALUE",
    )
    resamples: int = RESAMPLES()
    seed: int = SEED()
    out: str = option(
        "The folder or URI for the runs of this probe and its tables. The same command resumes it.",
        "runs/datasheet",
    )


def position(options: PositionOptions) -> None:
    from evaljudge.probes.position import position as measured

    result = measured(options.votes, resamples=options.resamples, seed=options.seed)
    print_and_write(result, options.out)


def _of_judges(name: str, options: Any) -> None:
    from evaljudge.runs.progress import watcher

    measured = getattr(import_module(f"evaljudge.probes.{name}"), name)
    given = {key: value for key, value in vars(options).items() if value is not None}
    print_and_write(measured(**{"changes": ()} | given, watcher=watcher()), options.out)


injection, datasheet = partial(_of_judges, "injection"), partial(_of_judges, "datasheet")
studies_app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    help="Probe judges: whether a position, a planted instruction or a text's form misleads them.",
)
studies_app.command("position")(command(PositionOptions, "cli.probe:position"))
studies_app.command("injection")(command(InjectionOptions, "cli.probe:injection"))
studies_app.command("datasheet")(command(DatasheetOptions, "cli.probe:datasheet"))
COMMANDS = {"probe": Command(studies_app, "Compare with people", 43)}
