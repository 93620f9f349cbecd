"""The briefs that are in a folder already, by key: an index on disk, as there may be many."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from typing import Any

from evaljudge.engines import Identity
from evaljudge.identity import brief_key
from evaljudge.judges.protocol import Judge
from evaljudge.records import Brief, Document, Tokens
from evaljudge.storage import Index, index_on_disk


@contextmanager
def known_briefs() -> Iterator[KnownBriefs]:
    """None yet."""
    table = "CREATE TABLE briefs (key TEXT PRIMARY KEY, brief TEXT) WITHOUT ROWID;"
    with index_on_disk(table) as index:
        yield KnownBriefs(index)


class KnownBriefs:
    def __init__(self, index: Index) -> None:
        self.common: dict[str, Mapping[str, Any]] = {}
        """What was written once for all documents."""
        self._index = index

    def add(self, briefs: Iterable[Brief]) -> None:
        rows = ((brief.key, json.dumps(asdict(brief))) for brief in briefs)
        self._index.executemany("INSERT OR REPLACE INTO briefs VALUES (?, ?)", rows)

    def keep(
        self, judge: Judge, document: Document, writer: Identity, briefs: Sequence[Brief]
    ) -> None:
        """Briefs without keys, as a judge gives them."""
        keys = {(p.axis, p.name): brief_key(judge, p, document, writer) for p in judge.parts()}
        self.add(replace(brief, key=keys[brief.axis, brief.part]) for brief in briefs)

    def of(self, judge: Judge, document: Document, writer: Identity) -> list[Brief]:
        """The parts of this judge's briefs of the document that are there."""
        keys = (brief_key(judge, part, document, writer) for part in judge.parts())
        return [brief for brief in map(self._find, keys) if brief]

    def _find(self, key: str) -> Brief | None:
        row = self._index.execute("SELECT brief FROM briefs WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        fields = json.loads(row[0])
        return Brief(**fields | {"tokens": Tokens(**fields["tokens"])})
