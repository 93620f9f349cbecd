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
from evaljudge.analysis.run_scores import RunScores, ScoredRun, aligned, signatures
from evaljudge.analysis.selection_differences import (
    selected_texts,
    selection_rule,
    selections,
)
from evaljudge.analysis.telling import disagreement
from evaljudge.records import ANY_AXIS
from evaljudge.runs.asked import RunPrompts


class RunIndex(RunScores):
    def __init__(self, run: ScoredRun) -> None:
        super().__init__(run.output, run.scored, np.float32)
        self.run = run
        self.systems = sorted({system for _, system in self.texts})
        self.further = kept_ratings(run.output)
        """What people rated besides the corpus."""
        self.rate({text: one.ratings for text, one in self.further.items()})
        self.axes = sorted(self.human)

    # what is asked of it

    def column(self, name: str) -> bytes:
        """`score:3`, `reason:3`, `doubt:3`, `disagreement:3:0` (of a scorer, on an axis of people),
        `rating:0`, `system`, `selected:1`, each by its place in what the page was given."""
        kind, *given = name.split(":")
        number, axis = [*map(int, given), 0, 0][:2]
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
            case _:
                raise LookupError(name)
        return column.tobytes()

    @cached_property
    def selections(self) -> list[str]:
        return selections(self.run)

    @cached_property
    def selected(self) -> Mapping[str, NDArray[np.uint8]]:
        made = {}
        for name in self.selections:
            made[name] = np.zeros(len(self.texts), np.uint8)
            for text in selected_texts(self.run, name):
                if text in self.row_of:
                    made[name][self.row_of[text]] = 1
        return made

    @cached_property
    def prompts(self) -> RunPrompts:
        return RunPrompts(self.run.output)

    def beside(self, text: Text) -> tuple[RunIndex, int] | None:
        """The run that is compared and the text's row in it, if there is one."""
        return None


class TwoRunsIndex(RunIndex):
    """A run beside another, on the texts of the first."""

    def __init__(self, run: ScoredRun, other: RunIndex) -> None:
        super().__init__(run)
        self._other = other
        self._rows = other.rows_of(self.texts)

    @property
    def shared_texts(self) -> int:
        return int((self._rows >= 0).sum())

    def beside(self, text: Text) -> tuple[RunIndex, int] | None:
        row = self._other.row_of.get(text)
        return None if row is None else (self._other, row)

    @property
    def comparison(self) -> dict[str, Any]:
        """How many texts both runs have; for each scorer and axis, on how many of them the scores
        differ, None where the other run lacks it; the selections of both, by their rules; and the
        scorers that are made otherwise in the other run, by their signatures."""
        there = set(self.selections) & set(self._other.selections)
        rules = {
            name: selection_rule(self.run, name) == selection_rule(self._other.run, name)
            for name in sorted(there)
        }
        return {
            "texts": self.shared_texts,
            "differ": [self._differing(key) for key in self.scales],
            "shared": [name for name, is_same in rules.items() if is_same],
            "changed": [name for name, is_same in rules.items() if not is_same],
            "otherwise": self._made_otherwise,
        }

    @cached_property
    def _made_otherwise(self) -> list[str]:
        mine, theirs = signatures(self.run), signatures(self._other.run)
        return [name for name in mine if name in theirs and mine[name] != theirs[name]]

    def _differing(self, key: Key) -> int | None:
        if key not in self._other.scores:
            return None
        mine = self.scores[key]
        theirs = aligned(self._other.scores[key], self._rows, np.float32(np.nan))
        known = np.isfinite(mine), np.isfinite(theirs)
        differ = (known[0] != known[1]) | (known[0] & known[1] & (mine != theirs))
        return int((differ & (self._rows >= 0)).sum())

    def column(self, name: str) -> bytes:
        """Also `other:3`, the other run's scores on this scale, and `flipped:1`: whether only one
        of the two selects the text."""
        kind, _, number = name.partition(":")
        if kind == "other":
            scores = self._other.scores.get(self.scales[int(number)])
            return aligned(scores, self._rows, np.float32(np.nan)).tobytes()
        if kind == "flipped":
            selection = self.selections[int(number)]
            theirs = aligned(self._other.selected.get(selection), self._rows, np.uint8(0))
            is_shared = self._rows >= 0
            flipped: NDArray[np.bool_] = (self.selected[selection] != theirs) & is_shared
            return flipped.tobytes()
        return super().column(name)
