"""Options, declared once: arguments that several commands have, and whole commands.

    show = command(ShowOptions, show_one)      the command, its options and its help
    show_text(ShowOptions("runs/first", "d17", system="A"))       the same in Python

A class has the options as its fields, each with its help, and the command's help as its docstring.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, TypeVar, get_type_hints

import typer

from evaljudge.corpora import known_formats
from evaljudge.probes.commands import Changes, ConfigFile, Resamples, Seed

__all__ = [
    "AsJson", "Briefs", "Changes", "Column", "ConfigFile", "Extend", "Format", "Full", "HumanAxes",
    "InitOptions", "ListOptions", "RatedCases", "Resamples", "RunFolder", "Seed", "ShowOptions",
    "SkipBadRows", "Sources", "ToFile", "ViewOptions", "command",
]  # fmt: skip
T = TypeVar("T")

RunFolder = Annotated[str, typer.Argument(metavar="OUT", help="The output folder or URI of a run.")]
ToFile = Annotated[str, typer.Option(help="The JSONL file to write (a path or URI).")]
Briefs = Annotated[
    str | None,
    typer.Option(
        help="The folder or URI of the run's briefs (what judges prepared of each document), if it "
        "has moved since the run."
    ),
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        help=f"The format of the cases. One of: {', '.join(known_formats())}. `evaljudge list "
        "formats` says more.",
    ),
]
Sources = Annotated[
    str | None,
    typer.Option(
        help="The file or folder of the documents, for a benchmark (summeval, arxiv, govreport) "
        "that does not publish them beside the texts."
    ),
]
Column = Annotated[
    list[str] | None,
    typer.Option(
        metavar="THEIRS=OURS",
        help="What a column of the cases means, such as human=ratings.coherence. May be repeated.",
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


def command(options: type[T], work: Callable[[T], None]) -> Callable[..., None]:
    """A command of typer's that makes the options and does the work, and has its name."""

    def made(**given: Any) -> None:
        work(options(**given))

    hints = get_type_hints(options, include_extras=True)
    parameters = [
        parameter.replace(annotation=_with_help(name, hints[name]))
        for name, parameter in inspect.signature(options).parameters.items()
    ]
    made.__name__, made.__doc__ = work.__name__.lstrip("_"), options.__doc__
    made.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return made


def _with_help(name: str, hint: Any) -> Any:
    """A text beside the type is the help of the option that is called as the field."""
    (said,) = hint.__metadata__
    if not isinstance(said, str):
        return hint
    flag = [f"--{name}"] if hint.__origin__ is bool else []  # and no --no-…
    return Annotated[hint.__origin__, typer.Option(*flag, help=said)]


@dataclass(frozen=True)
class InitOptions:
    """Write a configuration that runs, after a look at the corpus and four questions.

    Options answer the questions, so that nothing is asked.

    Example: evaljudge init --corpus texts.csv --task summary --model nano --judge synthetic
    """

    corpus: Annotated[
        str | None, "The texts to judge: a file, a folder, a glob pattern or a URI."
    ] = None
    task: Annotated[
        str | None, "What the texts are: summary, dialogue, story, or a path to a task file."
    ] = None
    model: Annotated[
        str | None, "The model that judges: a name on the hub, a folder, a URI, or nano."
    ] = None
    judges: Annotated[
        list[str] | None,
        typer.Option(
            "--judge", help="A judge, as `evaljudge list judges` names it. May be repeated."
        ),
    ] = None
    to: Annotated[Path, "The file to write."] = Path("config.yaml")
    out: Annotated[str, "Where the run's files will go."] = "runs/first"
    force: Annotated[bool, "Overwrite the file."] = False


@dataclass(frozen=True)
class ListOptions:
    """List the judges, metrics, corpus formats or tasks that there are, and what each needs.

    Example: evaljudge list metrics
    """

    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[WHAT]",
            show_default=False,
            help="What to list: judges, metrics, formats or tasks. Without it, what each of these "
            "is.",
        ),
    ] = None
    as_json: AsJson = False


@dataclass(frozen=True)
class ShowOptions:
    """Show one text of a run with its scores, human ratings and the evidence of each judge.

    Only finished parts of a run are shown. No model is asked.

    Example: evaljudge show runs/demo/run --doc test-0-0000 --system steady
    """

    out: RunFolder
    doc_id: Annotated[
        str, typer.Option("--doc", help="The document's id, as in the corpus (`doc_id`).")
    ]
    system: Annotated[
        str | None,
        "The system whose text is shown. Without it, the document's systems are listed "
        "with their scores.",
    ] = None
    judge: Annotated[str | None, "Show the scores and the evidence of this judge only."] = None
    axis: Annotated[str | None, "Show this axis only."] = None
    is_full: Annotated[
        bool, typer.Option("--full", help="Show long texts whole, and every scorer.")
    ] = False
    briefs: Briefs = None
    as_json: AsJson = False


@dataclass(frozen=True)
class ViewOptions:
    """Open all texts of a run in the browser: scores, evidence, thresholds, or a sheet to rate.

    The page is served on this machine only, until Ctrl-C. Open the whole link that is printed:
    its token keeps other pages and other users out. No model is asked.

    Example: evaljudge view runs/demo/run
    """

    out: RunFolder
    beside: Annotated[
        str | None,
        typer.Option(
            metavar="OTHER",
            help="Another run: its scores stand beside this one's, on the texts that "
            "both have. Largest differences come first.",
        ),
    ] = None
    label: Annotated[
        str | None,
        typer.Option(
            metavar="SHEET",
            help="Rate the texts of this sheet (.jsonl, from `evaljudge label`) "
            "without seeing systems and scores. The ratings are saved into the sheet.",
        ),
    ] = None
    rater: Annotated[str, "The name of the person who rates, with --label."] = ""
    port: Annotated[
        int,
        typer.Option(
            min=0, max=65535, help="The port on this machine; without it, one that is free."
        ),
    ] = 0
