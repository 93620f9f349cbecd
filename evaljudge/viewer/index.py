"""The numbers of all texts of a run, as columns that a browser filters and sorts.

    index = RunIndex(scored_run("runs/first"))
    index.column("score:3")  ->  bytes: a float32 for each text, NaN where it is unscored

In memory are a number for each score and rating, and the names of documents. Texts and evidence are
read when they are asked for, each from its shard.
"""

from __future__ import annotations

import io
import json
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.rated import Key
from evaljudge.analysis.ratings import kept_ratings
from evaljudge.analysis.selection_differences import selection_rule, selections
from evaljudge.analysis.telling import disagreement
from evaljudge.analysis.two_runs import ScoredRun
from evaljudge.records import ANY_AXIS
from evaljudge.runs.asked import RunPrompts
from evaljudge.storage import Shard

Numbers = NDArray[np.float32]
Codes = NDArray[np.int16]
Text = tuple[str, str]
"""Its document and its system."""


@dataclass(frozen=True)
class _Part:
    """What one shard holds."""

    texts: Sequence[Text]
    scores: Mapping[Key, Numbers]
    reasons: Mapping[Key, Mapping[int, str]]
    doubts: Mapping[Key, Numbers]
    """Of scorers that say how undecided they were."""
    ratings: Mapping[str, Numbers]


class RunIndex:
    def __init__(self, run: ScoredRun) -> None:
        self.run = run
        parts = list(run.output.ahead(self._read, run.scored))
        sizes = [len(part.texts) for part in parts]
        self._starts = [0, *np.cumsum(sizes).tolist()]
        self.texts = [text for part in parts for text in part.texts]
        self.systems = sorted({system for _, system in self.texts})
        self.scales = list(dict.fromkeys(key for part in parts for key in part.scores))
        self.further = kept_ratings(run.output)
        """What people rated besides the corpus."""
        further = {axis for one in self.further.values() for axis in one.ratings}
        self.axes = sorted(further | {axis for part in parts for axis in part.ratings})
        found = (reason for p in parts for own in p.reasons.values() for reason in own.values())
        self.reasons = sorted(set(found))
        self.scores: dict[Key, Numbers] = _joined(parts, "scores", self.scales)
        self.doubts: dict[Key, Numbers] = _joined(parts, "doubts", self.scales)
        self.ratings: dict[str, Numbers] = _joined(parts, "ratings", self.axes)
        for row, text in enumerate(self.texts if self.further else ()):
            if text in self.further:
                for axis, rating in self.further[text].ratings.items():
                    self.ratings[axis][row] = rating
        self._coded = {key: self._codes_of(parts, key) for key in self.scales}

    def _read(self, shard: Shard) -> _Part:
        import pyarrow as pa
        import pyarrow.compute as pc

        cases = self.run.output.case_table(shard, ["doc_id", "candidates"])
        lists = cases["candidates"].combine_chunks()
        doc_ids = cases["doc_id"].combine_chunks().take(pc.list_parent_indices(lists))
        candidates = lists.flatten()
        systems = candidates.field("system")
        scores = self.run.output.score_table(shard)
        names = pc.binary_join_element_wise(doc_ids, systems, "\0")
        mine = pc.binary_join_element_wise(scores["doc_id"], scores["system"], "\0")
        places = pc.index_in(mine, value_set=names).to_numpy(zero_copy_only=False).astype(np.intp)
        scale = pc.binary_join_element_wise(scores["scorer"], scores["axis"], "\0")
        coded = scale.combine_chunks().dictionary_encode()
        codes = coded.indices.to_numpy(zero_copy_only=False)
        values = scores["value"].to_numpy().astype(np.float32)
        missing = np.flatnonzero(~np.isfinite(values))
        why = scores["reason"].take(pa.array(missing)).to_pylist()
        reasons = dict(zip(missing.tolist(), why, strict=True))
        undecided = scores["doubt"].to_numpy().astype(np.float32)
        found, doubts = dict[Key, Numbers](), dict[Key, Numbers]()
        unscored = dict[Key, dict[int, str]]()
        for number, name in enumerate(coded.dictionary.to_pylist()):
            scorer, axis = name.split("\0")
            rows = np.flatnonzero(codes == number)
            for column, given in ((found, values), (doubts, undecided)):
                if column is found or np.isfinite(given[rows]).any():
                    column[scorer, axis] = np.full(len(names), np.nan, np.float32)
                    column[scorer, axis][places[rows]] = given[rows]
            unscored[scorer, axis] = {
                int(places[row]): reasons[row] for row in rows.tolist() if row in reasons
            }
        texts = list(zip(doc_ids.to_pylist(), systems.to_pylist(), strict=True))
        return _Part(texts, found, unscored, doubts, _ratings(candidates.field("ratings")))

    def _codes_of(self, parts: Sequence[_Part], key: Key) -> Codes:
        """Of each text the place of its reason among `reasons`; -1: it is scored."""
        code_of = {reason: code for code, reason in enumerate(self.reasons)}
        made = np.full(len(self.texts), -1, np.int16)
        for start, part in zip(self._starts, parts, strict=False):
            for place, reason in part.reasons.get(key, {}).items():
                made[start + place] = code_of[reason]
        return made

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
                column = self.ratings[self.axes[number]]
            case "score":
                column = self.scores[self.scales[number]]
            case "reason":
                column = self._coded[self.scales[number]]
            case "doubt":
                column = self.doubts[self.scales[number]]
            case "disagreement":
                scale, on = self.scales[number], self.axes[axis]
                if scale[1] not in (on, ANY_AXIS):  # the scorer's own, unless it has none
                    raise LookupError(on)
                column = disagreement(self.scores[scale], self.ratings[on]).astype(np.float32)
            case "system":
                code_of = {system: code for code, system in enumerate(self.systems)}
                column = np.array([code_of[system] for _, system in self.texts], np.int16)
            case "selected":
                column = self.selected[self.selections[number]]
            case _:
                raise LookupError(name)
        return column.tobytes()

    @cached_property
    def row_of(self) -> Mapping[Text, int]:
        return {text: row for row, text in enumerate(self.texts)}

    @cached_property
    def selections(self) -> list[str]:
        return selections(self.run)

    @cached_property
    def selected(self) -> Mapping[str, NDArray[np.uint8]]:
        made = {}
        for name in self.selections:
            made[name] = np.zeros(len(self.texts), np.uint8)
            for text in self._selected(name):
                if text in self.row_of:
                    made[name][self.row_of[text]] = 1
        return made

    def _selected(self, name: str) -> Iterator[Text]:
        stream = self.run.output.place.open(f"selected/{name}.jsonl")
        with stream, io.BufferedReader(stream) as lines:  # type: ignore[type-var]
            for line in lines:
                row = json.loads(line)
                yield row["doc_id"], row["system"]

    @cached_property
    def prompts(self) -> RunPrompts:
        return RunPrompts(self.run.output)

    def beside(self, text: Text) -> tuple[RunIndex, int] | None:
        """The run that is compared and the text's row in it, if there is one."""
        return None

    def shard_of(self, row: int) -> Shard:
        return self.run.scored[bisect_right(self._starts, row) - 1]


