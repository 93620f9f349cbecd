"""Reading cases from JSON lines, CSV and Parquet, and from benchmarks as they are published.

with open_corpus(CorpusSource("data/cases.jsonl")) as corpus:
    print(corpus.cases, corpus.digest)
    for case in corpus: ...

To add a format, write one file with a function that yields rows in the generic form, and an entry
in `FORMATS`. A format whose files lack the documents may take `sources`, where the documents are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from evaljudge.corpora.advice import CONFIGURATION, OPTIONS, Advice, named_columns
from evaljudge.corpora.choices import read_choices, read_extremes
from evaljudge.corpora.columns import ColumnNames, Unread
from evaljudge.corpora.corpus import BadRows, Corpus, gather, notes_on, refuse_empty
from evaljudge.corpora.files import read_generic
from evaljudge.corpora.grouping import SCHEMA
from evaljudge.corpora.hanna import read_hanna
from evaljudge.corpora.longdocs import read_longdocs
from evaljudge.corpora.newsroom import read_newsroom
from evaljudge.corpora.rose import read_rose
from evaljudge.corpora.rows import Format, Row, Rows
from evaljudge.corpora.summeval import (
    NUMBER_OF_EXPERTS,
    TURKERS,
    consistent,
    extremes,
    read_kept,
    read_summeval,
)
from evaljudge.corpora.usr import read_usr
from evaljudge.errors import UserError, unknown
from evaljudge.settings import AnyPath, Paths, as_path, as_paths
from evaljudge.storage import index_on_disk


@dataclass(frozen=True, slots=True)
class KnownFormat:
    read: Format
    about: str
    """What it reads, in a sentence."""
    needs: str
    """Which files it needs, for a reader who has them."""
    takes_sources: bool = False
    """Whether its files may lack the documents, which are then at `sources`."""


_ALIGNED = "SummEval's model_annotations.aligned file, and `sources` if it is not the paired one"
_CHOICES = "cnn_human.json or bbc_human.json of Goyal et al., or JSON lines of that form"
_LONG = "the annotations' file, and `sources`: rows with the documents"


def _summeval(read: Format, about: str) -> KnownFormat:
    return KnownFormat(read, f"Summaries of news, {about} (SummEval).", _ALIGNED, True)


def _usr(dataset: str, prefix: str) -> dict[str, KnownFormat]:
    about, needs = (
        f"Responses in {dataset}'s conversations, rated by people (USR)",
        "USR's JSON file",
    )
    read = partial(read_usr, prefix)
    return {
        dataset.lower(): KnownFormat(read, f"{about}.", needs),
        f"{dataset.lower()}-references": KnownFormat(
            partial(read, with_reference=True), f"{about}; the person's is the reference.", needs
        ),
    }


GENERIC = "generic"
ROWS_LOOKED_AT = 200
FORMATS: dict[str, KnownFormat] = {
    GENERIC: KnownFormat(
        read_generic,
        "A row for each document with its candidates, or a row for each candidate.",
        "JSON lines, CSV or Parquet with doc_id, source, system and text (`columns` renames)",
    ),
    **_usr("TopicalChat", "tc"),
    **_usr("PersonaChat", "pc"),
    "hanna": KnownFormat(
        read_hanna, "Stories from an idea, rated on six axes.", "hanna_stories_annotations.csv"
    ),
    "newsroom": KnownFormat(
        read_newsroom, "Summaries of news, rated on four axes.", "newsroom-human-eval.csv"
    ),
    "rose": KnownFormat(
        read_rose, "Summaries with RoSE's atomic content units.", "RoSE's JSON or Parquet files"
    ),
    "summeval": _summeval(read_summeval, "rated by three experts"),
    "summeval-turkers": _summeval(
        partial(read_summeval, raters=TURKERS), "rated by five crowd workers"
    ),
    **{
        f"summeval-expert-{number}": _summeval(
            partial(read_summeval, rater=number), f"rated by expert {number} alone"
        )
        for number in range(1, NUMBER_OF_EXPERTS + 1)
    },
    "summeval-extremes": _summeval(
        partial(read_kept, extremes), "the two best and the two worst of each document"
    ),
    "summeval-consistent": _summeval(
        partial(read_kept, consistent), "the one of each document on which the experts differ least"
    ),
    "choices": KnownFormat(
        read_choices,
        "Texts that annotators chose as the best or the worst.",
        _CHOICES,
    ),
    "choices-extremes": KnownFormat(
        read_extremes, "The texts that most annotators chose as the best or the worst.", _CHOICES
    ),
    "arxiv": KnownFormat(
        partial(read_longdocs, "arXiv"), "Summaries of papers, rated by people.", _LONG, True
    ),
    "govreport": KnownFormat(
        partial(read_longdocs, "GovReport"), "Summaries of reports, rated by people.", _LONG, True
    ),
}

__all__ = [
    "FORMATS", "BadRows", "Corpus", "CorpusSource", "KnownFormat", "likely_columns", "notes_on",
    "open_corpus", "refuse_empty", "source_by_options", "source_of",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """Where a corpus is (a file, folder, glob or URI, or several), and in which format."""

    path: str | tuple[str, ...]
    format: str = GENERIC
    sources: str | None = None
    """Where the documents are that a benchmark's own files lack."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Which of our fields each column or key of theirs stands for; only in the generic form."""
    advice: Advice = CONFIGURATION
    """How messages say what to do."""


