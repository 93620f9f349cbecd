"""The commands that bring scores and human ratings together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from evaljudge.commands.options import (
    AgreeOptions,
    CalibrateOptions,
    Command,
    LabelOptions,
    command,
)

if TYPE_CHECKING:
    from evaljudge.commands.agree import Agreed
    from evaljudge.commands.calibrate import CalibratedScores


def _agree(
    options: AgreeOptions,
    out: Annotated[str | None, "Also write the tables to this folder or URI."] = None,
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print the correlations as JSON. Use --out for the other tables."
        ),
    ] = False,
) -> None:
    from evaljudge.commands.agree import Agreed, agreement_of, lacking_line
    from evaljudge.runs.outcome import UNDER_FLOOR

    made = Agreed(agreement_of(options))
    _print_and_write(made, out, as_json)
    if not made.findings.floor_passed:
        print(lacking_line(made.findings), file=sys.stderr)
        raise typer.Exit(UNDER_FLOOR)


def _calibrate(
    options: CalibrateOptions,
    out: Annotated[
        str | None, "Write the calibrated scores and the selections to this folder or URI."
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the calibration as JSON.")] = False,
) -> None:
    from evaljudge.commands.calibrate import calibrated

    _print_and_write(calibrated(options), out, as_json)


def _print_and_write(made: Agreed | CalibratedScores, out: str | None, as_json: bool) -> None:
    from evaljudge.text import one_line

    if out:
        made.write(out)
    for warning in made.warnings if as_json else ():
        print(f"warning: {one_line(warning)}", file=sys.stderr, flush=True)
    print(made.json if as_json else made.text, end="")


def _label(options: LabelOptions) -> None:
    from evaljudge.commands.label import label_texts

    print(label_texts(options).text, end="", flush=True)


_PANEL = "Compare with people"
COMMANDS = {
    "label": Command(command(LabelOptions, _label), _PANEL, 40),
    "agree": Command(command(AgreeOptions, _agree), _PANEL, 41),
    "calibrate": Command(command(CalibrateOptions, _calibrate), _PANEL, 42),
}
