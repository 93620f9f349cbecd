"""The rows of a file that a user gives beside the corpus: labels of entities, outliers.

list(rows_of("outliers.jsonl"))  ->  [Row("outliers.jsonl:1", {"doc_id": "d1"}), …]
"""

from __future__ import annotations

from collections.abc import Iterator
from io import BufferedReader

from evaljudge.corpora.files import BUFFER
from evaljudge.corpora.jsonl import read_jsonl
from evaljudge.corpora.rows import BadRow, Row, first_line
from evaljudge.errors import UserError
from evaljudge.storage import open_to_read


def rows_of(file: str) -> Iterator[Row]:
    """Of JSON lines by a user's path; the first that is none is the user's mistake."""
    try:
        with open_to_read(file) as stream, BufferedReader(stream, BUFFER) as lines:  # type: ignore[type-var]
            for row in read_jsonl(lines, file):
                if isinstance(row, BadRow):
                    raise UserError(f"{row.place}: {row.problem}")
                yield row
    except OSError as error:
        raise UserError(f"{file}: cannot be read ({first_line(error)})") from None
