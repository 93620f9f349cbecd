"""The command line, over pipeline.py. Exit codes: 0 done, 2 the user's mistake, 3 low coverage,
4 a condition of `diff` holds."""

from __future__ import annotations

import gc
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import evaljudge
from evaljudge.commands.supervised import supervised
from evaljudge.errors import GivenUp, UserError
from evaljudge.judges import plugin
from evaljudge.plugins import kinds
from evaljudge.probes.commands import (
    Changes,
    Column,
    ConfigFile,
    Format,
    Resamples,
    Seed,
    Sources,
    studies_app,
)

if TYPE_CHECKING:
    from evaljudge.runs.pipeline import Outcome

EXIT_GIVEN_UP, USER_MISTAKE = 1, 2
RARELY = 100_000
"""So many new values before garbage is looked for: a plan makes millions, and leaves no garbage."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Absolute scores for machine-written text, by a language model that compares.",
    epilog="Exit codes: 0 done; 1 given up, run it again to resume; 2 a mistake to correct; 3 too "
    "few texts scored; 4 a condition of `diff --fail-if` holds. Documentation: README.md, docs/.",
)
app.add_typer(studies_app, name="probe")
for kind in kinds():
    if add_commands := plugin(kind).commands:
        add_commands(app)
RunFolder = Annotated[str, typer.Argument(metavar="OUT", help="A run's output folder or URI.")]
ToFile = Annotated[str, typer.Option(help="The JSONL file to write: a path or URI.")]
Briefs = Annotated[
    str | None, typer.Option(help="Where the run keeps its briefs, if not in OUT/briefs.")
]
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


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"evaljudge {evaljudge.__version__}")
        raise typer.Exit


@app.callback()
def _common(
    version: Annotated[bool, typer.Option(
        "--version", callback=_print_version, is_eager=True, help="Print the version and exit.",
    )] = False,
) -> None:  # fmt: skip
    """The options of `evaljudge` itself."""


@app.command()
def run(config: ConfigFile, changes: Changes = None, extend: Extend = False) -> None:
    """Everything: briefs, verdicts, scores, report. Rerun it to resume."""
    from evaljudge.runs.progress import watcher

    _print_outcome(evaljudge.run(config, changes or (), extend=extend, watcher=watcher()))


@app.command()
def prepare(config: ConfigFile, changes: Changes = None, extend: Extend = False) -> None:
    """Stage one: what depends on the documents alone (the synthetic references)."""
    from evaljudge.runs.progress import watcher

    out = evaljudge.prepare(config, changes or (), extend=extend, watcher=watcher())
    print(f"briefs are ready: {out}")


@app.command()
def judge(config: ConfigFile, changes: Changes = None) -> None:
    """Stage two: every candidate before every judge."""
    from evaljudge.runs.progress import watcher

    print(f"verdicts are in: {evaljudge.judge(config, changes or (), watcher=watcher())}")


@app.command()
def report(config: ConfigFile, changes: Changes = None) -> None:
    """Scores, agreement and selected files from the verdicts there are; asks nothing."""
    from evaljudge.runs.progress import watcher

    _print_outcome(evaljudge.make_report(config, changes or (), watcher=watcher()))


@app.command()
def study(config: ConfigFile, changes: Changes = None) -> None:
    """A grid of settings over one corpus, compared in one table. Rerun it to resume."""
    from evaljudge.runs.progress import watcher
    from evaljudge.studies.study import run_study

    made = run_study(config, changes or (), watching=watcher)
    print(made.text, end="", flush=True)
    print(f"\ntables     {made.out}/study.html  study.md  study.json")
    for outcome in made.outcomes:
        print(f"report     {outcome.out}/report/index.html")
    if made.exit_code:
        print("coverage is under the floor (the reports say what was unscored and why)",
              file=sys.stderr)  # fmt: skip
        raise typer.Exit(made.exit_code)


@app.command()
def plan(
    config: ConfigFile,
    changes: Changes = None,
    throughput: Annotated[
        float | None,
        typer.Option(min=1, help="Tokens a second that one engine gets through: for GPU-hours."),
    ] = None,
) -> None:
    """What a run or a study has left to ask, in asks and tokens; loads no model, writes nothing."""
    from evaljudge.commands.plan import planned_text

    gc.freeze()  # what was imported stays, and need not be looked through
    gc.set_threshold(RARELY)
    print(planned_text(config, changes or (), throughput), end="")


@app.command()
def agree(
    cases: RatedCases,
    scores: Annotated[list[str] | None, typer.Option(
        help="Scores from anywhere: JSONL, Parquet or CSV; may be repeated.")] = None,
    metrics: Annotated[str | None, typer.Option(
        help="Metrics to measure: importance,rouge1 or {rouge1: {against: best}}")] = None,
    mix: Annotated[list[str] | None, typer.Option(
        help="Scorers as one: importance+rouge1, 0.2*direct+chrf.")] = None,
    axis: HumanAxes = None, form: Format = "generic", sources: Sources = None,
    column: Column = None, skip_bad_rows: SkipBadRows = False,
    resample: Annotated[str, typer.Option(
        help="What intervals resample: documents, systems or both.")] = "documents",
    coefficient: Annotated[str, typer.Option(
        help="What scorers are compared by: spearman, kendall or pearson.")] = "spearman",
    resamples: Annotated[int, typer.Option(help="Behind each interval.")] = 1000,
    permutations: Annotated[int, typer.Option(help="Behind each p.")] = 1000,
    alt_test_epsilon: Annotated[float, typer.Option(
        help="How much more often than a judge that replaces a rater the rater may be closer.",
    )] = 0.1,
    seed: Seed = 0,
    out: Annotated[str | None, typer.Option(
        help="Also write the tables here (a path or URI).")] = None,
    as_json: Annotated[bool, typer.Option(
        "--json", help="Print agreement.json; the other tables come with --out.")] = False,
) -> None:  # fmt: skip
    """How far scores and metrics agree with human ratings, and people with each other."""
    from evaljudge.commands.agree import AgreeOptions, agree_with
    from evaljudge.config import AgreementConfig
    from evaljudge.corpora import source_by_options
    from evaljudge.metrics import read_metrics
    from evaljudge.settings import read_settings

    how = {"resample": resample, "coefficient": coefficient}
    numbers = {
        "resamples": resamples,
        "permutations": permutations,
        "alt_test_epsilon": alt_test_epsilon,
    }
    wanted = AgreeOptions(
        source_by_options(cases, form, sources, column),
        scores or (),
        read_metrics(metrics) if metrics else {},
        mix or (),
        axis or (),
        read_settings(AgreementConfig, how | numbers, "agree"),
        seed,
        "skip" if skip_bad_rows else "fail",
    )
    print(agree_with(wanted, out, as_json), end="")


@app.command()
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


@app.command()
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


@app.command()
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


@app.command()
def label(
    run: RunFolder,
    to: Annotated[str, typer.Option(help="The sheet to write: .csv or .jsonl, a path or URI.")],
    n: Annotated[int, typer.Option(help="How many texts.")] = 200,
    by: Annotated[str, typer.Option(
        help="How: random, stratified, neyman, near-threshold or doubt.")] = "random",
    axis: Annotated[list[str] | None, typer.Option(
        help="An axis to be rated; may be repeated; else all of the run's task.")] = None,
    scorer: Annotated[str | None, typer.Option(
        help="By whose scores there are strata: with stratified and neyman.")] = None,
    threshold: Annotated[list[str] | None, typer.Option(
        help="SCORER:AXIS=VALUE, with near-threshold; may be repeated.")] = None,
    seed: Seed = 0,
) -> None:  # fmt: skip
    """A sheet of a run's texts for people to rate, without systems and scores."""
    from evaljudge.commands.label import LabelOptions
    from evaljudge.commands.label import label as label_texts

    wanted = LabelOptions(run, to, n, by, axis or (), scorer, threshold or (), seed)
    print(label_texts(wanted).text, end="", flush=True)


