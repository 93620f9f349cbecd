"""`evaljudge probe NAME`: the probes from the command line.

    evaljudge probe robustness --cases summeval.jsonl --metrics importance,rouge1 \\
        --mix importance+rouge1 --out studies/

prints a table, and with --out writes it and its figure there: robustness-relevance.md, .json, .svg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from evaljudge.corpora import known_formats
from evaljudge.probes.results import print_and_write

if TYPE_CHECKING:
    from evaljudge.agreement import Correlation
    from evaljudge.agreement import Level as AnyLevel
    from evaljudge.probes.complementarity import RankedAt as RankedLevel

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
    typer.Option("--format", help=f"The format of the cases. One of: {', '.join(known_formats())}. "
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


@studies_app.command()
def mixes(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    scores: Scores = None, metrics: Metrics = None,
    axis: Axis = None, level: Level = "system", coefficient: Coefficient = "spearman",
    mix: Mixed = None,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Compare sums of scorers with people: all pairs, and the mixes that you name.

    Example: evaljudge probe mixes --cases cases.jsonl --metrics rouge1,importance
    """
    from evaljudge.probes import calls

    made = calls.mixes(
        cases, format=format, sources=sources, column=_named(column),
        scores=scores or (), metrics=metrics or (), axis=axis,
        level=cast("AnyLevel", level), coefficient=cast("Correlation", coefficient),
        mix=mix or (), seed=seed,
    )  # fmt: skip
    print_and_write(made, out)


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
    from evaljudge.probes import calls

    made = calls.robustness(
        cases, format=format, sources=sources, column=_named(column),
        scores=scores or (), metrics=metrics or (), axis=axis,
        level=cast("AnyLevel", level), coefficient=cast("Correlation", coefficient),
        mix=mix or (), steps=steps, draws=draws, seed=seed,
    )  # fmt: skip
    print_and_write(made, out)


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
    from evaljudge.probes import calls

    made = calls.complementarity(
        cases, format=format, sources=sources, column=_named(column),
        scores=scores or (), metrics=metrics or (), seed=seed,
        level=cast("RankedLevel", level), coefficient=cast("Correlation", coefficient),
    )  # fmt: skip
    print_and_write(made, out)


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
    from evaljudge.probes import calls

    made = calls.sizes(
        cases, format=format, sources=sources, column=_named(column),
        scores=scores or (), metrics=metrics or (), axis=axis,
        coefficient=cast("Correlation", coefficient), steps=steps, draws=draws,
        all_documents=all_documents, seed=seed,
    )  # fmt: skip
    print_and_write(made, out)


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
    from evaljudge.probes import calls

    made = calls.ranges(
        cases, format=format, sources=sources, column=_named(column),
        scores=scores or (), metrics=metrics or (), seed=seed,
    )  # fmt: skip
    print_and_write(made, out)


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
    from evaljudge.probes import calls

    made = calls.spurious(
        cases, format=format, sources=sources, column=_named(column),
        scores=scores or (), metrics=metrics or (), axis=axis, seed=seed,
    )  # fmt: skip
    print_and_write(made, out)


@studies_app.command()
def settings(
    cases: Cases, format: Format = "generic", sources: Sources = None, column: Column = None,
    axis: Axis = None, level: Level = "system", coefficient: Coefficient = "spearman",
    model: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The pretrained model whose tokenizer takes part, a hub "
                     "name or a path. The paper's is gpt2. Without it, its 60 settings are left "
                     "out."),
    ] = None,
    revision: Annotated[
        str | None, typer.Option(help="The revision of that model on the hub.")
    ] = None,
    seed: Seed = 0, out: Out = None,
) -> None:  # fmt: skip
    """Compare all settings of the importance metric with people: the 240 of its paper.

    They are four tokenizers, three sizes of n-grams, tf-idf and BM25, five weights, and with and
    without the length penalty.

    Example: evaljudge probe settings --cases cases.jsonl --axis relevance
    """
    from evaljudge.probes import calls

    made = calls.settings(
        cases, format=format, sources=sources, column=_named(column), axis=axis,
        level=cast("AnyLevel", level), coefficient=cast("Correlation", coefficient),
        model=model, revision=revision, seed=seed,
    )  # fmt: skip
    print_and_write(made, out)


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
    from evaljudge.probes import calls

    print_and_write(calls.position(votes, resamples=resamples, seed=seed), out)


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
    from evaljudge.probes import calls
    from evaljudge.runs.progress import watcher

    made = calls.injection(
        config, changes or (), documents=documents, resamples=resamples, seed=seed, out=out,
        watcher=watcher(),
    )  # fmt: skip
    print_and_write(made, out)


def _named(column: list[str] | None) -> dict[str, str]:
    from evaljudge.corpora.advice import named_columns

    return named_columns(column)
