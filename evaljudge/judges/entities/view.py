"""Single texts on the page and in a terminal: their entities marked by verdict, and every answer.

    shown_text(read_evidence(evidence), "The river rose.")
    ->  ShownText(pieces=[Piece("The river rose", "yes", "1 yes"), Piece(".")],
                  lists={"Of the rubric, missing": [("The bridge closed", "missing")]}, …)

A text is cut wherever an entity or a badly written sentence begins or ends:

    "The river rose and fell."        1: The river rose (yes)   2: The river … fell (no, misplaced)
    ->  Piece("The river rose", worst="no", label="1 yes; 2 no, misplaced")
        Piece(" and fell", worst="no", label="2 no, misplaced")        Piece(".")

Entities may overlap and contain each other: a piece has the verdicts of all entities that hold it,
and looks like the worst of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from evaljudge.judges.entities.equations import EXCEPTIONS, Vote
from evaljudge.judges.entities.evidence import (
    PLACED,
    EntitiesEvidence,
    FoundEntity,
    Question,
    place,
    questions,
    read_evidence,
)
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
MOST_NAMED = 8  # entities in one piece's label; it counts the others


@dataclass(frozen=True, slots=True)
class Piece:
    text: str
    worst: str = ""  # its worst verdict; empty outside of all entities
    label: str = ""
    issue: bool = False  # whether it is part of a sentence that has an issue of writing
    issues: str = ""  # the kinds of issues, on the piece where such a sentence ends


class Answers(NamedTuple):
    """A question with its verdict, the rule and every prompt's answer in words."""

    asked: Question
    verdict: str
    rule: str
    said: Sequence[str]


@dataclass(frozen=True, slots=True)
class ShownText:
    pieces: Sequence[Piece]
    whole: str  # the sentence that nothing of the rubric is missing; empty where something is
    lists: Mapping[str, Sequence[tuple[str, str]]]
    """What is missing or wrong, each with a remark, under the title of its list."""
    answers: Sequence[Answers]


def shown_text(evidence: EntitiesEvidence, text: str) -> ShownText:
    asked = [(e.entity, e.completeness.verdict) for e in evidence.rubric if e.completeness.votes]
    numbered = list(enumerate(evidence.entities, 1))
    of_rubric = {
        "missing": [(entity, MISSING[verdict]) for entity, verdict in asked if verdict in MISSING],
        "found only in part": [(entity, "") for entity, v in asked if v == "partially"],
        "without a verdict": [(entity, "") for entity, verdict in asked if verdict is None],
    }
    is_whole = evidence.rubric and not any(of_rubric.values())
    size = counted(len(evidence.rubric), "entity", "entities")
    lists = {f"Of the rubric, {how}": entities for how, entities in of_rubric.items()} | {
        "Misplaced": [
            (f"{n}: {e.entity}", e.heading or "")
            for n, e in numbered
            if e.alignment.verdict == "no"
        ],
        "Entities whose words are not in the text": [
            (f"{_named(n, e)}: {e.entity}", "") for n, e in numbered if not text[place(e, text)]
        ],
        "Dropped, since no words support them": [(entity, "") for entity in evidence.dropped],
        "What could not be had": list(evidence.failed.items()),
    }
    return ShownText(
        pieces(evidence, text),
        f"Nothing of the rubric is missing ({size})." if is_whole else "",
        {title: entities for title, entities in lists.items() if entities},
        list(_answers(evidence, text)),
    )


def pictured_evidence(judged: JudgedCandidate) -> View:
    return View(TEMPLATE, _shown(judged))


def _shown(judged: JudgedCandidate) -> ShownText:
    return shown_text(read_evidence(judged.verdict.evidence), judged.candidate.text)


