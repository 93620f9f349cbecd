"""Single texts on the page: their entities marked by verdict, and every answer on demand.

    shown_text(JudgedText("d1", "A", "The river rose.", judged))
    ->  ShownText("d1", "A", pieces=[Piece("The river rose", "yes", "1 yes"), Piece(".")],
                  missing=[("The bridge closed", "no")], …)

A text is cut where its entities and its badly written sentences begin and end:

    "The river rose and fell."        1: The river rose (yes)   2: The river … fell (no, misplaced)
    ->  Piece("The river rose", worst="no", label="1 yes; 2 no, misplaced")
        Piece(" and fell", worst="no", label="2 no, misplaced")        Piece(".")

Entities may overlap and lie in each other: a piece carries the verdicts of all that hold it, and
its look is the worst one's. What a span says beyond the text is no part of it. Texts are strangers'
words: characters that direct a line or a terminal are shown, not obeyed.

The template (view.html.j2) needs no script: answers lie in `details`. The page stops at a
number of texts and at a size, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from evaljudge.judges.entities.equations import EXCEPTIONS, Vote
from evaljudge.judges.entities.evidence import (
    EntityEvidence,
    JudgedSentence,
    JudgedText,
    Question,
    Span,
    TextEntity,
    questions,
    words_at,
)
from evaljudge.sections.figures import correlation
from evaljudge.text import harmless

_EXCEPTIONS = "; ".join(f"{', '.join(ballot)}: {verdict}" for ballot, verdict in EXCEPTIONS.items())
RULES = {
    "majority": "majority",
    "exception": f"exception ({_EXCEPTIONS})",
    "divided": "divided, which is a no",
}
NO_BALLOT = "no answer"
ISSUES = {"yes": "has an issue", "no": "no issue", None: NO_BALLOT}
WORST_FIRST = ("no", "unknown", "partially", "none", "yes")
"""`none`: no prompt gave an answer on correctness."""
MOST_NAMED = 8
"""Entities in one piece's label; it counts the others."""


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    worst: str = ""
    """Empty outside of all entities."""
    label: str = ""
    issue: bool = False
    """Of a sentence that has an issue of writing."""
    issues: str = ""
    """Where such a sentence ends: of which kinds."""


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
    """Those on the text's own entities first."""
    asked = list(questions(one.judged, one.text))
    own = ("correctness", "alignment")
    for question in sorted(asked, key=lambda question: question.aspect not in own):
        yield Answers(
            question.number,
            harmless(question.entity),
            question.heading or "",
            question.aspect,
            *_verdict_and_rule(question),
            [_said(prompt, vote) for prompt, vote in question.votes.items()],
        )


def _verdict_and_rule(question: Question) -> tuple[str, str]:
    if question.aspect == "readability":
        return ISSUES[question.verdict], "any issue"
    rule = RULES[question.rule] if question.rule else NO_BALLOT
    return question.verdict or NO_BALLOT, rule


def _said(prompt: str, vote: Vote) -> str:
    """`facts: yes (yes 0.800, no 0.100; mass 0.970)`, or with the reason that was written."""
    if "failed" in vote:
        return f"{prompt}: failed: {vote['failed']}"
    if p := vote.get("p"):
        chances = ", ".join(f"{answer} {correlation(chance)}" for answer, chance in p.items())
        mass = "" if vote.get("mass") is None else f"; mass {correlation(vote['mass'])}"
        return f"{prompt}: {vote['answer']} ({chances}{mass})"
    reason = f": {vote['reason']}" if vote.get("reason") else ""
    return f"{prompt}: {vote['answer']}{reason}"


def pieces(text: str, judged: EntityEvidence) -> list[Piece]:
    """In their order; their texts together are all of the text, made harmless."""
    entities = {
        number: (words_at(text, entity.span), entity)
        for number, entity in enumerate(judged.entities, 1)
    }
    bad = [
        (words_at(text, sentence.span), sentence)
        for sentence in judged.sentences
        if sentence.verdict == "yes"
    ]
    spans = [span for span, _ in [*entities.values(), *bad]]
    cuts = sorted({0, len(text), *(place for span in spans for place in span)})
    opening, closing = _ends({number: span for number, (span, _) in entities.items()})
    found, held = list[Piece](), set[int]()
    for start, end in pairwise(cuts):
        held = (held | opening.get(start, set())) - closing.get(start, set())
        named = [(number, entities[number][1]) for number in sorted(held)]
        piece = Piece(harmless(text[start:end]), _worst(named), _label(named))
        found.append(_with_issues(piece, (start, end), bad))
    return list(_labelled_once(found))


def verdict_of(entity: TextEntity) -> str:
    return entity.correctness.verdict or "none"


def said_of(entity: TextEntity) -> str:
    """`partially, misplaced`."""
    placed = entity.alignment.verdict != "no"
    return verdict_of(entity) if placed else f"{verdict_of(entity)}, misplaced"


def _ends(spans: dict[int, Span]) -> tuple[dict[int, set[int]], dict[int, set[int]]]:
    """Which of the spans begin and end where; an empty one does neither."""
    opening: dict[int, set[int]] = {}
    closing: dict[int, set[int]] = {}
    for number, (start, end) in spans.items():
        if start < end:
            opening.setdefault(start, set()).add(number)
            closing.setdefault(end, set()).add(number)
    return opening, closing


def _worst(held: Sequence[tuple[int, TextEntity]]) -> str:
    verdicts = {verdict_of(entity) for _, entity in held}
    return next((verdict for verdict in WORST_FIRST if verdict in verdicts), "")


def _label(held: Sequence[tuple[int, TextEntity]]) -> str:
    named = [f"{number} {said_of(entity)}" for number, entity in held[:MOST_NAMED]]
    more = len(held) - len(named)
    return "; ".join(named) + (f"; and {more} more" if more else "")


def _with_issues(piece: Piece, span: Span, bad: Sequence[tuple[Span, JudgedSentence]]) -> Piece:
    start, end = span
    for (first, last), sentence in bad:
        if first <= start < last:
            ended = ", ".join(sentence.kinds) if end == last else ""
            return replace(piece, issue=True, issues=ended)
    return piece


def _labelled_once(found: Sequence[Piece]) -> Iterator[Piece]:
    """Where a sentence alone cuts a piece in two, the entities are named behind the second."""
    for piece, following in pairwise(found):
        yield replace(piece, label="") if piece.label == following.label else piece
    yield from found[-1:]
