"""What a judge of entities found in a run: counts of each shard, their sum, and the report.

    sums = EntitySums()
    sums += shard_sums(verdicts)                 each shard's
    entity_row("entities", sums)
    ->  EntityRow("entities", candidates=160, entities=Sizes(158, 11.0, 4, 23), …)

Where a run was extended, a document that got new candidates is in two shards, and counts twice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Self

from evaljudge.judges.collector import CollectorOptions, Found, JudgeFindings, SeenShard
from evaljudge.judges.entities import LABELS
from evaljudge.judges.entities.equations import OPTIONS, Answer, Aspect, Rule
from evaljudge.judges.entities.evidence import (
    EntityEvidence,
    judged_texts,
    questions,
    read_judged,
)
from evaljudge.judges.entities.labels import (
    Answered,
    Labels,
    answered,
    label_agreement,
    read_labels,
)
from evaljudge.judges.entities.section import (
    RULED,
    RULES_IN_ORDER,
    AspectRow,
    EntityRow,
    entities,
    entity_agreement,
)
from evaljudge.judges.entities.view import ShownText, shown_text
from evaljudge.judges.shared.counting import Summed, sizes
from evaljudge.records import Verdict
from evaljudge.sections import View

TEMPLATE = Path(__file__).with_name("view.html.j2")


class EntityFindings:
    """Counts of the verdicts, the first candidates for the page, and each verdict that people
    may have a label for."""

    def __init__(self, judge: str, wanted: CollectorOptions, labels: Labels | None) -> None:
        self._judge, self._wanted, self._labels = judge, wanted, labels
        self._sums, self._shown, self._answered = EntitySums(), list[ShownText](), list[Answered]()

    def see(self, shard: SeenShard) -> None:
        self._sums += shard_sums(shard.verdicts)
        wanted = shard.verdicts if self._labels else shard.verdicts[: shard.shown]
        for number, text in enumerate(judged_texts(wanted, shard.texts)):
            if number < shard.shown:
                self._shown.append(shown_text(text))
            if self._labels:
                self._answered += answered(text, self._labels)

    def __getstate__(self) -> dict[str, Any]:
        """Without the labels: the driver's collector, which workers' are added to, has them."""
        return self.__dict__ | {"_labels": None}

    def __iadd__(self, other: EntityFindings) -> Self:
        self._sums += other._sums
        self._shown += other._shown
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
        title = f"Texts and their entities: {self._judge}"
        views = [View(title, TEMPLATE, self._shown, row.candidates)] if self._shown else []
        sections = [entities(row, with_texts=bool(views)), entity_agreement(agreement)]
        return JudgeFindings(
            sections, {"entities": [row], "entity_agreement": agreement}, views=views
        )


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


def _add(sums: EntitySums, judged: EntityEvidence) -> None:
    sums.candidates += 1
    if judged.has_entities:
        sums.entities[len(judged.entities)] += 1
    for question in questions(judged, ""):
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
