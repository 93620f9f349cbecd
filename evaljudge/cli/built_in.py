"""The commands that come with evaljudge: where the work of each is done, and where it is listed."""

import os
import re
from collections.abc import Sequence
from typing import Any

from typer.core import TyperGroup

from evaljudge.commands import options
from evaljudge.commands.options import Command, command
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


KINDS = {"bool": "", "path": "PATH", "str": "TEXT", "int": "NUMBER", "float": "NUMBER"}


class PlainWords:
    """The help of a command without the names of Python's types: `--seed NUMBER`, `CONFIG`."""

    def get_params(self, ctx: Any) -> list[Any]:
        params: list[Any] = super().get_params(ctx)  # type: ignore[misc]
        for each in params:
            kind = re.sub(r"[<>]|list\[|\]| range", "", each.display_type(ctx))
            is_argument = each.param_type_name == "argument"
            said = "" if is_argument else each.metavar or KINDS.get(kind, kind)
            each.display_type_rich = lambda ctx, said=said: said
        return params

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        pieces: list[str] = super().collect_usage_pieces(ctx)  # type: ignore[misc]
        return [re.sub("[{}]", "", piece) for piece in pieces]


class Commands(PlainWords, TyperGroup):
    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """`help run` is `run --help`."""
        asked = [*args[1:], "--help"] if args[:1] == ["help"] else args
        return super().parse_args(ctx, asked)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        _, *groups = ctx.command_path.split()
        refuse_gone(*groups, args[0])
        return super().resolve_command(ctx, args)


_JUDGE, _LOOK, _PEOPLE = "Judge a corpus", "Look at a run", "Compare with people"
_JSON = "Print everything as JSON."
_AGREE = (
    "Print the correlations as JSON. Use --out for the other tables.",
    "Also write the tables to this folder or URI. Files of the same name are replaced.",
)
_CALIBRATE = (
    "Print the calibration as JSON.",
    "Write the calibrated scores and the selections to this folder or URI. Files of the same name "
    "are replaced.",
)


def _entry(panel: str, place: int, declared: type, work: str, *json_and_out: str) -> Command:
    return Command(command(declared, f"commands.{work}", *json_and_out), panel, place)


COMMANDS = {
    "init": _entry("Begin", 10, options.InitOptions, "init:initialised"),
    "demo": _entry("Begin", 9, options.DemoOptions, "run:demo"),
    "prompts": _entry(_JUDGE, 21, options.PromptsOptions, "prompts:prompts_text"),
    "plan": _entry(_JUDGE, 22, options.PlanOptions, "plan:plan_of"),
    "run": _entry(_JUDGE, 23, options.RunOptions, "run:run_config"),
    "report": _entry(_JUDGE, 24, options.ReportOptions, "run:report"),
    "study": _entry(_JUDGE, 25, options.StudyOptions, "run:study"),
    "view": _entry(_LOOK, 30, options.ViewOptions, "view:view"),
    "show": _entry(_LOOK, 31, options.ShowOptions, "show:show_text", _JSON),
    "why": _entry(_LOOK, 32, options.WhyOptions, "why:why", _JSON),
    "check": _entry(_LOOK, 32, options.CheckOptions, "check:checked", _JSON),
    "diff": _entry(_LOOK, 33, options.DiffOptions, "diff:compare_runs", _JSON),
    "export": _entry(_LOOK, 34, options.ExportOptions, "export:exported"),
    "import": _entry(_JUDGE, 26, options.ImportOptions, "export:imported"),
    "label": _entry(_PEOPLE, 40, options.LabelOptions, "label:label_texts"),
    "agree": _entry(_PEOPLE, 41, options.AgreeOptions, "agree:agreed", *_AGREE),
    "calibrate": _entry(_PEOPLE, 42, options.CalibrateOptions, "calibrate:calibrated", *_CALIBRATE),
    "files": _entry("About the installation", 51, options.FilesOptions, "init:copied"),
    "list": _entry("About the installation", 50, options.ListOptions, "listing:listing", _JSON),
}
