"""The numbers of all texts of a run, as columns that a browser filters and sorts.

index = RunIndex(scored_run("runs/first"))
index.column("score:3")  ->  bytes: a float32 for each text, NaN where it is unscored
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.rated import Key, Text
from evaljudge.analysis.ratings import kept_ratings
from evaljudge.analysis.run_scores import (
    RunScores,
    ScoredRun,
    about_selection,
    aligned,
    selected_texts,
    selections,
    signatures,
)
from evaljudge.analysis.telling import disagreement
from evaljudge.records import ANY_AXIS
from evaljudge.runs.asked import RunPrompts


class RunIndex(RunScores):
    """A run, on its own or beside another one, on the texts of the first."""

    def __init__(self, run: ScoredRun, other: RunIndex | None = None) -> None:
        super().__init__(run.output, run.scored, np.float32)
        self.run, self.other = run, other
        self.systems = sorted({system for _, system in self.texts})
        self.further = kept_ratings(run.output)
        """What people rated besides the corpus."""
        self.rate({text: rated.ratings for text, rated in self.further.items()})
        self.axes = sorted(self.human)
        self.selections = selections(run)
        self._rows = self.rows_of(()) if other is None else other.rows_of(self.texts)
        """The place of each text in the other run; -1: it has no such text."""

    # what is asked of it

    def column(self, name: str) -> bytes:
        """`score:3`, `reason:3`, `doubt:3`, `disagreement:3:0` (of a scorer, on an axis of people),
        `rating:0`, `system`, `selected:1`, each by its place in what the page was given; beside
        another run also `other:3`, its scores on this scale, and `flipped:1`: whether only one of
        the two selects the text."""
        kind, *numbers = name.split(":")
        number, axis = [*map(int, numbers), 0, 0][:2]
        column: NDArray[Any]
        match kind:
            case _ if number < 0 or axis < 0:
                raise LookupError(name)
            case "rating":
                column = self.human[self.axes[number]]
            case "score":
                column = self.scores[self.scales[number]]
            case "reason":
                column = self.unscored[self.scales[number]]
            case "doubt":
                column = self.doubts[self.scales[number]]
            case "disagreement":
                scale, on = self.scales[number], self.axes[axis]
                if scale[1] not in (on, ANY_AXIS):  # the scorer's own, unless it has none
                    raise LookupError(on)
                column = disagreement(self.scores[scale], self.human[on]).astype(np.float32)
            case "system":
                code_of = {system: code for code, system in enumerate(self.systems)}
                column = np.array([code_of[system] for _, system in self.texts], np.int16)
            case "selected":
                column = self.selected[self.selections[number]]
            case "other" if self.other is not None:
                column = self._theirs(self.scales[number])
            case "flipped" if self.other is not None:
                selection = self.selections[number]
                theirs = aligned(self.other.selected.get(selection), self._rows, np.uint8(0))
                column = (self.selected[selection] != theirs) & (self._rows >= 0)
            case _:
                raise LookupError(name)
        return column.tobytes()

    @cached_property
    def selected(self) -> Mapping[str, NDArray[np.uint8]]:
        made = {name: np.zeros(len(self.texts), np.uint8) for name in self.selections}
        for name, column in made.items():
            for text in selected_texts(self.run, name):
                if text in self.row_of:
                    column[self.row_of[text]] = 1
        return made

    @cached_property
    def prompts(self) -> RunPrompts:
        return RunPrompts(self.run.output)

    # the run beside it

    def beside(self, text: Text) -> tuple[RunIndex, int] | None:
        """The run that is compared and the text's row in it, if there is one."""
        row = self.other.row_of.get(text) if self.other else None
        return None if self.other is None or row is None else (self.other, row)

    @property
    def shared_texts(self) -> int:
        return int((self._rows >= 0).sum())

    @property
    def comparison(self) -> dict[str, Any]:
        """How many texts both runs have; for each scorer and axis, on how many of them the scores
        differ, None where the other run lacks it; the selections of both, by their rules; and the
        scorers that are made otherwise in the other run, by their signatures."""
        if (other := self.other) is None:
            return {}
        rules = {
            name: about_selection(self.run, name)["rule"]
            == about_selection(other.run, name)["rule"]
            for name in sorted(set(self.selections) & set(other.selections))
        }
        mine, theirs = signatures(self.run), signatures(other.run)
        return {
            "texts": self.shared_texts,
            "differ": [
                self._differing(key) if key in other.scores else None for key in self.scales
            ],
            "shared": [name for name, is_same in rules.items() if is_same],
            "changed": [name for name, is_same in rules.items() if not is_same],
            "otherwise": [n for n in mine if n in theirs and mine[n] != theirs[n]],
        }

    def _theirs(self, key: Key) -> NDArray[Any]:
        column = self.other.scores.get(key) if self.other else None
        return aligned(column, self._rows, np.float32(np.nan))

    def _differing(self, key: Key) -> int:
        mine, theirs = self.scores[key], self._theirs(key)
        finite = np.isfinite(mine), np.isfinite(theirs)
        differ = (finite[0] != finite[1]) | (finite[0] & finite[1] & (mine != theirs))
        return int((differ & (self._rows >= 0)).sum())
