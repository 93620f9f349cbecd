"""An open corpus: its cases, their number, and what was wrong with its rows.

A corpus without names for its documents and texts is given some:

Row("c.csv:2", {"source": "The river …", "text": "A flood."})
-> Row("c.csv:2", {…, "doc_id": "5b0f1c2e9a31", "system": "text 1"})

A row without a name in a corpus that has some is the user's mistake.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import blake2b
from itertools import chain, count, islice
from math import inf, isnan
from typing import Any, Literal

from evaljudge.agreement.rated import MOST_AXES
from evaljudge.corpora.columns import Advice, ColumnNames, Unread
from evaljudge.corpora.grouping import TEXT_AGAIN, Grouped, Grouping, rated_text, several
from evaljudge.corpora.rows import (
    RATER,
    BadRow,
    Earlier,
    RefusedError,
    Row,
    Rows,
    case_row,
    clean,
    in_candidates,
    keys_of,
)
from evaljudge.decisions.systems import MOST_SYSTEMS
from evaljudge.errors import UserError
from evaljudge.records import Candidate, Case
from evaljudge.storage import Index
from evaljudge.text import counted, shown

FEWEST_OTHERS, FAR, TIMES = 3, 2, 10
"""Ratings are far from the others where these have so many different values, and lie so many times
their range away from the nearest. Where one or two values are all others, what is above ten or five
times the larger is far, 0 not counted: 55 for 5, but 10 beside 0 and 1 ends a scale. What is alone
nearer by is in `_is_alone`, and in docs/agreement.md, Slips."""
MOST_ODD, MOST_VALUES = 3, 1000


def slips(rated: Iterable[tuple[str, float, Any]], said: Callable[[Any], str]) -> Iterator[str]:
    """`rated`: axes, ratings on them, and where they are, as `said` writes it."""
    seen: dict[str, dict[float, list[Any]]] = {}
    for axis, rating, place in rated:
        by_value = seen.setdefault(axis, {})
        by_value.setdefault(rating, [0, place])[0] += 1
        if len(by_value) > MOST_VALUES:  # those in the middle are no slips
            for value in sorted(by_value)[MOST_ODD + 1 : -MOST_ODD - 1]:
                del by_value[value]
    for axis, by_value in seen.items():
        odd, others = _odd(sorted(by_value), by_value)
        more, others = _odd(others, by_value)  # at the other end
        for value in (*odd, *more):
            (cells, place), span = by_value[value], f"{others[0]:g} to {others[-1]:g}"
            often = f" (in {cells:,} cells)" if cells > 1 else ""
            beyond = f"lies beyond all other ratings ({span}): a slip, or a code for no rating?"
            yield f"{said(place)}: {axis} {value:g}{often} {beyond} Correct or empty the cell"
        whole = next((v for v in by_value if 100 < v < 1000 and v.is_integer()), None)
        parts = (v for v in by_value if v == round(v, 3) != round(v, 2))
        odd = [v for v in parts if abs(24 * v - round(24 * v)) > 0.01]  # no mean of 2 to 8 raters
        if whole and odd:
            thousands = "does its dot mark thousands? Then write it without"
            yield f"{said(by_value[odd[0]][1])}: {axis} {odd[0]:g} beside {whole:g}: {thousands}"


def _odd(values: list[float], cells: Mapping[float, list[Any]]) -> tuple[list[float], list[float]]:
    """Those at one end that may be slips, and the others."""
    for number in range(min(MOST_ODD, len(values) // 2), 0, -1):
        low, high = (values[:number], values[number:]), (values[-number:], values[:-number])
        for odd, others in (low, high):
            gap = max(others[0] - odd[-1], odd[0] - others[-1])
            far = FAR * (others[-1] - others[0])
            if len(others) < FEWEST_OTHERS:
                not_zero = sum(map(bool, others))
                far = (TIMES / not_zero - 1) * others[-1] if others[-1] >= 1 else inf
            if gap > far or (number == 1 and _is_alone(odd[0], others, cells)):
                return odd, others
    return [], values


def _is_alone(value: float, others: list[float], cells: Mapping[float, list[Any]]) -> bool:
    """The only negative rating, unless the scale may go as far down as up; or few beyond the end of
    a usual scale, a tenth of those expected if ratings went on as they fall towards that end."""
    if len(others) < FEWEST_OTHERS:
        return False
    if value < 0 <= others[0]:
        return value.is_integer() and (others[0] > 0 or others[-1] > 3 * -value)
    end, inner = others[:2] if value < others[0] else others[:-3:-1]
    few, at_end, before = (cells[each][0] for each in (value, end, inner))
    is_end = end == 1 if value < end else end in (5, 7, 10, 100)
    return bool(is_end and few <= min(MOST_ODD, at_end * min(1, at_end / before) / TIMES))


ROWS_LOOKED_AT = 200


class NamedRows:
    def __init__(self, rows: Rows, advice: Advice, kept: Callable[[str], int]) -> None:
        """`kept`: the largest number that a text of a document has by earlier rows."""
        self.unread, self._kept = Unread(advice), kept
        self._document, self._numbers = "", count(1)
        self._is_numbered = False
        seen = map(self._see, rows)
        self._rows = chain(list(islice(seen, ROWS_LOOKED_AT)), seen)
        self._lacking = {"doc_id", "system"} - self.unread.known
        likely = {*self.unread.likely().values()}
        self._lacking -= likely - {"doc_id"} if advice.given else likely  # it was left out there

    def __iter__(self) -> Rows:
        for row in self._rows:
            if self._lacking and isinstance(row, Row):
                if "system" in self._lacking and RATER in row.fields:
                    says = (
                        "a row of one rater needs a `system`, so that rows of one text are known: "
                    )
                    says += f"name who wrote it, {self.unread.advice.columns({'THEIRS': 'system'})}"
                    raise UserError(f"{row.place}: {says}; {keys_of(row.fields)}")
                row = row._replace(fields=self._named(row.fields))
            yield row

    def _see(self, row: Row | BadRow) -> Row | BadRow:
        if isinstance(row, Row):
            self.unread.see(row.fields)
        return row

    def notes(self) -> Iterator[str]:
        if "doc_id" in self._lacking:
            yield "no row has a `doc_id`: rows with the same `source` are taken for one document"
        if self._is_numbered:
            yield (
                "no row has a `system`: the texts of a document are called `text 1`, `text 2` and "
                "so on, so means of systems say nothing"
            )

    def _named(self, row: Mapping[str, Any]) -> dict[str, Any]:
        fields, source = dict(row), row.get("source")
        if "doc_id" in self._lacking and isinstance(source, str):
            digest = blake2b(source.strip().encode(errors="surrogatepass"), digest_size=6)
            fields.setdefault("doc_id", digest.hexdigest())
        if "system" not in self._lacking:
            return fields
        if (doc_id := clean(str(fields.get("doc_id"))).strip()) != self._document:
            self._document, self._numbers = doc_id, count(self._kept(doc_id) + 1)

        def numbered(text: Mapping[str, Any]) -> dict[str, Any]:
            self._is_numbered = True
            return {"system": f"text {next(self._numbers)}", **text}

        return in_candidates(numbered(fields) if "text" in fields else fields, numbered)


BadRows = Literal["fail", "skip"]
NAMED_ON_FAILURE = 3
NAMED_WHEN_SKIPPED = 20
FIELDS_NAMED = 20
DIGEST_BYTES = 32
NEEDED = {"source": "the document's text", "text": "what a system wrote"}


@dataclass(frozen=True, slots=True)
class Corpus(Grouped):
    cases: int
    candidates: int
    rated: int  # candidates with at least one rating
    skipped: tuple[str, ...]
    """What was wrong with the first rows skipped, each with its place."""
    skipped_rows: int
    absent_ratings: int  # ratings that were null, NaN or infinite
    digest: str
    """The digest of everything that changes a question to the model; independent of the order of
    rows and of nested or flat form."""
    ratings_digest: str
    raters: Mapping[str, Sequence[str]]
    """The columns or names of the raters of each axis with several; empty where they have none."""
    unread: tuple[str, ...]
    """Notes on ratings that may be slips; for the generic form also on columns and keys that
    nothing reads, and on names that were made."""


def notes_on(skipped: int, absent: int, named: Sequence[str] = ()) -> list[str]:
    rows = "bad row of the corpus was skipped", "bad rows of the corpus were skipped"
    ratings = "rating is null or not finite: absent", "ratings are null or not finite: absent"
    counts = (skipped, rows, named[:NAMED_ON_FAILURE]), (absent, ratings, ())
    return ["; ".join([counted(n, *words), *first]) for n, words, first in counts if n]


def refuse_empty(corpus: Corpus, name: str, consequence: str) -> None:
    if corpus.cases:
        return
    if corpus.skipped_rows:
        bad = f"all of its {corpus.skipped_rows:,} rows are bad, the first at {corpus.skipped[0]}"
        raise UserError(f"{name}: holds no document: {bad}")
    raise UserError(f"{name}: holds no document, so there is nothing to {consequence}")


def gather(rows: Rows, index: Index, bad_rows: BadRows, columns: ColumnNames, own: bool) -> Corpus:
    """`own`: the names of fields are the user's own, and may be mistakes."""
    grouping = Grouping(index, {})
    theirs = NamedRows(rows if own else iter(()), columns.advice, grouping.numbered)
    bad, named, absent, lacking, unread = 0, list[str](), 0, list(NEEDED), theirs.unread
    known = Earlier({}, {})
    for row in theirs if own else rows:
        problem = row.problem if isinstance(row, BadRow) else ""
        if isinstance(row, Row):
            present = {"text", *row.fields} if "candidates" in row.fields else row.fields
            lacking = [field for field in lacking if field not in present]
            try:
                read = case_row(row.fields, known)
                grouping.add(row.place, read)
                absent += sum(candidate.ratings.absent for candidate in read.candidates)
            except RefusedError as refused:
                problem = str(refused)
        if problem:
            bad += 1
            is_first = problem.startswith(TEXT_AGAIN) and not any(
                TEXT_AGAIN in one for one in named
            )
            is_named = bad <= NAMED_WHEN_SKIPPED or is_first
            named += [f"{row.place}: {problem}"] if is_named else []
    people = dict[str, Sequence[str]]()
    for axis, of_axis in known.raters.items():  # numbers, of lists, before names
        by_name = sorted(enumerate(of_axis), key=lambda at: (isinstance(at[1], str), at[1]))
        if (places := [place for place, _ in by_name]) != sorted(places):
            grouping.places[clean(axis)] = places
        in_cells = [clean(name) for _, name in by_name if isinstance(name, str)]
        people[clean(axis)] = columns.raters_of(axis) or in_cells * (len(in_cells) == len(by_name))
    if own:
        columns.refuse_unseen()
    if lacking and (unread.known or unread.names):
        needed = " or ".join(f"a field `{field}` ({NEEDED[field]})" for field in lacking)
        likely = unread.likely().values()
        unknown = {f"THEIR_{field.upper()}": field for field in lacking if field not in likely}
        names = ", ".join(map(shown, islice(columns.seen, FIELDS_NAMED)))
        shapes = unread.shape() if "THEIR_TEXT" in unknown else []
        hints = "; ".join([f"seen: {names}", *unread.hints(unknown, with_ratings=True), *shapes])
        raise UserError(f"no row of the corpus has {needed}; {hints}")
    if bad and bad_rows == "fail":
        first = f", the first {NAMED_ON_FAILURE}" if bad > NAMED_ON_FAILURE else ""
        rows_are = f"{counted(bad, 'bad row', 'bad rows')} in the corpus{first}"
        remedy = f"Correct this, or {columns.advice.skip}"
        shown_rows = "; ".join(named[:NAMED_ON_FAILURE])
        why = f"{again}. " if (again := several(shown_rows)) else ""
        if re.search("(source|text): must be a string, not (dict|list)", shown_rows):
            why += f"{columns.advice.shapes[0].upper()}{columns.advice.shapes[1:]}. "
        said = f"{rows_are}: {shown_rows}. {why}{remedy}"
        raise UserError("; ".join([said, *unread.hints({})]))
    digest, ratings_digest = _digests(grouping)
    return Corpus(
        index,
        grouping.places,
        *grouping.counts(),
        skipped=tuple(named),
        skipped_rows=bad,
        absent_ratings=absent,
        digest=digest,
        ratings_digest=ratings_digest,
        raters=people,
        unread=(
            *slips(grouping.each_rating(), partial(rated_text, columns.theirs)),
            *(chain(theirs.notes(), unread.notes(), _many_of(grouping, columns)) if own else ()),
        ),
    )


