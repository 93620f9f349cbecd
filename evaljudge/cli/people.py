"""The commands that bring scores and human ratings together."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, cast

import typer

from evaljudge.commands.options import (
    Column,
    Format,
    HumanAxes,
    RatedCases,
    Resamples,
    RunFolder,
    Seed,
    SkipBadRows,
    Sources,
)

if TYPE_CHECKING:
    from evaljudge.agreement import Correlation
    from evaljudge.commands.agree import Agreed
    from evaljudge.commands.calibrate import CalibratedScores


def agree(
    cases: RatedCases,
    scores: Annotated[list[str] | None, typer.Option(
        help="A run's folder, or a file of scores by any tool: JSONL, Parquet or CSV. May be "
        "repeated.")] = None,
    metrics: Annotated[str | None, typer.Option(
        help="Metrics to compute: names such as importance,rouge1, or names with settings such as "
        "{rouge1: {against: best}}.")] = None,
    mix: Annotated[list[str] | None, typer.Option(
        help="A weighted sum of scorers as one scorer, such as importance+rouge1 or "
        "0.2*direct+chrf. May be repeated.")] = None,
    axis: HumanAxes = None, form: Format = "generic", sources: Sources = None,
    column: Column = None, skip_bad_rows: SkipBadRows = False,
    resample: Annotated[str | None, typer.Option(hidden=True)] = None,
    coefficient: Annotated[str, typer.Option(
        help="The coefficient by which scorers are compared with each other: spearman, kendall or "
        "pearson.")] = "spearman",
    resamples: Resamples = 1000,
    permutations: Annotated[int | None, typer.Option(hidden=True)] = None,
    alt_test_epsilon: Annotated[float, typer.Option(
        help="By how much the judge may be less often the closer one, and still replace a rater "
        "(the epsilon of the alternative annotator test).",
    )] = 0.1,
    coverage_floor: Annotated[float, typer.Option(
        min=0, max=1, help="The share of scores that must be there. With less, the exit code is "
        "3.")] = 0.95,
    seed: Seed = 0,
    out: Annotated[str | None, typer.Option(
        help="Also write the tables to this folder or URI.")] = None,
    as_json: Annotated[bool, typer.Option(
        "--json", help="Print the correlations as JSON. Use --out for the other tables.")] = False,
) -> None:  # fmt: skip
    """Measure how well scores and metrics agree with human ratings, and people with each other.

    The scores may come from any tool. The exit code is 3 if too many of them are missing.

    Example: evaljudge agree --cases cases.jsonl --scores scores.jsonl --metrics rouge1
    """
    from evaljudge.commands.agree import agree as agree_with
    from evaljudge.commands.agree import lacking_line
    from evaljudge.corpora.advice import named_columns
    from evaljudge.runs.outcome import UNDER_FLOOR

    made = agree_with(
        cases, scores or (), metrics=metrics or (), mix=mix or (), axis=axis or (), format=form,
        sources=sources, column=named_columns(column), skip_bad_rows=skip_bad_rows,
        resample=resample, coefficient=cast("Correlation", coefficient),
        resamples=resamples, permutations=permutations, alt_test_epsilon=alt_test_epsilon,
        seed=seed, coverage_floor=coverage_floor,
    )  # fmt: skip
    _print_and_write(made, out, as_json)
    if not made.findings.floor_passed:
        print(lacking_line(made.findings), file=sys.stderr)
        raise typer.Exit(UNDER_FLOOR)


def calibrate(
    cases: RatedCases,
    scores: Annotated[list[str], typer.Option(
        help="A run's folder, or a file of scores by any tool: JSONL, Parquet or CSV. May be "
        "repeated.")],
    scorer: Annotated[list[str] | None, typer.Option(
        help="Calibrate only this scorer. May be repeated.")] = None,
    axis: HumanAxes = None,
    good: Annotated[float | None, typer.Option(
        help="A text is good if people rate it so high, or higher.")] = None,
    precision: Annotated[float | None, typer.Option(
        help="The share of good texts that a selection shall have, such as 0.9. Needs --good."
        )] = None,
    confidence: Annotated[float | None, typer.Option(
        help="Select only if the precision is certified for new documents with this confidence, "
        "such as 0.95.")
    ] = None,
    folds: Annotated[int, typer.Option(
        help="Into how many parts the documents are split. The scores of each part are calibrated "
        "with the ratings of the others.")] = 5,
    form: Format = "generic", sources: Sources = None, column: Column = None,
    skip_bad_rows: SkipBadRows = False,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    out: Annotated[str | None, typer.Option(
        help="Write the calibrated scores and the selections to this folder or URI.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the calibration as JSON.")] = False,
) -> None:  # fmt: skip
    """Map scores to the scale of human ratings, and find thresholds that select good texts.

    Example: evaljudge calibrate --cases cases.jsonl --scores scores.jsonl --good 4 --precision 0.9
    """
    from evaljudge.commands.calibrate import calibrate as calibrate_with
    from evaljudge.corpora.advice import named_columns

    made = calibrate_with(
        cases, scores, scorer=scorer or (), axis=axis or (), good=good, precision=precision,
        confidence=confidence, folds=folds, format=form, sources=sources,
        column=named_columns(column), skip_bad_rows=skip_bad_rows, resamples=resamples, seed=seed,
    )  # fmt: skip
    _print_and_write(made, out, as_json)


def _print_and_write(made: Agreed | CalibratedScores, out: str | None, as_json: bool) -> None:
    from evaljudge.text import one_line

    if out:
        made.write(out)
    for warning in made.warnings if as_json else ():
        print(f"warning: {one_line(warning)}", file=sys.stderr, flush=True)
    print(made.json if as_json else made.text, end="")


def label(
    run: RunFolder,
    to: Annotated[str, typer.Option(
        help="The sheet to write: a path or URI that ends in .csv or .jsonl.")],
    n: Annotated[int, typer.Option(help="How many texts to draw.")] = 200,
    by: Annotated[str, typer.Option(
        help="How texts are drawn: at random (random), evenly over the scores (stratified), or "
        "more where the judge is in doubt (doubt).")] = "random",
    axis: Annotated[list[str] | None, typer.Option(
        help="An axis to rate. May be repeated. Without it, all axes of the run are rated."
        )] = None,
    scorer: Annotated[str | None, typer.Option(
        help="The scorer whose scores are used by `--by stratified`.")] = None,
    seed: Seed = 0,
) -> None:  # fmt: skip
    """Draw texts of a run and write a sheet for people to rate, without systems and scores.

    The key of the sheet stays in the run's folder. Filled sheets come back by the key `ratings` of
    the configuration.

    Example: evaljudge label runs/demo/run --to sheet.csv --n 100
    """
    from evaljudge.commands.label import LabelOptions
    from evaljudge.commands.label import label as label_texts

    wanted = LabelOptions(run, to, n, by, axis or (), scorer, seed)
    print(label_texts(wanted).text, end="", flush=True)