class TwoRunsIndex(RunIndex):
    """A run beside another, on the texts of the first."""

    def __init__(self, run: ScoredRun, other: RunIndex) -> None:
        super().__init__(run)
        self._other = other
        rows = (other.row_of.get(text, -1) for text in self.texts)
        self._rows = np.fromiter(rows, np.intp, len(self.texts))

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
        mine, theirs = (
            {one.scorer: one.signature for one in run.output.scores(run.scored[0])}
            for run in (self.run, self._other.run)
        )
        return [name for name in mine if name in theirs and mine[name] != theirs[name]]

    def _differing(self, key: Key) -> int | None:
        if key not in self._other.scores:
            return None
        mine = self.scores[key]
        theirs = self._beside(self._other.scores[key], np.float32(np.nan))
        known = np.isfinite(mine), np.isfinite(theirs)
        differ = (known[0] != known[1]) | (known[0] & known[1] & (mine != theirs))
        return int((differ & (self._rows >= 0)).sum())

    def column(self, name: str) -> bytes:
        """Also `other:3`, the other run's scores on this scale, and `flipped:1`: whether only one
        of the two selects the text."""
        kind, _, number = name.partition(":")
        if kind == "other":
            scores = self._other.scores.get(self.scales[int(number)])
            return self._beside(scores, np.float32(np.nan)).tobytes()
        if kind == "flipped":
            selection = self.selections[int(number)]
            theirs = self._beside(self._other.selected.get(selection), np.uint8(0))
            is_shared = self._rows >= 0
            flipped: NDArray[np.bool_] = (self.selected[selection] != theirs) & is_shared
            return flipped.tobytes()
        return super().column(name)

    def _beside(self, column: NDArray[Any] | None, nothing: np.generic) -> NDArray[Any]:
        """The other run's column in the order of this run's texts."""
        if column is None or not len(column):
            return np.full(len(self.texts), nothing)
        return np.where(self._rows >= 0, column[self._rows], nothing)


def _joined(parts: Sequence[_Part], kind: str, names: Sequence[Any]) -> dict[Any, Numbers]:
    """Columns of all shards; NaN where a shard has none."""
    columns = [
        (getattr(part, kind), np.full(len(part.texts), np.nan, np.float32)) for part in parts
    ]
    empty = np.empty(0, np.float32)
    return {
        name: np.concatenate([empty, *(column.get(name, none) for column, none in columns)])
        for name in names
    }


def _ratings(maps: Any) -> dict[str, Numbers]:
    """From a column of maps to one column for each axis."""
    import pyarrow.compute as pc

    found = {}
    for axis in sorted(set(maps.keys.to_pylist())):
        values = pc.map_lookup(maps, axis, "first").to_numpy(zero_copy_only=False)
        found[axis] = values.astype(np.float32)
    return found
