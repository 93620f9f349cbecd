"""Renames the columns and keys of a user's own corpus, and notes those that nothing reads.

ColumnNames({"human": "ratings.tone"}).fields({"human": 4, "url": "…"})
->  {"ratings.tone": 4, "url": "…"}

unread = Unread(); unread.see(Row("c.jsonl:1", {"doc_id": "d1", "system": "A", "tone": 4}))
unread.notes()
->  ["`tone` looks like a rating and is not read: name it `ratings.tone`, or give …"]
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, Literal

from evaljudge.corpora.advice import CONFIGURATION, Advice
from evaljudge.corpora.fragment import ABSENT_TO_PEOPLE
from evaljudge.corpora.rows import (
    DOTTED,
    KNOWN_FIELDS,
    RefusedError,
    Row,
    in_candidates,
    is_number,
)
from evaljudge.errors import UserError, unknown
from evaljudge.text import shown

NESTED = frozenset(["doc_id", "source", "references", "context", "candidates"])
FLAT = frozenset(KNOWN_FIELDS)
CANDIDATE = frozenset(["system", "text", "ratings"])
MOST = 100
"""The most names that are kept, and the largest number that may be a rating."""
MOST_RATERS = 20
"""A longer list of numbers is a vector, not one rating for each rater."""
OTHER_NAMES: Mapping[str, Sequence[str]] = {
    "doc_id": ("id", "docid", "document_id", "example_id", "doc"),
    "source": ("document", "article", "input", "dialogue", "prompt", "source_text"),
    "references": ("reference", "ref", "refs", "gold", "target", "highlights"),
    "system": ("model", "model_name", "model_id", "system_id", "system_name"),
    "text": ("summary", "output", "response", "candidate", "prediction", "hypothesis", "generated"),
    "ratings": ("rating", "scores", "score", "human", "human_ratings", "annotations", "labels"),
}
"""What others call our fields."""
_NO_RATING = re.compile(
    r"(^|.*[_ ])(id|idx|index|no|number|n|len|length|year|count|words|tokens|seed|fold|rank)"
    r"|unnamed.*|",
    re.IGNORECASE,
)
_DECIMAL_COMMA = re.compile(r"^(\s*[+-]?\d+),(\d+\s*)$")
"""A rating with a decimal comma counts as a number here; reading it refuses it, with advice."""
_AROUND = re.compile(r"^((human|expert|mean|avg|ratings?|scores?)[_ ./:-]+)+", re.IGNORECASE)
_BEHIND = re.compile(r"([_ ./:-]+(human|expert|mean|avg|ratings?|scores?))+$", re.IGNORECASE)
_RATINGS = (
    "{theirs} looks like a rating and is not read: name it {ours}, or give {advised}",
    "{theirs} look like ratings and are not read: name them {ours}, or give {advised}",
)
_LIKELY = (
    "{theirs} is not read: did you mean {ours}? If so, rename it, or give {advised}",
    "{theirs} are not read: did you mean {ours}? If so, rename them, or give {advised}",
)
_BESIDE = "`ratings` beside `candidates` are nobody's: put them into each candidate"
_SECOND = "{} looks like a second rating of {!r} and is not read: a row has one for each axis"
_BY_RATER = (
    "{} not read: this looks like ratings by several people, which are written as "
    '`ratings: {{"AXIS": [4, 5]}}`, with a number for each rater'
)
_SEVERAL_RATERS = (
    "write the ratings of several people as one list, `[4, 5]`, or in a file for `ratings`"
)
Kind = Literal["number", "numbers", "raters", "other"]
"""One number or a list of numbers; an object of such; a list of such objects; anything else."""


class ColumnNames:
    """The names that the user's files use, and the field of ours that each stands for."""

    def __init__(self, names: Mapping[str, str], advice: Advice = CONFIGURATION) -> None:
        for theirs, ours in names.items():
            if ours not in FLAT and not (ours.startswith(DOTTED) and ours != DOTTED):
                known = [*FLAT, "ratings.AXIS"]
                raise UserError(f"{advice.column(theirs, ours)}: {unknown('field', ours, known)}")
        self.advice = advice
        self._names = names
        self._unseen, self._seen = dict.fromkeys(names), dict[str, None]()

    def header(self, names: Iterable[str], file: str) -> list[str]:
        """A table's columns renamed. Two of the same name are refused: one would hide the other."""
        renamed = [self._name(name) for name in names]
        for name in renamed:
            if name and renamed.count(name) > 1:
                raise UserError(f"{file}: {self._two('columns', name)}")
        return renamed

    def fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """An object's keys renamed, and those of the candidates in it."""
        renamed = dict[str, Any]()
        for name, value in fields.items():
            ours = self._name(name)
            if ours in renamed:
                raise RefusedError(self._two("keys", ours))
            renamed[ours] = value
        return in_candidates(renamed, self.fields)

    def _two(self, what: str, ours: str) -> str:
        if ours not in self._names.values():
            return f"two {what} are called {shown(ours)}: rename one"
        said = f"two {what} are read as {shown(ours)}"
        is_rating = ours.startswith(DOTTED)
        return f"{said}: {_SEVERAL_RATERS if is_rating else 'take one of them'}"

    def refuse_unseen(self) -> None:
        """A name in the mapping that no row has is a mistake."""
        for name in self._unseen:
            said = unknown("column", name, self._seen)
            raise UserError(f"{self.advice.column(name, self._names[name])}: {said}")

    def _name(self, name: str) -> str:
        self._unseen.pop(name, None)
        if self._names and len(self._seen) < MOST:
            self._seen[name] = None
        return self._names.get(name, name)


