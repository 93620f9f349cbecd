"""What judges of entities found in a run, and how far people's labels say the same.

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

from evaljudge.judges.entities.equations import Aspect, Rule
from evaljudge.judges.entities.labels import EntityAgreementRow
from evaljudge.judges.shared.counting import Sizes, sized
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import NONE, bracketed, count, percent, ratio

ENTITIES = "What the entities say"
AGREEMENT = "Entities as people label them"
SIZES = (
    "Entities: of a candidate, where they could be had, the median, the fewest and the most. "
    "Dropped: entities that no words of their text support. Rubric: the same of a document's "
    "rubric. Where many documents have none, completeness and relevance say little of the corpus."
)
VERDICTS = (
    "Shares are of those entities that have a verdict; of readability, of sentences, and yes is "
    "one with an issue. None: without a verdict, since no prompt gave an answer; they count in no "
    "score."
)
RULES = (
    "By which rule a verdict came: majority, more than half of the answers; exception, answers "
    "that are ruled on otherwise; divided, no majority, which is a no. Where much is divided, the "
    "prompts do not ask about the same thing in the model's eyes, and a no means little. "
    "Readability votes on nothing: each of its prompts looks for another kind of issue."
)
REPLIES = (
    "Replies of a given form, to questions about candidates: cut at their token limit, or not of "
    "the form asked for. What they would have said is missing above; near 0% is good."
)
TEXTS = "Single texts with their entities, and every answer, stand at the end of index.html."
KAPPA = (
    "Verdicts beside the labels that people gave the same entities. Cohen's kappa is agreement "
    "beyond chance: 1 is perfect, 0 is chance; in brackets its 95% interval, whole documents "
    "resampled. Same: the share of n where verdict and label are the same word."
)
LEFT_OUT = (
    "No verdict: labelled entities that the judge has no verdict on; no entity: labels of none "
    "that this run has; blank: rows that nobody filled in. None of them is in n."
)

_ANSWERS = ("yes", "partially", "no", "contradict", "unknown")
RULES_IN_ORDER: tuple[Rule, ...] = ("majority", "exception", "divided")
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


def entities(row: EntityRow, with_texts: bool) -> Section:
    tables = [_sizes(row), _without_rubric(row), _verdicts(row), _rules(row), _replies(row)]
    notes = [SIZES, VERDICTS, RULES, REPLIES, *([TEXTS] if with_texts else [])]
    return Section(ENTITIES, [], [table for table in tables if table.rows], notes)


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
    return Section(AGREEMENT, [], [table], [KAPPA, LEFT_OUT])


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
        [
            row.judge,
            one.aspect,
            *(ratio(one.rules[r], sum(one.rules.values())) for r in RULES_IN_ORDER),
        ]
        for one in row.aspects
        if one.rules
    ]
    return Table("By which rule", ["judge", "aspect", *RULES_IN_ORDER], cells, "llrrr", lead=2)


def _replies(row: EntityRow) -> Table:
    of = row.structured
    cut, malformed = ([count(n), ratio(n, of)] for n in (row.cut, row.malformed))
    heads = ["judge", "replies", "cut", "share", "malformed", "share"]
    return Table(
        "Replies of a given form", heads, [[row.judge, count(of), *cut, *malformed]], "lrrrrr"
    )
