"""Options, declared once: arguments that several commands have, and whole commands.

    app.command()(command(LabelOptions, _label))       the command, its options and its help
    label = function(LabelOptions, label_texts)        the same in Python: label("runs/first", …)

A class has the options as its fields, each with its help, and the command's help as its docstring.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import Annotated, Any, Concatenate, ParamSpec, TypeVar, get_type_hints

import typer

from evaljudge.agreement import Correlation
from evaljudge.corpora import known_formats
from evaljudge.errors import naming_arguments
from evaljudge.probes.commands import Changes, ConfigFile, Resamples, Seed
from evaljudge.settings import AnyPath, Paths

__all__ = [
    "AgreeOptions", "AsJson", "Briefs", "CalibrateOptions", "Changes", "Command", "ConfigFile",
    "DiffOptions", "Extend", "Full", "InitOptions", "LabelOptions", "ListOptions", "RatedOptions",
    "RunFolder", "ShowOptions", "ToFile", "ViewOptions", "command", "function",
]  # fmt: skip
P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Names = str | Sequence[str]
_TYPED = {AnyPath: str, AnyPath | None: str | None, Names: list[str] | None}
"""What a terminal has for a type of Python's."""

_SCORES = "A run's folder, or a file of scores by any tool: JSONL, Parquet or CSV. May be repeated."
_RUN = typer.Argument(metavar="OUT", help="The output folder or URI of a run.")
RunFolder = Annotated[str, _RUN]
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


@dataclass(frozen=True)
class Command:
    """A command of the terminal. Its function's docstring is its help, and its arguments are the
    options, as typer has them."""

    run: Callable[..., None]
    panel: str
    """The heading under which `evaljudge --help` lists it."""
    place: int = 100
    """Where it comes in that list: the numbers are compared."""


def command(options: type[T], work: Callable[Concatenate[T, ...], None]) -> Callable[..., None]:
    """A command of typer's that makes the options and does the work, and has its name. What the
    work takes beside them, such as `as_json`, are options of the command alone. Those that a class
    shares with others come after its own."""
    ours, own = inspect.signature(options).parameters, ("cases", "scores", *options.__annotations__)
    _, *others = inspect.signature(work).parameters.values()

    def made(**given: Any) -> None:
        mine = {name: given.pop(name) for name in ours}
        work(options(**{n: value for n, value in mine.items() if value is not None}), **given)

    hints = get_type_hints(work, include_extras=True) | get_type_hints(options, include_extras=True)
    parameters = [
        parameter.replace(
            annotation=_with_help(parameter.name, hints[parameter.name]),
            default=None if parameter.default == () else parameter.default,
            kind=inspect.Parameter.KEYWORD_ONLY,
        )
        for parameter in (*sorted(ours.values(), key=lambda p: p.name not in own), *others)
    ]
    made.__name__, made.__doc__ = work.__name__.lstrip("_"), options.__doc__
    made.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return made


def _with_help(name: str, hint: Any) -> Any:
    """A text beside the type is the help of the option that is called as the field."""
    said, *typed = hint.__metadata__
    if isinstance(said, str):
        flag = [f"--{name.replace('_', '-')}"] if hint.__origin__ is bool else []  # and no --no-…
        said = typer.Option(*flag, help=said)
    return Annotated[typed[0] if typed else _TYPED.get(hint.__origin__, hint.__origin__), said]


def function(options: Callable[P, T], work: Callable[[T], R]) -> Callable[P, R]:
    """The command as a function of Python, whose messages name its arguments."""

    def made(*given: P.args, **named: P.kwargs) -> R:
        return work(options(*given, **named))

    made.__name__ = options.__name__.removesuffix("Options").lower()
    made.__doc__ = options.__doc__
    hints, signature = get_type_hints(options), inspect.signature(options)
    plain = [p.replace(annotation=hints[p.name]) for p in signature.parameters.values()]
    made.__signature__ = inspect.Signature(plain)  # type: ignore[attr-defined]
    return naming_arguments(made)


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


@dataclass(frozen=True)
class DiffOptions:
    """Show what changed from run A to run B: settings, scores, agreement, selections and cost.

    Example: evaljudge diff runs/old runs/new --fail-if-lower synthetic.relevance --tolerance 0.1
    """

    a: Annotated[AnyPath, typer.Argument(metavar="A", help="The output folder or URI of a run.")]
    b: Annotated[
        AnyPath,
        typer.Argument(
            metavar="B", help="The output folder or URI of the run that is compared with it."
        ),
    ]
    _: KW_ONLY
    fail_if_lower: Annotated[
        Names,
        typer.Option(
            metavar="SCORER[.AXIS]",
            help="End with exit code 4 if this scorer's mean is lower in B by more than chance "
            "explains, corrected for how many are looked at. May be repeated.",
        ),
    ] = ()
    tolerance: Annotated[
        float, "By how much a mean may fall before --fail-if-lower counts it as lower."
    ] = 0.0


