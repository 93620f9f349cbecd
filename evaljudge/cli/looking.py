"""The commands that look at a finished run or at the installation, and ask no model."""

from __future__ import annotations

import json
import sys
from typing import Annotated

import typer

from evaljudge.cli.options import Briefs, RunFolder, ToFile


def check(
    run: RunFolder,
    briefs: Briefs = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:
    """Whether every file of a run is as it was written, and what to do about one that is not."""
    from evaljudge.commands.check import check_run

    checked = check_run(run, briefs)
    print(checked.json if as_json else checked.text, end="", flush=True)
    if checked.exit_code:
        raise typer.Exit(checked.exit_code)


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="A run's output folder or URI.")],
    b: Annotated[str, typer.Argument(metavar="B", help="The run that is compared with it.")],
    fail_if: Annotated[list[str] | None, typer.Option(
        metavar="CONDITION", help="End with exit code 4 if this holds of B - A: "
        "'relevance.mean < -0.1', 'selected.good.flipped > 0.2'; may be repeated.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print all of it as JSON.")] = False,
) -> None:  # fmt: skip
    """What changed from run A to run B: settings, scores, agreement, selections, cost."""
    from evaljudge.commands.diff import compare_runs

    found = compare_runs(a, b, fail_if or ())
    print(found.json if as_json else found.text, end="", flush=True)
    for condition in found.held:
        print(f"failed: {condition}", file=sys.stderr)
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def references(
    run: RunFolder,
    to: ToFile,
    briefs: Briefs = None,
) -> None:
    """A run's synthetic references as data, for `judges.synthetic.references` of another."""
    from evaljudge.runs.references import export_references

    made = export_references(run, to, briefs)
    missing = f"; {made.unscored:,} could not be written by that run" if made.unscored else ""
    print(f"{made.references:,} references of {made.documents:,} documents: {to}{missing}")


def sbom() -> None:
    """The installed Python packages as a bill of materials: CycloneDX, in JSON."""
    from evaljudge.commands.sbom import bill_of_materials

    print(json.dumps(bill_of_materials(), indent=1))
