"""Brings the rows of one document, which may lie anywhere in the files, together on disk.

grouping.add("c.jsonl:1", CaseRow(doc_id="d1", source="The river …", candidates=[a]))
grouping.add("c.jsonl:9", CaseRow(doc_id="d1", source="The lake …", candidates=[b]))
-> RefusedError("`source` of document 'd1' is another than in c.jsonl:1")
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from math import isnan, nan
from statistics import fmean
from typing import Any

from evaljudge.corpora.rows import DOTTED, OF_RATER, CandidateRow, CaseRow, RefusedError
from evaljudge.records import Candidate, Case, Document
from evaljudge.storage import Index
from evaljudge.text import shown

TEXT_AGAIN, FIRST_IN = "the text of ", " again (first in "
SEVERAL_TEXTS = "Several texts of one system? Give each a system of its own, such as `A 1`, `A 2`"
SEVERAL_ROWS = (
    "Several rows for one text: one for each rater? Name the column of raters (`rater`; number "
    "them where they have no names). One for each axis? If a column such as `criterion` or "
    "`dimension` names it, `evaljudge init` makes one row of them. Else give each text one row"
)
CACHE_KIB = 65_536
SCHEMA = f"""
PRAGMA cache_size = -{CACHE_KIB};
CREATE TABLE document (
    number INTEGER PRIMARY KEY, doc_id TEXT NOT NULL UNIQUE,
    source TEXT, context TEXT, "references" TEXT,
    source_place TEXT, context_place TEXT, references_place TEXT,
    marked INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE candidate (
    number INTEGER PRIMARY KEY, document INTEGER NOT NULL, system TEXT NOT NULL,
    text TEXT NOT NULL, ratings TEXT NOT NULL, raters TEXT, place TEXT NOT NULL,
    marked INTEGER NOT NULL DEFAULT 0,
    UNIQUE (document, system)
);
CREATE TABLE again (candidate INTEGER NOT NULL, place TEXT NOT NULL);
CREATE INDEX again_of ON again (candidate);
"""
_ADD = "INSERT OR IGNORE INTO document VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, 0)"
_FIND = 'SELECT number, source, context, "references" FROM document WHERE doc_id = ?'
_DOCUMENTS = 'SELECT number, doc_id, source, context, "references" FROM document'
_CANDIDATES = "SELECT system, text, ratings, raters FROM candidate WHERE document = ?"
_WITH_NEWS = """NOT marked OR EXISTS
(SELECT * FROM candidate c WHERE c.document = document.number AND NOT c.marked)"""
_NUMBERED = """SELECT coalesce(max(CAST(substr(system, 6) AS INTEGER)), 0) FROM candidate
JOIN document d ON d.number = document WHERE doc_id = ? AND system LIKE 'text %'"""
_SOURCES = """SELECT coalesce(source, d.number), iif(system LIKE 'text %', d.number, system)
FROM candidate JOIN document d ON d.number = document"""
_COUNTS = """SELECT (SELECT count(*) FROM document), count(*), coalesce(sum(ratings <> '{}'), 0)
FROM candidate"""
_AGAIN = """SELECT text, a.place, doc_id, system FROM again a
JOIN candidate c ON c.number = candidate JOIN document d ON c.document = d.number"""
_PLACED = "c.place, doc_id, system FROM candidate c JOIN document d ON c.document = d.number"
_LATER = "iif(EXISTS (SELECT 1 FROM again WHERE candidate = c.number), ' or a later row', '')"
_EACH_RATING = f"""SELECT ratings, raters, c.place || {_LATER}, doc_id, system FROM candidate c
JOIN document d ON c.document = d.number WHERE ratings <> '{{}}' ORDER BY c.number"""
_RATINGS = "SELECT ratings FROM candidate WHERE ratings <> '{}' ORDER BY number"


@dataclass(frozen=True, slots=True)
class Grouped:
    """The cases of an index, in order of first appearance, candidates in row order."""

    index: Index = field(repr=False)
    places: dict[str, list[int]] = field(repr=False)
    """The raters of an axis in the order of their names, where rows named them in another."""

    def __iter__(self) -> Iterator[Case]:
        """May be called as often as wanted; several iterations may run at a time."""
        for row in self.index.execute(f"{_DOCUMENTS} ORDER BY number"):
            yield self._case(row, _CANDIDATES)

    def counts(self) -> tuple[int, int, int]:
        """Cases, candidates, and rated candidates."""
        cases, candidates, rated = self._one(_COUNTS)
        return cases, candidates, rated

    def numbered(self, doc_id: str) -> int:
        """The largest number that a text of a document has for a system."""
        return int(self._one(_NUMBERED, doc_id)[0])

    def systems(self) -> int:
        return int(self._one("SELECT count(DISTINCT system) FROM candidate")[0])

    def sources_of_texts(self) -> int:
        """How many sources there are, if every text has a document of its own though several
        systems' texts are of one source; else 0."""
        documents, texts, _ = self.counts()
        if documents < texts:
            return 0
        each = [(hash(f"{text}".strip()), who) for text, who in self.index.execute(_SOURCES)]
        sources = len({text for text, _ in each})
        return sources if sources < len({*each}) else 0

    def rated_on(self) -> dict[str, int]:
        """How many candidates are rated on each axis, in order of first appearance."""
        counted = Counter[str]()
        for (ratings,) in self.index.execute(_RATINGS):
            counted.update(json.loads(ratings).keys())
        return dict(counted)

    def each_rating(self) -> Iterator[tuple[str, float, Sequence[str]]]:
        """Every rater's, or else the only one: its axis, number, and what `rated_text` takes."""
        for text, of_raters, *rated in self.index.execute(_EACH_RATING):
            ratings: dict[str, Any] = json.loads(text) | json.loads(of_raters or "{}")
            for axis, given in ratings.items():
                is_list = isinstance(given, list)
                for number, rating in enumerate(given if is_list else [given]):
                    if rating == rating:  # a rater's absent rating is NaN
                        end = f"{OF_RATER}{number}" if is_list else ""
                        yield axis, rating, (*rated, f"{DOTTED}{axis}{end}")

    def each_text(self) -> Iterator[Sequence[str]]:
        """Each text itself, and what `rated_text` takes."""
        yield from self.index.execute(f"SELECT text, {_PLACED} UNION ALL {_AGAIN}")

    def find(self, doc_id: str) -> Case | None:
        row = self._one(f"{_DOCUMENTS} WHERE doc_id = ?", doc_id)
        return self._case(row, _CANDIDATES) if row else None

    def mark(self, case: Case) -> None:
        """Note that this document and these of its candidates are known from before."""
        number = self._one(_FIND, case.document.doc_id)[0]
        self.index.execute("UPDATE document SET marked = 1 WHERE number = ?", (number,))
        self.index.executemany(
            "UPDATE candidate SET marked = 1 WHERE document = ? AND system = ?",
            ((number, candidate.system) for candidate in case.candidates),
        )

    def unmarked(self) -> Iterator[Case]:
        """Documents that are not marked, and marked ones with their candidates that are not."""
        for row in self.index.execute(f"{_DOCUMENTS} WHERE {_WITH_NEWS} ORDER BY number"):
            yield self._case(row, f"{_CANDIDATES} AND NOT marked")

    def _case(self, row: Sequence[Any], candidates_of: str) -> Case:
        number, doc_id, source, context, references = row
        texts = tuple(json.loads(references)) if references else ()
        kept = self.index.execute(f"{candidates_of} ORDER BY number", (number,))
        document = Document(doc_id, source or "", texts, context)
        return Case(document, tuple(self._candidate(*columns) for columns in kept))

    def _candidate(self, system: str, text: str, ratings: str, raters: str | None) -> Candidate:
        """An absent rating of a rater comes back as the object `math.nan`: see `fragment`."""
        if raters is None:
            return Candidate(system, text, json.loads(ratings))
        listed: dict[str, list[float]] = json.loads(raters, parse_constant=lambda _: nan)
        for axis in self.places.keys() & listed.keys():
            numbers = dict(enumerate(listed[axis]))
            listed[axis] = [numbers.get(place, nan) for place in self.places[axis]]
            while listed[axis][-1] is nan:
                listed[axis].pop()
        each = {axis: tuple(numbers) for axis, numbers in listed.items()}
        return Candidate(system, text, json.loads(ratings), each)

    def _one(self, query: str, *values: Any) -> Any:
        return self.index.execute(query, values).fetchone()


def rated_text(theirs: Callable[[str], str], rated: Sequence[str]) -> str:
    """`theirs`: the user's name of a column of ratings."""
    place, doc_id, system, ours = rated
    column = f"`{theirs(ours)}`, " if theirs(ours) != ours else ""
    return f"{place}: {column}system {shown(system)} of document {shown(doc_id)}"


class Grouping(Grouped):
    """Cases in the making."""

    def add(self, place: str, row: CaseRow) -> None:
        """Keep it; refused where it contradicts or repeats what was kept before."""
        references = json.dumps(row.references) if row.references else None
        fields = {"source": row.source, "context": row.context, "references": references}
        places = (None if text is None else place for text in fields.values())
        made = self.index.execute(_ADD, (row.doc_id, *fields.values(), *places))
        if made.rowcount:
            self._keep(made.lastrowid, place, row)
            return
        number, *texts = self._one(_FIND, row.doc_id)
        new = dict[str, str]()
        for (part, text), before in zip(fields.items(), texts, strict=True):
            if text is not None and before is None:
                new[part] = text
            elif text is not None and text.strip() != before.strip():
                (first,) = self._one(f"SELECT {part}_place FROM document WHERE number = ?", number)
                about = f"`{part}` of document {shown(row.doc_id)}"
                each = " (where each text has a context of its own, give each its own `doc_id`)"
                why = each if part == "context" else ""
                raise RefusedError(f"{about} is another than in {first}{why}")
        is_there = False
        for candidate in row.candidates:
            find = "SELECT place, text FROM candidate WHERE document = ? AND system = ?"
            if earlier := self._one(find, number, candidate.system):
                if candidate.text and candidate.text.strip() == earlier[1].strip():
                    is_there = row.by_one and self._rated_too(number, candidate, place)
                    if is_there:
                        continue
                    raise RefusedError(f"{TEXT_AGAIN}{earlier[0]} again")
                raise RefusedError(_again(row, candidate.system, earlier[0]))
        for part, text in new.items():
            fill = f'UPDATE document SET "{part}" = ?, {part}_place = ? WHERE number = ?'
            self.index.execute(fill, (text, place, number))
        if not is_there:
            self._keep(number, place, row)

    def _rated_too(self, number: int, candidate: CandidateRow, place: str) -> bool:
        """Another rater's ratings of a text that is there; False where it is not said whose the
        earlier ones are."""
        at, (new, more_of, _) = (number, candidate.system), candidate.ratings
        found = self._one(f"{_CANDIDATES} AND system = ?", *at)
        means, listed = json.loads(found[2]), json.loads(found[3] or "{}")
        if new.keys() - more_of.keys() or means.keys() - listed.keys():
            return False
        for axis, more in more_of.items():
            both = list(zip_longest(listed.get(axis, ()), more, fillvalue=nan))
            if any(one == one and other == other for one, other in both):
                raise RefusedError(f"the same rater rates {shown(axis)} of this text again")
            listed[axis] = [other if isnan(one) else one for one, other in both]
            means[axis] = fmean(number for number in listed[axis] if number == number)
        change = "UPDATE candidate SET ratings = ?, raters = ? WHERE document = ? AND system = ?"
        self.index.execute(change, (json.dumps(means), json.dumps(listed), *at))
        find = "SELECT number, ? FROM candidate WHERE document = ? AND system = ?"
        self.index.execute(f"INSERT INTO again {find}", (place, *at))
        return True

    def _keep(self, number: int | None, place: str, row: CaseRow) -> None:
        """Where this row has a system twice, the first is kept."""
        keep = "INSERT OR IGNORE INTO candidate VALUES (NULL, ?, ?, ?, ?, ?, ?, 0)"
        twice = []
        for candidate in row.candidates:
            mean, raters, _ = candidate.ratings
            ratings = json.dumps(mean), json.dumps(raters) if raters else None
            kept = (number, candidate.system, candidate.text or "", *ratings, place)
            if not self.index.execute(keep, kept).rowcount:
                twice.append(candidate.system)
        if twice:
            raise RefusedError(_again(row, twice[0], place))


def several(bad_rows: str) -> str:
    """What rows for what is there already may be, and what to do."""
    return SEVERAL_ROWS if TEXT_AGAIN in bad_rows else SEVERAL_TEXTS if FIRST_IN in bad_rows else ""


def _again(row: CaseRow, system: str, place: str) -> str:
    pair = f"system {shown(system)} of document {shown(row.doc_id)}"
    return f"{pair}{FIRST_IN}{place})"