def _many_of(cases: Grouped, columns: ColumnNames) -> Iterator[str]:
    if sources := cases.sources_of_texts():
        yield (
            f"every text has a document of its own, though {sources:,} sources serve "
            f"{cases.counts()[0]:,} documents: `doc_id` should name the source, not the text: "
            "where rows of one source are one document, give "
            f"{columns.advice.columns({columns.theirs('doc_id'): ''})}"
        )
    if (systems := cases.systems()) > MOST_SYSTEMS:
        yield (
            f"{systems:,} systems: the {MOST_SYSTEMS} with the most documents are compared with "
            "each other. `system` is what wrote a text, by the same name in all documents: is an "
            "id in its place?"
        )
    if len(axes := cases.rated_on()) > MOST_AXES:
        yield (
            f"{len(axes):,} axes are rated: statistics cover {MOST_AXES}, the scorers' own first, "
            "then those rated most often"
        )


def _digests(cases: Iterable[Case]) -> tuple[str, str]:
    """The digests of the texts and of the ratings. Each case is hashed by itself and the hashes are
    added up, so that no order matters and nothing has to be sorted."""
    content = ratings = 0
    for case in cases:
        about, texts = case.document, sorted((c.system, c.text) for c in case.candidates)
        content += _hash([about.doc_id, about.source, about.context, about.references, texts])
        if rated := sorted(_rated(c) for c in case.candidates if c.ratings):
            ratings += _hash([about.doc_id, rated])
    return _hex(content), _hex(ratings)


def _rated(candidate: Candidate) -> tuple[Any, ...]:
    """The ratings, without raters where there are none, so that such a corpus keeps its digest."""
    raters = sorted(
        (axis, [None if isnan(number) else number for number in numbers])  # JSON has no NaN
        for axis, numbers in candidate.raters.items()
    )
    return (candidate.system, sorted(candidate.ratings.items()), *([raters] if raters else ()))


def _hash(value: Any) -> int:
    text = json.dumps(value, ensure_ascii=False)
    return int.from_bytes(blake2b(text.encode(), digest_size=DIGEST_BYTES).digest(), "big")


def _hex(total: int) -> str:
    return f"{total % (1 << 8 * DIGEST_BYTES):0{2 * DIGEST_BYTES}x}"