AS_THEY_ARE = ColumnNames({})


class Unread:
    """Names in rows that nothing reads, with the kinds of their values."""

    def __init__(self, advice: Advice = CONFIGURATION) -> None:
        self.advice = advice
        self._kinds = dict[str, set[Kind | None]]()
        self._known = set[str]()
        """Our fields that have a value in some row."""
        self._beside = False
        """Whether ratings were found beside `candidates`, where they belong to no candidate."""
        self._axes = dict[str, str]()
        """The axes that are read, by their names in small letters."""
        self._second = dict[str, str]()
        """Names that seem to rate an axis that `ratings` of the same row rates already."""

    def see(self, row: Row) -> None:
        nested = row.fields.get("candidates")
        self._beside = self._beside or (nested is not None and "ratings" in row.fields)
        self._see(row.fields, FLAT if nested is None else NESTED | {"ratings"})
        for candidate in nested if isinstance(nested, list) else ():
            if isinstance(candidate, Mapping):
                self._see(candidate, CANDIDATE)

    def _see(self, fields: Mapping[str, Any], known: frozenset[str]) -> None:
        given = fields.get("ratings")
        names = map(str, given) if isinstance(given, Mapping) else ()
        axes = {name.casefold(): name for name in names}
        if len(self._axes) < MOST:
            self._axes = axes | self._axes
        for name, value in fields.items():
            if name in known or name.startswith(DOTTED):
                if value is not None:
                    self._known.add("ratings" if name.startswith(DOTTED) else name)
            elif name in self._kinds or len(self._kinds) < MOST:
                self._kinds.setdefault(name, set()).add(_kind(value))
                if (axis := _axis_in(name)).casefold() in axes:
                    self._second[name] = axis

    def notes(self) -> list[str]:
        """A line for what looks like ratings, one for what has a likely name, one for the rest."""
        ours = self._our_names()
        ratings = {name: to for name, to in ours.items() if to.startswith("ratings")}
        second = [name for name in self._second if self._kind_of(name) == "number"]
        raters = [name for name in self._kinds if self._is_by_rater(name)]
        rest = [name for name in self._kinds if name not in (*ours, *raters, *second)]
        notes = self._note(_RATINGS, ratings)
        notes += [_SECOND.format(f"`{name}`", self._second[name]) for name in second]
        notes += [_BY_RATER.format(_named(raters))] if raters else []
        notes += [_BESIDE] if self._beside else []
        return [*notes, *self._likely_note(), *_rest_note(rest)]

    def hint(self) -> str:
        """For a message that rows lack a field: what our fields may have been called."""
        return "".join(f". {note}" for note in self._likely_note())

    def likely(self) -> dict[str, str]:
        """Which of our fields each name probably stands for; of two for one field, the first."""
        return _one_for_each_field(self._our_names())

    def _likely_note(self) -> list[str]:
        """The note on likely names of fields other than ratings, which may have any name."""
        ours = self._our_names()
        likely = {name: to for name, to in ours.items() if not to.startswith("ratings")}
        return self._note(_LIKELY, likely)

    def _note(self, forms: tuple[str, str], ours: Mapping[str, str]) -> list[str]:
        """A note in the form for one name or for several; none if there is no name."""
        form, advised = forms[len(ours) > 1], self.advice.columns(_one_for_each_field(ours))
        note = form.format(theirs=_named(ours), ours=_named(ours.values()), advised=advised)
        return [note] if ours else []

    def _is_by_rater(self, name: str) -> bool:
        """A list of objects with numbers, or one of several columns such as `rating_1`."""
        kind = self._kind_of(name)
        return kind == "raters" or (kind == "number" and _axis_in(name).isdecimal())

    def _kind_of(self, name: str) -> Kind | None:
        """None where no row has a value."""
        kinds = self._kinds[name] - {None}
        return "other" if len(kinds) > 1 else next(iter(kinds), None)

    def _our_names(self) -> dict[str, str]:
        """Which field each name probably stands for, of those that seem to stand for one."""
        ours = {name: self._our_name(name) for name in self._kinds}
        return {name: to for name, to in ours.items() if to}

    def _our_name(self, name: str) -> str | None:
        kind, lower = self._kind_of(name), name.casefold()
        if kind == "number" and not _NO_RATING.fullmatch(name):
            axis = _axis_in(name)
            if axis.isdecimal() or name in self._second:
                return None
            return f"{DOTTED}{self._axes.get(axis.casefold(), axis)}"
        if kind == "numbers":
            return "ratings"
        lacking = [field for field in KNOWN_FIELDS if field not in self._known]
        for field in lacking:
            if lower in OTHER_NAMES.get(field, ()) and field != "ratings":
                return field
        return next(iter(get_close_matches(lower, lacking, n=1, cutoff=0.8)), None)


