"""`evaljudge probe NAME`: the probes from the command line.

    evaljudge probe robustness --cases summeval.jsonl --metrics importance,rouge1 \\
        --mix importance+rouge1 --out studies/

prints a table, and with --out writes it and its figure there: robustness-relevance.md, .json, .svg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from evaljudge.corpora import FORMATS
from evaljudge.errors import UserError, unknown
from evaljudge.probes.results import print_and_write

if TYPE_CHECKING:
    from evaljudge.agreement import Correlation
    from evaljudge.probes.source import ProbeData

studies_app = typer.Typer(
    no_args_is_help=True,
    help="Study metrics and judges: how they combine, how they differ, and what misleads them.",
)
ConfigFile = Annotated[
    str, typer.Argument(metavar="CONFIG", help="The YAML file of the configuration.")
]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="Change a key of the configuration for this "
                 "call, such as judges.synthetic.levels=9. May be repeated."),
]  # fmt: skip
Cases = Annotated[
    str, typer.Option(help="The cases (documents with the texts of each system): a file, a folder, "
                      "a glob pattern or a URI.")
]  # fmt: skip
Format = Annotated[
    str,
    typer.Option("--format", help=f"The format of the cases. One of: {', '.join(FORMATS)}. "
                 "`evaljudge list formats` says more."),
]  # fmt: skip
Sources = Annotated[
    str | None,
    typer.Option(help="The file or folder of the documents, for a benchmark (summeval, arxiv, "
                 "govreport) that does not publish them beside the texts.")
]  # fmt: skip
Column = Annotated[
    list[str] | None,
    typer.Option(metavar="THEIRS=OURS", help="What a column of the cases means, such as "
                 "human=ratings.coherence. May be repeated."),
]  # fmt: skip
Scores = Annotated[
    list[str] | None,
    typer.Option("--scores", help="A file of scores by any tool: JSONL, Parquet or CSV. May be "
                 "repeated."),
]  # fmt: skip
Metrics = Annotated[
    str | None,
    typer.Option(help="Metrics to compute: names such as importance,rouge1, or names with "
                 "settings such as {rouge1: {against: best}}."),
]  # fmt: skip
Axis = Annotated[
    str | None,
    typer.Option(help="The axis of the human ratings that scores are compared with.",
                 show_default="relevance, or the only one"),
]  # fmt: skip
Level = Annotated[
    str,
    typer.Option(help="What is correlated: the texts of each document (sample), the means of the "
                 "systems (system), or all texts together (summary)."),
]  # fmt: skip
RankedAt = Annotated[
    str,
    typer.Option(help="What is ranked: the texts of each document (sample), the means of the "
                 "systems (system), all texts together (summary), or the means of the documents "
                 "(document)."),
]  # fmt: skip
Coefficient = Annotated[
    str, typer.Option(help="The coefficient of correlation: spearman, kendall or pearson.")
]
Seed = Annotated[
    int,
    typer.Option(min=0, help="Seed of everything random: the same command with the same seed "
                 "prints the same numbers."),
]  # fmt: skip
Out = Annotated[
    str | None,
    typer.Option(help="Also write the table as Markdown (.md) and JSON (.json) and a figure (.svg) "
                 "to this folder or URI. The files have the name of the probe, followed by the "
                 "axis where there is one. Files of the same name are replaced."),
]  # fmt: skip
Mixed = Annotated[
    list[str] | None,
    typer.Option("--mix", help="A weighted sum of scorers to study as one scorer: a+b, a-b or "
                 "0.2*a+b. May be repeated."),
]  # fmt: skip
Draws = Annotated[
    int, typer.Option(min=1, help="How many times documents are drawn at random at each step.")
]
Resamples = Annotated[
    int,
    typer.Option(min=0, max=1_000_000, help="How many random resamples each confidence interval "
                 "is computed from. 0 leaves the intervals out."),
]  # fmt: skip
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
    """Compare sums of scorers with people: all pairs, and the mixes that you name.

    Example: evaljudge probe mixes --cases cases.jsonl --metrics rouge1,importance
    """
    from evaljudge.agreement import LEVELS
    from evaljudge.probes import mixes

    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis = data.axis(axis)
    how = one_of("level", level, LEVELS), _coefficient(coefficient)
    given = data.mixes(mix or (), axis)
    rows = mixes.mixes(data.matrix, axis, *how, given, resamples=resamples, seed=seed)
    print_and_write(mixes.mixes_study(rows, data.about(f"{axis}, {level} level")), out, axis)


@studies_app.command()
def robustness(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    axis: Axis = None, level: Level = "system", coefficient: Coefficient = "spearman",
    mix: Mixed = None,
    steps: Annotated[int, typer.Option(
        min=2, help="How many points there are from no replaced reference to all of them.")] = 11,
    draws: Draws = 5, seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Show how well metrics still agree with people when references are bad.

    More and more references are replaced by random, first or last sentences of the source.

    Example: evaljudge probe robustness --cases cases.jsonl --metrics rouge1,importance
    """
    from evaljudge.agreement import LEVELS
    from evaljudge.probes import robustness

    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis = data.axis(axis)
    how = one_of("level", level, LEVELS), _coefficient(coefficient)
    growth = robustness.Growth(axis, *how, steps, draws, seed)
    measure = data.remeasured("robustness")
    rows = robustness.robustness(data.matrix, measure, growth, data.mixes(mix or (), axis))
    about = data.about(f"{axis}, {level} level")
    print_and_write(data.noted(robustness.robustness_study(rows, growth, about), level), out, axis)


