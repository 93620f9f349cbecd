"""Commands and options that are gone: each ends with one line that has the new call."""

import os
from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from evaljudge.errors import UserError

SCRIPTS = ("complementarity", "mixes", "ranges", "robustness", "settings", "sizes", "spurious")
"""Once probes, now scripts of the clone."""
GONE = {
    "smoke": "`evaljudge run CONFIG --limit 1` judges one document in a folder of its own and "
    "times each step",
    "prepare": "`evaljudge run CONFIG --until prepare` does this stage alone",
    "judge": "`evaljudge run CONFIG --until judge` does both stages without the report",
    "references": "`evaljudge export RUN references --to FILE` writes them",
    "entities": "`evaljudge export RUN entities --to FILE` writes the questions",
    **{
        f"probe {name}": f"it is a script of the clone now: python -m jobs.papers.{name}"
        for name in SCRIPTS
    },
    "sbom": "`make sbom` lists what is installed",
    "diff --fail-if": "`evaljudge diff A B --fail-if-lower SCORER.AXIS --tolerance 0.1` fails "
    "where a mean is lower; all other differences are in --json",
    "label --threshold": "it went with `--by near-threshold`: `evaljudge label RUN --by random` "
    "draws at random",
    "check --set": "`evaljudge plan CONFIG --set KEY=VALUE` looks for mistakes in a configuration; "
    "`check` looks at the files of a run",
    "check CONFIG": "`evaljudge plan CONFIG` looks for mistakes in a configuration; `check` looks "
    "at the files of a run",
}


def refuse_gone(*words: str) -> None:
    if (name := " ".join(words)) in GONE:
        raise UserError(f"`evaljudge {name}` is gone: {GONE[name]}")


def refuse_gone_options(command: str, arguments: Sequence[str]) -> None:
    for argument in arguments:
        refuse_gone(command, argument.partition("=")[0])
        if command == "check" and (
            argument.endswith((".yaml", ".yml")) or os.path.isfile(argument)
        ):
            refuse_gone("check", "CONFIG")


class Commands(TyperGroup):
    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        _, *groups = ctx.command_path.split()
        refuse_gone(*groups, args[0])
        return super().resolve_command(ctx, args)
