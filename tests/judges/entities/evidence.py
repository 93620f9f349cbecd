"""Evidence of a judge of entities by hand."""

from collections.abc import Sequence
from typing import Any

from evaljudge.judges.entities.equations import KINDS
from evaljudge.records import Verdict


def votes(*answers: str, names: Sequence[str] = ("one", "two", "three")) -> dict[str, Any]:
    """A prompt's answer each; `!…` is a reply that failed."""
    return {
        name: {"failed": told[1:]} if told.startswith("!") else {"answer": told}
        for name, told in zip(names, answers, strict=False)
    }


def entity(text: str, span: Sequence[int], *answers: str, **more: Any) -> dict[str, Any]:
    """Rightly placed, where nothing else is said."""
    return {
        "entity": text,
        "span": list(span),
        "heading": more.get("heading"),
        "correctness": votes(*answers),
        "alignment": votes(*more.get("placed", ["yes"])),
    }


def sentence(span: Sequence[int], *answers: str) -> dict[str, Any]:
    return {"span": list(span), "votes": votes(*answers, names=KINDS)}


def wanted(text: str, *answers: str) -> dict[str, Any]:
    return {"entity": text, "votes": votes(*answers)}


def verdict(doc_id: str = "d1", system: str = "A", **evidence: Any) -> Verdict:
    empty: dict[str, Any] = {
        "rubric": [],
        "entities": [],
        "sentences": [],
        "dropped": [],
        "failed": {},
        "replies": {"structured": 0, "cut": 0, "malformed": 0},
    }
    return Verdict(doc_id, system, "entities", "*", empty | evidence)
