"""Ratings that people gave beside the corpus, in sheets of `evaljudge label` or in plain rows.

    ratings: [anna.csv, more.jsonl]
    {"label": "bkqvzt", "fluency": 4, "rater": "anna"}                  a sheet's row
    {"doc_id": "d1", "system": "A", "fluency": 5, "rater": "ben"}       a plain row

    read_ratings(files, output, ["fluency"])
    -> FurtherRatings({("d1", "A"): RatedText({"fluency": 4.5}, {"fluency": (4.0, 5.0)})},
                      probabilities={"fluency": {("d1", "A"): 0.125}})

The key in OUT/labels says which text a label stands for, and how probable it was that each text of
the run was drawn. Where people filled in a part of a sheet, that is multiplied by their share: the
rows are in random order, so those that were rated are taken for a random part of them. A text may
have been drawn for several sheets, which are drawn independently.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from math import isnan, nan
from statistics import fmean
from typing import Any, NamedTuple

from evaljudge.agreement.rated import Text
from evaljudge.corpora.corpus import slips
from evaljudge.corpora.rows import DOTTED, LABEL, NOTE, RATER, Row, name_in
from evaljudge.corpora.sheets import rating_in, read_sheet
from evaljudge.errors import UserError
from evaljudge.records import Case
from evaljudge.storage import DERIVED, Output, Place
from evaljudge.text import counted, shown

BESIDE = {LABEL, RATER, NOTE, "doc_id", "system", "source", "context", "text"}
"""The columns that are no axes."""
BEGINNING = 60
KEPT = "report/ratings.json"


class RatedText(NamedTuple):
    ratings: Mapping[str, float]  # the mean over raters, by axis
    raters: Mapping[str, tuple[float, ...]]
    """The rating by each rater, on axes with several raters; NaN where one gave none."""


ByText = Mapping[Text, RatedText]


class RaterNote(NamedTuple):
    text: Text
    rater: str
    note: str


@dataclass(frozen=True)
class FurtherRatings:
    texts: ByText = field(default_factory=dict)
    raters: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of axes with several
    probabilities: Mapping[str, Mapping[Text, float]] = field(default_factory=dict)
    """The probability that a text was drawn and rated, by axis; only for texts of sheets."""
    uneven: Collection[str] = ()  # the axes whose sheets were drawn with unequal probabilities
    warnings: Sequence[str] = ()
    notes: Sequence[RaterNote] = ()


def read_ratings(files: Sequence[str], output: Output, axes: Sequence[str]) -> FurtherRatings:
    """`axes`: those of the run's task; others have columns called `ratings.AXIS`."""
    collected, sheets, warnings = _Collected(), _Sheets(output), list[str]()
    notes = list[RaterNote]()
    for file in files:
        rated, unread = 0, dict[str, None]()
        for row in read_sheet(file):
            ratings, others = _ratings(row, axes)
            unread |= dict.fromkeys(others)
            if ratings:
                text = sheets.text(row, [axis for axis, _ in ratings])
                named = str(row.fields.get(RATER) or "").strip()
                collected.add(text, ratings, row, named or file.rpartition("/")[2])
                if note := str(row.fields.get(NOTE) or "").strip():
                    notes.append(RaterNote(text, named, note))
                rated += 1
        if not rated:
            advice = "".join(f"; {_advice(column, axes)}" for column in unread)
            raise UserError(f"{file}: holds no rating: fill in {' or '.join(axes)}{advice}")
        warnings += [f"{file}: {_advice(column, axes)}" for column in unread]
    chances = {axis: sheets.chances(axis) for _, axis in sheets.rated}
    uneven = [axis for axis, each in chances.items() if len(set(each.values())) > 1]
    probabilities = {
        axis: {
            text: each.get(text, 0.0)
            for (_, rated_axis), texts in sheets.rated.items()
            for text in texts
            if rated_axis == axis
        }
        for axis, each in chances.items()
    }
    warnings += slips(collected.rated(), str)
    own = (output.listing() or {}).get("rated", ()) if collected.found else ()
    both = {axis for _, axis in collected.found} & {*own}
    if number := len({text for text, axis in collected.found if axis in both}):
        texts_are = counted(number, "text is rated", "texts are rated")
        on = ", ".join(sorted(both))
        warnings.append(f"ratings: {texts_are} on {on}, in place of the corpus' own ratings there")
    texts, raters = collected.texts(), collected.raters
    return FurtherRatings(texts, raters, probabilities, uneven, warnings, notes)


