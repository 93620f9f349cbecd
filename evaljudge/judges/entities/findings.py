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
from evaljudge.judges.entities import LABELS
from evaljudge.judges.entities.equations import OPTIONS, Answer, Aspect, Rule
from evaljudge.judges.entities.evidence import JudgedText, read_judged
from evaljudge.judges.entities.labels import (
    Answered,
    EntityAgreementRow,
    Labels,
    answered,
    label_agreement,
    read_labels,
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
    cells = [[row.judge, *_shares(aspect)] for aspect in row.aspects]
    heads = ["judge", "aspect", "verdicts", *_ANSWERS, "none"]
    return Table("Verdicts", heads, cells, "ll" + "r" * (len(heads) - 2), lead=2)


def _shares(row: AspectRow) -> list[str]:
    of = sum(row.verdicts.values())
    shares = (ratio(row.verdicts[a], of) if a in row.verdicts else NONE for a in _ANSWERS)
    return [row.aspect, count(of), *shares, count(row.unscored)]


def _rules(row: EntityRow) -> Table:
    cells = [
        [row.judge, one.aspect, *(ratio(n, sum(one.rules.values())) for n in one.rules.values())]
        for one in row.aspects
        if one.rules
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
            for one in shard.verdicts:
                text = read_judged(one, shard.texts[one.doc_id, one.system])
                self._answered += answered(text, self._labels)

    def __getstate__(self) -> dict[str, Any]:
        """Without the labels: the driver's collector, which workers' are added to, has them."""
        return self.__dict__ | {"_labels": None}

    def __iadd__(self, other: EntityFindings) -> Self:
        self._sums += other._sums
        self._answered += other._answered
        return self

    def findings(self, found: Found) -> JudgeFindings:
        row = entity_row(self._judge, self._sums)
        options = (self._wanted.resamples, self._wanted.seed)
        agreement = (
            label_agreement(self._judge, self._labels, self._answered, *options)
            if self._labels
            else []
        )
        sections = [entities(row), entity_agreement(agreement)]
        return JudgeFindings(sections, {"entities": [row], "entity_agreement": agreement})


def labels_of(wanted: CollectorOptions) -> Labels | None:
    file = wanted.keys.get(LABELS)
    return read_labels(file) if file else None


@dataclass
class EntitySums(Summed):
    candidates: int = 0
    entities: Counter[int] = field(default_factory=Counter)
    """The number of candidates with so many entities."""
    rubrics: Counter[int] = field(default_factory=Counter)
    """The number of documents with so many entities."""
    without_rubric: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[Aspect, Answer | None]] = field(default_factory=Counter)
    rules: Counter[tuple[Aspect, Rule]] = field(default_factory=Counter)
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
        one = max(judged, key=lambda one: (bool(one.rubric), not one.reason))
        if one.no_rubric:
            sums.without_rubric[one.no_rubric] += 1
        else:
            sums.rubrics[len(one.rubric)] += 1
        for one in judged:
            _add(sums, one)
    return sums


def _add(sums: EntitySums, judged: JudgedText) -> None:
    sums.candidates += 1
    if judged.has_entities:
        sums.entities[len(judged.entities)] += 1
    for question in judged.questions:
        sums.verdicts[question.aspect, question.verdict] += 1
        if question.rule:
            sums.rules[question.aspect, question.rule] += 1
    sums.dropped += len(judged.dropped)
    sums.replies.update(judged.replies)


def entity_row(judge: str, sums: EntitySums) -> EntityRow:
    return EntityRow(
        judge=judge,
        candidates=sums.candidates,
        entities=sizes(sums.entities),
        dropped=sums.dropped,
        rubrics=sizes(sums.rubrics),
        without_rubric=dict(sums.without_rubric),
        aspects=[_aspect_row(sums, aspect) for aspect in OPTIONS],
        **{name: sums.replies[name] for name in ("structured", "cut", "malformed")},
    )


def _aspect_row(sums: EntitySums, aspect: Aspect) -> AspectRow:
    verdicts = {str(answer): sums.verdicts[aspect, answer] for answer in OPTIONS[aspect]}
    rules = {str(rule): sums.rules[aspect, rule] for rule in RULES_IN_ORDER if aspect in RULED}
    return AspectRow(aspect, verdicts, sums.verdicts[aspect, None], rules)
