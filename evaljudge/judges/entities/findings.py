"""What a judge of entities found in a run: counts of each shard, their sum, and the report.

| judge    | aspect       | verdicts |   yes | partially |    no | contradict | unknown | none |
| -------- | ------------ | -------: | ----: | --------: | ----: | ---------: | ------: | ---: |
| entities | completeness |    1,760 | 61.2% |     12.4% | 21.7% |       4.5% |       – |    3 |

Where a run was extended, a document that got new candidates is in two shards, and counts twice.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from evaljudge.judges.collector import CollectorOptions, Found, JudgeFindings, SeenShard
from evaljudge.judges.entities import LABELS
from evaljudge.judges.entities.equations import NO_RUBRIC, OPTIONS, Answer, Rule
from evaljudge.judges.entities.evidence import questions, read_evidence
from evaljudge.judges.entities.extraction import folded
from evaljudge.judges.entities.labels import EntityAgreementRow, Labels, label_agreement
from evaljudge.judges.shared.counting import Sizes, Sums, size_columns, sizes, table
from evaljudge.sections import Section
from evaljudge.sections.figures import NONE, bracketed, percent, ratio
from evaljudge.settings import yaml_beside

NOTES: Mapping[str, str] = yaml_beside(__file__, "notes.yaml")
ANSWERS: tuple[Answer, ...] = ("yes", "partially", "no", "contradict", "unknown")
RULES: tuple[Rule, ...] = ("majority", "exception", "divided")


@dataclass(frozen=True, slots=True)
class AspectRow:
    """How many entities (sentences for readability) have each verdict, and by which rule."""

    aspect: str
    verdicts: Mapping[str, int]
    unscored: int  # without any ballot
    rules: Mapping[str, int]  # none for readability: each of its prompts asks something else


@dataclass(frozen=True, slots=True)
class EntityRow:
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


def counted(labels: Labels | None, shard: SeenShard) -> Sums:
    """Verdicts of one document follow each other, as they are stored.

    All candidates of a document have its rubric, except those that were not judged at all.
    `entities`, `rubrics`: how many candidates, and documents, have so many; `labelled`: the
    verdicts that people may have a label for.
    """
    counters = ("entities", "rubrics", "without_rubric", "verdicts", "rules", "replies")
    sums: Sums = {"candidates": 0, "dropped": 0, "labelled": []}
    sums |= {name: Counter() for name in counters}
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
            asked = questions(evidence, shard.texts.get((verdict.doc_id, verdict.system), ""))
            sums["verdicts"].update((q.aspect, q.ruling.verdict) for q in asked)
            sums["rules"].update((q.aspect, q.ruling.rule) for q in asked)
            if labels:
                sums["labelled"] += [
                    (at, q.ruling.verdict)
                    for q in asked
                    for at in [(verdict.doc_id, verdict.system, q.aspect, folded(q.entity))]
                    if at in labels
                ]
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
                {rule: sums["rules"][aspect, rule] for rule in RULES if aspect != "readability"},
            )
            for aspect in OPTIONS
        ],
        **{name: sums["replies"][name] for name in ("structured", "cut", "malformed")},
    )


def report(
    judge: str, wanted: CollectorOptions, labels: Labels | None, sums: Sums, found: Found
) -> JudgeFindings:
    sums = sums or counted(labels, SeenShard([], []))
    row, agreement = entity_row(judge, sums), list[EntityAgreementRow]()
    if labels:
        file = wanted.keys[LABELS]
        agreement = label_agreement(judge, file, labels, sums["labelled"], wanted)
    sections = [entities(row), entity_agreement(agreement)]
    return JudgeFindings(sections, {"entities": [row], "entity_agreement": agreement})


def entities(row: EntityRow) -> Section:
    def share(answer: str, row: AspectRow) -> str:
        part = row.verdicts.get(answer)
        return NONE if part is None else ratio(part, sum(row.verdicts.values()))

    def by(rule: str, row: AspectRow) -> str:
        return ratio(row.rules[rule], sum(row.rules.values()))

    judge = ("judge", lambda _: row.judge)
    reasons = sorted(row.without_rubric.items(), key=lambda item: -item[1])
    tables = [
        table(
            "How many entities", [row], "judge", "candidates",
            *size_columns("entities", "entities"), "dropped",
            ("documents", lambda row: row.rubrics.of + sum(row.without_rubric.values())),
            *size_columns("rubric", "rubrics"), words=1,
        ),
        table(
            "Documents without a rubric", reasons, judge, ("why", lambda item: item[0]),
            ("documents", lambda item: item[1]), lead=1,
        ),
        table(
            "Verdicts", row.aspects, judge, "aspect",
            ("verdicts", lambda entry: sum(entry.verdicts.values())),
            *((answer, partial(share, answer)) for answer in ANSWERS), ("none", "unscored"),
        ),
        table(
            "By which rule", [a for a in row.aspects if a.rules], judge, "aspect",
            *((rule, partial(by, rule)) for rule in RULES),
        ),
        table(
            "Replies of a given form", [row], "judge", ("replies", "structured"), "cut",
            ("share", lambda row: ratio(row.cut, row.structured)), "malformed",
            ("share", lambda row: ratio(row.malformed, row.structured)), words=1,
        ),
    ]  # fmt: skip
    notes = [NOTES[name] for name in ("sizes", "verdicts", "rules", "replies")]
    return Section("What the entities say", [], [one for one in tables if one.rows], notes)


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
