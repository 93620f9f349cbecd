"""Options, declared once: a class has the options as its fields, each with its help, and the
command's help as its docstring.

    command(LabelOptions, "label:label_texts")     the command, which prints what it found
    label = function(LabelOptions, label_texts)    the same in Python: label("runs/first", …)
"""

import inspect
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import KW_ONLY, MISSING, dataclass, field, fields
from functools import partial
from html import escape
from importlib import import_module
from numbers import Integral
from pathlib import Path
from typing import (
    Annotated,
    Any,
    Literal,
    ParamSpec,
    TypeVar,
    cast,
    dataclass_transform,
    get_type_hints,
)

import typer
from pydantic import Field, create_model

from evaljudge.agreement import Correlation
from evaljudge.corpora import known_formats
from evaljudge.errors import UserError, naming_arguments
from evaljudge.runs.json_lines import say
from evaljudge.sections import Table
from evaljudge.sections.figures import html_table
from evaljudge.settings import AnyPath, Settings, read_settings
from evaljudge.text import one_line

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")
Names = str | Sequence[str]
Given = str | Mapping[str, Any]  # a configuration's file, or what would be in it
_TYPED = {Given: str, AnyPath: str, AnyPath | None: str | None, Names: list[str] | None}
"""What a terminal has for a type of Python's."""


def option(said: str, default: Any = None, *flags: str, typed: Any = None, **more: Any) -> Any:
    """A field whose help this is; MISSING: no default. `flags`: its names, if it is not called
    as the field; `typed`: what a terminal has for its type; `more`: as typer.Option has it."""
    how = {"typed": typed, "flags": flags, "more": {"help": said} | more}
    return field(default=default, metadata=how)


_RUN = typer.Argument(metavar="OUT", help="The output folder or URI of a run.")
RunFolder = Annotated[str, _RUN]
_CONFIG = typer.Argument(metavar="CONFIG", help="A configuration's YAML file, or a run's folder.")
BRIEFS = partial(option, "The folder or URI of the run's briefs, if it has moved since the run.")
SEED = partial(option, "Seed of everything random: one seed gives the same numbers.", 0, min=0)
RESAMPLES = partial(
    option, "Random resamples for each interval; 0: no intervals.", 1000, min=0, max=1_000_000
)
Columns = Mapping[str, str] | Sequence[str] | None
COLUMN = partial(
    option,
    "What a column of the texts means, such as human=ratings.coherence. May be repeated.",
    None,
    "--column",
    metavar="THEIRS=OURS",
    typed=list[str] | None,
)
FULL = partial(option, "Print all tables, not only the closing lines.", False)


@dataclass(frozen=True)
class Command:
    """A command of the terminal. Its function's docstring is its help, and its arguments are the
    options, as typer has them."""

    run: Callable[..., None]
    panel: str  # the heading under which `evaljudge --help` lists it
    place: int = 100  # where it comes in that list: the numbers are compared


class Shown:
    """What a command found. Python shows it as the command prints it; `complaints` follow on the
    standard error."""

    @property
    def text(self) -> str:
        raise NotImplementedError

    @property
    def exit_code(self) -> int:
        return 0

    @property
    def complaints(self) -> Sequence[str]:
        return ()

    def _blocks(self) -> Iterable[str | Table]:
        return [self.text]

    def __repr__(self) -> str:
        return self.text.rstrip("\n")

    def _repr_html_(self) -> str:
        return "".join(
            f"<p>{escape(b.title)}</p>{html_table(b.heads, [map(str, row) for row in b.rows])}"
            if isinstance(b, Table)
            else f"<pre>{escape(b)}</pre>"
            for b in self._blocks()
            if b
        )


