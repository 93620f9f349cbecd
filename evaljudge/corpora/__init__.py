"""Reading cases from JSON lines, CSV and Parquet, and from benchmarks as they are published.

with open_corpus(CorpusSource("data/cases.jsonl")) as corpus:
    print(corpus.cases, corpus.digest)
    for case in corpus: ...
"""

from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache

from evaljudge.corpora.columns import CONFIGURATION, MOST, Advice, ColumnNames, Unread
from evaljudge.corpora.corpus import BadRows, Corpus, NamedRows, gather, notes_on, refuse_empty
from evaljudge.corpora.files import read_generic
from evaljudge.corpora.grouping import SCHEMA
from evaljudge.corpora.memory import Input
from evaljudge.corpora.rows import BadRow, KnownFormat, Rows
from evaljudge.errors import UserError, unknown
from evaljudge.plugins import added_code, folders, found_in_files
from evaljudge.storage import index_on_disk

GENERIC = "generic"
__path__ = folders("corpora")  # one that the environment names is a part of this package

__all__ = ["BadRows", "Corpus", "KnownFormat", "notes_on", "refuse_empty"]  # of other files


@cache
def known_formats() -> Mapping[str, KnownFormat]:
    return found_in_files("corpora", "FORMATS", KnownFormat)


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """Where a corpus is (a file, folder, glob or URI, rows in memory, or several), and in which
    format."""

    path: Input | tuple[Input, ...]
    format: str = GENERIC
    sources: str | None = None  # where the documents are that a benchmark's own files lack
    columns: Mapping[str, str] = field(default_factory=dict)
    """Which of our fields each column or key of theirs stands for; only in the generic form."""
    advice: Advice = CONFIGURATION  # how messages say what to do

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(self.path) if isinstance(self.path, list | tuple) else (self.path,)


@contextmanager
def open_corpus(source: CorpusSource, bad_rows: BadRows = "fail") -> Iterator[Corpus]:
    """Read everything once; the cases can then be iterated until the block ends."""
    columns = ColumnNames(source.columns, source.advice)
    rows = _rows(source, columns)
    with index_on_disk(SCHEMA) as index:
        yield gather(rows, index, bad_rows, columns, own=source.format == GENERIC)


def unread_columns(*inputs: Input) -> Unread:
    """The columns and keys of a corpus that do not have our names, by its first rows, and which of
    our fields they probably stand for."""
    rows = NamedRows(read_generic(inputs), CONFIGURATION, lambda _: 0)
    if rows.unread.by_rater:
        deque(rows, 0)  # each rater has a name there, also one who comes late
        if len(rows.unread.by_rater) >= MOST:
            raise UserError(f"{inputs[0]}: has too many raters: give ratings by axis, then rater")
    return rows.unread


def of_sources(source: CorpusSource) -> CorpusSource:
    """Without a column that is likely to name documents, where it names the texts: then rows with
    the same source are one document."""
    others = {name: "" if to == "doc_id" else to for name, to in source.columns.items()}
    if others != source.columns:
        joined = replace(source, columns=others)
        with suppress(UserError), open_corpus(source, "skip") as corpus:
            if corpus.sources_of_texts():
                with open_corpus(joined, "skip") as other:  # else a system has two of one source
                    return joined if other.skipped_rows <= corpus.skipped_rows else source
    return source


def _rows(source: CorpusSource, columns: ColumnNames) -> Rows:
    if source.format not in known_formats():
        raise UserError(unknown("corpus format", source.format, known_formats()))
    if source.format == GENERIC and source.sources is None:
        return read_generic(source.inputs, columns)
    if source.columns:
        ours = source.advice.columns(source.columns)
        raise UserError(f"corpus format {source.format!r} knows its own columns: leave out {ours}")
    chosen = known_formats()[source.format]
    if source.sources is not None and not chosen.takes_sources:
        raise UserError(f"corpus format {source.format!r} takes no `sources`")
    return _read(source, chosen)


def _read(source: CorpusSource, chosen: KnownFormat) -> Rows:
    given = (source.inputs,) if source.sources is None else (source.inputs, source.sources)
    with added_code(f"the corpus format {source.format}", chosen.read.__module__):
        for row in chosen.read(*given):
            fields = {} if isinstance(row, BadRow) else getattr(row, "fields", None)
            if not isinstance(fields, Mapping):
                raise TypeError(f"{row!r} is no Row with fields by their names")
            yield row
