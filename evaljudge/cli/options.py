"""Arguments and options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

from evaljudge.probes.commands import Changes, Column, ConfigFile, Format, Resamples, Seed, Sources

__all__ = [
    "AsJson",
    "Briefs",
    "Changes",
    "Column",
    "ConfigFile",
    "Extend",
    "Format",
    "Full",
    "HumanAxes",
    "RatedCases",
    "Resamples",
    "RunFolder",
    "Seed",
    "SkipBadRows",
    "Sources",
    "ToFile",
]

RunFolder = Annotated[str, typer.Argument(metavar="OUT", help="The output folder or URI of a run.")]
ToFile = Annotated[str, typer.Option(help="The JSONL file to write (a path or URI).")]
Briefs = Annotated[
    str | None,
    typer.Option(
        help="The folder or URI of the run's briefs (what judges prepared of each document), if it "
        "has moved since the run."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Extend = Annotated[
    bool,
    typer.Option(
        "--extend", help="Add the documents and texts that are new in the corpus to a finished run."
    ),
]
Full = Annotated[bool, typer.Option("--full", help="Print all tables, not only a summary.")]

RatedCases = Annotated[
    str,
    typer.Option(
        help="The cases (documents with the texts of each system) and their human ratings: a file, "
        "a folder, a glob pattern or a URI."
    ),
]
HumanAxes = Annotated[
    list[str] | None,
    typer.Option("--axis", help="Use only this axis of the human ratings. May be repeated."),
]
SkipBadRows = Annotated[
    bool,
    typer.Option(
        "--skip-bad-rows",
        help="Leave out rows of the cases that cannot be read, and count them.",
    ),
]
