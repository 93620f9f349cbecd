"""`evaljudge probe NAME`: the studies from the command line.

    evaljudge probe robustness --cases summeval.jsonl --metrics importance,rouge1 \\
        --mix importance+rouge1 --out studies/

prints a table, and with --out writes robustness.md, robustness.json and robustness.svg there.
"""

from __future__ import annotations

from typing import Annotated

import typer

studies_app = typer.Typer(
    no_args_is_help=True,
    help="Studies of scorers: how they mix, differ, bear bad references, and what they follow.",
)
Cases = Annotated[str, typer.Option(help="Cases: file, folder or glob.")]
Format = Annotated[str, typer.Option("--format", help="The cases' format.")]
Sources = Annotated[
    str | None, typer.Option(help="Where a benchmark's documents lie that it leaves out.")
]
Column = Annotated[
    list[str] | None,
    typer.Option(metavar="THEIRS=OURS", help="A column's meaning: human=ratings.coherence"),
]
Scores = Annotated[
    list[str] | None, typer.Option("--scores", help="Scores from anywhere; may be repeated.")
]
Metrics = Annotated[
    str | None,
    typer.Option(help="Metrics to measure: importance,rouge1 or {rouge1: {against: best}}."),
]
Axis = Annotated[str, typer.Option(help="The human axis.")]
Level = Annotated[str, typer.Option(help="sample, system or summary.")]
RankedAt = Annotated[str, typer.Option(help="sample, system, summary or document.")]
Coefficient = Annotated[str, typer.Option(help="spearman, kendall or pearson.")]
Seed = Annotated[int, typer.Option(min=0, help="Of everything that is drawn.")]
Out = Annotated[
    str | None, typer.Option(help="Also write NAME.md, NAME.json and NAME.svg here (path or URI).")
]
Mixed = Annotated[
    list[str] | None, typer.Option("--mix", help="A mix: a+b, a-b or 0.2*a+b; may be repeated.")
]
Draws = Annotated[int, typer.Option(min=1, help="How often documents are drawn.")]


@studies_app.command()
def mixes(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    axis: Axis = "relevance", level: Level = "system", coefficient: Coefficient = "spearman",
    mix: Mixed = None,
    resamples: Annotated[int, typer.Option(min=0, help="Behind each interval.")] = 1000,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Sums of all pairs of scorers, and mixes of yours, against people."""
    from evaljudge.probes import mixes
    from evaljudge.probes.asked import Asked, source_of, tell
    from evaljudge.probes.correlating import coefficient_named, level_named

    asked = Asked(source_of(cases, format, sources, column), scores or (), metrics, seed)
    how = level_named(level), coefficient_named(coefficient)
    given = asked.mixes(mix or (), axis)
    rows = mixes.mixes(asked.matrix, axis, *how, given, resamples=resamples, seed=seed)
    tell(mixes.mixes_study(rows, asked.about(f"{axis}, {level} level")), out)


@studies_app.command()
def robustness(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    axis: Axis = "relevance", level: Level = "system", coefficient: Coefficient = "spearman",
    mix: Mixed = None,
    steps: Annotated[int, typer.Option(min=2, help="From no replaced reference to all.")] = 11,
    draws: Draws = 5, seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """References replaced, more and more, by random, first or last sentences of the source."""
    from evaljudge.probes import robustness
    from evaljudge.probes.asked import Asked, source_of, tell
    from evaljudge.probes.correlating import coefficient_named, level_named

    asked = Asked(source_of(cases, format, sources, column), scores or (), metrics, seed)
    how = level_named(level), coefficient_named(coefficient)
    growth = robustness.Growth(axis, *how, steps, draws, seed)
    measure = asked.remeasured("robustness")
    rows = robustness.robustness(asked.matrix, measure, growth, asked.mixes(mix or (), axis))
    about = asked.about(f"{axis}, {level} level")
    tell(asked.noted(robustness.robustness_study(rows, growth, about), level), out)


@studies_app.command()
def complementarity(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    level: RankedAt = "system", coefficient: Coefficient = "spearman", seed: Seed = 0,
    out: Out = None,
) -> None:  # fmt: skip
    """How differently each pair of scorers ranks."""
    from evaljudge.probes import complementarity
    from evaljudge.probes.asked import Asked, source_of, tell
    from evaljudge.probes.correlating import coefficient_named

    asked = Asked(source_of(cases, format, sources, column), scores or (), metrics, seed)
    how = complementarity.ranked_at(level), coefficient_named(coefficient)
    rows = complementarity.complementarity(asked.matrix, *how)
    about = asked.about(f"{level} level, {coefficient}")
    tell(asked.noted(complementarity.complementarity_study(rows, about), level), out)


@studies_app.command()
def sizes(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    axis: Axis = "relevance", coefficient: Coefficient = "spearman",
    steps: Annotated[int, typer.Option(min=1, help="How many sizes, up to all.")] = 10,
    draws: Draws = 100,
    all_documents: Annotated[
        bool, typer.Option(help="Scores over documents that nobody rated, too.")
    ] = False,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """The system-level correlation against the number of documents."""
    from evaljudge.probes import sizes
    from evaljudge.probes.asked import Asked, source_of, tell
    from evaljudge.probes.correlating import coefficient_named

    asked = Asked(source_of(cases, format, sources, column), scores or (), metrics, seed)
    how = coefficient_named(coefficient)
    subsets = sizes.Subsets(axis, how, steps, draws, seed, all_documents)
    rows = sizes.sizes(asked.matrix, subsets)
    study = sizes.sizes_study(rows, subsets, asked.about(f"{axis}, {coefficient}"))
    tell(asked.noted(study, "system"), out)


@studies_app.command()
def ranges(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """The values scorers take for references, sentences of the source, whole documents, systems."""
    from evaljudge.probes import ranges
    from evaljudge.probes.asked import Asked, source_of, tell

    asked = Asked(source_of(cases, format, sources, column), scores or (), metrics, seed)
    rows = ranges.ranges(asked.matrix, asked.measure, seed)
    tell(ranges.ranges_study(rows, asked.about()), out)


@studies_app.command()
def spurious(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    axis: Axis = "relevance", seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Correlation with coverage, density, compression and length, beside the human axes."""
    from evaljudge.probes import spurious
    from evaljudge.probes.asked import Asked, source_of, tell

    asked = Asked(source_of(cases, format, sources, column), scores or (), metrics, seed)
    rows = spurious.spurious(asked.matrix, axis)
    tell(spurious.spurious_study(rows, axis, asked.about(f"{axis}, summary level")), out)


@studies_app.command()
def position(
    votes: Annotated[
        str, typer.Option(help="Pairwise votes: doc_id, axis, first, second, winner (or tie).")
    ],
    resamples: Annotated[int, typer.Option(min=0, help="Behind each interval.")] = 1000,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Whether a judge of pairs prefers a place: how often the first wins, how often order flips."""
    from evaljudge.probes import position
    from evaljudge.probes.asked import tell

    rows = position.position(votes, resamples=resamples, seed=seed)
    tell(position.position_study(rows, votes), out)
