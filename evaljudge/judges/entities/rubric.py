"""The rubric: which entities a good text has, from what people wrote, or from the source itself.

    from one text     its entities
    from many         those that `at_least` of them have (5 of 11; of fewer, as large a part)

        reference 1   The river rose | The bridge closed          the pool, one reference at a time:
        reference 2   The bridge was shut | Two hikers stranded   whatever is not in it already
        …             then for every reference: does it state this entity?
        rubric        The bridge closed (7 of 11) | The river rose (5 of 11)

Whether two say the same is voted on by the model, or measured by a sentence encoder
(`match: embedding`: as similar as `similar`, by the cosine). How many references have an entity is
kept, and only the judging counts off: another `at_least` writes nothing anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, fsum
from typing import Any, Literal

from evaljudge.judges.entities.extraction import Entity, Extraction, folded, numbered
from evaljudge.judges.shared.structured import Bill
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Vector
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Document

Origin = Literal["references", "reference", "source"]
PAPERS_SHARE = 5 / 11
"""Of the references, where nothing else is said: five of SummEval's eleven."""
COVERED = Options(("Yes", "No"))
STATED = Options(("Yes", "No", "Partially"))
TEMPLATES = ("entities.covered", "entities.stated")


@dataclass(frozen=True, slots=True)
class Matching:
    """How two entities are found to be the same."""

    by: Literal["model", "embedding"] = "model"
    encoder: str = ""
    similar: float = 0.75


@dataclass
class Pooled:
    """An entity of some reference, and which references have it."""

    entity: Entity
    having: set[int]


def origin_of(document: Document, wanted: Literal["auto"] | Origin) -> Origin:
    """`auto`: by what there is."""
    if wanted != "auto":
        return wanted
    there = sum(bool(text.strip()) for text in document.references)
    return "references" if there > 1 else "reference" if there else "source"


class RubricWriting:
    def __init__(
        self, task: Task, extraction: Extraction, wanted: Literal["auto"] | Origin, by: Matching
    ) -> None:
        self._pack, self._extraction = task.pack, extraction
        self._wanted, self.matching = wanted, by
        self._words = {"source_noun": task.nouns["source"], "target_noun": task.nouns["target"]}
        self._words |= {"mode": "choose"}
        self._pack.check("entities.covered", ["entity", "entities"], **self._words)
        self._pack.check("entities.stated", ["entity", "reference"], **self._words)

    async def write(self, document: Document, model: Model, bill: Bill) -> dict[str, Any] | Failed:
        """A brief's content."""
        origin = origin_of(document, self._wanted)
        texts = [text for text in document.references if text.strip()]
        if origin == "source":
            return await self._of_one(origin, document.source, model, bill)
        if not texts:
            return Failed("no reference to take entities from")
        if origin == "reference":
            return await self._of_one(origin, texts[0], model, bill)
        return await self._of_many(texts, model, bill)

    async def _of_one(
        self, origin: Origin, text: str, model: Model, bill: Bill
    ) -> dict[str, Any] | Failed:
        noun: Literal["source", "target"] = "source" if origin == "source" else "target"
        (found,) = await self._extraction.extract([text], model, noun)
        bill += found.bill
        if isinstance(found.entities, Failed):
            return found.entities
        entities = [_as_json(entity) for entity in found.entities]
        return {"from": origin, "texts": 1, "entities": entities, "dropped": list(found.dropped)}

    async def _of_many(
        self, texts: Sequence[str], model: Model, bill: Bill
    ) -> dict[str, Any] | Failed:
        found = await self._extraction.extract(texts, model)
        for one in found:
            bill += one.bill
        failed = {n: e.entities for n, e in enumerate(found) if isinstance(e.entities, Failed)}
        if len(failed) == len(texts):
            return Failed(f"no reference's entities could be had: {failed[0].reason}")
        pooling = _Pooling(self, texts, model, bill)
        entities = [() if isinstance(e.entities, Failed) else e.entities for e in found]
        by_model = self.matching.by == "model"
        pool = await (pooling.by_model if by_model else pooling.by_embedding)(entities)
        lost = pooling.lost
        return {
            "from": "references",
            "texts": len(texts),
            "entities": [_as_json(one.entity) | {"in": sorted(one.having)} for one in pool],
            "dropped": [entity for one in found for entity in one.dropped],
            "failed": {str(n): failure.reason for n, failure in failed.items()},
            "lost": {"votes": len(lost), "reason": lost[0].reason if lost else ""},
        }

    def ask_covered(self, entity: Entity, pool: Sequence[Pooled]) -> Prompt:
        given = {"entity": entity.text, "entities": numbered([one.entity.text for one in pool])}
        return self._pack.render("entities.covered", given, **self._words)

    def ask_stated(self, entity: Entity, reference: str) -> Prompt:
        given = {"entity": entity.text, "reference": reference}
        return self._pack.render("entities.stated", given, **self._words)


