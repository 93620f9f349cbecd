"""An open corpus: its cases, their number, and what was wrong with its rows.

rows of cases.jsonl -> Corpus(cases=100, candidates=1600, rated=1600, skipped=(), …)
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from hashlib import blake2b
from math import isnan
from typing import Any, Literal

from evaljudge.agreement.rated import MOST_AXES
from evaljudge.corpora.columns import ColumnNames, Unread
from evaljudge.corpora.fragment import Fragment, fragment_of
from evaljudge.corpora.grouping import Grouped, Grouping
from evaljudge.corpora.rows import BadRow, Row
from evaljudge.decisions.systems import MOST_SYSTEMS
from evaljudge.errors import UserError
from evaljudge.records import Candidate, Case
from evaljudge.storage import Index
from evaljudge.text import counted, shown

BadRows = Literal["fail", "skip"]
NAMED_ON_FAILURE = 3
NAMED_WHEN_SKIPPED = 20
FIELDS_NAMED = 20
DIGEST_BYTES = 32
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True, slots=True)
class Corpus(Grouped):
    cases: int
    candidates: int
    rated: int
    """Candidates with at least one rating."""
    skipped: tuple[str, ...]
    """What was wrong with the first rows skipped, each with its place."""
    skipped_rows: int
    absent_ratings: int
    """Ratings that were null, NaN or infinite."""
    digest: str
    """Of everything that changes a question to the model; independent of the order of rows and of
    nested or flat form."""
    ratings_digest: str
    unread: tuple[str, ...]
    """Only for the generic form: notes on columns and keys that nothing reads."""


def notes_on(skipped: int, absent: int) -> list[str]:
    """Of so many rows that were skipped and ratings that are taken as absent."""
    rows = "bad row of the corpus was skipped", "bad rows of the corpus were skipped"
    ratings = "rating is null or not finite: absent", "ratings are null or not finite: absent"
    return [
        counted(number, *said) for number, said in ((skipped, rows), (absent, ratings)) if number
    ]


def refuse_empty(corpus: Corpus, name: str, consequence: str) -> None:
    """A corpus without a case (an empty file, or only bad rows) is a mistake."""
    if corpus.cases:
        return
    if corpus.skipped_rows:
        bad = f"all of its {corpus.skipped_rows:,} rows are bad, the first at {corpus.skipped[0]}"
        raise UserError(f"{name}: holds no case: {bad}")
    raise UserError(f"{name}: holds no case, so there is nothing to {consequence}")


@dataclass(slots=True)
class _Intake:
    """What is noticed while the rows are read."""

    unread: Unread
    objects: int = 0
    bad: int = 0
    named: list[str] = field(default_factory=list)
    absent: int = 0
    has_source: bool = False
    fields: dict[str, None] = field(default_factory=dict)

    def see(self, row: Row) -> None:
        self.objects += 1
        self.unread.see(row)
        self.has_source = self.has_source or "source" in row.fields
        if not self.has_source and len(self.fields) < FIELDS_NAMED:
            self.fields.update(dict.fromkeys(row.fields))

    def refuse(self, place: str, problem: str) -> None:
        self.bad += 1
        if len(self.named) < NAMED_WHEN_SKIPPED:
            self.named.append(f"{place}: {problem}")


def gather(
    rows: Iterable[Row | BadRow], index: Index, bad_rows: BadRows, columns: ColumnNames, own: bool
) -> Corpus:
    """`own`: the names of fields are the user's own, and may be mistakes."""
    grouping, intake = Grouping(index), _Intake(Unread(columns.advice))
    for row in rows:
        _take(row, grouping, intake)
    if own:
        columns.refuse_unseen()
    if intake.objects and not intake.has_source:
        raise UserError(_no_source(intake))
    if intake.bad and bad_rows == "fail":
        raise UserError(_bad(intake, columns.advice.skip))
    digest, ratings_digest = _digests(grouping)
    return Corpus(
        index,
        *grouping.counts(),
        skipped=tuple(intake.named),
        skipped_rows=intake.bad,
        absent_ratings=intake.absent,
        digest=digest,
        ratings_digest=ratings_digest,
        unread=(*intake.unread.notes(), *_many_of(grouping)) if own else (),
    )


