"""What `evaljudge view` serves: the page over all texts of a run, or a sheet to be filled in."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from evaljudge.agreement.rated import Text
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.run_scores import ScoredRun
from evaljudge.records import Case
from evaljudge.report.page import environment, file_text, page, parts, text_html
from evaljudge.report.texts import beginning, spread_data
from evaljudge.runs.shown import shown_in
from evaljudge.storage import Shard
from evaljudge.text import one_line
from evaljudge.viewer.index import RunIndex
from evaljudge.viewer.labels import LabelSheet
from evaljudge.viewer.server import BYTES, HTML, TEXT, Given, Refused, Response, Site, as_json

if TYPE_CHECKING:
    import pyarrow as pa

_HERE = Path(__file__).parent
KEPT = 64  # shards whose cases stay in memory
MOST_ROWS = 500  # in one request


class RunSite:
    def __init__(self, run: ScoredRun, findings: Findings, other: ScoredRun | None = None) -> None:
        """`other`: a run that is compared with it."""
        self.findings = findings
        self.index = RunIndex(run, None if other is None else RunIndex(other))
        routes = (self.names, self.column, self.begins, self.text, self.search)
        self.site = Site({"/": self.page, **{f"/{route.__name__}": route for route in routes}})
        self._cases = lru_cache(KEPT)(self._read_cases)

    def page(self, given: Given) -> Response:
        index = self.index
        data = spread_data(self.findings) | {
            "token": self.site.token,
            "scorers": [{"scorer": scorer, "axis": axis} for scorer, axis in index.scales],
            "systems": index.systems,
            "human": index.axes,
            "reasons": index.reasons,
            "selections": index.selections,
        }
        if index.other is not None:
            out, name = index.other.run.out, index.other.run.out.rstrip("/").rpartition("/")[2]
            data |= {"other": out, "other_name": name, "compared": index.comparison}
        return Response(page(self.findings, data=data).encode(), HTML)

    def names(self, given: Given) -> Response:
        return as_json([doc_id for doc_id, _ in self.index.texts])

    def column(self, given: Given) -> Response:
        try:
            return Response(self.index.column(given["name"]), BYTES)
        except (LookupError, ValueError):
            raise Refused(f"there is no column {given['name']!r}") from None

    def begins(self, given: Given) -> Response:
        rows = [self._row(row) for row in given["rows"].split(",") if row]
        if len(rows) > MOST_ROWS:
            raise Refused(f"at most {MOST_ROWS} rows at a time")
        return as_json([beginning(self._candidate_text(row)) for row in rows])

    def _row(self, row: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", row) or int(row) >= len(self.index.texts):
            raise Refused(f"there is no row {row}")
        return int(row)

    def _candidate_text(self, row: int) -> str:
        doc_id, system = self.index.texts[row]
        case = self._cases(self.index.shard_of(row))[doc_id]
        return next(candidate.text for candidate in case.candidates if candidate.system == system)

    def _read_cases(self, shard: Shard) -> Mapping[str, Case]:
        return {case.document.doc_id: case for case in self.index.run.output.cases(shard)}

    def text(self, given: Given) -> Response:
        row, index = self._row(given["row"]), self.index
        text = index.texts[row]
        selected = {name: [text] for name, column in index.selected.items() if column[row]}
        html = _shown(index, row, selected)
        if its_place := index.beside(text):
            other, there = its_place
            beside = Markup('<section class="beside"><h3>In {}</h3>{}</section>')
            html += beside.format(one_line(other.run.out), _shown(other, there, {}))
        # Not as HTML: a page of its own, without the content policy, it must never be.
        return Response(html.encode(), TEXT)

    def search(self, given: Given) -> Response:
        import pyarrow.compute as pc

        matches = None
        for word in given["words"].lower().split():
            has = pc.match_substring(self._words, word)
            matches = has if matches is None else pc.and_(matches, has)
        if matches is None:
            raise Refused("no word to look for")
        return Response(matches.to_numpy(zero_copy_only=False).astype(np.uint8).tobytes(), BYTES)

    @cached_property
    def _words(self) -> pa.ChunkedArray:
        import pyarrow as pa
        import pyarrow.compute as pc

        def words_of(shard: Shard) -> pa.Array:
            texts = (" ".join(text) for text in self.index.run.output.texts(shard))
            return pc.utf8_lower(pa.array(texts, pa.large_string()))

        run = self.index.run
        return pa.chunked_array(list(run.output.ahead(words_of, run.scored)), pa.large_string())


def _shown(index: RunIndex, row: int, selected: Mapping[str, Collection[Text]]) -> Markup:
    output, shard, text = index.run.output, index.shard_of(row), index.texts[row]
    (shown,) = shown_in(output, shard, [text], selected, index.further, index.prompts)
    return text_html(shown, "all prompts")


class LabelSite:
    def __init__(self, sheet: LabelSheet, described: Mapping[str, str]) -> None:
        """`described`: what the axes mean."""
        self.sheet, self._described = sheet, described
        self.site = Site({"/": self.page}, {"/rate": self.rate})

    def page(self, given: Given) -> Response:
        template, own_style, script = (
            (_HERE / f"label.{kind}").read_text(encoding="utf-8")
            for kind in ("html.j2", "css", "js")
        )
        data = self.sheet.data(self._described) | {"token": self.site.token}
        made = environment().from_string(template)
        shown = made.render(**parts(file_text("page.css") + own_style, script, data))
        return Response(shown.encode(), HTML)

    def rate(self, given: Mapping[str, Any]) -> Response:
        ratings, before = given.get("ratings"), given.get("before", {})
        if not isinstance(ratings, dict) or not isinstance(before, dict):
            raise Refused("the request has no ratings by axis")
        replaced = self.sheet.rate(str(given.get("label")), ratings, before)
        return as_json({"replaced": replaced})
