"""Single texts on the page and in a terminal: their entities marked by verdict, and every answer.

    shown_text(read_judged(verdict, "The river rose."))
    ->  ShownText(pieces=[Piece("The river rose", "yes", "1 yes"), Piece(".")],
                  missing=[("The bridge closed", "missing")], …)

A text is cut wherever an entity or a badly written sentence begins or ends:

    "The river rose and fell."        1: The river rose (yes)   2: The river … fell (no, misplaced)
    ->  Piece("The river rose", worst="no", label="1 yes; 2 no, misplaced")
        Piece(" and fell", worst="no", label="2 no, misplaced")        Piece(".")

Entities may overlap and contain each other: a piece has the verdicts of all entities that hold it,
and looks like the worst of them. Texts come from outside: characters that direct a line or a
terminal are shown as harmless ones.

The template (view.html.j2) needs no script: answers are in `details` elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest
from pathlib import Path

from evaljudge.judges.entities.equations import EXCEPTIONS, Vote
from evaljudge.judges.entities.evidence import PLACED, JudgedText, Question, read_judged
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.sections import Section, Table, View
from evaljudge.sections.figures import correlation
from evaljudge.text import counted, harmless

TEMPLATE = Path(__file__).with_name("view.html.j2")
_EXCEPTIONS = "; ".join(f"{', '.join(ballot)}: {verdict}" for ballot, verdict in EXCEPTIONS.items())
RULES: Mapping[str | None, str] = {
    "majority": "majority",
    "exception": f"exception ({_EXCEPTIONS})",
    "divided": "divided, which is a no",
}
NO_BALLOT = "no answer"
ISSUES = {"yes": "has an issue", "no": "no issue", None: NO_BALLOT}
WORST_FIRST = ("no", "unknown", "partially", "none", "yes")
"""`none`: no prompt gave an answer on correctness."""
MISSING: Mapping[str | None, str] = {"no": "missing", "contradict": "contradicted"}
ABOUT = (
    "R: an entity that the rubric, written from the source, wants in the text; S: a sentence; a "
    "number alone: an entity of the text. In the text, brackets after the words of an entity hold "
    "its number and whether it is correct. `--json` prints every answer whole."
)
MOST_NAMED = 8
"""Entities in one piece's label; it counts the others."""


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    worst: str = ""
    """Its worst verdict; empty outside of all entities."""
    label: str = ""
    issue: bool = False
    """Whether it is part of a sentence that has an issue of writing."""
    issues: str = ""
    """The kinds of issues, on the piece where such a sentence ends."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Every prompt's answer on one entity and aspect, or on one sentence."""

    name: str
    """The question's number: `1`, `R1` or `S1`."""
    entity: str
    heading: str
    aspect: str
    verdict: str
    rule: str
    answers: Sequence[str]


@dataclass(frozen=True, slots=True)
class ShownText:
    pieces: Sequence[Piece]
    missing: Sequence[tuple[str, str]]
    """An entity of the rubric, and whether it is missing or contradicted."""
    partial: Sequence[str]
    without_verdict: Sequence[str]
    rubric: int
    misplaced: Sequence[tuple[str, str]]
    """An entity with its number, and the heading that it is under."""
    nowhere: Sequence[str]
    """Entities whose words are not in the text."""
    dropped: Sequence[str]
    failed: Sequence[tuple[str, str]]
    answers: Sequence[Answers]


def shown_text(one: JudgedText) -> ShownText:
    asked = [(wanted.entity, wanted.verdict) for wanted in one.rubric if wanted.votes]
    return ShownText(
        pieces=pieces(one),
        missing=[(text, MISSING[verdict]) for text, verdict in asked if verdict in MISSING],
        partial=[text for text, verdict in asked if verdict == "partially"],
        without_verdict=[text for text, verdict in asked if verdict is None],
        rubric=len(one.rubric),
        misplaced=[
            (f"{placed.number}: {placed.entity}", placed.heading or "")
            for _, placed in one.entities
            if placed.verdict == "no"
        ],
        nowhere=[
            f"{_said_of(right, placed)}: {right.entity}"
            for right, placed in one.entities
            if not right.place
        ],
        dropped=one.dropped,
        failed=list(one.failed.items()),
        answers=list(_answers(one)),
    )