def _axis_in(name: str) -> str:
    """The axis that a column of ratings would have: `coherence` of `human_coherence_score`."""
    if name.casefold() in ("rating", "ratings", "score", "scores", "human"):
        return "overall"
    first, dot, rest = name.partition(".")
    if dot and get_close_matches(first.casefold(), ["ratings"], cutoff=0.8):
        return rest
    return _BEHIND.sub("", _AROUND.sub("", name))


def _kind(value: Any) -> Kind | None:
    """None where there is no value."""
    if value is None or value == "":
        return None
    if isinstance(value, Mapping):
        kinds = {_kind(inner) for inner in value.values()} - {None}
        return "numbers" if kinds == {"number"} else "other"
    if isinstance(value, list):
        if len(value) > MOST_RATERS:
            return "other"
        if value and all(isinstance(one, Mapping) for one in value):
            inner = (_kind(number) for one in value for number in one.values())
            return "raters" if "number" in inner else "other"
        return "number" if {_kind(one) for one in value} - {None} == {"number"} else "other"
    if isinstance(value, str):
        if value.strip().casefold() in ABSENT_TO_PEOPLE:
            return None
        value = _DECIMAL_COMMA.sub(r"\1.\2", value)
    try:
        number = float(value) if is_number(value) or isinstance(value, str) else MOST + 1
    except (ValueError, OverflowError):
        return "other"
    return "number" if -MOST <= number <= MOST else "other"


def _rest_note(rest: Sequence[str]) -> list[str]:
    more = f" and {len(rest) - 10} more" if len(rest) > 10 else ""
    said = f"columns that mean nothing here and were not read: {_named(rest[:10])}{more}"
    return [said] if rest else []


def _named(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _one_for_each_field(ours: Mapping[str, str]) -> dict[str, str]:
    """If several names stand for one field, the first: a field can have only one."""
    chosen = {to: theirs for theirs, to in reversed(list(ours.items()))}
    return {theirs: to for theirs, to in ours.items() if chosen[to] == theirs}
