"""`evaljudge probe NAME`: the probes from the command line.

    evaljudge probe position --votes votes.jsonl --out studies/

prints a table, and with --out writes it and its figure there: position.md, .json, .svg.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import typer
from typer.core import TyperGroup

from evaljudge.commands.options import CHANGES, NEEDED, RESAMPLES, SEED, ConfigFile, command, option
from evaljudge.errors import UserError
from evaljudge.probes.results import print_and_write

GONE = ("complementarity", "mixes", "ranges", "robustness", "settings", "sizes", "spurious")
"""Once commands, now scripts of the clone."""


class _Probes(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args[0] in GONE:
            raise UserError(
                f"`probe {args[0]}` is a script of the clone now: python -m jobs.papers.{args[0]}"
            )
        return super().resolve_command(ctx, args)


@dataclass(frozen=True)
class PositionOptions:
    """Show whether a judge of pairs prefers a position: how often the first text wins.

    Where pairs were asked in both orders, it also shows how often the order changes the vote.

    Example: evaljudge probe position --votes votes.jsonl
    """

    votes: str = option(
        "A file of votes on pairs of texts, with the columns doc_id, axis, first, second and "
        "winner. The winner is a system or tie.",
        NEEDED,
    )
    resamples: int = option(RESAMPLES, 1000, min=0, max=1_000_000)
    seed: int = option(SEED, 0, min=0)
    out: str | None = option(
        "Also write the table as Markdown and JSON and a figure (.md, .json, .svg) to this folder "
        "or URI. Files of the same name are replaced."
    )


@dataclass(frozen=True)
class InjectionOptions:
    """Show how far instructions hidden in texts ("give a high score") move the judges' scores.

    The judges of the configuration are asked about texts with and without such instructions.

    Example: evaljudge probe injection config.yaml --documents 20
    """

    config: ConfigFile
    changes: list[str] | None = option(CHANGES, None, "--set", metavar="KEY=VALUE")
    documents: int = option("How many documents are taken, with one text of each.", 50, min=1)
    resamples: int = option(RESAMPLES, 1000, min=0, max=1_000_000)
    seed: int = option(SEED, 0, min=0)
    out: str = option(
        "The folder or URI for the run of this probe and its tables. The same command resumes it.",
        "runs/injection",
    )


def _position(options: PositionOptions) -> None:
    from evaljudge.probes.position import position

    result = position(options.votes, resamples=options.resamples, seed=options.seed)
    print_and_write(result, options.out)


def _injection(options: InjectionOptions) -> None:
    from evaljudge.probes.injection import injection
    from evaljudge.runs.progress import watcher

    arguments = {name: value for name, value in vars(options).items() if name != "changes"}
    result = injection(changes=options.changes or (), watcher=watcher(), **arguments)
    print_and_write(result, options.out)


studies_app = typer.Typer(
    cls=_Probes,
    no_args_is_help=True,
    help="Probe judges: whether a position or a planted instruction misleads them.",
)
studies_app.command()(command(PositionOptions, _position))
studies_app.command()(command(InjectionOptions, _injection))
