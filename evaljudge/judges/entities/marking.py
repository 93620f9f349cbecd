"""A text cut where its entities and its badly written sentences begin and end.

    "The river rose and fell."        1: The river rose (yes)   2: The river … fell (no, misplaced)
    ->  Piece("The river rose", worst="no", label="1 yes; 2 no, misplaced")
        Piece(" and fell", worst="no", label="2 no, misplaced")        Piece(".")

Entities may overlap and lie in each other: a piece carries the verdicts of all that hold it, and
its look is the worst one's. What a span says beyond the text is no part of it. Texts are strangers'
words: characters that direct a line or a terminal are shown, not obeyed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from evaljudge.judges.entities.evidence import (
    EntityEvidence,
    JudgedSentence,
    Span,
    TextEntity,
    words_at,
)
from evaljudge.text import harmless

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
    told = [f"{number} {said_of(entity)}" for number, entity in held[:MOST_NAMED]]
    more = len(held) - len(told)
    return "; ".join(told) + (f"; and {more} more" if more else "")


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
