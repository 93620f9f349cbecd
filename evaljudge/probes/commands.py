"""`evaljudge probe NAME`: the probes from the command line.

    evaljudge probe robustness --cases summeval.jsonl --metrics importance,rouge1 \\
        --mix importance+rouge1 --out studies/

prints a table, and with --out writes robustness.md, robustness.json and robustness.svg there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from evaljudge.errors import UserError, unknown
from evaljudge.probes.results import print_and_write

if TYPE_CHECKING:
    from evaljudge.agreement import Correlation
    from evaljudge.probes.source import ProbeData

studies_app = typer.Typer(
    no_args_is_help=True,
    help="Studies of scorers: how they mix, differ, bear bad references, and what they follow.",
)
ConfigFile = Annotated[str, typer.Argument(metavar="CONFIG", help="A YAML configuration.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Overrides a key: judges.synthetic.levels=9"),
]
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
Axis = Annotated[
    str | None,
    typer.Option(help="The human axis.", show_default="relevance, or the only one"),
]
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


Resamples = Annotated[int, typer.Option(min=0, max=1_000_000, help="Behind each interval.")]
"""At most as many as in a configuration."""
Name = TypeVar("Name", bound=str)


@studies_app.command()
def mixes(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    axis: Axis = None, level: Level = "system", coefficient: Coefficient = "spearman",
    mix: Mixed = None,
    resamples: Resamples = 1000,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Sums of all pairs of scorers, and mixes of yours, against people."""
    from evaljudge.agreement import LEVELS
    from evaljudge.probes import mixes

    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis = data.axis(axis)
    how = one_of("level", level, LEVELS), _coefficient(coefficient)
    given = data.mixes(mix or (), axis)
    rows = mixes.mixes(data.matrix, axis, *how, given, resamples=resamples, seed=seed)
    print_and_write(mixes.mixes_study(rows, data.about(f"{axis}, {level} level")), out)


@studies_app.command()
def robustness(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    axis: Axis = None, level: Level = "system", coefficient: Coefficient = "spearman",
    mix: Mixed = None,
    steps: Annotated[int, typer.Option(min=2, help="From no replaced reference to all.")] = 11,
    draws: Draws = 5, seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """References replaced, more and more, by random, first or last sentences of the source."""
    from evaljudge.agreement import LEVELS
    from evaljudge.probes import robustness

    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis = data.axis(axis)
    how = one_of("level", level, LEVELS), _coefficient(coefficient)
    growth = robustness.Growth(axis, *how, steps, draws, seed)
    measure = data.remeasured("robustness")
    rows = robustness.robustness(data.matrix, measure, growth, data.mixes(mix or (), axis))
    about = data.about(f"{axis}, {level} level")
    print_and_write(data.noted(robustness.robustness_study(rows, growth, about), level), out)


@studies_app.command()
def complementarity(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    level: RankedAt = "system", coefficient: Coefficient = "spearman", seed: Seed = 0,
    out: Out = None,
) -> None:  # fmt: skip
    """How differently each pair of scorers ranks."""
    from evaljudge.probes import complementarity

    data = _data(cases, format, sources, column, scores, metrics, seed)
    how = one_of("level", level, complementarity.RANKED_AT), _coefficient(coefficient)
    rows = complementarity.complementarity(data.matrix, *how)
    about = data.about(f"{level} level, {coefficient}")
    print_and_write(data.noted(complementarity.complementarity_study(rows, about), level), out)


@studies_app.command()
def sizes(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    axis: Axis = None, coefficient: Coefficient = "spearman",
    steps: Annotated[int, typer.Option(min=1, help="How many sizes, up to all.")] = 10,
    draws: Draws = 100,
    all_documents: Annotated[
        bool, typer.Option(help="Scores over documents that nobody rated, too.")
    ] = False,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """The system-level correlation against the number of documents."""
    from evaljudge.probes import sizes

    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis = data.axis(axis)
    how = _coefficient(coefficient)
    subsets = sizes.Subsets(axis, how, steps, draws, seed, all_documents)
    rows = sizes.sizes(data.matrix, subsets)
    study = sizes.sizes_study(rows, subsets, data.about(f"{axis}, {coefficient}"))
    print_and_write(data.noted(study, "system"), out)


@studies_app.command()
def ranges(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """The values scorers take for references, sentences of the source, whole documents, systems."""
    from evaljudge.probes import ranges

    data = _data(cases, format, sources, column, scores, metrics, seed)
    rows = ranges.ranges(data.matrix, data.measure, seed)
    print_and_write(ranges.ranges_study(rows, data.about()), out)


@studies_app.command()
def spurious(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    axis: Axis = None, seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Correlation with coverage, density, compression and length, beside the human axes."""
    from evaljudge.probes import spurious

    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis = data.axis(axis)
    rows = spurious.spurious(data.matrix, axis)
    print_and_write(spurious.spurious_study(rows, axis, data.about(f"{axis}, summary level")), out)


@studies_app.command()
def position(
    votes: Annotated[
        str, typer.Option(help="Pairwise votes: doc_id, axis, first, second, winner (or tie).")
    ],
    resamples: Resamples = 1000,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Whether a judge of pairs prefers a place: how often the first wins, how often order flips."""
    from evaljudge.probes import position

    rows = position.position(votes, resamples=resamples, seed=seed)
    print_and_write(position.position_study(rows, votes), out)


@studies_app.command()
def injection(
    config: ConfigFile, changes: Changes = None,
    documents: Annotated[int, typer.Option(min=1, help="How many, with a candidate each.")] = 50,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    out: Annotated[str, typer.Option(
        help="Where its run and its tables go (path or URI): rerun it to resume.",
    )] = "runs/injection",
) -> None:  # fmt: skip
    """How far instructions planted in candidates move the scores of a configuration's judges."""
    from evaljudge.config import load_config
    from evaljudge.probes import injection
    from evaljudge.runs.progress import watcher

    found = injection.injection(
        load_config(config, changes or ()), out, documents=documents, resamples=resamples,
        seed=seed, watcher=watcher(),
    )  # fmt: skip
    print_and_write(injection.injection_study(found), out)


def one_of(option: str, name: str, known: tuple[Name, ...]) -> Name:
    for one in known:
        if one == name:
            return one
    raise UserError(f"--{option}: {unknown(option, name, known)}")


def _coefficient(coefficient: str) -> Correlation:
    from evaljudge.agreement import CORRELATIONS

    return one_of("coefficient", coefficient, CORRELATIONS)


def _data(
    cases: str, format: str, sources: str | None, column: list[str] | None,
    scores: list[str] | None, metrics: str | None, seed: int,
) -> ProbeData:  # fmt: skip
    from evaljudge.corpora import source_by_options
    from evaljudge.corpora.advice import PROBE_OPTIONS
    from evaljudge.probes.source import ProbeData

    source = source_by_options(cases, format, sources, column, PROBE_OPTIONS)
    return ProbeData(source, scores or (), metrics, seed)