def _as_json(entity: Entity) -> dict[str, Any]:
    return {"entity": entity.text, "words": entity.words, "heading": entity.heading}


class _Pooling:
    """One document's references while their entities are matched; `lost`: votes without a reply."""

    def __init__(
        self, writing: RubricWriting, texts: Sequence[str], model: Model, bill: Bill
    ) -> None:
        self._writing, self._texts, self._model, self._bill = writing, texts, model, bill
        self.lost: list[Failed] = []

    async def by_model(self, found: Sequence[Sequence[Entity]]) -> list[Pooled]:
        pool: list[Pooled] = []
        for number, entities in enumerate(found):
            new = _not_in(pool, entities, number)
            prompts = [self._writing.ask_covered(one, pool) for one in new] if pool else []
            covered = await self._choose(prompts, COVERED) or [""] * len(new)
            answers = zip(new, covered, strict=True)
            pool += [Pooled(one, {number}) for one, answer in answers if answer != "Yes"]
        await self._count(pool)
        return pool

    async def _count(self, pool: Sequence[Pooled]) -> None:
        """Which other references state each of the pool's entities."""
        texts = list(enumerate(self._texts))
        open_ = [(one, n, text) for n, text in texts for one in pool if n not in one.having]
        prompts = [self._writing.ask_stated(one.entity, text) for one, _, text in open_]
        for (one, n, _), reply in zip(open_, await self._choose(prompts, STATED), strict=True):
            if reply == "Yes":
                one.having.add(n)

    async def by_embedding(self, found: Sequence[Sequence[Entity]]) -> list[Pooled]:
        matching = self._writing.matching
        pool: list[tuple[Pooled, Vector]] = []
        for number, entities in enumerate(found):
            texts = [entity.text for entity in entities]
            vectors = await self._model.embed(texts, matching.encoder)
            for entity, vector in zip(entities, vectors, strict=True):
                alike = [(_cosine(vector, other), -n) for n, (_, other) in enumerate(pool)]
                best, place = max(alike, default=(-1.0, 0))
                if best >= matching.similar:
                    pool[-place][0].having.add(number)
                else:
                    pool.append((Pooled(entity, {number}), vector))
        return [one for one, _ in pool]

    async def _choose(self, prompts: Sequence[Prompt], options: Options) -> list[str]:
        """The likeliest answers; where there was no reply, none, and its loss is noted."""
        if not prompts:
            return []
        replies = await self._model.choose(prompts, options)
        self._bill.tokens += cost(replies)
        self.lost += [reply for reply in replies if isinstance(reply, Failed)]
        chances = [reply.p if isinstance(reply, Chosen) else {"": 1.0} for reply in replies]
        return [max(p, key=lambda name: p[name]) for p in chances]


def _not_in(pool: Sequence[Pooled], entities: Sequence[Entity], number: int) -> list[Entity]:
    """Those that the pool does not have word for word; those it has, this reference has too."""
    known = {folded(one.entity.text): one for one in pool}
    for entity in entities:
        if folded(entity.text) in known:
            known[folded(entity.text)].having.add(number)
    return [one for one in entities if folded(one.text) not in known]


def _cosine(one: Vector, other: Vector) -> float:
    return fsum(a * b for a, b in zip(one, other, strict=True))


RubricEntry = Mapping[str, Any]


def rubric_of(content: Mapping[str, Any], at_least: int | None) -> list[RubricEntry] | Failed:
    """The entities that count, as the brief has them; why there are none."""
    listed, texts = content["entities"], content["texts"]
    if content["from"] != "references":
        return list(listed) or Failed(f"no entity in the {content['from']}")
    needed = at_least or ceil(texts * PAPERS_SHARE)
    kept = [one for one in listed if len(one["in"]) >= needed]
    lost = content["lost"]
    more = f" ({lost['votes']} votes on it were lost: {lost['reason']})" if lost["votes"] else ""
    return kept or Failed(f"no entity is in at least {needed} of {texts} references{more}")


def outline(rubric: Sequence[RubricEntry]) -> str:
    """What many references have in common, as one text: under its headings, where there are any."""
    sections: dict[str, list[str]] = {}
    for one in rubric:
        sections.setdefault(one["heading"], []).append(one["entity"])
    if set(sections) <= {""}:
        return numbered([one["entity"] for one in rubric])
    ordered = sorted(sections.items(), key=lambda section: bool(section[0]))
    return "\n\n".join(
        "\n".join([f"{heading}:"] * bool(heading) + [f"- {entity}" for entity in entities])
        for heading, entities in ordered
    )
