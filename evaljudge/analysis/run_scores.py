"""The scores, doubts, reasons and ratings of all texts of a run, as columns.

    scores = RunScores(scored_run("runs/a"))
    scores.scores["synthetic", "fluency"]   # a number for each text, NaN where it is unscored
    scores.rows_of(other.texts)             # the places of another run's texts in these columns

In memory are a number for each score and rating, and the names of documents. Texts and evidence are
read when they are asked for, each from its shard.
"""

import io
import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import pyarrow.compute as pc
from numpy.typing import NDArray

from evaljudge.agreement.rated import Floats, Key, Text
from evaljudge.analysis.findings import Coverage
from evaljudge.errors import UserError
from evaljudge.records import ANY_AXIS
from evaljudge.storage import DERIVED, PIECE, SHARDS, Output, Shard, holder
from evaljudge.storage.checking import changed

K = TypeVar("K", str, Key)


def scale_name(scorer: str, axis: str) -> str:
    """A scorer and an axis as one name: `synthetic.fluency`, and `words` where it has none."""
    return scorer if axis == ANY_AXIS else f"{scorer}.{axis}"


@dataclass(frozen=True)
class ScoredRun:
    """A run, what run.json says of it, and which of its shards have scores."""

    out: str
    output: Output
    about: Mapping[str, Any]
    shards: Sequence[Shard]
    scored: Sequence[Shard]
    warnings: Sequence[str]


def scored_run(out: str) -> ScoredRun:
    """Refused in one line where no run lies there, or nothing is scored yet."""
    output, at_work = Output(out), holder(out)
    about, has_listing = output.known_run(), output.has_listing
    shards, warnings = output.shards(), list[str]()
    if not has_listing and output.place.names("scores"):
        raise output.damaged(SHARDS, "is gone")
    is_done = about.get("state") == "done"  # then a file that is gone is damage, which reading says
    scored = shards if is_done else output.scored(shards)
    if not scored:
        is_judged = len(output.committed("judge")) == len(shards)
        mend = "report CONFIG` writes scores" if is_judged else "run CONFIG` resumes it"
        raise UserError(f"{out}: nothing is scored yet: `evaljudge {mend}")
    if at_work:
        warnings.append(f"{out}: at work is {at_work}: what it writes meanwhile may be missed")
    if len(scored) < len(shards):
        missing = f"{len(shards) - len(scored):,} of {len(shards):,} shards have no scores"
        warnings.append(f"{out}: {missing}: only the others are compared")
    return ScoredRun(out, Output(out, None, about["id"]), about, shards, scored, warnings)


def signatures(run: ScoredRun) -> dict[str, str]:
    return {score.scorer: score.signature for score in run.output.scores(run.scored[0])}


def selections(run: ScoredRun) -> list[str]:
    files = run.about.get(DERIVED, ())
    matches = (re.fullmatch(r"selected/(.+)\.json", name) for name in files)
    return [match[1] for match in matches if match]


def about_selection(run: ScoredRun, name: str) -> dict[str, Any]:
    """The rule and its counts, as the last report wrote them."""
    _prove(run, file := f"selected/{name}.json")
    about: dict[str, Any] = json.loads(run.output.place.read(file))
    return about


def selected_texts(run: ScoredRun, name: str) -> Iterator[Text]:
    _prove(run, file := f"selected/{name}.jsonl")
    with run.output.place.open(file) as stream, io.BufferedReader(stream, PIECE) as lines:  # type: ignore[type-var]
        for line in lines:
            text = json.loads(line)
            yield text["doc_id"], text["system"]


def _prove(run: ScoredRun, name: str) -> None:
    if problem := changed(run.output, name, run.about[DERIVED][name]):
        raise run.output.damaged(name, problem)


class ShardScores:
    """What one shard holds: its texts, and columns of their scores, doubts and ratings."""

    def __init__(self, output: Output, shard: Shard, *, with_bodies: bool = False) -> None:
        cases = output.case_table(shard, ["doc_id", "candidates"])
        lists = cases["candidates"].combine_chunks()
        doc_ids = cases["doc_id"].combine_chunks().take(pc.list_parent_indices(lists))
        candidates = lists.flatten()
        systems, bodies = candidates.field("system"), candidates.field("text")
        self.bodies: Any = bodies if with_bodies else None
        self.texts: list[Text] = list(zip(doc_ids.to_pylist(), systems.to_pylist(), strict=True))
        trimmed = pc.utf8_trim_whitespace(bodies)
        self.is_blank: list[bool] = pc.equal(trimmed, "").to_pylist()
        ratings = candidates.field("ratings")
        self.human: dict[str, NDArray[Any]] = {
            axis: pc.map_lookup(ratings, axis, "first").to_numpy(zero_copy_only=False)
            for axis in dict.fromkeys(ratings.keys.to_pylist())
        }
        table = output.score_table(shard)
        scored = pc.binary_join_element_wise(table["doc_id"], table["system"], "\0")
        names = pc.binary_join_element_wise(doc_ids, systems, "\0")
        places = pc.index_in(scored, value_set=names).to_numpy().astype(np.intp)
        values, doubts, why = table["value"].to_numpy(), table["doubt"].to_numpy(), table["reason"]
        self.scores: dict[Key, Floats] = {}
        self.doubts: dict[Key, Floats] = {}
        self.reasons: dict[Key, dict[int, str]] = {}
        """Why texts are unscored, by their places."""
        for key, rows in rows_by_scale(table).items():
            self.scores[key], self.doubts[key] = np.full((2, len(self.texts)), np.nan)
            self.scores[key][places[rows]] = values[rows]
            self.doubts[key][places[rows]] = doubts[rows]
            missing = rows[~np.isfinite(values[rows])]
            lacking = places[missing].tolist(), why.take(missing).to_pylist()
            self.reasons[key] = dict(zip(*lacking, strict=True))


