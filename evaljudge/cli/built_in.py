"""The commands that come with evaljudge: where the work of each is done, and where it is listed."""

import re
from typing import Any

from typer.core import TyperGroup

from evaljudge.commands import options
from evaljudge.commands.options import Command, command

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
        """`help run` is `run --help`, `judges` is `list judges`, `[list] judges x` is `list x`."""
        first = args[0] if args else ""
        asked = ["--version"] if first in ("version", "-v") else args
        asked = [*args[1:], "--help"] if first == "help" else asked
        words = args[1:] if first == "list" else args
        is_one = any(not word.startswith("-") for word in words[1:])
        is_listed = bool(words) and words[0] in options.WHAT
        return super().parse_args(ctx, ["list", *words[is_one:]] if is_listed else asked)


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
