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
    "HumanAxes",
    "RatedCases",
    "Resamples",
    "RunFolder",
    "Seed",
    "SkipBadRows",
    "Sources",
    "ToFile",
]

RunFolder = Annotated[str, typer.Argument(metavar="OUT", help="A run's output folder or URI.")]
ToFile = Annotated[str, typer.Option(help="The JSONL file to write: a path or URI.")]
Briefs = Annotated[
    str | None, typer.Option(help="Where the run keeps its briefs, if not in OUT/briefs.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print everything as JSON.")]
Extend = Annotated[
    bool, typer.Option("--extend", help="Add what is new in the corpus to a finished run.")
]

RatedCases = Annotated[str, typer.Option(help="Cases with human ratings: file, folder or glob.")]
HumanAxes = Annotated[
    list[str] | None, typer.Option("--axis", help="A human axis to look at; may be repeated.")
]
SkipBadRows = Annotated[
    bool, typer.Option("--skip-bad-rows", help="Count bad rows of the cases, and go on.")
]