def command(options: type[Any], work: str, json: str = "", out: str = "") -> Callable[..., None]:
    """A command of typer's that makes the options, does the work and prints what that gives.
    `work`: where its function is in evaljudge. `json` and `out`: the help of two options of the
    terminal alone. Those that a class shares with others come after its own."""
    hints = get_type_hints(options, include_extras=True)
    declared = {each.name: each.metadata for each in fields(options)}
    own = {"config", "changes", "run", "cases", "scores", *options.__annotations__}

    def made(**given: Any) -> None:
        is_json, place = given.pop("as_json", False), given.pop("to_folder", None)
        module, _, name = work.partition(":")
        do = getattr(import_module(f"evaljudge.{module}"), name)
        found = do(options(**{name: v for name, v in given.items() if v is not None}))
        if place:
            found.write(place)
        if found is not None:
            _print(found, is_json)

    parameters = [
        parameter.replace(
            annotation=_typed(parameter.name, hints[parameter.name], declared[parameter.name]),
            default=None if parameter.default == () else parameter.default,
            kind=inspect.Parameter.KEYWORD_ONLY,
        )
        for parameter in inspect.signature(options).parameters.values()
    ]
    parameters.sort(key=lambda parameter: parameter.name not in own)
    beside = {
        "to_folder": (str | None, None, "--out", out),
        "as_json": (bool, False, "--json", json),
    }
    parameters += [
        parameters[0].replace(
            name=name, default=default, annotation=Annotated[typed, typer.Option(flag, help=said)]
        )
        for name, (typed, default, flag, said) in beside.items()
        if said
    ]
    made.__doc__, made.__annotations__ = options.__doc__, {p.name: p.annotation for p in parameters}
    made.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return made


def _typed(name: str, hint: Any, how: Mapping[str, Any]) -> Any:
    if not how:  # an argument, which has typer's own
        return Annotated[_TYPED.get(hint.__origin__, hint.__origin__), *hint.__metadata__]
    no_other = [f"--{name.replace('_', '-')}"] if hint is bool else []  # and no --no-…
    kind = how["typed"] or _TYPED.get(hint, hint)
    return Annotated[kind, typer.Option(*(how["flags"] or no_other), **how["more"])]


def _print(found: Any, is_json: bool) -> None:
    """A text, or a `Shown`. Its text has its warnings; beside JSON they go to stderr."""
    if isinstance(found, str):
        say(found)
        return
    for warning in getattr(found, "warnings", ()) if is_json else ():
        say(f"warning: {one_line(warning)}\n", sys.stderr)
    say(found.json if is_json else found.text)
    for complaint in found.complaints:
        say(f"{complaint}\n", sys.stderr)
    if found.exit_code:
        raise typer.Exit(found.exit_code)


def _checks(name: str, options: Any, hints: Mapping[str, Any]) -> type[Settings]:
    """The options as settings, whose types and limits are then checked as those of others."""
    kinds = dict[str, Any]()
    for each in fields(options):
        more = each.metadata.get("more", {})
        limited = Field(... if each.default is MISSING else each.default,
                        ge=more.get("min"), le=more.get("max"))  # fmt: skip
        is_path = hints[each.name] in (AnyPath, AnyPath | None)
        kinds[each.name] = (Any if is_path else hints[each.name], limited)
    return create_model(name, __base__=Settings, **kinds)


def _given(value: Any, hint: Any) -> Any:
    """Names may be in anything that yields them, and an id may be a number, as in a data frame."""
    if hint in (Names, Columns) and isinstance(value, Iterable):
        return value if isinstance(value, str | Sequence | Mapping) else list(value)
    is_number = hint in (str, str | None) and isinstance(value, Integral)
    return str(value) if is_number else value


_IN_PYTHON: Mapping[str, Any] = {
    r"\n*Example: evaljudge .*": "",
    r"May be repeated": "Several are a list",
    r"End with exit code (\d) if": r"The `exit_code` is \1 if",
    r"exit code is": "`exit_code` is",
    r"place of OUT": "place of `run`",
    r"--([a-z-]+)": lambda option: option[1].replace("-", "_"),
}


def _explained(options: Any) -> str:
    """The help, and a line for each argument with that of its option, in the words of Python."""
    hints, lines = get_type_hints(options, include_extras=True), [f"{inspect.getdoc(options)}\n"]
    for each in fields(options):
        how = each.metadata.get("more") or vars(hints[each.name].__metadata__[0])
        lines.append(f"{each.name}: {how['help']}")
    said = "\n".join(lines)
    for words, instead in _IN_PYTHON.items():
        said = re.sub(words, instead, said)
    return said