def shown_evidence(judged: JudgedCandidate) -> Section:
    shown = _shown(judged)
    title, heads = "Entities and their verdicts", ["no.", "entity", "aspect", "verdict", "answers"]
    rows = [
        [asked.number, harmless(asked.entity), asked.aspect, verdict, "; ".join(said)]
        for asked, verdict, _, said in shown.answers
    ]
    lists = [
        f"{head}: {entity}{f' ({remark})' if remark else ''}"
        for head, entities in shown.lists.items()
        for entity, remark in entities
    ]
    text = f"Text: {''.join(map(_marked, shown.pieces))}"
    notes = [text, *filter(None, [shown.whole]), *lists]
    return Section(title, [ABOUT], [Table(title, heads, rows, "lllll")] if rows else [], notes)


def _marked(piece: Piece) -> str:
    """`The river rose [1 yes]`."""
    writing = f"writing: {piece.issues}" if piece.issues else ""
    label = "; ".join(filter(None, (piece.label, writing)))
    return f"{piece.text} [{label}]" if label else piece.text


def _answers(evidence: EntitiesEvidence, text: str) -> Iterator[Answers]:
    """The answers on the text's own entities come first."""
    for asked in sorted(questions(evidence, text), key=lambda asked: asked.aspect not in PLACED):
        ruling = asked.ruling
        verdict, rule = ruling.verdict or NO_BALLOT, RULES.get(ruling.rule, NO_BALLOT)
        if asked.aspect == "readability":
            verdict, rule = ISSUES[ruling.verdict], "any issue"
        said = [_answer(prompt, vote) for prompt, vote in ruling.votes.items()]
        yield Answers(asked, verdict, rule, said)


def _answer(prompt: str, vote: Vote) -> str:
    """`facts: yes (yes 0.800, no 0.100; mass 0.970)`, or with the reason that was written."""
    if "failed" in vote:
        return f"{prompt}: failed: {vote['failed']}"
    if p := vote.get("p"):
        chances = ", ".join(f"{answer} {correlation(chance)}" for answer, chance in p.items())
        mass = "" if vote.get("mass") is None else f"; mass {correlation(vote['mass'])}"
        return f"{prompt}: {vote['answer']} ({chances}{mass})"
    reason = f": {vote['reason']}" if vote.get("reason") else ""
    return f"{prompt}: {vote['answer']}{reason}"


def pieces(evidence: EntitiesEvidence, text: str) -> list[Piece]:
    """The pieces in order; their texts together are the whole text, made harmless."""
    numbered = [(place(e, text), n, e) for n, e in enumerate(evidence.entities, 1)]
    bad = [(place(s, text), s) for s in evidence.sentences if s.verdict == "yes"]
    spans = [span for span, *_ in numbered] + [span for span, _ in bad]
    cuts = sorted({0, len(text), *(cut for span in spans for cut in (span.start, span.stop))})
    parts: list[Piece] = []
    for start, end in pairwise(cuts):
        held = [(n, e) for span, n, e in numbered if span.start <= start < span.stop]
        issue = next(((at, s) for at, s in bad if at.start <= start < at.stop), None)
        kinds = ""
        if issue and issue[0].stop == end:
            answers = issue[1].votes.items()
            kinds = ", ".join(kind for kind, vote in answers if vote.get("answer") == "yes")
        verdicts = {e.correctness.verdict or "none" for _, e in held}
        worst = next((verdict for verdict in WORST_FIRST if verdict in verdicts), "")
        named = [_named(number, entity) for number, entity in held[:MOST_NAMED]]
        more = [f"and {len(held) - MOST_NAMED} more"] if len(held) > MOST_NAMED else []
        label = "; ".join(named + more)
        # where a sentence alone cuts a piece in two, the entities are named after the second part
        if parts and parts[-1].label == label:
            parts[-1] = replace(parts[-1], label="")
        parts.append(Piece(harmless(text[start:end]), worst, label, issue is not None, kinds))
    return parts


def _named(number: int, entity: FoundEntity) -> str:
    """`3 partially, misplaced`."""
    misplaced = ", misplaced" if entity.alignment.verdict == "no" else ""
    return f"{number} {entity.correctness.verdict or 'none'}{misplaced}"
