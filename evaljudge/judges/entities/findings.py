"""What a judge of entities found in a run: counts of each shard, their sum, and the report.

    entity_row("entities", shard_sums(verdicts))
    ->  EntityRow("entities", candidates=160, entities=Sizes(158, 11.0, 4, 23), …)

| judge    | aspect       | verdicts |   yes | partially |    no | contradict | unknown | none |
| -------- | ------------ | -------: | ----: | --------: | ----: | ---------: | ------: | ---: |
| entities | completeness |    1,760 | 61.2% |     12.4% | 21.7% |       4.5% |       – |    3 |

| judge    | aspect       | Cohen's kappa        |  same |   n | no verdict | no entity | blank |
| -------- | ------------ | -------------------: | ----: | --: | ---------: | --------: | ----: |
| entities | completeness | 0.612 [0.553, 0.664] | 81.0% | 300 |          2 |         0 |    14 |

Where a run was extended, a document that got new candidates is in two shards, and counts twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Self

import yaml

from evaljudge.judges.collector import CollectorOptions, Found, JudgeFindings, SeenShard
from evaljudge.judges.entities.equations import OPTIONS, Answer, Aspect, Rule
from evaljudge.judges.entities.evidence import judged_texts, read_judged
from evaljudge.judges.entities.labels import (
    Answered,
    EntityAgreementRow,
    Labels,
    answered,
    label_agreement,
)
from evaljudge.judges.shared.counting import Sizes, Summed, sized, sizes
from evaljudge.records import Verdict
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import NONE, bracketed, count, percent, ratio

ENTITIES = "What the entities say"
AGREEMENT = "Entities as people label them"
NOTES: Mapping[str, str] = yaml.safe_load(Path(__file__).with_name("notes.yaml").read_text("utf-8"))
"""Our sentences under the tables."""
_ANSWERS = ("yes", "partially", "no", "contradict", "unknown")
RULES_IN_ORDER: tuple[Rule, ...] = ("majority", "exception", "divided")
RULED: tuple[Aspect, ...] = ("completeness", "correctness", "alignment")
"""Not readability: each of its prompts asks something else, so that nothing is voted on."""


@dataclass(frozen=True, slots=True)
class AspectRow:
    """How many entities (sentences for readability) have each verdict, and by which rule."""

    aspect: str
    verdicts: Mapping[str, int]
    unscored: int  # without any ballot
    rules: Mapping[str, int]  # none of readability, where nothing is voted on


@dataclass(frozen=True, slots=True)
class EntityRow:
    """What one judge of entities found in the whole run."""

    judge: str
    candidates: int
    entities: Sizes  # per candidate, where they could be extracted
    dropped: int  # entities that no words of their text support
    rubrics: Sizes  # per document that has one
    without_rubric: Mapping[str, int]  # documents, by the reason
    aspects: Sequence[AspectRow]
    structured: int  # replies of a given form
    cut: int  # at their token limit
    malformed: int


def entities(row: EntityRow) -> Section:
    tables = [_sizes(row), _without_rubric(row), _verdicts(row), _rules(row), _replies(row)]
    notes = ["sizes", "verdicts", "rules", "replies"]
    present = [table for table in tables if table.rows]
    return Section(ENTITIES, [], present, [NOTES[name] for name in notes])


def entity_agreement(rows: Sequence[EntityAgreementRow]) -> Section:
    heads = ["judge", "aspect", "file", "Cohen's kappa", "same", "n", "no verdict", "no entity",
             "blank"]  # fmt: skip
    cells = [
        [
            *(row.judge, row.aspect, row.file),
            bracketed(row.kappa, row.low, row.high),
            NONE if row.same is None else percent(row.same),
            *map(count, (row.n, row.unscored, row.unmet, row.blank)),
        ]
        for row in rows
    ]
    table = Table("Verdicts and people's labels", heads, cells, "lllrrrrrr", lead=2)
    return Section(AGREEMENT, [], [table], [NOTES["kappa"], NOTES["left_out"]])


def _sizes(row: EntityRow) -> Table:
    heads = ["candidates", "entities", "fewest", "most", "dropped", "documents", "rubric",
             "fewest", "most"]  # fmt: skip
    documents = row.rubrics.of + sum(row.without_rubric.values())
    candidates = [count(row.candidates), *sized(row.entities), count(row.dropped)]
    cells = [row.judge, *candidates, count(documents), *sized(row.rubrics)]
    return Table("How many entities", ["judge", *heads], [cells], "l" + "r" * len(heads))


def _without_rubric(row: EntityRow) -> Table:
    """The most frequent reason first."""
    ranked = sorted(row.without_rubric.items(), key=lambda item: -item[1])
    cells = [[row.judge, reason, count(times)] for reason, times in ranked]
    return Table("Documents without a rubric", ["judge", "why", "documents"], cells, "llr")


def _verdicts(row: EntityRow) -> Table:
    heads = ["judge", "aspect", "verdicts", *_ANSWERS, "none"]
    cells = []
    for own in row.aspects:
        of = sum(own.verdicts.values())
        shares = (ratio(own.verdicts[a], of) if a in own.verdicts else NONE for a in _ANSWERS)
        cells.append([row.judge, own.aspect, count(of), *shares, count(own.unscored)])
    return Table("Verdicts", heads, cells, "ll" + "r" * (len(heads) - 2), lead=2)


def _rules(row: EntityRow) -> Table:
    cells = [
        [row.judge, own.aspect, *(ratio(n, sum(own.rules.values())) for n in own.rules.values())]
        for own in row.aspects
        if own.rules
    ]
    return Table("By which rule", ["judge", "aspect", *RULES_IN_ORDER], cells, "llrrr", lead=2)


def _replies(row: EntityRow) -> Table:
    of = row.structured
    cut, malformed = ([count(n), ratio(n, of)] for n in (row.cut, row.malformed))
    heads = ["judge", "replies", "cut", "share", "malformed", "share"]
    cells = [row.judge, count(of), *cut, *malformed]
    return Table("Replies of a given form", heads, [cells], "lrrrrr")


class EntityFindings:
    """Counts of the verdicts, and each verdict that people may have a label for."""

    def __init__(self, judge: str, wanted: CollectorOptions, labels: Labels | None) -> None:
        self._judge, self._wanted, self._labels = judge, wanted, labels
        self._sums, self._answered = EntitySums(), list[Answered]()

    def see(self, shard: SeenShard) -> None:
        self._sums += shard_sums(shard.verdicts)
        if self._labels:
            for text in judged_texts(shard):
                self._answered += answered(text, self._labels)

    def __getstate__(self) -> dict[str, Any]:
        """Without the labels: the driver's collector, which workers' are added to, has them."""
        return self.__dict__ | {"_labels": None}

    def __iadd__(self, other: EntityFindings) -> Self:
        self._sums += other._sums
        self._answered += other._answered
        return self

    def findings(self, found: Found) -> JudgeFindings:
        row, agreement = entity_row(self._judge, self._sums), list[EntityAgreementRow]()
        if self._labels:
            options = (self._wanted.resamples, self._wanted.seed)
            agreement = label_agreement(self._judge, self._labels, self._answered, *options)
        sections = [entities(row), entity_agreement(agreement)]
        return JudgeFindings(sections, {"entities": [row], "entity_agreement": agreement})


@dataclass
class EntitySums(Summed):
    candidates: int = 0
    entities: Counter[int] = field(default_factory=Counter)
    """The number of candidates with so many entities."""
    rubrics: Counter[int] = field(default_factory=Counter)
    """The number of documents with so many entities."""
    without_rubric: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[Aspect, Answer | None]] = field(default_factory=Counter)
    rules: Counter[tuple[Aspect, Rule | None]] = field(default_factory=Counter)
    dropped: int = 0
    replies: Counter[str] = field(default_factory=Counter)
    """`structured` ones, and those of them that were `cut` or `malformed`."""


def shard_sums(verdicts: Iterable[Verdict]) -> EntitySums:
    """Verdicts of one document follow each other, as they are stored.

    All candidates of a document have its rubric, except those that were not judged at all.
    """
    sums = EntitySums()
    for _, own in groupby(verdicts, lambda verdict: verdict.doc_id):
        judged = list(map(read_judged, own))
        fullest = max(judged, key=lambda text: (bool(text.rubric), not text.reason))
        if fullest.no_rubric:
            sums.without_rubric[fullest.no_rubric] += 1
        else:
            sums.rubrics[len(fullest.rubric)] += 1
        sums.candidates += len(judged)
        for text in judged:
            if text.has_entities:
                sums.entities[len(text.entities)] += 1
            sums.verdicts.update((asked.aspect, asked.verdict) for asked in text.questions)
            sums.rules.update((asked.aspect, asked.rule) for asked in text.questions)
            sums.dropped += len(text.dropped)
            sums.replies.update(text.replies)
    return sums


def entity_row(judge: str, sums: EntitySums) -> EntityRow:
    return EntityRow(
        judge=judge,
        candidates=sums.candidates,
        entities=sizes(sums.entities),
        dropped=sums.dropped,
        rubrics=sizes(sums.rubrics),
        without_rubric=dict(sums.without_rubric),
        aspects=[
            AspectRow(
                aspect,
                {answer: sums.verdicts[aspect, answer] for answer in OPTIONS[aspect]},
                sums.verdicts[aspect, None],
                {rule: sums.rules[aspect, rule] for rule in RULES_IN_ORDER if aspect in RULED},
            )
            for aspect in OPTIONS
        ],
        **{name: sums.replies[name] for name in ("structured", "cut", "malformed")},
    )
