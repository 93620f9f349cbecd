"""What a judge of entities found in a run: counts of each shard, their sum, and the report.

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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from pathlib import Path

import yaml

from evaljudge.judges.collector import CollectorOptions, Found, JudgeFindings, SeenShard
from evaljudge.judges.entities.equations import NO_RUBRIC, OPTIONS, Answer, Aspect, Rule
from evaljudge.judges.entities.evidence import questions, read_evidence
from evaljudge.judges.entities.labels import EntityAgreementRow, Labels, answered, label_agreement
from evaljudge.judges.shared.counting import Sizes, Sums, size_columns, sizes, table
from evaljudge.sections import Section
from evaljudge.sections.figures import NONE, bracketed, percent, ratio

NOTES: Mapping[str, str] = yaml.safe_load(Path(__file__).with_name("notes.yaml").read_text("utf-8"))
"""Our sentences under the tables."""
ANSWERS: tuple[Answer, ...] = ("yes", "partially", "no", "contradict", "unknown")
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


def nothing() -> Sums:
    """`entities`, `rubrics`: how many candidates, and documents, have so many; `labelled`: the
    verdicts that people may have a label for."""
    counters = ("entities", "rubrics", "without_rubric", "verdicts", "rules", "replies")
    sums: Sums = {"candidates": 0, "dropped": 0, "labelled": []}
    return sums | {name: Counter() for name in counters}


def counted(labels: Labels | None, shard: SeenShard) -> Sums:
    """Verdicts of one document follow each other, as they are stored.

    All candidates of a document have its rubric, except those that were not judged at all.
    """
    sums = nothing()
    for _, verdicts in groupby(shard.verdicts, lambda verdict: verdict.doc_id):
        judged = [(verdict, read_evidence(verdict.evidence)) for verdict in verdicts]
        verdict, fullest = max(judged, key=lambda pair: (bool(pair[1].rubric), not pair[0].reason))
        if fullest.rubric:
            sums["rubrics"][len(fullest.rubric)] += 1
        else:
            why = fullest.failed.get("rubric") or verdict.reason or NO_RUBRIC
            sums["without_rubric"][why] += 1
        sums["candidates"] += len(judged)
        for verdict, evidence in judged:
            if verdict.status == "ok" and "entities" not in evidence.failed:
                sums["entities"][len(evidence.entities)] += 1
            sums["dropped"] += len(evidence.dropped)
            sums["replies"].update(verdict.evidence.get("replies", {}))
            asked = list(questions(evidence, shard.texts.get((verdict.doc_id, verdict.system), "")))
            sums["verdicts"].update((q.aspect, q.ruling.verdict) for q in asked)
            sums["rules"].update((q.aspect, q.ruling.rule) for q in asked)
            if labels:
                sums["labelled"] += answered(verdict, asked, labels)
    return sums


def entity_row(judge: str, sums: Sums) -> EntityRow:
    return EntityRow(
        judge=judge,
        candidates=sums["candidates"],
        entities=sizes(sums["entities"]),
        dropped=sums["dropped"],
        rubrics=sizes(sums["rubrics"]),
        without_rubric=dict(sums["without_rubric"]),
        aspects=[
            AspectRow(
                aspect,
                {answer: sums["verdicts"][aspect, answer] for answer in OPTIONS[aspect]},
                sums["verdicts"][aspect, None],
                {rule: sums["rules"][aspect, rule] for rule in RULES_IN_ORDER if aspect in RULED},
            )
            for aspect in OPTIONS
        ],
        **{name: sums["replies"][name] for name in ("structured", "cut", "malformed")},
    )


def report(
    judge: str, wanted: CollectorOptions, labels: Labels | None, sums: Sums, found: Found
) -> JudgeFindings:
    sums = nothing() | sums
    row, agreement = entity_row(judge, sums), list[EntityAgreementRow]()
    if labels:
        options = (wanted.resamples, wanted.seed)
        agreement = label_agreement(judge, labels, sums["labelled"], *options)
    sections = [entities(row), entity_agreement(agreement)]
    return JudgeFindings(sections, {"entities": [row], "entity_agreement": agreement})


def entities(row: EntityRow) -> Section:
    def judge(_: object) -> str:
        return row.judge

    def share(answer: str, row: AspectRow) -> str:
        if answer not in row.verdicts:
            return NONE
        return ratio(row.verdicts[answer], sum(row.verdicts.values()))

    def by(rule: str, row: AspectRow) -> str:
        return ratio(row.rules[rule], sum(row.rules.values()))

    reasons = sorted(row.without_rubric.items(), key=lambda item: -item[1])
    tables = [
        table(
            "How many entities", [row], "judge", "candidates",
            *size_columns("entities", "entities"), "dropped",
            ("documents", lambda row: row.rubrics.of + sum(row.without_rubric.values())),
            *size_columns("rubric", "rubrics"), words=1,
        ),
        table(
            "Documents without a rubric", reasons, ("judge", judge), ("why", lambda item: item[0]),
            ("documents", lambda item: item[1]), lead=1,
        ),
        table(
            "Verdicts", row.aspects, ("judge", judge), "aspect",
            ("verdicts", lambda entry: sum(entry.verdicts.values())),
            *((answer, partial(share, answer)) for answer in ANSWERS), ("none", "unscored"),
        ),
        table(
            "By which rule", [a for a in row.aspects if a.rules], ("judge", judge), "aspect",
            *((rule, partial(by, rule)) for rule in RULES_IN_ORDER),
        ),
        table(
            "Replies of a given form", [row], "judge", ("replies", "structured"), "cut",
            ("share", lambda row: ratio(row.cut, row.structured)), "malformed",
            ("share", lambda row: ratio(row.malformed, row.structured)), words=1,
        ),
    ]  # fmt: skip
    present = [entry for entry in tables if entry.rows]
    notes = [NOTES[name] for name in ("sizes", "verdicts", "rules", "replies")]
    return Section("What the entities say", [], present, notes)


def entity_agreement(rows: Sequence[EntityAgreementRow]) -> Section:
    shown = table(
        "Verdicts and people's labels", rows, "judge", "aspect", "file",
        ("Cohen's kappa", lambda row: bracketed(row.kappa, row.low, row.high)),
        ("same", lambda row: NONE if row.same is None else percent(row.same)),
        "n", ("no verdict", "unscored"), ("no entity", "unmet"), "blank", words=3,
    )  # fmt: skip
    return Section(
        "Entities as people label them", [], [shown], [NOTES["kappa"], NOTES["left_out"]]
    )