@dataclass(frozen=True)
class LabelOptions:
    """Draw texts of a run and write a sheet for people to rate, without systems and scores.

    The key of the sheet stays in the run's folder. Filled sheets come back by the key `ratings` of
    the configuration.

    Example: evaljudge label runs/demo/run --to sheet.csv --n 100
    """

    run: Annotated[AnyPath, _RUN]
    to: Annotated[AnyPath, "The sheet to write: a path or URI that ends in .csv or .jsonl."]
    _: KW_ONLY
    n: Annotated[int, "How many texts to draw."] = 200
    by: Annotated[
        str,
        "How texts are drawn: at random (random), evenly over the scores (stratified), or more "
        "where the judge is in doubt (doubt).",
    ] = "random"
    axis: Annotated[
        Names, "An axis to rate. May be repeated. Without it, all axes of the run are rated."
    ] = ()
    scorer: Annotated[str | None, "The scorer whose scores are used by `--by stratified`."] = None
    seed: Seed = 0


@dataclass(frozen=True)
class RatedOptions:
    """What is said of cases that people rated, and of scores beside them."""

    cases: Annotated[
        Paths,
        typer.Option(
            help="The cases (documents with the texts of each system) and their human ratings: a "
            "file, a folder, a glob pattern or a URI."
        ),
        str,
    ]
    scores: Annotated[
        Paths,
        _SCORES,
        list[str],
    ]
    _: KW_ONLY
    axis: Annotated[Names, "Use only this axis of the human ratings. May be repeated."] = ()
    format: Annotated[
        str,
        f"The format of the cases. One of: {', '.join(known_formats())}. `evaljudge list "
        "formats` says more.",
    ] = "generic"
    sources: Annotated[
        AnyPath | None,
        "The file or folder of the documents, for a benchmark (summeval, arxiv, govreport) that "
        "does not publish them beside the texts.",
    ] = None
    column: Annotated[
        Mapping[str, str] | Sequence[str] | None,
        typer.Option(
            metavar="THEIRS=OURS",
            help="What a column of the cases means, such as human=ratings.coherence. May be "
            "repeated.",
        ),
        list[str] | None,
    ] = None
    skip_bad_rows: Annotated[
        bool, "Leave out rows of the cases that cannot be read, and count them."
    ] = False
    resamples: Resamples = 1000
    seed: Seed = 0


@dataclass(frozen=True)
class AgreeOptions(RatedOptions):
    """Measure how well scores and metrics agree with human ratings, and people with each other.

    The scores may come from any tool. The exit code is 3 if too many of them are missing.

    Example: evaljudge agree --cases cases.jsonl --scores scores.jsonl --metrics rouge1
    """

    scores: Annotated[Paths, _SCORES, list[str] | None] = ()
    _: KW_ONLY
    metrics: Annotated[
        str | Sequence[str] | Mapping[str, Mapping[str, Any]],
        typer.Option(
            help="Metrics to compute: names such as importance,rouge1, or names with settings such "
            "as {rouge1: {against: best}}."
        ),
        str | None,
    ] = ()
    mix: Annotated[
        Names,
        "A weighted sum of scorers as one scorer, such as importance+rouge1 or "
        "0.2*direct+chrf. May be repeated.",
    ] = ()
    coefficient: Annotated[
        Correlation,
        "The coefficient by which scorers are compared with each other: spearman, kendall or "
        "pearson.",
        str,
    ] = "spearman"
    resample: Annotated[str | None, typer.Option(hidden=True)] = None
    permutations: Annotated[int | None, typer.Option(hidden=True)] = None
    alt_test_epsilon: Annotated[
        float,
        "By how much the judge may be less often the closer one, and still replace a rater (the "
        "epsilon of the alternative annotator test).",
    ] = 0.1
    coverage_floor: Annotated[
        float,
        typer.Option(
            min=0,
            max=1,
            help="The share of scores that must be there. With less, the exit code is 3.",
        ),
    ] = 0.95


@dataclass(frozen=True)
class CalibrateOptions(RatedOptions):
    """Map scores to the scale of human ratings, and find thresholds that select good texts.

    Example: evaljudge calibrate --cases cases.jsonl --scores scores.jsonl --good 4 --precision 0.9
    """

    _: KW_ONLY
    scorer: Annotated[Names, "Calibrate only this scorer. May be repeated."] = ()
    good: Annotated[float | None, "A text is good if people rate it so high, or higher."] = None
    precision: Annotated[
        float | None,
        "The share of good texts that a selection shall have, such as 0.9. Needs --good.",
    ] = None
    confidence: Annotated[
        float | None,
        "Select only if the precision is certified for new documents with this confidence, such as "
        "0.95.",
    ] = None
    folds: Annotated[
        int,
        "Into how many parts the documents are split. The scores of each part are calibrated with "
        "the ratings of the others.",
    ] = 5
