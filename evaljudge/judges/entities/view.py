"""Single texts on the page: their entities marked by verdict, and every answer on demand.

    shown_text(JudgedText("d1", "A", "The river rose.", judged))
    ->  ShownText("d1", "A", pieces=[Piece("The river rose", "yes", "1 yes"), Piece(".")],
                  missing=[("The bridge closed", "no")], …)

The template (view.html.j2) needs no script: answers lie in `details`. The page stops at a
number of texts and at a size, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaljudge.judges.entities.equations import EXCEPTIONS
from evaljudge.judges.entities.evidence import (
    EntityEvidence,
    JudgedText,
    PromptAnswer,
    Ruled,
    words_at,
)
from evaljudge.judges.entities.marking import Piece, pieces, said_of
from evaljudge.sections.figures import correlation
from evaljudge.text import harmless

_EXCEPTIONS = "; ".join(f"{', '.join(ballot)}: {verdict}" for ballot, verdict in EXCEPTIONS.items())
RULES = {
    "majority": "majority",
    "exception": f"exception ({_EXCEPTIONS})",
    "divided": "divided, which is a no",
}
NO_BALLOT = "no answer"


@dataclass(frozen=True, slots=True)
class Answers:
    """Every prompt's answer on one entity and aspect, or on one sentence."""

    name: str
    """What goes by this number: of the text `1`, of the rubric `R1`, of the sentences `S1`."""
    entity: str
    heading: str
    aspect: str
    verdict: str
    rule: str
    answers: Sequence[str]


@dataclass(frozen=True, slots=True)
class ShownText:
    doc_id: str
    system: str
    reason: str
    pieces: Sequence[Piece]
    missing: Sequence[tuple[str, str]]
    """Of the rubric: an entity, and whether it is missing or contradicted."""
    partial: Sequence[str]
    without_verdict: Sequence[str]
    rubric: int
    misplaced: Sequence[tuple[str, str]]
    """An entity, with its number, and the heading that it stands under."""
    nowhere: Sequence[str]
    """Entities whose words are not in the text."""
    dropped: Sequence[str]
    failed: Sequence[tuple[str, str]]
    answers: Sequence[Answers]


def shown_text(one: JudgedText) -> ShownText:
    judged = one.judged
    numbered = list(enumerate(judged.entities, 1))
    placed = [(number, entity, words_at(one.text, entity.span)) for number, entity in numbered]
    return ShownText(
        doc_id=one.doc_id,
        system=one.system,
        reason=judged.reason,
        pieces=pieces(one.text, judged),
        missing=[
            (wanted.text, "missing" if wanted.completeness.verdict == "no" else "contradicted")
            for wanted in judged.rubric
            if wanted.completeness.verdict in ("no", "contradict")
        ],
        partial=_of_rubric(judged, "partially"),
        without_verdict=_of_rubric(judged, None),
        rubric=len(judged.rubric),
        misplaced=[
            (f"{number}: {entity.text}", entity.heading or "")
            for number, entity in numbered
            if entity.alignment.verdict == "no"
        ],
        nowhere=[
            f"{number} {said_of(entity)}: {entity.text}"
            for number, entity, (start, end) in placed
            if start == end
        ],
        dropped=judged.dropped,
        failed=list(judged.failed.items()),
        answers=list(_answers(one)),
    )


def _of_rubric(judged: EntityEvidence, verdict: str | None) -> list[str]:
    return [
        wanted.text
        for wanted in judged.rubric
        if wanted.completeness.votes and wanted.completeness.verdict == verdict
    ]


def _answers(one: JudgedText) -> Iterator[Answers]:
    judged = one.judged
    for number, entity in enumerate(judged.entities, 1):
        named = (str(number), entity.text, entity.heading or "")
        yield from _ruled(*named, "correctness", entity.correctness)
        yield from _ruled(*named, "alignment", entity.alignment)
    for number, wanted in enumerate(judged.rubric, 1):
        yield from _ruled(f"R{number}", wanted.text, "", "completeness", wanted.completeness)
    for number, sentence in enumerate(judged.sentences, 1):
        start, end = words_at(one.text, sentence.span)
        verdict = {"yes": "has an issue", "no": "no issue"}.get(sentence.verdict or "", NO_BALLOT)
        named = (f"S{number}", harmless(one.text[start:end]), "")
        yield Answers(*named, "readability", verdict, "any issue", list(map(_said, sentence.votes)))


def _ruled(name: str, text: str, heading: str, aspect: str, ruled: Ruled) -> Iterator[Answers]:
    """Nothing of an aspect that was not asked."""
    if ruled.votes:
        verdict, rule = ruled.verdict or NO_BALLOT, RULES[ruled.rule] if ruled.rule else NO_BALLOT
        told = list(map(_said, ruled.votes))
        yield Answers(name, text, heading, aspect, verdict, rule, told)


def _said(vote: PromptAnswer) -> str:
    """`facts: yes (yes 0.800, no 0.100; mass 0.970)`, or with the reason that was written."""
    if vote.answer is None:
        return f"{vote.prompt}: failed: {vote.failed}"
    if not vote.p:
        return f"{vote.prompt}: {vote.answer}{f': {vote.reason}' if vote.reason else ''}"
    told = ", ".join(f"{answer} {correlation(p)}" for answer, p in vote.p.items())
    mass = "" if vote.mass is None else f"; mass {correlation(vote.mass)}"
    return f"{vote.prompt}: {vote.answer} ({told}{mass})"
