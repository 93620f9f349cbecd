"""Renames the columns and keys of a user's own corpus, and notes those that nothing reads.

ColumnNames({"human": "ratings.tone"}).fields({"human": 4, "url": "…"})
->  {"ratings.tone": 4, "url": "…"}

How messages give advice: with a configuration's keys, or with a command's options.

CONFIGURATION.columns({"human": "ratings.tone"})
->  "`corpus: {path: …, columns: {human: ratings.tone}}`"
OPTIONS.columns({"human": "ratings.tone"})  ->  "`--column human=ratings.tone`"

unread = Unread(); unread.see({"doc_id": "d1", "system": "A", "tone": 4}); unread.notes()
->  ["not read, but these look like ratings: `tone`. If so, give …"]
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from shlex import quote
from typing import Any

from evaljudge.corpora.rows import DOTTED, KNOWN_FIELDS, RefusedError, in_candidates, is_number
from evaljudge.errors import UserError, unknown
from evaljudge.text import shown

MOST = 100
"""The most names that are kept, and the largest number that may be a rating."""
MOST_NAMED = 10
OF_DOCUMENT, OF_CANDIDATE = KNOWN_FIELDS[:5], KNOWN_FIELDS[5:]
MOST_RATERS = 20
"""A longer list of numbers is a vector, not one rating for each rater."""
OTHER_NAMES = {
    other: ours
    for ours, others in {
        "doc_id": "id docid document_id example_id doc",
        "source": "document article input dialogue prompt source_text",
        "references": "reference ref refs gold target highlights",
        "system": "model model_name model_id system_id system_name",
        "text": "summary output response candidate prediction hypothesis generated",
    }.items()
    for other in others.split()
}
"""What others call our fields."""
_NO_RATING = re.compile(
    r"(^|.*[_ ])(id|idx|index|no|number|n|len|length|year|count|words|tokens|seed|fold|rank)"
    r"|unnamed.*|",
    re.IGNORECASE,
)
_ABSENT = {"", "-", "–", "n/a", "na", "nan", "nil", "none", "null", "?"}
_AROUND = re.compile(
    r"^((human|expert|mean|avg|ratings?|scores?)[_ ./:-]+)+"
    r"|([_ ./:-]+(human|expert|mean|avg|ratings?|scores?))+$",
    re.IGNORECASE,
)
_BARE = r"[A-Za-z_][\w.-]*"  # what YAML needs no quotes for
_OVERALL = ("rating", "ratings", "score", "scores", "human")


@dataclass(frozen=True, slots=True)
class Advice:
    """What messages say is to be done, and what they call one pair of `columns`."""

    as_options: bool
    skip: str
    """What to do so that bad rows are counted and left out."""

    def columns(self, columns: Mapping[str, str]) -> str:
        """What to write so that each of these columns is read as one of our fields."""
        if self.as_options:
            options = (f"--column {quote(f'{theirs}={ours}')}" for theirs, ours in columns.items())
            return f"`{' '.join(options)}`"
        pairs = ", ".join(
            f"{theirs if re.fullmatch(_BARE, theirs) else repr(theirs)}: {ours}"
            for theirs, ours in columns.items()
        )
        return f"`corpus: {{path: …, columns: {{{pairs}}}}}`"

    def column(self, theirs: str, ours: str) -> str:
        return f"--column {theirs}={ours}" if self.as_options else f"corpus.columns.{theirs}"


CONFIGURATION = Advice(False, "set `bad_rows: skip`")
OPTIONS = Advice(True, "give `--skip-bad-rows`")


def named_columns(pairs: Sequence[str] | None) -> dict[str, str]:
    """A command line's THEIRS=OURS, split at the last `=`, since THEIRS may contain one."""
    named = {}
    for pair in pairs or ():
        theirs, equals, ours = pair.rpartition("=")
        if not equals or not theirs:
            raise UserError(f"--column {pair}: write it as THEIRS=OURS")
        named[theirs] = ours
    return named


class ColumnNames:
    """The names that the user's files use, and the field of ours that each stands for."""

    def __init__(self, names: Mapping[str, str], advice: Advice = CONFIGURATION) -> None:
        for theirs, ours in names.items():
            if ours not in KNOWN_FIELDS and not (ours.startswith(DOTTED) and ours != DOTTED):
                known = [*KNOWN_FIELDS, "ratings.AXIS"]
                raise UserError(f"{advice.column(theirs, ours)}: {unknown('field', ours, known)}")
        self.advice = advice
        self._names = names
        self._unseen, self._seen = dict.fromkeys(names), dict[str, None]()

    def header(self, names: Iterable[str], file: str) -> list[str]:
        """A table's columns renamed. Two of the same name are refused: one would hide the other."""
        renamed = list(map(self._name, names))
        for name in renamed:
            if name and renamed.count(name) > 1:
                raise UserError(f"{file}: two columns are read as {shown(name)}: take one of them")
        return renamed

    def fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """An object's keys renamed, and those of the candidates in it."""
        renamed = {self._name(name): value for name, value in fields.items()}
        if len(renamed) < len(fields):
            ours = [self._name(name) for name in fields]
            twice = next(name for name in ours if ours.count(name) > 1)
            raise RefusedError(f"two keys are read as {shown(twice)}: take one of them")
        return in_candidates(renamed, self.fields)

    def refuse_unseen(self) -> None:
        """A name in the mapping that no row has is a mistake."""
        for name in self._unseen:
            message = unknown("column", name, self._seen)
            raise UserError(f"{self.advice.column(name, self._names[name])}: {message}")

    def _name(self, name: str) -> str:
        self._unseen.pop(name, None)
        if self._names and len(self._seen) < MOST:
            self._seen[name] = None
        return self._names.get(name, name)


