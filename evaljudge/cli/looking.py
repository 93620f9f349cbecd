"""The commands that look at a finished run or at the installation, and ask no model."""

from __future__ import annotations

import os
import sys
import threading
from contextlib import suppress
from typing import Annotated

import typer

from evaljudge.cli.gone import refuse_gone
from evaljudge.commands.options import (
    AsJson,
    Briefs,
    Command,
    DiffOptions,
    ListOptions,
    RunFolder,
    ShowOptions,
    ToFile,
    ViewOptions,
    command,
)


def check(run: RunFolder, briefs: Briefs = None, as_json: AsJson = False) -> None:
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


def _show(options: ShowOptions) -> None:
    from evaljudge.commands.show import show_text

    found = show_text(options)
    print(found.json if options.as_json else found.text, end="", flush=True)


def _view(options: ViewOptions) -> None:
    from evaljudge.commands.view import viewing

    with viewing(options) as link:
        print(f"page       {link}", flush=True)
        print("           Open the whole link in a browser. Ctrl-C ends it.", flush=True)
        until_interrupted()


def _list(options: ListOptions) -> None:
    from evaljudge.commands.listing import list_text

    print(list_text(options.what, options.as_json), end="")


def until_interrupted() -> None:
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


def _diff(options: DiffOptions, as_json: AsJson = False) -> None:
    from evaljudge.commands.diff import compare_runs

    found = compare_runs(options)
    print(found.json if as_json else found.text, end="", flush=True)
    for lower in found.failed:
        print(f"failed: {lower}", file=sys.stderr)
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def export(
    run: RunFolder,
    what: Annotated[str, typer.Argument(
        metavar="WHAT", help="What is written: references, or what a kind of judge exports, such "
        "as entities.")],
    to: ToFile,
    judge: Annotated[str | None, typer.Option(
        help="The judge of this kind, if the run has several. Not for references.")] = None,
    briefs: Briefs = None,
) -> None:  # fmt: skip
    """Write a part of a run to a file: its synthetic references, or the questions for people.

    The `references` are texts of known quality that the judge `synthetic` has the model write;
    another run takes the file by the key judges.synthetic.references. Questions are exported by the
    judge that asked them, and answered by people.

    Example: evaljudge export runs/demo/run references --to references.jsonl
    """
    from evaljudge.commands.export import exported

    print(exported(run, what, to, judge, briefs))


_PANEL = "Look at a run"
COMMANDS = {
    "view": Command(command(ViewOptions, _view), _PANEL, 30),
    "show": Command(command(ShowOptions, _show), _PANEL, 31),
    "check": Command(check, _PANEL, 32),
    "diff": Command(command(DiffOptions, _diff), _PANEL, 33),
    "export": Command(export, _PANEL, 34),
    "list": Command(command(ListOptions, _list), "About the installation", 50),
}