def function(options: Callable[P, T], work: Callable[[T], R]) -> Callable[P, R]:
    """The command as a function of Python, whose messages name its arguments."""

    name = options.__name__.removesuffix("Options").lower()
    hints, signature = get_type_hints(options), inspect.signature(options)
    checks, make = _checks(name, options, hints), cast(Callable[..., T], options)

    def made(*arguments: P.args, **named: P.kwargs) -> R:
        known = {key: value for key, value in named.items() if key in signature.parameters}
        try:
            given = named | signature.bind_partial(*arguments, **known).arguments
        except TypeError as error:
            raise UserError(f"{name}: {error}") from None
        given = {key: _given(value, hints.get(key)) for key, value in given.items()}
        checked = read_settings(checks, given, name)
        found = work(make(**{key: getattr(checked, key) for key in given}))
        return cast(R, found.rstrip()) if isinstance(found, str) else found

    made.__name__ = name
    made.__doc__ = _explained(options)
    plain = [p.replace(annotation=hints[p.name]) for p in signature.parameters.values()]
    gives = get_type_hints(work)["return"]
    made.__signature__ = inspect.Signature(plain, return_annotation=gives)  # type: ignore[attr-defined]
    return naming_arguments(made)


@dataclass_transform(frozen_default=True)
class Declared:
    """The base of those below, each a frozen dataclass."""

    def __init_subclass__(cls) -> None:
        dataclass(frozen=True)(cls)


class OfConfig(Declared):
    config: Annotated[Given, _CONFIG]
    changes: list[str] | None = option(
        "Change a key of the configuration for this call, such as judges.synthetic.levels=9. May "
        "be repeated.",
        None,
        "--set",
        metavar="KEY=VALUE",
    )


class InitOptions(Declared):
    """Write a configuration that runs, after a look at the corpus and four questions.

    Options answer the questions, so that nothing is asked.

    Example: evaljudge init --corpus texts.csv --task summary --model nano --judge synthetic
    """

    corpus: str | None = option("The texts to judge: a file, a folder, a glob pattern or a URI.")
    task: str | None = option("Their kind: summary, dialogue, story, or a path to a task file.")
    model: str | None = option(
        "The judging model: a hub name, a folder, a URI, nano, or none for metrics alone."
    )
    judges: list[str] | None = option(
        "A judge, as `evaljudge list judges` names it. May be repeated.", None, "--judge"
    )
    columns: Columns = COLUMN()
    to: Path = option("The file to write.", Path("config.yaml"))
    out: str = option("Where the run's files will go.", "runs/first")
    force: bool = option("Overwrite the file.", False)


class RunOptions(OfConfig):
    """Judge a corpus and write the report. Run it again to resume.

    The judges first prepare what they need of each document, such as references to compare with,
    then judge every text. Scores, the agreement with people and the report follow (see `report`).
    What is finished is not asked again.

    Example: evaljudge run config.yaml --set out=runs/second
    """

    extend: bool = option("Add what is new in the corpus to a finished run.", False)
    full: bool = FULL()
    until: Literal["prepare", "judge"] | None = option(
        "Stop after this stage: `prepare` is what judges need of each document before they see a "
        "text, `judge` the verdicts. Without --until, scores and the report follow."
    )
    limit: int | None = option(
        "Judge only so many documents, in OUT-first-N beside `out`, and time each step.", min=1
    )


class ReportOptions(OfConfig):
    """Write the scores, the report and the selected texts again, without asking a model.

    Use it after a change of settings that ask nothing, such as `select` or `metrics`.

    Example: evaljudge report config.yaml
    """

    full: bool = FULL()


class StudyOptions(OfConfig):
    """Run every combination of the settings under `study` and compare them in one table.

    Run it again to resume.

    Example: evaljudge study config.yaml
    """

    full: bool = FULL()


class PlanOptions(OfConfig):
    """List the mistakes of a configuration, and count what a run or a study still has to ask.

    A mistake may hide others. No model is loaded and nothing is written. The exit code is 2 if
    there is an error.

    Example: evaljudge plan config.yaml --throughput 20000
    """

    throughput: float | None = option(
        "The tokens that an engine processes in a second; the plan then states the hours.", min=1
    )
    throughput_of: str | None = option("Take the rate that an earlier run reached.", metavar="OUT")
    gpu: str | None = option("A card, such as l4: compute whether the model fits.", metavar="CARD")


