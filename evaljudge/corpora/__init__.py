"""Reading cases: from tables and lines of any kind, and from benchmarks as their authors publish.

with open_corpus(CorpusSource("data/cases.jsonl")) as corpus:
    print(corpus.cases, corpus.digest)
    for case in corpus: ...

A format of one's own is one file with a function that yields rows in the generic form, and a line
in `FORMATS`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass

from evaljudge.corpora.corpus import BadRows, Corpus, gather
from evaljudge.corpora.generic import read_generic
from evaljudge.corpora.rows import Format
from evaljudge.errors import UserError, unknown

FORMATS: dict[str, Format] = {"generic": read_generic}

__all__ = ["FORMATS", "BadRows", "Corpus", "CorpusSource", "open_corpus"]


@dataclass(frozen=True, slots=True)
class CorpusSource:
    """Where a corpus lies (a file, folder, glob or URI, or several), and in which format."""

    path: str | tuple[str, ...]
    format: str = "generic"


@contextmanager
def open_corpus(source: CorpusSource, bad_rows: BadRows = "fail") -> Iterator[Corpus]:
    """Reads everything once; its cases can then be iterated until the block ends."""
    if source.format not in FORMATS:
        raise UserError(unknown("corpus format", source.format, FORMATS))
    paths = (source.path,) if isinstance(source.path, str) else tuple(source.path)
    with closing(sqlite3.connect("")) as base:
        yield gather(FORMATS[source.format](paths), base, bad_rows)
