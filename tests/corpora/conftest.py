"""Corpora written down for a test, and what is read from them."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

import pytest

from evaljudge.corpora import BadRows, CorpusSource, open_corpus
from evaljudge.errors import UserError

KEPT = ("rated", "skipped", "skipped_rows", "absent_ratings", "digest", "ratings_digest")


def read_corpus(
    path: str | Path | tuple[str, ...],
    bad_rows: BadRows = "fail",
    form: str = "generic",
    sources: str | None = None,
) -> SimpleNamespace:
    """What a closed corpus held."""
    named = str(path) if isinstance(path, Path) else path
    with open_corpus(CorpusSource(named, form, sources), bad_rows) as corpus:
        cases = list(corpus)
        assert cases == list(corpus)
        assert corpus.cases == len(cases)
        assert corpus.candidates == sum(len(case.candidates) for case in cases)
        texts = {c.document.doc_id: [(k.system, k.text) for k in c.candidates] for c in cases}
        kept = {name: getattr(corpus, name) for name in KEPT}
        return SimpleNamespace(cases=cases, texts=texts, **kept)


@pytest.fixture(scope="session")
def read():
    return read_corpus


@pytest.fixture
def lines(tmp_path):
    """Writes rows (objects, or lines as they are) as cases.jsonl."""

    def write(*rows: object, name: str = "cases.jsonl") -> Path:
        made = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        path = tmp_path / name
        path.write_bytes(b"\n".join(made) + b"\n")
        return path

    return write


@pytest.fixture
def table(tmp_path):
    """Writes rows of one header as a CSV file."""

    def write(rows: Sequence[Mapping[str, object]], name: str = "cases.csv") -> Path:
        path = tmp_path / name
        with path.open("w", newline="", encoding="utf-8") as stream:
            writer = csv.DictWriter(stream, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return path

    return write


@pytest.fixture
def refusal(lines):
    """The one line that says why rows are refused."""

    def of(*rows: object) -> str:
        with pytest.raises(UserError) as raised:
            read_corpus(lines(*rows))
        assert "\n" not in str(raised.value)
        return str(raised.value)

    return of
