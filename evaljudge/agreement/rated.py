"""The table of scores beside ratings: a row for each text, or a cell for each document and system.

    Rated(documents=[0, 0, 1], systems=[0, 1, 0], scores={("rouge1", "*"): [.3, nan, .2]},
          human={"fluency": [4, 5, 3.5]}, raters={"fluency": [(4,), (5,), (3, 4)]})
    Grid(documents=("d1", "d2"), systems=("A", "B"), scores={("synthetic.level", "fluency"):
         [[4.2, 3.1], [3.9, nan]]}, human={"fluency": [[4.0, nan], [nan, nan]]})

A scorer's axis meets the human axis of the same name; a scorer without axes meets them all.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from evaljudge.records import ANY_AXIS

_REPETITION = re.compile(r"#|\.n\d+$")
Key = tuple[str, str]  # a scorer and its axis
Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
Ids = NDArray[np.object_]  # a doc_id for each row
Text = tuple[str, str]  # the document and the system of a text
MOST_TESTED = 20_000
"""Rated candidates: of more, a seeded sample of whole documents is tested, and marked so."""

MOST_AXES = 30  # the most human axes that are looked at, since their pairs are compared, too


def is_repetition(scorer: str) -> bool:
    """Whether it is a further trial of a scorer, or one of fewer draws."""
    return bool(_REPETITION.search(scorer))


def codes(names: Iterable[str]) -> Codes:
    """The place of each name among all that there are, in alphabetical order."""
    return np.unique(np.array(list(names), dtype=object), return_inverse=True)[1]


@dataclass(frozen=True)
class Rated:
    """A row for each text, as a rule those that people rated; NaN: unscored, or unrated."""

    documents: Codes
    systems: Codes
    scores: Mapping[Key, Floats]
    human: Mapping[str, Floats]
    raters: Mapping[str, Sequence[tuple[float, ...]]]
    """Each rating of each candidate, on axes with several raters."""
    lengths: Floats | None = None  # the words of each text, where they are known
    texts: Sequence[Text] = ()  # what the codes stand for
    doubts: Mapping[Key, Floats] = field(default_factory=dict)
    """How undecided the judge was; NaN where the scorer does not say."""

    @property
    def doc_ids(self) -> Ids:
        return np.array([doc_id for doc_id, _ in self.texts], dtype=object)

    @property
    def code_of(self) -> Mapping[str, int]:
        return dict(zip(self.doc_ids.tolist(), self.documents.tolist(), strict=True))

    @property
    def system_names(self) -> Ids:
        return np.array([system for _, system in self.texts], dtype=object)

    def on(self, axes: Sequence[str]) -> "Rated":
        human = {axis: column for axis, column in self.human.items() if axis in axes}
        raters = {axis: ratings for axis, ratings in self.raters.items() if axis in axes}
        return replace(self, human=human, raters=raters)

    def with_few_axes(self) -> "Rated":
        """The ratings with at most MOST_AXES: the scorers' own, then those rated most often."""
        if len(self.human) <= MOST_AXES:
            return self
        shared = (axis for _, axis in self.scores if axis in self.human)
        often = sorted(self.human, key=lambda axis: -int(np.isfinite(self.human[axis]).sum()))
        return self.on(list(dict.fromkeys([*shared, *often]))[:MOST_AXES])

    def against(self, human: str) -> dict[str, Floats]:
        """The scorers that meet this human axis."""
        return {
            scorer: column
            for (scorer, axis), column in self.scores.items()
            if axis in (human, ANY_AXIS)
        }

    def axes_of(self, scorer: str) -> dict[str, Floats]:
        return {axis: column for (name, axis), column in self.scores.items() if name == scorer}

    def table(self, axis: str) -> Floats:
        """The table (candidates, raters); NaN where there is no such rating."""
        columns = zip_longest(*self.raters[axis], fillvalue=np.nan)
        return np.array(list(columns), dtype=np.float64).T

    def sampled(self, most: int, seed: int) -> "tuple[Rated, bool]":
        """The ratings of as many random documents as hold at most so many candidates."""
        if self.documents.size <= most:
            return self, False
        sizes = np.bincount(self.documents)
        order = np.random.default_rng((seed, 3)).permutation(sizes.size)
        fitting = max(1, int(np.sum(np.cumsum(sizes[order]) <= most)))
        kept = np.isin(self.documents, order[:fitting])
        scores = {key: column[kept] for key, column in self.scores.items()}
        human = {axis: column[kept] for axis, column in self.human.items()}
        lengths = None if self.lengths is None else self.lengths[kept]
        return Rated(self.documents[kept], self.systems[kept], scores, human, {}, lengths), True


@dataclass(frozen=True)
class Grid:
    """Tables of documents and systems; NaN: no such candidate, or it is unscored or unrated."""

    documents: Sequence[str]
    systems: Sequence[str]
    scores: Mapping[Key, Floats]
    human: Mapping[str, Floats]
    is_sample: bool = False
    """Whether unrated documents, or systems with few texts, are missing because there are too many
    to keep."""
    probabilities: Mapping[str, Floats] = field(default_factory=dict)
    """The probability that a rated text was drawn and rated, by human axis, where texts were drawn
    for rating; NaN where it is not known."""

    @classmethod
    def of(cls, rated: Rated, is_sample: bool, probabilities: Mapping[str, Floats]) -> "Grid":
        """The grid of these rows; each document has at most one text of a system."""
        documents, systems = (
            tuple(sorted(set(column))) for column in (rated.doc_ids, rated.system_names)
        )

        def placed(values: Floats) -> Floats:
            table = np.full((len(documents), len(systems)), np.nan)
            table[rated.documents, rated.systems] = values
            return table

        return cls(
            documents,
            systems,
            {key: placed(column) for key, column in rated.scores.items()},
            {axis: placed(column) for axis, column in rated.human.items()},
            is_sample,
            {axis: placed(column) for axis, column in probabilities.items()},
        )

    def on(self, axes: Sequence[str]) -> "Grid":
        """The grid with these axes alone; scorers without axes stay."""
        scores = {key: table for key, table in self.scores.items() if key[1] in (*axes, ANY_AXIS)}
        human = {axis: table for axis, table in self.human.items() if axis in axes}
        drawn = {axis: table for axis, table in self.probabilities.items() if axis in axes}
        return replace(self, scores=scores, human=human, probabilities=drawn)

    def meeting(self, human: str) -> dict[Key, Floats]:
        """The scorers' axes that are compared with this human axis."""
        return {key: table for key, table in self.scores.items() if key[1] in (human, ANY_AXIS)}


def unmatched(judged: Iterable[str], rated: Iterable[str]) -> Iterator[str]:
    """What is said where some axes are only rated and some only judged."""
    unrated, unjudged = sorted({*judged} - {*rated}), sorted({*rated} - {*judged})
    if unrated and unjudged:
        names = ", ".join(unjudged), ", ".join(unrated)
        one = f"if two are one axis, name the ratings so: `ratings.{unrated[0]}`"
        yield "rated but not judged: {}; judged but not rated: {}; ".format(*names) + one