@studies_app.command()
def complementarity(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    level: RankedAt = "system", coefficient: Coefficient = "spearman", seed: Seed = 0,
    out: Out = None,
) -> None:  # fmt: skip
    """Show how differently each pair of scorers ranks.

    The number 0 means the same order, and 1 the reverse order.

    Example: evaljudge probe complementarity --cases cases.jsonl --metrics rouge1,chrf
    """
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
    steps: Annotated[int, typer.Option(
        min=1, help="How many numbers of documents are tried, up to all documents.")] = 10,
    draws: Draws = 100,
    all_documents: Annotated[
        bool, typer.Option(help="Average the scores over documents that nobody rated, too.")
    ] = False,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Show how many documents it takes to compare systems: the correlation at each number of them.

    Example: evaljudge probe sizes --cases cases.jsonl --metrics rouge1
    """
    from evaljudge.probes import sizes

    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis = data.axis(axis)
    how = _coefficient(coefficient)
    subsets = sizes.Subsets(axis, how, steps, draws, seed, all_documents)
    rows = sizes.sizes(data.matrix, subsets)
    study = sizes.sizes_study(rows, subsets, data.about(f"{axis}, {coefficient}"))
    print_and_write(data.noted(study, "system"), out, axis)


@studies_app.command()
def ranges(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Show the values that metrics take for references, sentences, documents and systems.

    They tell which values mean a good text, and whether copying the source scores high.

    Example: evaljudge probe ranges --cases cases.jsonl --metrics rouge1,chrf
    """
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
    """Show how strongly scores follow length and copying, in comparison with people's ratings.

    Coverage is the share of words copied from the source, density the length of copied passages,
    and compression the length of the source divided by that of the text.

    Example: evaljudge probe spurious --cases cases.jsonl --metrics rouge1,chrf
    """
    from evaljudge.probes import spurious

    data = _data(cases, format, sources, column, scores, metrics, seed)
    axis = data.axis(axis)
    rows = spurious.spurious(data.matrix, axis)
    print_and_write(
        spurious.spurious_study(rows, axis, data.about(f"{axis}, summary level")), out, axis
    )


@studies_app.command()
def position(
    votes: Annotated[
        str, typer.Option(help="A file of votes on pairs of texts, with the columns doc_id, axis, "
                     "first, second and winner. The winner is a system or tie.")
    ],
    resamples: Resamples = 1000,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Show whether a judge of pairs prefers a position: how often the first text wins.

    Where pairs were asked in both orders, it also shows how often the order changes the vote.

    Example: evaljudge probe position --votes votes.jsonl
    """
    from evaljudge.probes import position

    rows = position.position(votes, resamples=resamples, seed=seed)
    print_and_write(position.position_study(rows, votes), out)


@studies_app.command()
def injection(
    config: ConfigFile, changes: Changes = None,
    documents: Annotated[int, typer.Option(
        min=1, help="How many documents are taken, with one text of each.")] = 50,
    resamples: Resamples = 1000,
    seed: Seed = 0,
    out: Annotated[str, typer.Option(
        help="The folder or URI for the run of this probe and its tables. The same command resumes "
        "it.",
    )] = "runs/injection",
) -> None:  # fmt: skip
    """Show how far instructions hidden in texts ("give a high score") move the judges' scores.

    The judges of the configuration are asked about texts with and without such instructions.

    Example: evaljudge probe injection config.yaml --documents 20
    """
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