class PromptsOptions(OfConfig):
    """Print what the judges would ask the model about one document, before any run.

    Of every kind of question the first one is printed, with the number of times that it is asked.
    No engine is loaded. Text that the model would write during the run is a placeholder.

    Example: evaljudge prompts config.yaml --doc d17 --judge synthetic --axis fluency
    """

    doc_id: str | None = option("The document's `doc_id`. The default is the first.", None, "--doc")
    system: str | None = option("Only the questions about this system's text.")
    judge: str | None = option("Only the questions of this judge.")
    axis: str | None = option("Only the questions about this axis.")


class DemoOptions(Declared):
    """Run everything on a small invented corpus, with the small judge that comes with evaljudge.

    It takes some minutes on a laptop, and needs neither a GPU nor a download.

    Example: evaljudge demo --out runs/demo
    """

    out: Path = option("The folder that the demo writes into.", Path("runs/demo"))
    documents: int = option("How many documents to invent.", 36, min=2)
    seed: int = option("Seed of the invented documents: another one gives other documents.", 0)
    full: bool = FULL()


class FilesOptions(Declared):
    """Copy from the installed package what a cluster is made with, for people without a clone.

    These are cluster.yaml for Ray on AWS, manifests for Kubernetes, the Dockerfile of images, job
    scripts, the documentation, and the package itself. The commands of docs/cluster.md work there.

    Example: evaljudge files cluster my-cluster
    """

    what: Annotated[
        Literal["cluster"],
        typer.Argument(metavar="WHAT", help="What is copied: cluster is all that there is."),
    ]
    to: Annotated[Path, typer.Argument(metavar="DIR", help="The folder to make.")]


WHAT = {
    "judges": "Methods that ask a model about a text; `judges` in a configuration names them.",
    "metrics": "Scorers that ask no model; `metrics` in a configuration names them.",
    "formats": "Forms of corpora that are read; `corpus: {format: NAME, path: FILE}` names one.",
    "tasks": "Kinds of texts with their axes; `task` in a configuration names one, or a file.",
    "analyses": "Questions that each report answers, if there is anything to answer.",
    "settings": "Keys of a configuration, with their types and defaults.",
}


class ListOptions(Declared):
    """List the judges, metrics, corpus formats, tasks, analyses or settings that there are.

    Of one judge or metric, its settings and scorers are listed; of a setting, what it means.

    Example: evaljudge list metrics
    """

    what: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT",
            show_default=False,
            help=f"One of {', '.join(WHAT)}; or the name of a judge, a metric or a setting.",
        ),
    ] = None


class CheckOptions(Declared):
    """Check the files of a run. Nothing is changed, and the exit code is 2 if there is damage.

    The mistakes of a configuration are looked for by `evaljudge plan`.

    Example: evaljudge check runs/demo/run
    """

    run: Annotated[AnyPath, _RUN]
    _: KW_ONLY
    quick: bool = option("Only say how far the run is: read no file of its shards.", False)
    briefs: AnyPath | None = BRIEFS()


class ShowOptions(Declared):
    """Show one text of a run with its scores, human ratings and the evidence of each judge.

    Only finished parts of a run are shown. No model is asked.

    Example: evaljudge show runs/demo/run --doc test-0-0000 --system steady
    """

    run: Annotated[AnyPath, _RUN]
    doc_id: str | None = option(
        "The document's id, as in the corpus (`doc_id`). Without it, the first texts are listed.",
        None,
        "--doc",
    )
    system: str | None = option(
        "Show this system's text and its evidence. Without it, all systems stand with their scores."
    )
    judge: str | None = option("Show the scores and the evidence of this judge only.")
    axis: str | None = option("Show this axis only.")
    full: bool = option("Show long texts whole, and every scorer.", False)
    briefs: AnyPath | None = BRIEFS()


