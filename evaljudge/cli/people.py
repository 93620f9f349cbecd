"""The commands that bring scores and human ratings together."""

from __future__ import annotations

from typing import Annotated

import typer

from evaljudge.cli.options import (
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
