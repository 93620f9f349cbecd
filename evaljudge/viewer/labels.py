"""A sheet of `evaljudge label`, filled in on a page. Each rating changes the file at once. Several
people may rate one sheet at the same time: each has rows of their own.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from math import inf
from pathlib import Path
from typing import Any, Self

import yaml

from evaljudge.corpora.rows import LABEL, NOTE, RATER
from evaljudge.corpora.sheets import JSONL, jsonl_rows, sheet
from evaljudge.errors import UserError
from evaljudge.report.page import environment, file_text, parts
from evaljudge.storage import Place, to_write
from evaljudge.text import LONG, direction, harmless, one_line
from evaljudge.viewer.server import HTML, Given, Refused, Response, Site, as_json

BESIDE = (LABEL, "source", "context", "text", RATER, NOTE)
LONGEST = 2_000  # characters of a note
SHOWN = ("source", "context", "text")
LOWEST, HIGHEST = 1, 5  # the ratings that the page offers
Fields = dict[str, Any]
Rows = dict[str, list[Fields]]
"""The rows of each label: one for each rater, or one row that nobody has rated."""


@dataclass(frozen=True)
class LabelSheet:
    file: str  # as it was named
    place: Place
    name: str
    rater: str
    axes: list[str]

    @classmethod
    def open(cls, file: str, rater: str) -> Self:
        if not file.endswith(JSONL):
            raise UserError(
                f"{file}: only sheets that end in {JSONL} can be filled in on a page: draw one "
                f"with `evaljudge label OUT --to NAME{JSONL}`"
            )
        place, name = to_write(file)
        rows = _rows(place.read(name), file)
        return cls(file, place, name, rater, [c for c in _columns(rows) if c not in BESIDE])

    def rate(
        self, label: str, ratings: Mapping[str, Any], before: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Keep these ratings, a `note` among them. Gives those in their place that are not as they
        were `before`: somebody has rated under the same name elsewhere."""
        for axis, rating in ratings.items():
            self._check(axis, rating)
        replaced: dict[str, Any] = {}

        def changed(content: bytes) -> bytes:
            rows = _rows(content, self.file)
            if label not in rows:
                raise ValueError("there is no such text in the sheet")
            row = self._own_row(rows[label])
            replaced.clear()
            for axis, rating in ratings.items():
                if (was := row.get(axis)) is not None and was not in (before.get(axis), rating):
                    replaced[axis] = was
            row |= ratings
            is_rated = any(row.get(name) is not None for name in (*self.axes, NOTE))
            row[RATER] = self.rater if is_rated else None
            return sheet(_columns(rows), chain.from_iterable(rows.values()), JSONL)

        self.place.change(self.name, changed)
        return replaced

    def _check(self, axis: str, rating: Any) -> None:
        if axis == NOTE:
            if not (rating is None or (isinstance(rating, str) and len(rating) <= LONGEST)):
                raise ValueError(f"a note has at most {LONGEST:,} characters")
            return
        if axis not in self.axes:
            raise ValueError(f"there is no axis {axis!r} in this sheet")
        is_number = isinstance(rating, int | float) and not isinstance(rating, bool)
        if rating is not None and not (is_number and LOWEST <= rating <= HIGHEST):
            raise ValueError(f"{axis}: a rating is a number from {LOWEST} to {HIGHEST}")

    def _own_row(self, rows: list[Fields]) -> Fields:
        for who in (self.rater, None, ""):
            for row in rows:
                if row.get(RATER) == who:
                    return row
        rows.append(rows[0] | dict.fromkeys((*self.axes, NOTE, RATER)))
        return rows[-1]

    def data(self, described: Mapping[str, str]) -> dict[str, Any]:
        """What the page shows; `described`: what the axes mean."""
        is_plain = self.file.isprintable()  # else YAML escapes what is not ASCII
        how: dict[str, Any] = {"default_flow_style": None, "width": inf}
        line = yaml.safe_dump({"ratings": [self.file]}, allow_unicode=is_plain, **how)
        texts = []
        for label, rows in _rows(self.place.read(self.name), self.file).items():
            row = self._own_row(rows)
            words = {part: harmless(row.get(part) or "") for part in SHOWN}
            given = {name: row.get(name) for name in (*self.axes, NOTE)}
            directions = {part: direction(words[part]) for part in SHOWN}
            texts.append({"label": label, "ratings": given, "directions": directions} | words)
        about = {name: one_line(described.get(name, ""), LONG) for name in self.axes}
        return {
            "axes": [{"name": a, "shown": one_line(a), "about": about[a]} for a in self.axes],
            "rater": one_line(self.rater),
            "place": one_line(self.place.at(self.name), LONG),
            "line": line.strip(),
            "values": list(range(LOWEST, HIGHEST + 1)),
            "texts": texts,
        }


def label_site(sheet: LabelSheet, described: Mapping[str, str]) -> Site:
    def page(given: Given) -> Response:
        template, own_style, script = (
            (Path(__file__).parent / f"label.{kind}").read_text(encoding="utf-8")
            for kind in ("html.j2", "css", "js")
        )
        data = sheet.data(described) | {"token": site.token}
        made = environment().from_string(template)
        shown = made.render(**parts(file_text("page.css") + own_style, script, data))
        return Response(shown.encode(), HTML)

    def rate(given: Mapping[str, Any]) -> Response:
        ratings, before = given.get("ratings"), given.get("before", {})
        if not isinstance(ratings, dict) or not isinstance(before, dict):
            raise Refused("the request has no ratings by axis")
        return as_json({"replaced": sheet.rate(str(given.get("label")), ratings, before)})

    site = Site({"/": page}, {"/rate": rate})
    return site


def _rows(content: bytes, file: str) -> Rows:
    by_label: Rows = {}
    for row in jsonl_rows(content, file):
        by_label.setdefault(str(row.fields.get(LABEL)), []).append(dict(row.fields))
    if not by_label or any(LABEL not in row for row in chain.from_iterable(by_label.values())):
        raise UserError(f"{file}: no sheet of `evaljudge label`: its rows have no labels")
    return by_label


def _columns(rows: Rows) -> list[str]:
    every = chain.from_iterable(rows.values())
    return list(dict.fromkeys(column for row in every for column in row))