def keep_ratings(place: Place, further: FurtherRatings) -> None:
    """Into the report's folder, so that whoever opens the run needs no other files."""
    rows = [
        {"doc_id": doc_id, "system": system, "ratings": dict(rated.ratings),
         "raters": {a: [None if isnan(n) else n for n in each] for a, each in rated.raters.items()}}
        for (doc_id, system), rated in further.texts.items()
    ]  # fmt: skip
    if rows:
        place.write_json(KEPT, {"raters": further.raters, "texts": rows})
    else:
        place.remove(KEPT)


def kept_ratings(output: Output) -> FurtherRatings:
    if KEPT not in (output.run() or {}).get(DERIVED, {}):
        return FurtherRatings()
    kept, texts = json.loads(output.place.read(KEPT)), dict[Text, RatedText]()
    for row in kept["texts"]:
        raters = row["raters"].items()
        each = {axis: tuple(nan if n is None else n for n in numbers) for axis, numbers in raters}
        texts[row["doc_id"], row["system"]] = RatedText(row["ratings"], each)
    return FurtherRatings(texts, kept["raters"])


def names_of(output: Output, further: FurtherRatings) -> dict[str, Sequence[str]]:
    """The raters of each axis, unless some texts have the corpus' own and others further ones."""
    own: Mapping[str, Sequence[str]] = (output.listing() or {}).get("raters", {})
    return {axis: {**own, **further.raters}[axis] for axis in own.keys() ^ further.raters.keys()}


def with_ratings(case: Case, further: ByText) -> Case:
    """The case with further ratings in place of the corpus' own, on the axes that they have."""
    doc_id = case.document.doc_id
    if not any((doc_id, candidate.system) in further for candidate in case.candidates):
        return case
    candidates = []
    for candidate in case.candidates:
        ratings, raters = further.get((doc_id, candidate.system), RatedText({}, {}))
        kept = {axis: each for axis, each in candidate.raters.items() if axis not in ratings}
        candidates.append(
            replace(candidate, ratings={**candidate.ratings, **ratings}, raters={**kept, **raters})
        )
    return Case(case.document, tuple(candidates))


def unmet(further: ByText, rated: Iterable[Text]) -> list[str]:
    """A warning, where texts are rated that are not in the report or the corpus."""
    known = set(rated)
    if not (lost := further.keys() - known):
        return []
    examples = (min(lost), *([min(known)] if known else []))
    such = "; there is ".join(f"{shown(system)} for document {shown(d)}" for d, system in examples)
    number = f"{len(lost):,} of {len(further):,} rated texts"
    return [f"ratings: {number} are not among the texts, such as {such}"]


def beginning(text: str) -> str:
    """The text's first letters and digits, which spreadsheets leave as they are."""
    return "".join(c for c in text if c.isascii() and c.isalnum())[:BEGINNING]


def _ratings(row: Row, axes: Sequence[str]) -> tuple[list[tuple[str, float]], list[str]]:
    """The ratings in a row, by axis, and the columns that are not read."""
    ratings, unread = list[tuple[str, float]](), list[str]()
    for column, value in row.fields.items():
        if column in axes or column.startswith(DOTTED):
            rating = rating_in(row, column)
            if rating is not None:
                ratings.append((column.removeprefix(DOTTED), rating))
        elif column not in BESIDE and value not in (None, ""):
            unread.append(column)
    return ratings, unread


def _advice(column: str, axes: Sequence[str]) -> str:
    by_folded = {axis.casefold(): axis for axis in axes}
    near = get_close_matches(column.casefold(), by_folded, n=1)
    hint = f": did you mean {by_folded[near[0]]!r}?" if near else ""
    return f"column {shown(column)} is not read{hint}"