class WhyOptions(Declared):
    """Have the model write what in a text accounts for its score: for one text, or the worst n.

    It is written after the score, by the model that judged, and changes nothing. The run keeps it,
    so it is written once; `evaljudge show` and `evaljudge view` show it with the text.

    Example: evaljudge why runs/first --doc test-0-0000 --system novice --axis fluency
    """

    run: Annotated[AnyPath, _RUN]
    doc_id: str | None = option("The document's id, as in the corpus (`doc_id`).", None, "--doc")
    system: str | None = option("The system that wrote the text.")
    worst: int | None = option("How many of the worst scores of the run to take.", min=1)
    scorer: str | None = option("A scorer of a judge; by default the first judge's first.")
    axis: str | None = option("Take this axis only.")


class ExportOptions(Declared):
    """Write a part of a run to a file: scores, verdicts, references, or what is left to ask.

    The tables of `scores` and `verdicts` are for other tools: the ending of the file says whether
    it is Parquet, JSONL or CSV (which leaves out columns that hold several values). `csv` has a row
    for each text, for a spreadsheet; `eee` writes records of Every Eval Ever to a folder.

    The `references` are texts of known quality that the judge `synthetic` has the model write;
    another run takes the file by the key judges.synthetic.references. `entities` has the questions
    of the judge `entities`, for people to answer.

    What is left to ask of a model (`asks`) is a batch file; `evaljudge import` takes replies.
    In place of OUT, the configuration of a run that is not begun will do.

    Example: evaljudge export runs/demo/run references --to references.jsonl
    """

    run: Annotated[AnyPath, _RUN]
    what: Annotated[
        str,
        typer.Argument(
            metavar="WHAT",
            help="One of scores, verdicts, csv, eee, references, asks; or what a kind of judge "
            "exports (entities).",
        ),
    ]
    to: AnyPath = option(
        "The file to write (a path or URI); of `eee` the folder. What is no table is JSONL.",
        MISSING,
        "--to",
        "--out",
    )
    _: KW_ONLY
    beside: AnyPath | None = option("Of `csv`: your own table, to add scores to.", metavar="TABLE")
    judge: str | None = option("Of `verdicts` and `entities`: the judge, if the run has several.")
    briefs: AnyPath | None = BRIEFS()
    samples: int = option(
        "Of `asks`: how many answers are drawn, where a provider shows no log-probabilities.",
        0,
        min=0,
    )
    force: bool = option("Replace files that are there already.", False)


class ImportOptions(Declared):
    """Take the replies to a batch file that `evaljudge export OUT asks` wrote.

    Each is checked to belong to what was asked. Then export again: what is asked next depends on
    the replies. When all is there, `evaljudge report` scores the run.

    Example: evaljudge import runs/first replies.jsonl
    """

    run: RunFolder
    replies: Annotated[
        list[str], typer.Argument(metavar="REPLIES", help="The files that the provider gave.")
    ]


class ViewOptions(Declared):
    """Open all texts of a run in the browser: scores, evidence, thresholds, or a sheet to rate.

    The page is served on this machine only, until Ctrl-C. Open the whole link that is printed:
    its token keeps other pages and other users out. No model is asked.

    Example: evaljudge view runs/demo/run
    """

    out: RunFolder
    beside: Names = option(
        "Another run, whose scores stand beside, the largest differences first. Repeated: the "
        "means of all these runs are shown as a trend.",
        (),
        metavar="OTHER",
    )
    label: str | None = option(
        "A sheet of `evaljudge label` (.jsonl), which is then filled in.", metavar="SHEET"
    )
    rater: str = option("The name of the person who rates, with --label.", "")
    port: int = option("The port on this machine; 0: one that is free.", 0, min=0, max=65535)


class DiffOptions(Declared):
    """Show what changed from run A to run B: settings, scores, agreement, selections and cost.

    Example: evaljudge diff runs/old runs/new --fail-if-lower synthetic.relevance --tolerance 0.1
    """

    a: Annotated[AnyPath, typer.Argument(metavar="A", help="The output folder or URI of a run.")]
    b: Annotated[AnyPath, typer.Argument(metavar="B", help="The run that is compared with it.")]
    _: KW_ONLY
    fail_if_lower: Names = option(
        "End with exit code 4 if this mean is lower in B by more than chance. May be repeated.",
        (),
        metavar="SCORER[.AXIS]",
    )
    tolerance: float = option("By how much a mean may fall before it counts as lower.", 0.0)
    markdown: bool = option("Print Markdown, for the text of a pull request.", False)


