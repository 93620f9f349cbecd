"""What a judge of entities found in a run, and how far people's labels agree with it.

| judge    | aspect       | verdicts |   yes | partially |    no | contradict | unknown | none |
| -------- | ------------ | -------: | ----: | --------: | ----: | ---------: | ------: | ---: |
| entities | completeness |    1,760 | 61.2% |     12.4% | 21.7% |       4.5% |       – |    3 |

| judge    | aspect       | Cohen's kappa        |  same |   n | no verdict | no entity | blank |
| -------- | ------------ | -------------------: | ----: | --: | ---------: | --------: | ----: |
| entities | completeness | 0.612 [0.553, 0.664] | 81.0% | 300 |          2 |         0 |    14 |

The texts themselves are on the page (see view.py).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from evaljudge.judges.entities.equations import Aspect, Rule
from evaljudge.judges.entities.labels import EntityAgreementRow
from evaljudge.judges.shared.counting import Sizes, sized
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
    entities: Sizes  # of a candidate, of those where they could be had
    dropped: int  # that no words of their text support
    rubrics: Sizes  # of a document, of those that have one
    without_rubric: Mapping[str, int]  # documents, by the reason
    aspects: Sequence[AspectRow]
    structured: int  # replies of a given form
    cut: int  # of them, at their token limit
    malformed: int


def entities(row: EntityRow, with_texts: bool) -> Section:
    tables = [_sizes(row), _without_rubric(row), _verdicts(row), _rules(row), _replies(row)]
    notes = ["sizes", "verdicts", "rules", "replies", *(["texts"] if with_texts else [])]
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
