"""Rows of a result, as notebooks show them.

>>> outcome.agreement.to_pandas()
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from html import escape
from typing import Any, TypeVar

from evaljudge.sections.figures import correlation
from evaljudge.text import one_line

R = TypeVar("R")
MOST_SHOWN = 50


class Rows(list[R]):
    """A list of dataclasses that shows itself as a table; parts of a part are columns, too
    (`fit.axis`)."""

    def to_pandas(self) -> Any:
        import pandas as pd

        return pd.DataFrame([_flat(asdict(row)) for row in self])  # type: ignore[call-overload]

    def _repr_html_(self) -> str:
        rows = [_flat(asdict(row)) for row in self[:MOST_SHOWN]]  # type: ignore[call-overload]
        heads = list(dict.fromkeys(name for row in rows for name in row))
        table = html_table(heads, ([_cell(row.get(name)) for name in heads] for row in rows))
        more = len(self) - len(rows)
        return f"{table}<p>and {more:,} more rows</p>" if more else table


def html_table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> str:
    lines = [[f"<th>{escape(one_line(head))}</th>" for head in heads]]
    lines += [[f"<td>{escape(one_line(cell))}</td>" for cell in row] for row in rows]
    return f"<table>{''.join('<tr>' + ''.join(line) + '</tr>' for line in lines)}</table>"


def _cell(value: Any) -> str:
    return correlation(value) if value is None or isinstance(value, float) else str(value)


def _flat(row: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    parts = dict[str, Any]()
    for name, value in row.items():
        is_part = isinstance(value, dict)
        parts |= _flat(value, f"{before}{name}.") if is_part else {f"{before}{name}": value}
    return parts
