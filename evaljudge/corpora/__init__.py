"""Reading cases from JSON lines, CSV and Parquet, and from benchmarks as they are published.

with open_corpus(CorpusSource("data/cases.jsonl")) as corpus:
    print(corpus.cases, corpus.digest)
    for case in corpus: ...

A format is an entry of `FORMATS` in a file with a function that yields rows in the generic form;
such files are found by looking. A format whose files lack the documents may take `sources`, where
the documents are.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import islice

from evaljudge.corpora.columns import CONFIGURATION, OPTIONS, Advice, ColumnNames, Unread
from evaljudge.corpora.corpus import BadRows, Corpus, gather, notes_on, refuse_empty
from evaljudge.corpora.files import read_generic
from evaljudge.corpora.grouping import SCHEMA
from evaljudge.corpora.rows import KnownFormat, Row, Rows
from evaljudge.errors import UserError, unknown
from evaljudge.plugins import folders, found_in_files
from evaljudge.settings import AnyPath, Paths, as_path, as_paths
from evaljudge.storage import index_on_disk

GENERIC = "generic"
ROWS_LOOKED_AT = 200
__path__ = folders("corpora")  # one that the environment names is a part of this package

__all__ = ["BadRows", "Corpus", "KnownFormat", "notes_on", "refuse_empty"]  # of other files


@cache
def known_formats() -> Mapping[str, KnownFormat]:
    return found_in_files("corpora", "FORMATS", KnownFormat)


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
            unread.see(row.fields)
    return unread.likely()


def _rows(source: CorpusSource, columns: ColumnNames) -> Rows:
    if source.format not in known_formats():
        raise UserError(unknown("corpus format", source.format, known_formats()))
    paths = (source.path,) if isinstance(source.path, str) else tuple(source.path)
    if source.format == GENERIC and source.sources is None:
        return read_generic(paths, columns)
    if source.columns:
        ours = source.advice.columns(source.columns)
        raise UserError(f"corpus format {source.format!r} knows its own columns: leave out {ours}")
    chosen = known_formats()[source.format]
    if source.sources is None:
        return chosen.read(paths)
    if not chosen.takes_sources:
        raise UserError(f"corpus format {source.format!r} takes no `sources`")
    return chosen.read(paths, source.sources)
