"""Scores and ratings as tables: a row for each document, a column for each system.

Grid(documents=("d1", "d2"), systems=("A", "B"), scores={("synthetic.level", "fluency"):
     [[4.2, 3.1], [3.9, nan]]}, human={"fluency": [[4.0, nan], [nan, nan]]})
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evaljudge.agreement.rated import Floats, Key
from evaljudge.records import ANY_AXIS


@dataclass(frozen=True)
class Grid:
    """NaN: there is no such candidate, or it is unscored or unrated."""

    documents: Sequence[str]
    systems: Sequence[str]
    scores: Mapping[Key, Floats]
    human: Mapping[str, Floats]
    is_sample: bool = False
    """Whether unrated documents, or systems with few texts, are missing because there are too many
    to keep."""
    probabilities: Mapping[str, Floats] = field(default_factory=dict)
    """By human axis, where texts were drawn for rating: how probable it was that a rated text was
    drawn and rated; NaN for a text of which this is not known."""

    def on(self, axes: Sequence[str]) -> Grid:
        """Of these axes alone; scorers without axes stay."""
        scores = {key: table for key, table in self.scores.items() if key[1] in (*axes, ANY_AXIS)}
        human = {axis: table for axis, table in self.human.items() if axis in axes}
        drawn = {axis: table for axis, table in self.probabilities.items() if axis in axes}
        return replace(self, scores=scores, human=human, probabilities=drawn)

    def meeting(self, human: str) -> dict[Key, Floats]:
        """The scorers' axes that are compared with this human axis."""
        return {key: table for key, table in self.scores.items() if key[1] in (human, ANY_AXIS)}
