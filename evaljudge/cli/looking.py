"""The commands that ask no model: those that look at a finished run or at the installation, and
those that bring scores and human ratings together."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from evaljudge.cli.gone import refuse_gone
from evaljudge.commands import options as declared
from evaljudge.commands.options import Command, command

if TYPE_CHECKING:
    from evaljudge.commands.agree import Agreed
    from evaljudge.commands.calibrate import CalibratedScores


def check(
    run: declared.RunFolder, briefs: declared.Briefs = None, as_json: declared.AsJson = False
) -> None:
    """Check the files of a run. Nothing is changed, and the exit code is 2 if there is damage.

    The mistakes of a configuration are looked for by `evaljudge plan`.

    Example: evaljudge check runs/demo/run
    """
    from evaljudge.commands.check import check_run

    if run.endswith((".yaml", ".yml")) or os.path.isfile(run):
        refuse_gone("check", "CONFIG")
    checked = check_run(run, briefs)
    print(checked.json if as_json else checked.text, end="", flush=True)
    if checked.exit_code:
        raise typer.Exit(checked.exit_code)


def _show(options: declared.ShowOptions) -> None:
    from evaljudge.commands.show import show_text

    shown = show_text(options)
    print(shown.json if options.as_json else shown.text, end="", flush=True)


def _view(options: declared.ViewOptions) -> None:
    from evaljudge.commands.view import viewing

    with viewing(options) as link:
        print(f"page       {link}", flush=True)
        print("           Open the whole link in a browser. Ctrl-C ends it.", flush=True)
        with suppress(KeyboardInterrupt):
            threading.Event().wait()


def _list(options: declared.ListOptions) -> None:
    from evaljudge.commands.listing import list_text

    print(list_text(options.what, options.as_json), end="")


def _diff(options: declared.DiffOptions, as_json: declared.AsJson = False) -> None:
    from evaljudge.commands.diff import compare_runs

    differences = compare_runs(options)
    print(differences.json if as_json else differences.text, end="", flush=True)
    for lower in differences.failed:
        print(f"failed: {lower}", file=sys.stderr)
    if differences.exit_code:
        raise typer.Exit(differences.exit_code)


def _export(options: declared.ExportOptions) -> None:
    from evaljudge.commands.export import exported

    print(exported(**vars(options)))


def _agree(
    options: declared.AgreeOptions,
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
    options: declared.CalibrateOptions,
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


def _label(options: declared.LabelOptions) -> None:
    from evaljudge.commands.label import label_texts

    print(label_texts(options).text, end="", flush=True)


_PANEL = "Look at a run"
COMMANDS = {
    "view": Command(command(declared.ViewOptions, _view), _PANEL, 30),
    "show": Command(command(declared.ShowOptions, _show), _PANEL, 31),
    "check": Command(check, _PANEL, 32),
    "diff": Command(command(declared.DiffOptions, _diff), _PANEL, 33),
    "export": Command(command(declared.ExportOptions, _export), _PANEL, 34),
    "label": Command(command(declared.LabelOptions, _label), "Compare with people", 40),
    "agree": Command(command(declared.AgreeOptions, _agree), "Compare with people", 41),
    "calibrate": Command(command(declared.CalibrateOptions, _calibrate), "Compare with people", 42),
    "list": Command(command(declared.ListOptions, _list), "About the installation", 50),
}
