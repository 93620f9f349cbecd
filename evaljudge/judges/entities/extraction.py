"""Entities of a text in three steps: listed, verified, found in the text again.

    "Rain fell. On 3 May the river rose and the bridge closed."
    listed      Rain fell | 3 May | The river rose | The bridge closed | Boats were sent
    verified    Rain fell | The river rose on 3 May | The bridge closed | Boats were sent
    found       Rain fell         in sentence 1: "Rain fell"
                The river rose …  in sentence 2: "On 3 May the river rose"
                The bridge closed in sentence 2: "the bridge closed"
                Boats were sent   in none: dropped

The last step answers with the number of a sentence and the words in it, so that an entity is always
supported by words of the text: by these where they are in the sentence, else by the whole sentence.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from evaljudge.judges.shared.passages import Sentence, find, sentences
from evaljudge.judges.shared.structured import Bill, ask, list_of, object_of, one_of, string
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Writing
from evaljudge.prompts import Task

Noun = Literal["source", "target"]

TEMPLATES = ("entities.extract", "entities.verify", "entities.locate")
LONGEST = 200
"""Characters of an entity, and of the words that support it."""
WORDS_EACH = 4
"""Words of a text for each entity it may have, so that the length of a reply is bounded."""
FEWEST = 4


@dataclass(frozen=True, slots=True)
class Entity:
    """A unit of information, and the words of the text that support it."""

    text: str
    start: int
    end: int
    words: str
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Extracted:
    entities: tuple[Entity, ...] | Failed
    dropped: tuple[str, ...] = ()
    """What no sentence of the text supports."""
    bill: Bill = field(default_factory=Bill)


class Extraction:
    def __init__(self, task: Task, how: Writing, most: int) -> None:
        self._pack, self._nouns = task.pack, task.nouns
        self._how, self._most = how, most
        words = self._words("target")
        self._pack.check("entities.extract", ["text"], most="9", **words)
        self._pack.check("entities.verify", ["text", "entities"], most="9", **words)
        self._pack.check("entities.locate", ["sentences", "entities"], **words)

    def _words(self, noun: Noun) -> dict[str, str]:
        called = {"source_noun": self._nouns["source"], "target_noun": self._nouns[noun]}
        return called | {"mode": "choose"}

    async def extract(
        self, texts: Sequence[str], model: Model, noun: Noun = "target"
    ) -> list[Extracted]:
        """`noun`: whether the texts are sources, or targets (candidates and references)."""
        return list(await gather(*(self._extract(text, model, noun) for text in texts)))

    async def _extract(self, text: str, model: Model, noun: Noun) -> Extracted:
        bill, slots, listed = Bill(), {"text": text}, tuple[str, ...]()
        most = min(_size(len(text.split()) / WORDS_EACH), self._most)
        schema = object_of({"entities": list_of(string(LONGEST), most)})
        for template in ("entities.extract", "entities.verify"):
            prompt = self._pack.render(template, slots, most=str(most), **self._words(noun))
            reply = await ask(prompt, schema, self._how, model, bill)
            listed = () if isinstance(reply, Failed) else distinct(reply["entities"])
            if not listed:
                return Extracted(reply if isinstance(reply, Failed) else (), bill=bill)
            slots = {"text": text, "entities": numbered(listed)}
        return await self._locate(text, listed, model, noun, bill)

    async def _locate(
        self, text: str, entities: Sequence[str], model: Model, noun: Noun, bill: Bill
    ) -> Extracted:
        places = sentences(text)
        by_words = {
            "sentences": numbered([place.text for place in places]),
            "entities": numbered(entities),
        }
        prompt = self._pack.render("entities.locate", by_words, **self._words(noun))
        place = {"sentence": one_of(range(_size(len(places)) + 1)), "words": string(LONGEST)}
        schema = object_of({str(n): object_of(place) for n in range(1, len(entities) + 1)})
        reply = await ask(prompt, schema, self._how, model, bill)
        if isinstance(reply, Failed):
            return Extracted(reply, bill=bill)
        located = {
            entity: _entity(entity, text, places, reply[str(n)]["sentence"], reply[str(n)]["words"])
            for n, entity in enumerate(entities, 1)
        }
        dropped = tuple(entity for entity, place in located.items() if place is None)
        kept = tuple(place for place in located.values() if place is not None)
        return Extracted(kept, dropped, bill)


def _size(wanted: float) -> int:
    """4, 8, 16, …: there are few sizes, as every schema must be compiled."""
    size = FEWEST
    while size < wanted:
        size *= 2
    return size


def numbered(texts: Sequence[str]) -> str:
    """One line for each text: `1. The river rose`."""
    return "\n".join(f"{n}. {' '.join(text.split())}" for n, text in enumerate(texts, 1))


def distinct(texts: Sequence[str]) -> tuple[str, ...]:
    """Each on one line; of those that differ in case, space or a last point only, the first."""
    spellings: dict[str, str] = {}
    for text in texts:
        spellings.setdefault(folded(text), " ".join(text.split()))
    return tuple(text for key, text in spellings.items() if key)


def folded(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _entity(
    entity: str, text: str, places: Sequence[Sentence], number: int, words: str
) -> Entity | None:
    if not number or number > len(places):
        return None
    place = places[number - 1]
    start, end = find(words, place.start, place.end, text) or (place.start, place.end)
    return Entity(entity, start, end, text[start:end], place.heading)
