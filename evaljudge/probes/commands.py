"""`evaljudge probe NAME`: the probes from the command line.

    evaljudge probe position --votes votes.jsonl --out studies/

prints a table, and with --out writes it and its figure there: position.md, .json, .svg.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

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


studies_app = typer.Typer(
    cls=_Probes,
    no_args_is_help=True,
    help="Probe judges: whether a position or a planted instruction misleads them.",
)
ConfigFile = Annotated[
    str, typer.Argument(metavar="CONFIG", help="The YAML file of the configuration.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the configuration for this "
                 "call, such as judges.synthetic.levels=9. May be repeated."),
]  # fmt: skip
Seed = Annotated[
    int,
    typer.Option(min=0, help="Seed of everything random: the same command with the same seed "
                 "prints the same numbers."),
]  # fmt: skip
Out = Annotated[
    str | None,
    typer.Option(help="Also write the table as Markdown (.md) and JSON (.json) and a figure (.svg) "
                 "to this folder or URI. The files have the name of the probe, followed by the "
                 "axis where there is one. Files of the same name are replaced."),
]  # fmt: skip
Resamples = Annotated[
    int,
    typer.Option(min=0, max=1_000_000, help="How many random resamples each confidence interval "
                 "is computed from. 0 leaves the intervals out."),
]  # fmt: skip
"""At most as many as in a configuration."""


@studies_app.command()
def position(
    votes: Annotated[
        str, typer.Option(help="A file of votes on pairs of texts, with the columns doc_id, axis, "
                     "first, second and winner. The winner is a system or tie.")
    ],
    resamples: Resamples = 1000,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Show whether a judge of pairs prefers a position: how often the first text wins.

    Where pairs were asked in both orders, it also shows how often the order changes the vote.

    Example: evaljudge probe position --votes votes.jsonl
    """
    from evaljudge.probes.position import position as probed

    print_and_write(probed(votes, resamples=resamples, seed=seed), out)


@studies_app.command()
def injection(
    config: ConfigFile, changes: Changes = None,
    documents: Annotated[int, typer.Option(
        min=1, help="How many documents are taken, with one text of each.")] = 50,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    out: Annotated[str, typer.Option(
        help="The folder or URI for the run of this probe and its tables. The same command resumes "
        "it.",
    )] = "runs/injection",
) -> None:  # fmt: skip
    """Show how far instructions hidden in texts ("give a high score") move the judges' scores.

    The judges of the configuration are asked about texts with and without such instructions.

    Example: evaljudge probe injection config.yaml --documents 20
    """
    from evaljudge.probes.injection import injection as probed
    from evaljudge.runs.progress import watcher

    made = probed(
        config, changes or (), documents=documents, resamples=resamples, seed=seed, out=out,
        watcher=watcher(),
    )  # fmt: skip
    print_and_write(made, out)
