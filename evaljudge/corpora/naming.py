"""Names for the documents and texts of a corpus that has none.

Row("c.csv:2", {"source": "The river …", "text": "A flood."})
-> Row("c.csv:2", {…, "doc_id": "5b0f1c2e9a31", "system": "text 1"})

Rows with the same source are then one document, whose texts are numbered. A row without a name in a
corpus that has some is the user's mistake, and so is a name under another column.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from hashlib import blake2b
from itertools import chain, islice
from typing import Any

from evaljudge.corpora.columns import CONFIGURATION, Advice, Unread
from evaljudge.corpora.rows import BadRow, Row, Rows, in_candidates

ROWS_LOOKED_AT = 200


class NamedRows:
    def __init__(self, rows: Rows, advice: Advice = CONFIGURATION) -> None:
        self.unread = Unread(advice)
        seen = map(self._see, rows)
        self._rows = chain(list(islice(seen, ROWS_LOOKED_AT)), seen)
        self._lacking = {"doc_id", "system"} - self.unread.known
        self._lacking -= {*self.unread.likely().values()}
        self._texts = Counter[Any]()

    def __iter__(self) -> Rows:
        for row in self._rows:
            if self._lacking and isinstance(row, Row):
                yield Row(row.place, self._named(row.fields))
            else:
                yield row

    def _see(self, row: Row | BadRow) -> Row | BadRow:
        if isinstance(row, Row):
            self.unread.see(row.fields)
        return row

    def notes(self) -> Iterator[str]:
        if "doc_id" in self._lacking:
            yield "no row has a `doc_id`: rows with the same `source` are taken for one document"
        if self._texts:
            yield (
                "no row has a `system`: the texts of a document are called `text 1`, `text 2` and "
                "so on, so means of systems say nothing"
            )

    def _named(self, row: Mapping[str, Any]) -> dict[str, Any]:
        fields, source = dict(row), row.get("source")
        if "doc_id" in self._lacking and isinstance(source, str):
            digest = blake2b(source.encode(errors="surrogatepass"), digest_size=6)
            fields.setdefault("doc_id", digest.hexdigest())
        if "system" not in self._lacking:
            return fields
        doc_id = str(fields.get("doc_id"))

        def numbered(text: Mapping[str, Any]) -> dict[str, Any]:
            self._texts[doc_id] += 1
            return {"system": f"text {self._texts[doc_id]}", **text}

        return in_candidates(numbered(fields) if "text" in fields else fields, numbered)
