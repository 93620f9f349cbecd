"""One document judged by `entities` and `roles` on replies that are written by hand.

The demo's model knows neither judge. So the pictures of their evidence show a form, and not what
a model says.
"""

from __future__ import annotations

import json
import re
from math import log
from pathlib import Path
from typing import Any

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines

SOURCE = "The river rose on Monday. The old bridge was closed at noon. Nobody was hurt."
REFERENCE = "The river rose. The bridge was closed. Nobody was hurt."
TEXT = "The river rose on Monday. The old bridge collapsed at noon."
WRONG = "The old bridge collapsed at noon"
READERS = (
    "1. Commuters: which way they can take to work\n2. Residents: whether they are safe",
    "1. Rescuers: what is still to be done\n2. Strangers: what has happened",
)
REASONS = {
    "Commuters": "it says that the bridge cannot be used.",
    "Residents": "only the first says that nobody was hurt.",
}


def run_by_hand(folder: Path) -> str:
    """The run's folder."""
    candidate = {"system": "north", "text": TEXT, "ratings": {"consistency": 2}}
    case = {
        "doc_id": "river",
        "source": SOURCE,
        "references": [REFERENCE],
        "candidates": [candidate],
    }
    config = {
        "corpus": [case], "out": str(folder / "run"), "model": "by-hand", "coverage_floor": 0,
        "judges": {"entities": {}, "roles": {"clustering": False}},
        "workers": {"executor": "local"},
    }  # fmt: skip
    engines = ScriptedEngines(lambda: Scripted(writes, chooses))
    return evaljudge.run(config, engines=engines, progress=False).out


def writes(prompt: Any, how: Any) -> str:
    given = inside(prompt.text)
    if "by what they do in life" in prompt.text:
        return READERS[0]
    if "by how much they already know" in prompt.text:
        return READERS[1]
    if "roles" in given:
        return "\n".join(vote(role.partition(":")[0], given) for role in given["roles"].split("\n"))
    if "sentences" in given:
        return json.dumps(places(given["sentences"].split("\n"), given["entities"].split("\n")))
    listed = given.get("entities")
    entities = [line.partition(". ")[2] for line in listed.split("\n")] if listed else None
    return json.dumps({"entities": entities or re.split(r"\.\s*", given["text"].rstrip("."))})


def vote(role: str, given: dict[str, str]) -> str:
    is_for_candidate = role not in ("Residents", "Rescuers", "Critic")
    number = 1 if (given["first"] == TEXT) == is_for_candidate else 2
    reason = REASONS.get(role, "it says more of what matters here.")
    return f"{role}: Summary {number} — It is better, since {reason}"


def places(sentences: list[str], entities: list[str]) -> dict[str, Any]:
    found = {}
    for number, entity in enumerate((line.partition(". ")[2] for line in entities), 1):
        at = next((n for n, one in enumerate(sentences, 1) if entity in one), 0)
        found[str(number)] = {"sentence": at, "words": entity if at else ""}
    return found


def chooses(prompt: Any, options: Any) -> dict[str, float]:
    given = inside(prompt.text)
    if "1" in options.names:
        return {"1": log(0.6), "2": log(0.4)}
    entity, answer = given.get("entity", ""), "Yes"
    if "sentence" in given or entity == WRONG or "hurt" in entity:
        answer = "No"
    if "closed" in entity and "Partially" in options.names:
        answer = "Partially"
    rest = 0.06 / (len(options.names) - 1)
    return {name: log(0.94 if name == answer else rest) for name in options.names}


def inside(text: str) -> dict[str, str]:
    """The texts between a prompt's markers, by their names."""
    return {m[1]: m[2] for m in re.finditer(r"<(\w+)>\n(.*?)\n</\1>", text, re.DOTALL)}
