"""What the readers of published benchmarks share: a row of the authors' form becomes one of ours.

    turned(Row("a.csv:2", {"Story": "A flood.", …}), turn) -> Row("a.csv:2", {"text": "A flood."…})
    turned(Row("a.csv:3", {"Model": "GPT", …}), turn)      -> BadRow("a.csv:3", "no `Story`")

If the form lacks the documents, their source is empty, which is enough for agreement and for
metrics against references.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evaljudge.corpora.files import Readers
from evaljudge.corpora.readers import read_csv, read_json
from evaljudge.corpora.rows import BadRow, RefusedError, Row, is_number, kind
from evaljudge.errors import first_line

Fields = Mapping[str, Any]
JSON: Readers = dict.fromkeys((".json", ".jsonl", ".json.gz", ".jsonl.gz"), read_json)
CSV: Readers = dict.fromkeys((".csv", ".csv.gz"), read_csv)


def turned(row: Row | BadRow, turn: Callable[[Fields], Fields]) -> Row | BadRow:
    if isinstance(row, BadRow):
        return row
    try:
        return Row(row.place, turn(row.fields))
    except KeyError as error:
        problem = f"no `{error.args[0]}`"
    except RefusedError as refused:
        problem = str(refused)
    except (AttributeError, TypeError, ValueError) as error:
        problem = f"not as its authors have it ({first_line(error)})"
    return BadRow(row.place, " ".join(problem.split()))  # their names may hold line breaks


def rating(value: Any) -> Any:
    """A number, from a cell too; None if it is null or the cell is empty."""
    if value is None or value == "":
        return None
    if not isinstance(value, str) and not is_number(value):
        raise TypeError(f"a rating is {kind(value)}")
    return float(value) if isinstance(value, str) else value