def rows_by_scale(scores: Any) -> dict[Key, NDArray[np.intp]]:
    scales = pc.binary_join_element_wise(scores["scorer"], scores["axis"], "\0")
    coded = scales.combine_chunks().dictionary_encode()
    codes = coded.indices.to_numpy(zero_copy_only=False)
    keys = (name.partition("\0")[::2] for name in coded.dictionary.to_pylist())
    return {key: np.flatnonzero(codes == code) for code, key in enumerate(keys)}


class RunScores:
    """`precision`: of the numbers in memory."""

    def __init__(
        self,
        output: Output,
        shards: Sequence[Shard],
        precision: type[np.floating[Any]] = np.float64,
    ) -> None:
        self._shards, self._precision = shards, precision
        parts = list(output.ahead(lambda shard: ShardScores(output, shard), shards))
        self._starts = [0, *np.cumsum([len(part.texts) for part in parts]).tolist()]
        self.texts = [text for part in parts for text in part.texts]
        self.is_blank = np.array([blank for part in parts for blank in part.is_blank], bool)
        self.scales = list(dict.fromkeys(key for part in parts for key in part.scores))
        axes = dict.fromkeys(axis for part in parts for axis in part.human)
        self.scores = self._joined(self.scales, [part.scores for part in parts])
        self.doubts = self._joined(self.scales, [part.doubts for part in parts])
        self.human = self._joined(axes, [part.human for part in parts])
        lacking = [by_row for part in parts for by_row in part.reasons.values()]
        self.reasons = sorted({reason for by_row in lacking for reason in by_row.values()})
        code_of = {reason: code for code, reason in enumerate(self.reasons)}
        self.unscored: dict[Key, NDArray[np.int16]] = {
            key: np.full(len(self.texts), -1, np.int16) for key in self.scales
        }
        """The place of each text's reason among `reasons`; -1: it is scored."""
        for start, part in zip(self._starts, parts, strict=False):
            for key, by_row in part.reasons.items():
                for row, reason in by_row.items():
                    self.unscored[key][start + row] = code_of[reason]

    def _joined(self, names: Iterable[K], parts: Sequence[Mapping[K, Floats]]) -> dict[K, Floats]:
        columns = {name: self._empty() for name in names}
        for start, part in zip(self._starts, parts, strict=False):
            for name, column in part.items():
                columns[name][start : start + len(column)] = column
        return columns

    def _empty(self) -> Floats:
        return np.full(len(self.texts), np.nan, self._precision)

    @cached_property
    def row_of(self) -> Mapping[Text, int]:
        return {text: row for row, text in enumerate(self.texts)}

    def rows_of(self, texts: Sequence[Text]) -> NDArray[np.intp]:
        """The places of these texts; -1 where it has none of them."""
        return np.fromiter((self.row_of.get(text, -1) for text in texts), np.intp, len(texts))

    def shard_of(self, row: int) -> Shard:
        return self._shards[bisect_right(self._starts, row) - 1]

    def coverage(self, key: Key) -> Coverage:
        codes = self.unscored[key]
        present, times = np.unique(codes[codes >= 0], return_counts=True)
        reasons = {self.reasons[code]: n for code, n in zip(present, times.tolist(), strict=True)}
        return Coverage(*key, int(np.isfinite(self.scores[key]).sum()), int(times.sum()), reasons)

    def rate(self, ratings: Mapping[Text, Mapping[str, float]]) -> None:
        """Add ratings, or put them in place of those that are there."""
        for text in ratings.keys() & self.row_of.keys():
            for axis, rating in ratings[text].items():
                self.human.setdefault(axis, self._empty())[self.row_of[text]] = rating


def aligned(
    column: NDArray[Any] | None, rows: NDArray[np.intp], nothing: Any = np.nan
) -> NDArray[Any]:
    """The column in the order of these rows; `nothing` for those that are -1."""
    if column is None or not len(column):
        return np.full(len(rows), nothing)
    return np.where(rows >= 0, column[rows], nothing)
