"""Reading cases from JSON lines, CSV and Parquet, and from benchmarks as they are published.

with open_corpus(CorpusSource("data/cases.jsonl")) as corpus:
    print(corpus.cases, corpus.digest)
    for case in corpus: ...

To add a format, write one file with a function that yields rows in the generic form, and a line in
`FORMATS`. A format whose files lack the documents may take `sources`, the place of the documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

from evaljudge.corpora.advice import CONFIGURATION, OPTIONS, Advice, named_columns
from evaljudge.corpora.columns import ColumnNames
from evaljudge.corpora.corpus import BadRows, Corpus, gather, notes_on, refuse_empty
from evaljudge.corpora.files import read_generic
from evaljudge.corpora.grouping import SCHEMA
from evaljudge.corpora.hanna import read_hanna
from evaljudge.corpora.longdocs import read_longdocs
from evaljudge.corpora.newsroom import read_newsroom
from evaljudge.corpora.rose import read_rose
from evaljudge.corpora.rows import Format, Rows
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
from evaljudge.storage import index_on_disk

SOURCED: Mapping[str, Format] = {
    "summeval": read_summeval,
    "summeval-turkers": partial(read_summeval, raters=TURKERS),
    **{
        f"summeval-expert-{number}": partial(read_summeval, rater=number)
        for number in range(1, NUMBER_OF_EXPERTS + 1)
    },
    "summeval-extremes": partial(read_kept, extremes),
    "summeval-consistent": partial(read_kept, consistent),
    "arxiv": partial(read_longdocs, "arXiv"),
    "govreport": partial(read_longdocs, "GovReport"),
}
"""The formats that take `sources`."""
GENERIC = "generic"
FORMATS: dict[str, Format] = {
    GENERIC: read_generic,
    "topicalchat": partial(read_usr, "tc"),
    "topicalchat-references": partial(read_usr, "tc", with_reference=True),
    "personachat": partial(read_usr, "pc"),
    "personachat-references": partial(read_usr, "pc", with_reference=True),
    "hanna": read_hanna,
    "newsroom": read_newsroom,
    "rose": read_rose,
    **SOURCED,
}

__all__ = ["FORMATS", "SOURCED", "BadRows", "Corpus", "CorpusSource", "notes_on", "open_corpus",
           "refuse_empty", "source_by_options"]  # fmt: skip


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


@contextmanager
def open_corpus(source: CorpusSource, bad_rows: BadRows = "fail") -> Iterator[Corpus]:
    """Read everything once; the cases can then be iterated until the block ends."""
    columns = ColumnNames(source.columns, source.advice)
    rows = _rows(source, columns)
    with index_on_disk(SCHEMA) as index:
        yield gather(rows, index, bad_rows, columns, own=source.format == GENERIC)


def _rows(source: CorpusSource, columns: ColumnNames) -> Rows:
    if source.format not in FORMATS:
        raise UserError(unknown("corpus format", source.format, FORMATS))
    paths = (source.path,) if isinstance(source.path, str) else tuple(source.path)
    if source.format == GENERIC and source.sources is None:
        return read_generic(paths, columns)
    if source.columns:
        ours = source.advice.columns(source.columns)
        raise UserError(f"corpus format {source.format!r} knows its own columns: leave out {ours}")
    if source.sources is None:
        return FORMATS[source.format](paths)
    if source.format not in SOURCED:
        known = ", ".join(SOURCED)
        raise UserError(f"corpus format {source.format!r} takes no `sources`; these do: {known}")
    return SOURCED[source.format](paths, source.sources)
