"""Corpora written down for a test, and what is read from them."""

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from evaljudge.corpora import BadRows, CorpusSource, open_corpus
from evaljudge.errors import UserError
from evaljudge.records import Case


@dataclass
class Read:
    """What a closed corpus held."""

    cases: list[Case]
    rated: int
    skipped: tuple[str, ...]
    skipped_rows: int
    absent_ratings: int
    digest: str
    ratings_digest: str

    @property
    def texts(self) -> dict[str, list[tuple[str, str]]]:
        return {c.document.doc_id: [(k.system, k.text) for k in c.candidates] for c in self.cases}


def read_corpus(
    path: str | Path | tuple[str, ...],
    bad_rows: BadRows = "fail",
    form: str = "generic",
    sources: str | None = None,
) -> Read:
    named = str(path) if isinstance(path, Path) else path
    with open_corpus(CorpusSource(named, form, sources), bad_rows) as corpus:
        cases = list(corpus)
        assert cases == list(corpus)
        assert corpus.cases == len(cases)
        assert corpus.candidates == sum(len(case.candidates) for case in cases)
        return Read(
            cases,
            corpus.rated,
            corpus.skipped,
            corpus.skipped_rows,
            corpus.absent_ratings,
            corpus.digest,
            corpus.ratings_digest,
        )


@pytest.fixture(scope="session")
def read() -> Callable[..., Read]:
    return read_corpus


@pytest.fixture
def lines(tmp_path: Path) -> Callable[..., Path]:
    """Writes rows (objects, or lines as they are) as cases.jsonl."""

    def write(*rows: object, name: str = "cases.jsonl") -> Path:
        made = [row if isinstance(row, bytes) else json.dumps(row).encode() for row in rows]
        path = tmp_path / name
        path.write_bytes(b"\n".join(made) + b"\n")
        return path

    return write


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
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
def refusal(lines: Callable[..., Path]) -> Callable[..., str]:
    """The one line that says why rows are refused."""

    def of(*rows: object) -> str:
        with pytest.raises(UserError) as raised:
            read_corpus(lines(*rows))
        assert "\n" not in str(raised.value)
        return str(raised.value)

    return of