class LabelOptions(Declared):
    """Draw texts of a run and write a sheet for people to rate, without systems and scores.

    The key of the sheet stays in the run's folder. Filled sheets come back by the key `ratings` of
    the configuration.

    Example: evaljudge label runs/demo/run --to sheet.csv --n 100
    """

    run: Annotated[AnyPath, _RUN]
    to: AnyPath = option("The sheet to write: a path or URI that ends in .csv or .jsonl.", MISSING)
    _: KW_ONLY
    form: Literal["label-studio"] | None = option(
        "Write tasks for Label Studio (.json), and its labeling interface (.xml) beside them.",
        None,
        "--as",
        metavar="label-studio",
    )
    n: int = option("How many texts to draw.", 200, min=1)
    by: Literal["random", "stratified", "doubt"] = option(
        "How texts are drawn: at random (random), evenly over the scores (stratified), or more "
        "where the judge is in doubt (doubt).",
        "random",
    )
    axis: Names = option("An axis to rate, else all axes of the run. May be repeated.", ())
    scorer: str | None = option("The scorer whose scores are used by `--by stratified`.")
    seed: int = SEED()


class RatedOptions(Declared):
    """What is said of cases that people rated, and of scores beside them. In Python, rows in
    memory will do for both (dicts, an Arrow table, a data frame)."""

    cases: Any = option(
        "The cases (documents with each system's text) and their human ratings: a path or a URI.",
        typed=str | None,
    )
    scores: Any = option(
        "A run's folder, or a file of scores by any tool (JSONL, Parquet, CSV). May be repeated.",
        (),
        typed=list[str] | None,
    )
    _: KW_ONLY
    run: Annotated[
        AnyPath | None,
        typer.Argument(
            metavar="OUT",
            show_default=False,
            help="A run's folder: its cases, ratings and, unless others are named, scores.",
        ),
    ] = None
    axis: Names = option("Use only this axis of the human ratings. May be repeated.", ())
    format: str = option(
        f"The format of the cases. One of: {', '.join(known_formats())}. `evaljudge list formats` "
        "says more.",
        "generic",
    )
    sources: AnyPath | None = option(
        "The documents of a benchmark that publishes them apart (summeval, arxiv, govreport)."
    )
    columns: Columns = COLUMN()
    skip_bad_rows: bool = option("Leave out rows that cannot be read, and count them.", False)
    resamples: int = RESAMPLES()
    seed: int = SEED()


class AgreeOptions(RatedOptions):
    """Measure how well scores and metrics agree with human ratings, and people with each other.

    The scores may come from any tool. The exit code is 3 if too many of them are missing.

    Example: evaljudge agree runs/demo/run --metrics rouge2
    """

    _: KW_ONLY
    metrics: str | Sequence[str] | Mapping[str, Any] = option(
        "Metrics, such as importance,rouge1 or {rouge1: {against: best}}.", (), typed=str | None
    )
    mix: Names = option(
        "A weighted sum of scorers, such as importance+rouge1 or 0.2*a+b. May be repeated.", ()
    )
    coefficient: Correlation = option(
        "The coefficient that compares scorers: spearman, kendall or pearson.", "spearman"
    )
    alt_test_epsilon: float = option(
        "The epsilon of the alternative annotator test.", 0.1, min=0, max=1
    )
    coverage_floor: float = option(
        "The share of texts that each scorer must have scored on each axis. With less, the exit "
        "code is 3.",
        0.95,
        min=0,
        max=1,
    )


class CalibrateOptions(RatedOptions):
    """Map scores to the scale of human ratings, and find thresholds that select good texts.

    Example: evaljudge calibrate runs/demo/run --good 4 --precision 0.9
    """

    _: KW_ONLY
    scorer: Names = option("Calibrate only this scorer. May be repeated.", ())
    good: float | None = option("A text is good if people rate it so high, or higher.")
    precision: float | None = option(
        "The share of good texts that a selection shall have, such as 0.9. Needs --good."
    )
    confidence: float | None = option(
        "Select only what is certified for new documents with this confidence, such as 0.95."
    )
    folds: int = option(
        "The parts that documents are cut into; each is calibrated by the ratings of the others.",
        5,
        min=2,
    )