@app.command()
def calibrate(
    cases: RatedCases,
    scores: Annotated[list[str], typer.Option(
        help="Scores from anywhere: JSONL, Parquet or CSV; repeatable.")],
    scorer: Annotated[list[str] | None, typer.Option(
        help="A scorer to look at; may be repeated.")] = None,
    axis: HumanAxes = None,
    good: Annotated[float | None, typer.Option(
        help="A candidate is good where people rate it so, or more.")] = None,
    precision: Annotated[float | None, typer.Option(
        help="The share of good ones that a selection is to have.")] = None,
    confidence: Annotated[float | None, typer.Option(
        help="Certify that it has them on new documents, or select nothing; 0.95, for example.")
    ] = None,
    folds: Annotated[int, typer.Option(help="Of documents, each mapped by the others.")] = 5,
    form: Format = "generic", sources: Sources = None, column: Column = None,
    skip_bad_rows: SkipBadRows = False,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    out: Annotated[str | None, typer.Option(
        help="Write calibrated scores and selections here.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print calibration.json.")] = False,
) -> None:  # fmt: skip
    """Scores on the scale of human ratings, and thresholds that reach a precision."""
    from evaljudge.commands.calibrate import CalibrateOptions, calibrate_with
    from evaljudge.corpora import source_by_options

    source = source_by_options(cases, form, sources, column)
    wanted = CalibrateOptions(
        source, scores, scorer or (), axis or (), good, precision, confidence, folds, resamples,
        seed, "skip" if skip_bad_rows else "fail",
    )  # fmt: skip
    print(calibrate_with(wanted, out, as_json), end="")