def _take(row: Row | BadRow, grouping: Grouping, intake: _Intake) -> None:
    if isinstance(row, Row):
        intake.see(row)
    read = fragment_of(row) if isinstance(row, Row) else row
    problem = read.problem if isinstance(read, BadRow) else grouping.add(read)
    if problem:
        intake.refuse(row.place, problem)
    elif isinstance(read, Fragment):
        intake.absent += read.absent


def _many_of(cases: Grouped) -> Iterator[str]:
    """Notes on what is too much for a report, and may be a mistake; else on axes' names."""
    if (systems := cases.systems()) > MOST_SYSTEMS:
        yield (
            f"{systems:,} systems: the {MOST_SYSTEMS} with the most documents are compared with "
            "each other. `system` is what wrote a text, by the same name in all documents: is an "
            "id in its place?"
        )
    axes = cases.rated_on()
    if len(axes) > MOST_AXES:
        yield (
            f"{len(axes):,} axes are rated: statistics are of {MOST_AXES}, the scorers' own first, "
            "then those rated most often"
        )
    else:
        yield from _nearly_one_axis(axes)


def _nearly_one_axis(rated: Mapping[str, int]) -> Iterator[str]:
    """Notes on axes with nearly the same name, of which one may be misspelt."""
    for axis, times in rated.items():
        more = [
            other
            for other in rated
            if (-rated[other], other) < (-times, axis) and not _differ_in_number(axis, other)
        ]
        others = {other.casefold(): other for other in more}
        for near in get_close_matches(axis.casefold(), others, n=1, cutoff=0.85):
            other = others[near]
            texts = counted(times, "text is", "texts are")
            yield (
                f"{texts} rated on {axis!r} and {rated[other]:,} on {other!r}: if they "
                "are one axis, give it one name"
            )


def _differ_in_number(one: str, other: str) -> bool:
    """As `axis 1` and `axis 10` do, which are counted and not misspelt."""
    return _NUMBER.sub("0", one) == _NUMBER.sub("0", other)


def _no_source(intake: _Intake) -> str:
    seen = ", ".join(shown(name) for name in list(intake.fields)[:FIELDS_NAMED])
    named = intake.unread.advice.columns({"THEIRS": "source"})
    return (
        f"no row of the corpus has a field `source`, the document's text; seen: {seen or 'none'}"
        + (intake.unread.hint() or f". Rename the column that holds it, or give {named}")
    )


def _bad(intake: _Intake, skip: str) -> str:
    named = "; ".join(intake.named[:NAMED_ON_FAILURE])
    first = f", the first {NAMED_ON_FAILURE}" if intake.bad > NAMED_ON_FAILURE else ""
    rows = "1 bad row" if intake.bad == 1 else f"{intake.bad} bad rows"
    correct = "it" if intake.bad == 1 else "them"
    remedy = f"Correct {correct}, or {skip}" if skip else f"Correct {correct}"
    return f"{rows} in the corpus{first}: {named}. {remedy}{intake.unread.hint()}"


def _digests(cases: Iterable[Case]) -> tuple[str, str]:
    """Of the texts, and of the ratings. Each case is hashed by itself and the hashes are added up,
    so that no order matters and nothing has to be sorted."""
    content = ratings = 0
    for case in cases:
        content += _content_hash(case)
        ratings += _ratings_hash(case)
    return _hex(content), _hex(ratings)


def _content_hash(case: Case) -> int:
    of = case.document
    texts = sorted((c.system, c.text) for c in case.candidates)
    return _hash([of.doc_id, of.source, of.context, of.references, texts])


def _ratings_hash(case: Case) -> int:
    """Zero for a case without ratings: one more unrated candidate changes no rating."""
    rated = sorted(_rated(c) for c in case.candidates if c.ratings)
    return _hash([case.document.doc_id, rated]) if rated else 0


def _rated(candidate: Candidate) -> tuple[Any, ...]:
    """Without raters where there are none, so that such a corpus keeps its earlier digest."""
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
