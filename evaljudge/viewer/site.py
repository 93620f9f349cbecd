"""What `evaljudge view` serves: the page over all texts of a run, or a sheet to be filled in."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

from evaljudge.analysis.findings import Findings
from evaljudge.analysis.two_runs import ScoredRun
from evaljudge.records import Case
from evaljudge.report.page import environment, file_text, page, parts, text_html
from evaljudge.report.texts import beginning, spread_data
from evaljudge.runs.shown import shown_in
from evaljudge.storage import Shard
from evaljudge.text import one_line
from evaljudge.viewer.index import RunIndex, TwoRunsIndex
from evaljudge.viewer.labels import LabelSheet
from evaljudge.viewer.server import BYTES, HTML, TEXT, Given, Refused, Response, Site, as_json

if TYPE_CHECKING:
    import pyarrow as pa

_HERE = Path(__file__).parent
KEPT = 64
"""Shards whose cases stay in memory."""
MOST_ROWS = 500
"""Of one request."""


class RunSite:
    """One run, read when it is asked for, but for the numbers of all texts."""

    def __init__(self, run: ScoredRun, findings: Findings, other: ScoredRun | None = None) -> None:
        """`other`: a run that is compared with it."""
        self.findings, self._other = findings, other
        self.index = RunIndex(run) if other is None else TwoRunsIndex(run, RunIndex(other))
        self.site = Site({
            "/": self.page, "/names": self.names, "/column": self.column,
            "/begins": self.begins, "/text": self.text, "/search": self.search,
        })  # fmt: skip
        self._cases = lru_cache(KEPT)(self._read_cases)

    def page(self, given: Given) -> Response:
        return Response(page(self.findings, data=self._data).encode(), HTML)

    @property
    def _data(self) -> dict[str, Any]:
        index = self.index
        return {
            **spread_data(self.findings),
            "token": self.site.token,
            "scorers": [{"scorer": scorer, "axis": axis} for scorer, axis in index.scales],
            "systems": index.systems,
            "human": index.axes,
            "reasons": index.reasons,
            "selections": index.selections,
            **self._compared,
        }

    @property
    def _compared(self) -> dict[str, Any]:
        """Of a run beside another."""
        if self._other is None or not isinstance(self.index, TwoRunsIndex):
            return {}
        name = self._other.out.rstrip("/").rpartition("/")[2]
        return {"other": self._other.out, "other_name": name, "compared": self.index.comparison}

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

    def _row(self, given: str) -> int:
        if not re.fullmatch("[0-9]{1,9}", given) or int(given) >= len(self.index.texts):
            raise Refused(f"there is no row {given}")
        return int(given)

    def _candidate_text(self, row: int) -> str:
        doc_id, system = self.index.texts[row]
        case = self._cases(self.index.shard_of(row))[doc_id]
        return next(one.text for one in case.candidates if one.system == system)

    def _read_cases(self, shard: Shard) -> Mapping[str, Case]:
        return {case.document.doc_id: case for case in self.index.run.output.cases(shard)}

    def text(self, given: Given) -> Response:
        row, index = self._row(given["row"]), self.index
        text = index.texts[row]
        selected = {name: [text] for name, column in index.selected.items() if column[row]}
        shard = index.shard_of(row)
        output, ratings = index.run.output, index.further
        (shown,) = shown_in(output, shard, [text], selected, ratings, index.prompts)
        # Not as HTML: a page of its own, without the content policy, it must never be.
        html = text_html(shown, "all prompts") + self._beside(text)
        return Response(html.encode(), TEXT)

    def _beside(self, text: tuple[str, str]) -> Markup:
        """The same text in the run that is compared."""
        found = self.index.beside(text)
        if found is None:
            return Markup()
        other, row = found
        output, shard = other.run.output, other.shard_of(row)
        (shown,) = shown_in(output, shard, [text], {}, other.further, other.prompts)
        body = text_html(shown, "all prompts")
        head = f"In {one_line(other.run.out)}"
        return Markup('<section class="beside"><h3>{}</h3>{}</section>').format(head, body)

    def search(self, given: Given) -> Response:
        import pyarrow.compute as pc

        found = None
        for word in given["words"].lower().split():
            has = pc.match_substring(self._words, word)
            found = has if found is None else pc.and_(found, has)
        if found is None:
            raise Refused("no word to look for")
        return Response(found.to_numpy(zero_copy_only=False).astype(np.uint8).tobytes(), BYTES)

    @cached_property
    def _words(self) -> pa.ChunkedArray:
        """Document, system and text of each row, in lower case."""
        import pyarrow as pa
        import pyarrow.compute as pc

        def words_of(shard: Shard) -> pa.Array:
            found = (" ".join(text) for text in self.index.run.output.texts(shard))
            return pc.utf8_lower(pa.array(found, pa.large_string()))

        run = self.index.run
        return pa.chunked_array(list(run.output.ahead(words_of, run.scored)), pa.large_string())


class LabelSite:
    """A sheet that one person fills in; of the run it shows nothing else."""

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