@app.command()
def sbom() -> None:
    """The installed Python packages as a bill of materials: CycloneDX, in JSON."""
    from evaljudge.commands.sbom import bill_of_materials

    print(json.dumps(bill_of_materials(), indent=1))


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the demo's files go.")] = Path("runs/demo"),
    documents: Annotated[int, typer.Option(min=2, help="How many to judge texts of.")] = 36,
    seed: Annotated[int, typer.Option(help="Which documents are invented.")] = 0,
) -> None:
    """The whole journey on a small invented corpus, with the judge that comes with evaljudge."""
    from evaljudge.commands.demo import run_demo
    from evaljudge.runs.progress import watcher

    _print_outcome(run_demo(out, documents, seed, watcher()))


def _print_outcome(outcome: Outcome) -> None:
    """What a run came to: coverage first, then agreement, then where things lie."""
    from evaljudge.report import agreement_text, asked_line, floor_line, unscored_text
    from evaljudge.sections.figures import percent

    print(f"coverage   {floor_line(outcome.findings)}")
    print(unscored_text(outcome.findings), end="")
    print(f"asked      {asked_line(outcome.findings)}")
    print(agreement_text(outcome.findings), end="", flush=True)
    for warning in outcome.findings.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    for selection in outcome.findings.selections:
        print(f"selected   {selection.selected:,} of {selection.considered:,}: "
              f"{outcome.out}/selected/{selection.name}.jsonl")  # fmt: skip
    print(f"report     {outcome.out}/report/index.html")
    print(f"scores     {outcome.out}/scores/")
    if outcome.exit_code:
        floor = outcome.findings.coverage_floor
        print(f"coverage {percent(outcome.coverage)} is under the floor of {floor:.1%} "
              "(the report says what was unscored and why)", file=sys.stderr)  # fmt: skip
        raise typer.Exit(outcome.exit_code)


def main(arguments: list[str] | None = None) -> None:
    """A command in this process: a user's mistake is one line on stderr, never a traceback."""
    try:
        app(arguments)
    except (UserError, GivenUp, OSError) as error:  # OSError: a full disk, a folder not ours
        print(f"evaljudge: {_printable(str(error))}", file=sys.stderr)
        sys.exit(EXIT_GIVEN_UP if isinstance(error, GivenUp) else USER_MISTAKE)


def _printable(text: str) -> str:
    """One line of printable text: a corpus' own words may stand in a message."""
    return "".join(c if c.isprintable() else " " for c in " ".join(text.split()))


if __name__ == "__main__":
    supervised(main)
