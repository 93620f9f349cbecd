"""Two runs read side by side: their texts paired by document and system, whatever their shards are.

    paired = paired_runs(scored_run("runs/a"), scored_run("runs/b"))
    paired.scores[0]["synthetic", "fluency"]   # the first run's, a number for each paired text

Shards are read one at a time. In memory stay the name and a hash of each document and text, and a
number for each score and rating of the texts that both runs have.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import nan
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from evaljudge.agreement.rated import Floats, Key, is_repetition
from evaljudge.analysis.findings import Coverage
from evaljudge.analysis.tables import Column, codes
from evaljudge.errors import UserError
from evaljudge.records import ANY_AXIS
from evaljudge.storage import SHARDS, Output, Shard, holder

FEW_NAMED = 5
SIDES = ("first", "second")
Text = tuple[str, str]
"""Its document and its system."""
Name = TypeVar("Name", str, Text)


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
    at_work, output = holder(out), Output(out)
    about, has_listing = output.known_run(), output.has_listing
    shards, warnings = output.shards(), list[str]()
    there = set(output.place.names("scores"))
    if there and not has_listing:
        raise output.damaged(SHARDS, "is gone")
    is_done = about.get("state") == "done"  # then a file that is gone is damage, which reading says
    scored = [shard for shard in shards if is_done or shard.file in there]
    if not scored:
        raise UserError(f"{out}: nothing is scored yet: `evaljudge report CONFIG` writes them")
    if at_work:
        warnings.append(f"{out}: at work is {at_work}: what it writes meanwhile may be missed")
    if len(scored) < len(shards):
        missing = f"{len(shards) - len(scored):,} of {len(shards):,} shards have no scores"
        warnings.append(f"{out}: {missing}: only the others are compared")
    return ScoredRun(out, Output(out, None, about["id"]), about, shards, scored, warnings)


@dataclass(frozen=True)
class CorpusChange:
    """How many are in both runs and in one alone; of those in both, how many are not the same."""

    documents: int
    documents_first: int  # only in the first
    documents_second: int
    sources_changed: int
    texts: int
    texts_first: int
    texts_second: int
    texts_changed: int
    ratings_changed: int  # texts that people rated otherwise, or in one run alone
    changed: Sequence[Mapping[str, str]]
    """The first few documents and texts that are not the same."""

    @property
    def is_none(self) -> bool:
        counts = self.documents_first, self.documents_second, self.texts_first, self.texts_second
        return not any([*counts, self.sources_changed, self.texts_changed, self.ratings_changed])


@dataclass(frozen=True)
class PairedRuns:
    """`documents` and `systems`: codes of each paired text, in the order of their names."""

    corpus: CorpusChange
    texts: Sequence[Text]
    row: Mapping[Text, int]
    """The place of a text in the arrays, where both runs have it."""
    documents: NDArray[np.int64]
    systems: NDArray[np.int64]
    system_names: Sequence[str]
    human: Sequence[Mapping[str, Floats]]
    scores: Sequence[Mapping[Key, Floats]]
    coverage: Sequence[Mapping[Key, Coverage]]
    """Over all texts of each run, paired or not."""
    signatures: Sequence[Mapping[str, str]]


def paired_runs(first: ScoredRun, second: ScoredRun) -> PairedRuns:
    runs = _Content(first), _Content(second)
    texts = sorted(runs[0].texts.keys() & runs[1].texts.keys())
    row = {text: place for place, text in enumerate(texts)}
    systems = [system for _, system in texts]
    return PairedRuns(
        _corpus(*runs, texts),
        texts,
        row,
        codes([doc_id for doc_id, _ in texts]),
        codes(systems),
        sorted(set(systems)),
        [one.human(texts) for one in runs],
        *zip(*(_scores(run, row) for run in (first, second)), strict=True),
    )


@dataclass
class _Content:
    """Hashes of what a run has under each name, and people's ratings of each rated text."""

    run: ScoredRun
    documents: dict[str, bytes] = field(default_factory=dict)
    texts: dict[Text, bytes] = field(default_factory=dict)
    ratings: dict[Text, Mapping[str, float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for cases in self.run.output.ahead(self.run.output.cases, self.run.shards):
            for document, candidates in ((case.document, case.candidates) for case in cases):
                content = document.source, document.context, document.references
                self.documents[document.doc_id] = _hash(*content)
                for one in candidates:
                    self.texts[document.doc_id, one.system] = _hash(one.text)
                    if one.ratings:
                        self.ratings[document.doc_id, one.system] = one.ratings

    def human(self, texts: Sequence[Text]) -> dict[str, Floats]:
        """The ratings of these texts by axis."""
        each = [self.ratings.get(text, {}) for text in texts]
        axes = {axis for ratings in each for axis in ratings}
        return {axis: np.array([ratings.get(axis, nan) for ratings in each]) for axis in axes}


def _hash(*what: Any) -> bytes:
    return blake2b(json.dumps(what).encode(), digest_size=16).digest()


def _corpus(first: _Content, second: _Content, paired: Sequence[Text]) -> CorpusChange:
    documents = _changes(first.documents, second.documents)
    texts = _changes(first.texts, second.texts)
    sources, others = documents[-1], texts[-1]
    return CorpusChange(
        *(*documents[:-1], len(sources), *texts[:-1], len(others)),
        sum(first.ratings.get(text) != second.ratings.get(text) for text in paired),
        [
            *({"doc_id": doc_id} for doc_id in sources[:FEW_NAMED]),
            *({"doc_id": doc_id, "system": system} for doc_id, system in others[:FEW_NAMED]),
        ],
    )


def _changes(
    first: Mapping[Name, bytes], second: Mapping[Name, bytes]
) -> tuple[int, int, int, list[Name]]:
    """How many are in both, in the first alone, in the second alone; those not the same in both."""
    both = first.keys() & second.keys()
    changed = sorted(name for name in both if first[name] != second[name])
    return len(both), len(first) - len(both), len(second) - len(both), changed


def _scores(
    run: ScoredRun, row: Mapping[Text, int]
) -> tuple[dict[Key, Floats], dict[Key, Coverage], dict[str, str]]:
    columns, values, signatures = dict[Key, Column](), dict[Key, Floats](), dict[str, str]()
    for scores in run.output.ahead(lambda shard: list(run.output.scores(shard)), run.scored):
        for score in scores:
            if is_repetition(score.scorer):
                continue
            key, place = (score.scorer, score.axis), row.get((score.doc_id, score.system))
            if key not in columns:
                columns[key], values[key] = Column(), np.full(len(row), nan)
            columns[key].add(score)
            signatures[score.scorer] = score.signature
            if score.value is not None and place is not None:
                values[key][place] = score.value
    coverage = {key: column.coverage(key) for key, column in columns.items()}
    return values, coverage, signatures
