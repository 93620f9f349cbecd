"""The commands that look at a finished run or at the installation, and ask no model."""

from __future__ import annotations

import json
import sys
import threading
from contextlib import suppress
from typing import Annotated

import typer

from evaljudge.cli.options import AsJson, Briefs, Changes, RunFolder, ToFile
from evaljudge.errors import UserError


def check(
    what: Annotated[str, typer.Argument(
        metavar="CONFIG|OUT", help="A YAML configuration, or a run's output folder or URI.")],
    changes: Changes = None,
    briefs: Briefs = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Check a configuration before an engine is loaded, or check the files of a run.

    A name that ends in .yaml or .yml, and the name of any file, is a configuration. Any other name
    is the folder of a run. Nothing is changed. The exit code is 2 if there is an error or damage.

    Example: evaljudge check runs/demo/run
    """
    from evaljudge.commands.check import check_run
    from evaljudge.commands.check_config import check_config, is_configuration

    if is_configuration(what) and briefs:
        raise UserError("--briefs is for a run's folder: in a configuration, `briefs` says it")
    if changes and not is_configuration(what):
        raise UserError("--set is for a configuration, and a run's folder is checked as it is")
    checked = (
        check_config(what, changes or ()) if is_configuration(what) else check_run(what, briefs)
    )
    print(checked.json if as_json else checked.text, end="", flush=True)
    if checked.exit_code:
        raise typer.Exit(checked.exit_code)


def show(
    run: RunFolder,
    doc: Annotated[str, typer.Option(help="The document's id, as in the corpus (`doc_id`).")],
    system: Annotated[str | None, typer.Option(
        help="The system whose text is shown. Without it, the document's systems are listed with "
        "their scores.")] = None,
    judge: Annotated[str | None, typer.Option(
        help="Show the scores and the evidence of this judge only.")] = None,
    axis: Annotated[str | None, typer.Option(help="Show this axis only.")] = None,
    full: Annotated[bool, typer.Option(
        "--full", help="Show long texts whole, and every scorer.")] = False,
    briefs: Briefs = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show one text of a run with its scores, human ratings and the evidence of each judge.

    Only finished parts of a run are shown. No model is asked.

    Example: evaljudge show runs/demo/run --doc test-0-0000 --system steady
    """
    from evaljudge.commands.show import ShowOptions, show_text

    found = show_text(ShowOptions(run, doc, system, judge, axis, full, briefs))
    print(found.json if as_json else found.text, end="", flush=True)


def view(
    run: RunFolder,
    beside: Annotated[str | None, typer.Option(
        metavar="OTHER", help="Another run: its scores stand beside this one's, on the texts that "
        "both have. Largest differences come first.")] = None,
    label: Annotated[str | None, typer.Option(
        metavar="SHEET", help="Rate the texts of this sheet (.jsonl, from `evaljudge label`) "
        "without seeing systems and scores. The ratings are saved into the sheet.")] = None,
    rater: Annotated[str, typer.Option(
        help="The name of the person who rates, with --label.")] = "",
    port: Annotated[int, typer.Option(
        min=0, max=65535, help="The port on this machine; without it, one that is free.")] = 0,
) -> None:  # fmt: skip
    """Open all texts of a run in the browser: scores, evidence, thresholds, or a sheet to rate.

    The page is served on this machine only, until Ctrl-C. Open the whole link that is printed:
    its token keeps other pages and other users out. No model is asked.

    Example: evaljudge view runs/demo/run
    """
    from evaljudge.commands.view import ViewOptions, viewing

    with viewing(ViewOptions(run, beside, label, rater, port)) as link:
        print(f"page       {link}", flush=True)
        print("           Open the whole link in a browser. Ctrl-C ends it.", flush=True)
        until_interrupted()


def until_interrupted() -> None:
    with suppress(KeyboardInterrupt):
        threading.Event().wait()


def diff(
    a: Annotated[str, typer.Argument(metavar="A", help="The output folder or URI of a run.")],
    b: Annotated[str, typer.Argument(
        metavar="B", help="The output folder or URI of the run that is compared with it.")],
    fail_if_lower: Annotated[list[str] | None, typer.Option(
        metavar="SCORER[.AXIS]", help="End with exit code 4 if this scorer's mean is lower in B "
        "by more than chance explains, corrected for how many are looked at. May be repeated."
        )] = None,
    tolerance: Annotated[float, typer.Option(
        help="By how much a mean may fall before --fail-if-lower counts it as lower.")] = 0.0,
    fail_if: Annotated[list[str] | None, typer.Option(hidden=True)] = None,
    as_json: AsJson = False,
) -> None:  # fmt: skip
    """Show what changed from run A to run B: settings, scores, agreement, selections and cost.

    Example: evaljudge diff runs/old runs/new --fail-if-lower synthetic.relevance --tolerance 0.1
    """
    from evaljudge.commands.diff import compare_runs

    if fail_if:
        raise UserError(
            "--fail-if is gone: `evaljudge diff A B --fail-if-lower SCORER.AXIS --tolerance 0.1` "
            "fails where a mean is lower; all other differences are in --json"
        )
    found = compare_runs(a, b, fail_if_lower or (), tolerance)
    print(found.json if as_json else found.text, end="", flush=True)
    for lower in found.failed:
        print(f"failed: {lower}", file=sys.stderr)
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def references(
    run: RunFolder,
    to: ToFile,
    briefs: Briefs = None,
) -> None:
    """Write the synthetic references of a run to a file, so that another run can use them.

    Synthetic references are texts of known quality that the judge `synthetic` has the model write
    and compares texts with. Another run takes the file by the key judges.synthetic.references.

    Example: evaljudge references runs/demo/run --to references.jsonl
    """
    from evaljudge.runs.references import export_references

    made = export_references(run, to, briefs)
    missing = f"; {made.unscored:,} could not be written by that run" if made.unscored else ""
    print(f"{made.references:,} references of {made.documents:,} documents: {to}{missing}")


def sbom() -> None:
    """List the installed Python packages as a bill of materials (CycloneDX, in JSON).

    Example: evaljudge sbom > sbom.json
    """
    from evaljudge.commands.sbom import bill_of_materials

    print(json.dumps(bill_of_materials(), indent=1))
