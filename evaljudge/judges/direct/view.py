"""The evidence on one text, for people: the model's reply and the rating that was read in it."""

from __future__ import annotations

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.sections import Section


def shown_evidence(judged: JudgedCandidate) -> Section:
    evidence = judged.verdict.evidence
    about = f"The model was asked for a rating from 1 to 5. Read as {evidence['rating']:g}."
    return Section("The reply", [about], [], [f"Reply: {evidence['reply']}"])