AS_THEY_ARE = ColumnNames({})


class Unread:
    """Names in rows that nothing reads, and what they probably stand for."""

    def __init__(self, advice: Advice = CONFIGURATION) -> None:
        self.advice = advice
        self._ratings = dict[str, str | None]()
        """The field that each name would be, `ratings.tone`; empty if some value is no rating, None
        if there is no value."""
        self._known = set[str]()
        """Our fields that have a value in some row."""

    def see(self, fields: Mapping[str, Any]) -> None:
        nested = fields.get("candidates")
        self._see(fields, KNOWN_FIELDS if nested is None else OF_DOCUMENT)
        for candidate in nested if isinstance(nested, list) else ():
            if isinstance(candidate, Mapping):
                self._see(candidate, OF_CANDIDATE)

    def _see(self, fields: Mapping[str, Any], known: Collection[str]) -> None:
        for name, value in fields.items():
            if name in known or name.startswith(DOTTED):
                if value is not None:
                    self._known.add(name.partition(".")[0])
            elif name in self._ratings or len(self._ratings) < MOST:
                before = self._ratings.setdefault(name, None)
                if before != "" and not _is_absent(value):
                    self._ratings[name] = _rating_field(name, value)

    def notes(self) -> list[str]:
        ratings = {name: field for name, field in self._ratings.items() if field}
        rest = [f"`{name}`" for name in self._ratings if name not in {**ratings, **self._fields()}]
        more = f" and {len(rest) - MOST_NAMED} more" if len(rest) > MOST_NAMED else ""
        return [
            *self._note("these look like ratings", ratings),
            *self.hints(),
            *([f"not read: {', '.join(rest[:MOST_NAMED])}{more}"] if rest else []),
        ]

    def hints(self) -> list[str]:
        """What our fields may have been called, where a row lacks one."""
        return self._note("these have likely names", self._fields())

    def likely(self) -> dict[str, str]:
        """Which of our fields each name probably stands for; of two for one field, the first."""
        ratings = {name: field for name, field in self._ratings.items() if field}
        return _first_for_each(self._fields() | ratings)

    def _note(self, about: str, ours: Mapping[str, str]) -> list[str]:
        named = ", ".join(f"`{name}`" for name in ours)
        advised = self.advice.columns(_first_for_each(ours))
        return [f"not read, but {about}: {named}. If so, give {advised}"] if ours else []

    def _fields(self) -> dict[str, str]:
        """The field other than ratings that each name probably stands for."""
        lacking = [f for f in KNOWN_FIELDS if f not in self._known and f != "ratings"]
        found = dict[str, str]()
        for name in (name for name, rating in self._ratings.items() if not rating):
            near = get_close_matches(name.casefold(), lacking, n=1, cutoff=0.8)
            field = OTHER_NAMES.get(name.casefold()) or "".join(near)
            if field in lacking and field != name:
                found[name] = field
        return found


def _is_absent(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().casefold() in _ABSENT)


def _rating_field(name: str, value: Any) -> str:
    """The field of ours that a column of ratings would be; empty where the value is no rating."""
    if isinstance(value, Mapping) and name != "ratings":
        numbers = [inner for inner in value.values() if not _is_absent(inner)]
        return "ratings" if numbers and all(map(_may_be_rating, numbers)) else ""
    axis = "overall" if name.casefold() in _OVERALL else _AROUND.sub("", name)
    is_rating = _may_be_rating(value) and not _NO_RATING.fullmatch(name) and not axis.isdecimal()
    return f"{DOTTED}{axis}" if is_rating else ""


def _may_be_rating(value: Any) -> bool:
    if isinstance(value, list):
        numbers = [number for number in value if not _is_absent(number)]
        return 0 < len(numbers) <= MOST_RATERS and all(map(_may_be_rating, numbers))
    try:
        is_one = is_number(value) or isinstance(value, str)
        return is_one and abs(float(str(value).replace(",", "."))) <= MOST
    except (ValueError, OverflowError):
        return False


def _first_for_each(ours: Mapping[str, str]) -> dict[str, str]:
    """The first of several names that stand for one field: a field can have only one."""
    chosen = {to: theirs for theirs, to in reversed(list(ours.items()))}
    return {theirs: to for theirs, to in ours.items() if chosen[to] == theirs}
