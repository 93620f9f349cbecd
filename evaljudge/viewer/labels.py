"""A sheet of `evaljudge label`, filled in on a page.

    sheet = LabelSheet.open("sheet.jsonl", "anna")
    sheet.rate("bkqvztlmnp", {"fluency": 4.0})

Raters see a text and its source, and neither its system nor its scores: the sheet does not hold
them. The file is written anew, whole, with each rating, so that nothing is lost if the server ends.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import yaml

from evaljudge.corpora.sheets import JSONL, LABEL, RATER, read_sheet, sheet
from evaljudge.errors import UserError
from evaljudge.storage import Place, to_write
from evaljudge.text import LONG, harmless, one_line

BESIDE = (LABEL, "source", "context", "text", RATER)
SHOWN = ("source", "context", "text")
LOWEST, HIGHEST = 1, 5
"""The ratings that the page offers."""


@dataclass
class LabelSheet:
    file: str
    """As it was named."""
    place: Place
    name: str
    rater: str
    columns: Sequence[str]
    rows: dict[str, dict[str, Any]]
    """By label."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @classmethod
    def open(cls, file: str, rater: str) -> LabelSheet:
        if not file.endswith(JSONL):
            raise UserError(
                f"{file}: only sheets that end in {JSONL} can be filled in on a page: draw one "
                f"with `evaljudge label OUT --to NAME{JSONL}`"
            )
        rows = {str(row.fields.get(LABEL)): dict(row.fields) for row in read_sheet(file)}
        if not rows or any(LABEL not in row for row in rows.values()):
            raise UserError(f"{file}: no sheet of `evaljudge label`: its rows have no labels")
        others = {row.get(RATER) for row in rows.values()} - {None, "", rater}
        if others:
            who = sorted(map(str, others))[0]
            raise UserError(f"{file}: {who} rates in this sheet: copy it, and name the copy")
        columns = list(dict.fromkeys(column for row in rows.values() for column in row))
        return cls(file, *to_write(file), rater, columns, rows)

    @property
    def axes(self) -> list[str]:
        return [column for column in self.columns if column not in BESIDE]

    def rate(self, label: str, ratings: Mapping[str, float | None]) -> int:
        """Keep these ratings; gives how many texts are rated on every axis."""
        with self._lock:
            row = self.rows[label]
            row |= {axis: self._checked(axis, rating) for axis, rating in ratings.items()}
            row[RATER] = self.rater if any(row.get(a) is not None for a in self.axes) else None
            content = sheet(self.columns, self.rows.values(), JSONL)
            self.place.write(self.name, content)
            return self.done

    def _checked(self, axis: str, rating: float | None) -> float | None:
        if axis not in self.axes:
            raise ValueError(f"there is no axis {axis!r} in this sheet")
        if rating is not None and (
            isinstance(rating, bool)
            or not isinstance(rating, int | float)
            or not LOWEST <= rating <= HIGHEST
        ):
            raise ValueError(f"{axis}: a rating is a number from {LOWEST} to {HIGHEST}")
        return rating

    @property
    def done(self) -> int:
        rows = self.rows.values()
        return sum(all(row.get(axis) is not None for axis in self.axes) for row in rows)

    @property
    def _line(self) -> str:
        """The line of a configuration that reads the ratings."""
        is_plain = self.file.isprintable()  # else YAML escapes what is not ASCII
        return yaml.safe_dump(
            {"ratings": [self.file]}, default_flow_style=None, width=inf, allow_unicode=is_plain
        ).strip()

    def data(self, described: Mapping[str, str]) -> dict[str, Any]:
        """What the page shows; `described`: what the axes mean."""
        return {
            "axes": [
                {
                    "name": name,
                    "shown": one_line(name),
                    "about": one_line(described.get(name, ""), LONG),
                }
                for name in self.axes
            ],
            "rater": one_line(self.rater),
            "place": one_line(self.place.at(self.name), LONG),
            "line": self._line,
            "values": list(range(LOWEST, HIGHEST + 1)),
            "texts": [
                {
                    "label": label,
                    **{part: harmless(row.get(part) or "") for part in SHOWN},
                    "ratings": {axis: row.get(axis) for axis in self.axes},
                }
                for label, row in self.rows.items()
            ],
        }