def source_by_options(
    cases: str,
    form: str,
    sources: str | None,
    column: Sequence[str] | None,
    advice: Advice = OPTIONS,
) -> CorpusSource:
    """A corpus named by the options of a command."""
    return CorpusSource(cases, form, sources, named_columns(column), advice)


def source_of(
    cases: Paths,
    form: str,
    sources: AnyPath | None,
    columns: Mapping[str, str] | None,
    advice: Advice = OPTIONS,
) -> CorpusSource:
    """A corpus named by the arguments of a function."""
    paths = as_paths(cases, "cases")
    path = paths[0] if len(paths) == 1 else paths
    where = None if sources is None else as_path(sources, "sources")
    return CorpusSource(path, form, where, columns or {}, advice)


@contextmanager
def open_corpus(source: CorpusSource, bad_rows: BadRows = "fail") -> Iterator[Corpus]:
    """Read everything once; the cases can then be iterated until the block ends."""
    columns = ColumnNames(source.columns, source.advice)
    rows = _rows(source, columns)
    with index_on_disk(SCHEMA) as index:
        yield gather(rows, index, bad_rows, columns, own=source.format == GENERIC)


def likely_columns(path: str) -> dict[str, str]:
    """Which of our fields the columns and keys of a corpus probably stand for, by its first rows;
    without those that have our names."""
    unread = Unread()
    for row in islice(read_generic((path,)), ROWS_LOOKED_AT):
        if isinstance(row, Row):
            unread.see(row)
    return unread.likely()


def _rows(source: CorpusSource, columns: ColumnNames) -> Rows:
    if source.format not in FORMATS:
        raise UserError(unknown("corpus format", source.format, FORMATS))
    paths = (source.path,) if isinstance(source.path, str) else tuple(source.path)
    if source.format == GENERIC and source.sources is None:
        return read_generic(paths, columns)
    if source.columns:
        ours = source.advice.columns(source.columns)
        raise UserError(f"corpus format {source.format!r} knows its own columns: leave out {ours}")
    chosen = FORMATS[source.format]
    if source.sources is None:
        return chosen.read(paths)
    if not chosen.takes_sources:
        known = ", ".join(name for name, one in FORMATS.items() if one.takes_sources)
        raise UserError(f"corpus format {source.format!r} takes no `sources`; these do: {known}")
    return chosen.read(paths, source.sources)
