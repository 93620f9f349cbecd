"""What a judge of entities found in a run, as counts: of a shard at a time, then one row.

    sums = EntitySums()
    sums += shard_sums(verdicts)                 each shard's
    entity_row("entities", sums)
    ->  EntityRow("entities", candidates=160, entities=Sizes(158, 11.0, 4, 23), …)

Counts are by size, so that medians are exact and memory does not grow with the corpus. Where a run
was extended, a document that got new candidates stands in two shards, and counts in both.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Self

from evaljudge.judges.entities.equations import OPTIONS, Answer, Aspect, Rule
from evaljudge.judges.entities.evidence import EntityEvidence, Ruled, read_judged
from evaljudge.judges.shared.counting import Sizes, sizes
from evaljudge.records import Verdict

RULES: tuple[Rule, ...] = ("majority", "exception", "divided")
RULED: tuple[Aspect, ...] = ("completeness", "correctness", "alignment")
"""Of a sentence each prompt asks something else, so that nothing is voted on."""


@dataclass(frozen=True, slots=True)
class AspectRow:
    """How many entities (of readability: sentences) have each verdict, by which rule."""

    aspect: str
    verdicts: Mapping[str, int]
    unscored: int  # without any ballot
    rules: Mapping[str, int]  # none of readability, where nothing is voted on


@dataclass(frozen=True, slots=True)
class EntityRow:
    """What one judge of entities found in the whole run."""

    judge: str
    candidates: int
    entities: Sizes  # of a candidate, of those where they could be had
    dropped: int  # that no words of their text support
    rubrics: Sizes  # of a document, of those that have one
    without_rubric: Mapping[str, int]  # documents, by the reason
    aspects: Sequence[AspectRow]
    structured: int  # replies of a given form
    cut: int  # of them, at their token limit
    malformed: int


@dataclass(slots=True)
class EntitySums:
    """Of one judge."""

    candidates: int = 0
    entities: Counter[int] = field(default_factory=Counter)
    """How many candidates have so many."""
    rubrics: Counter[int] = field(default_factory=Counter)
    """How many documents have so many."""
    without_rubric: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[Aspect, Answer | None]] = field(default_factory=Counter)
    rules: Counter[tuple[Aspect, Rule]] = field(default_factory=Counter)
    told: Counter[str] = field(default_factory=Counter)
    """`dropped` entities, and replies: `structured`, of them `cut` and `malformed`."""

    def __iadd__(self, other: EntitySums) -> Self:
        self.candidates += other.candidates
        self.entities.update(other.entities)
        self.rubrics.update(other.rubrics)
        self.without_rubric.update(other.without_rubric)
        self.verdicts.update(other.verdicts)
        self.rules.update(other.rules)
        self.told.update(other.told)
        return self


def shard_sums(verdicts: Iterable[Verdict]) -> EntitySums:
    """Verdicts of one document follow each other, as they are stored."""
    sums = EntitySums()
    for _, own in groupby(verdicts, lambda verdict: verdict.doc_id):
        judged = list(map(read_judged, own))
        _add_rubric(sums, judged)
        for one in judged:
            _add(sums, one)
    return sums


def _add_rubric(sums: EntitySums, judged: Sequence[EntityEvidence]) -> None:
    """All candidates of a document have its rubric, but those that were not judged at all."""
    sizes = [len(one.rubric) for one in judged if one.rubric]
    if sizes:
        sums.rubrics[sizes[0]] += 1
    else:
        known = [one.no_rubric for one in judged if not one.reason]
        sums.without_rubric[(known or [judged[0].no_rubric])[0]] += 1


def _add(sums: EntitySums, judged: EntityEvidence) -> None:
    sums.candidates += 1
    if judged.has_entities:
        sums.entities[len(judged.entities)] += 1
    for wanted in judged.rubric:
        _add_ruled(sums, "completeness", wanted.completeness)
    for entity in judged.entities:
        _add_ruled(sums, "correctness", entity.correctness)
        _add_ruled(sums, "alignment", entity.alignment)
    for sentence in judged.sentences:
        sums.verdicts["readability", sentence.verdict] += bool(sentence.votes)
    sums.told["dropped"] += len(judged.dropped)
    sums.told["structured"] += judged.structured
    sums.told["cut"] += judged.cut
    sums.told["malformed"] += judged.malformed


def _add_ruled(sums: EntitySums, aspect: Aspect, ruled: Ruled) -> None:
    if ruled.votes:
        sums.verdicts[aspect, ruled.verdict] += 1
        if ruled.rule:
            sums.rules[aspect, ruled.rule] += 1


def entity_row(judge: str, sums: EntitySums) -> EntityRow:
    return EntityRow(
        judge=judge,
        candidates=sums.candidates,
        entities=sizes(sums.entities),
        dropped=sums.told["dropped"],
        rubrics=sizes(sums.rubrics),
        without_rubric=dict(sums.without_rubric),
        aspects=[_aspect_row(sums, aspect) for aspect in OPTIONS],
        structured=sums.told["structured"],
        cut=sums.told["cut"],
        malformed=sums.told["malformed"],
    )


def _aspect_row(sums: EntitySums, aspect: Aspect) -> AspectRow:
    verdicts = {str(answer): sums.verdicts[aspect, answer] for answer in OPTIONS[aspect]}
    rules = {str(rule): sums.rules[aspect, rule] for rule in RULES if aspect in RULED}
    return AspectRow(aspect, verdicts, sums.verdicts[aspect, None], rules)
