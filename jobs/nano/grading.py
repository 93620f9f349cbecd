"""What the nano writer is taught: one text of each level, whose last sentences are at fault."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evaljudge.bundled.world import (
    FICTIONS,
    FILLERS,
    HIGHEST,
    LOWEST,
    ORDER,
    SENTENCES,
    Axis,
    Fact,
    Report,
    Sentence,
    Text,
    echoed,
    filled,
    perfect,
    sentence_on,
)


def graded(report: Report, axis: Axis, level: int) -> Text:
    good = level - LOWEST
    return perfect(report)[:good] + _worst(report, axis)[good:]


def level(text: Text, axis: Axis) -> int:
    return HIGHEST - sum(at_fault(sentence, axis) for sentence in text)


def at_fault(sentence: Sentence, axis: Axis) -> bool:
    return any(axis in word.faults for word in sentence)


def checklist(axis: Axis) -> list[str]:
    """The questions that a writer asks about a text: of each sentence, whether it has no fault."""
    return [f"Is sentence {number} right in {axis}?" for number in range(1, SENTENCES + 1)]


def _worst(report: Report, axis: Axis) -> Text:
    match axis:
        case "coherence":
            return _sentences_on(ORDER[-1:] + ORDER[:-1], report.main, coherence="order")
        case "consistency":
            wrong = [replace(f, place=p) for f, p in zip(report.main, FICTIONS, strict=True)]
            return _sentences_on(ORDER, wrong, consistency="place")
        case "relevance":
            return _sentences_on(ORDER, report.other, relevance="things")
        case "fluency":
            first, second, third, fourth = perfect(report)
            return [filled(first, 5, FILLERS[0]), echoed(second, 7),
                    filled(third, 3, FILLERS[1]), echoed(fourth, 5)]  # fmt: skip


def _sentences_on(order: Sequence[str], facts: Sequence[Fact], **shown_at: str) -> Text:
    return [sentence_on(o, fact, **shown_at) for o, fact in zip(order, facts, strict=True)]