def pictured_evidence(judged: JudgedCandidate) -> View:
    return View(TEMPLATE, shown_text(read_judged(judged.verdict, judged.candidate.text)))


def shown_evidence(judged: JudgedCandidate) -> Section:
    one = shown_text(read_judged(judged.verdict, judged.candidate.text))
    rows = [[row.name, row.entity, row.aspect, row.verdict, "; ".join(row.answers)]
            for row in one.answers]  # fmt: skip
    title, heads = "Entities and their verdicts", ["no.", "entity", "aspect", "verdict", "answers"]
    tables = [Table(title, heads, rows, "lllll")] if rows else []
    text = f"Text: {''.join(map(_marked, one.pieces))}"
    return Section(title, [ABOUT], tables, [text, *_found(one)])


def _found(one: ShownText) -> Iterator[str]:
    """What is missing or wrong, a line for each."""
    if one.rubric and not (one.missing or one.partial or one.without_verdict):
        yield f"Nothing of the rubric is missing ({counted(one.rubric, 'entity', 'entities')})."
    yield from (f"Of the rubric, {how}: {entity}" for entity, how in one.missing)
    yield from (f"Of the rubric, found only in part: {entity}" for entity in one.partial)
    yield from (f"Of the rubric, without a verdict: {entity}" for entity in one.without_verdict)
    yield from (
        f"Misplaced: {entity}{f', under {heading}' if heading else ''}"
        for entity, heading in one.misplaced
    )
    yield from (f"Its words are not in the text: {entity}" for entity in one.nowhere)
    yield from (f"Dropped, since no words support it: {entity}" for entity in one.dropped)
    yield from (f"Failed: {part}: {why}" for part, why in one.failed)


def _marked(piece: Piece) -> str:
    """`The river rose [1 yes]`."""
    writing = f"writing: {piece.issues}" if piece.issues else ""
    said = "; ".join(filter(None, (piece.label, writing)))
    return f"{piece.text} [{said}]" if said else piece.text


def _answers(one: JudgedText) -> Iterator[Answers]:
    """Those on the text's own entities come first."""
    for asked in sorted(one.questions, key=lambda asked: asked.aspect not in PLACED):
        verdict, rule = asked.verdict or NO_BALLOT, RULES.get(asked.rule, NO_BALLOT)
        if asked.aspect == "readability":
            verdict, rule = ISSUES[asked.verdict], "any issue"
        said = [_said(prompt, vote) for prompt, vote in asked.votes.items()]
        known = (asked.number, harmless(asked.entity), asked.heading or "", asked.aspect)
        yield Answers(*known, verdict, rule, said)


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


def pieces(one: JudgedText) -> list[Piece]:
    """In their order; their texts together are all of the text, made harmless."""
    bad = [sentence for sentence in one.sentences if sentence.verdict == "yes"]
    spans = [right.place for right, _ in one.entities] + [sentence.place for sentence in bad]
    cuts = sorted({0, len(one.text), *(c for place in spans for c in (place.start, place.stop))})
    found = []
    for start, end in pairwise(cuts):
        held = [(right, placed) for right, placed in one.entities if start in right.place]
        sentence = next((sentence for sentence in bad if start in sentence.place), None)
        ends = sentence is not None and sentence.place.stop == end
        issues = ", ".join(sentence.kinds) if sentence and ends else ""
        text, verdicts = harmless(one.text[start:end]), {r.verdict or "none" for r, _ in held}
        worst = next((verdict for verdict in WORST_FIRST if verdict in verdicts), "")
        found.append(Piece(text, worst, _label(held), sentence is not None, issues))
    # where a sentence alone cuts a piece in two, the entities are named after the second part
    labels = [piece.label for piece in found[1:]]
    return [
        replace(piece, label="") if piece.label == following else piece
        for piece, following in zip_longest(found, labels)
    ]


def _said_of(right: Question, placed: Question) -> str:
    """`3 partially, misplaced`."""
    misplaced = ", misplaced" if placed.verdict == "no" else ""
    return f"{right.number} {right.verdict or 'none'}{misplaced}"


def _label(held: Sequence[tuple[Question, Question]]) -> str:
    named = [_said_of(right, placed) for right, placed in held[:MOST_NAMED]]
    more = len(held) - len(named)
    return "; ".join(named) + (f"; and {more} more" if more else "")