@dataclass
class _Collected:
    """What each rater gave each text on each axis, and where."""

    found: dict[tuple[Text, str], dict[str, tuple[float, str]]] = field(default_factory=dict)

    def add(self, text: Text, ratings: Iterable[tuple[str, float]], row: Row, rater: str) -> None:
        for axis, value in ratings:
            by_rater = self.found.setdefault((text, axis), {})
            before, place = by_rater.setdefault(rater, (value, row.place))
            if before != value:
                raise UserError(
                    f"{row.place}: {shown(rater)} gives {axis} {value:g}, and {before:g} to the "
                    f"same text at {place}: leave one of them empty"
                )

    @cached_property
    def raters(self) -> dict[str, list[str]]:
        raters: dict[str, set[str]] = {}
        for (_, axis), by_rater in self.found.items():
            raters.setdefault(axis, set()).update(by_rater)
        return {axis: sorted(names) for axis, names in raters.items() if len(names) > 1}

    def texts(self) -> dict[Text, RatedText]:
        by_text: dict[Text, tuple[dict[str, float], dict[str, tuple[float, ...]]]] = {}
        for (text, axis), by_rater in self.found.items():
            ratings, several = by_text.setdefault(text, ({}, {}))
            ratings[axis] = fmean(value for value, _ in by_rater.values())
            if axis in self.raters:
                each = (by_rater.get(rater, (nan, ""))[0] for rater in self.raters[axis])
                several[axis] = tuple(each)
        return {text: RatedText(*both) for text, both in by_text.items()}

    def rated(self) -> Iterable[tuple[str, float, str]]:
        return ((axis, *each) for (_, axis), by_rater in self.found.items()
                for each in by_rater.values())  # fmt: skip


@dataclass
class _Sheets:
    """The keys of a run's sheets, and which of their texts were rated."""

    output: Output
    rated: dict[tuple[str, str], set[Text]] = field(default_factory=dict)
    """The rated texts, by sheet and axis."""

    @cached_property
    def keys(self) -> dict[str, dict[str, Any]]:
        return {name: self.output.label_key(name) for name in self.output.label_keys()}

    @cached_property
    def labels(self) -> dict[str, tuple[str, Mapping[str, str]]]:
        return {
            label: (name, text)
            for name, key in self.keys.items()
            for label, text in key["texts"].items()
        }

    def text(self, row: Row, axes: Iterable[str]) -> Text:
        label = str(row.fields.get(LABEL) or "").strip()
        if not label:
            if LABEL in row.fields and not row.fields.get("doc_id"):
                raise UserError(f"{row.place}: is rated and has no `{LABEL}`")
            return name_in(row, "doc_id"), name_in(row, "system")
        if label not in self.labels:
            keys = self.output.place.at("labels")
            raise UserError(f"{row.place}: label {shown(label)} is in no sheet of {keys}")
        name, entry = self.labels[label]
        seen = row.fields.get("text")
        if seen and beginning(str(seen)) != entry["begins"]:
            raise UserError(
                f"{row.place}: the text is not that of label {shown(label)}: was a column sorted "
                "without the others?"
            )
        text = entry["doc_id"], entry["system"]
        for axis in axes:
            self.rated.setdefault((name, axis), set()).add(text)
        return text

    def chances(self, axis: str) -> dict[Text, float]:
        """How probable each text, rated or not, was to be drawn for one of the sheets, and rated;
        a text that joined the run after a sheet could not be drawn for it."""
        missed: dict[Text, float] = {}
        for name, texts in ((name, t) for (name, on), t in self.rated.items() if on == axis):
            share = len(texts) / len(self.keys[name]["texts"])
            for doc_id, systems in self.keys[name]["probabilities"].items():
                for system, drawn in systems.items():
                    text = doc_id, system
                    missed[text] = missed.get(text, 1.0) * (1 - float(drawn) * share)
        return {text: 1 - miss for text, miss in missed.items()}
