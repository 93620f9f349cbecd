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

from evaljudge.judges.entities.extraction import Extracted, Extraction, folded, numbered
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
    """How it is told that two entities are the same."""

    by: Literal["model", "embedding"] = "model"
    encoder: str = ""
    similar: float = 0.75


@dataclass
class Pooled:
    """An entity of some reference, and which references have it."""

    entity: str
    words: str
    heading: str
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
        self._wanted, self._matching = wanted, by
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
        entities = [
            {"entity": e.text, "words": text[e.start : e.end], "heading": e.heading}
            for e in found.entities
        ]
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
        match = self._by_model if self._matching.by == "model" else self._by_embedding
        lost: list[Failed] = []
        pool = await match(texts, found, model, bill, lost)
        return {
            "from": "references",
            "texts": len(texts),
            "entities": [
                {
                    "entity": one.entity,
                    "words": one.words,
                    "heading": one.heading,
                    "in": sorted(one.having),
                }
                for one in pool
            ],
            "dropped": [entity for one in found for entity in one.dropped],
            "failed": {str(n): failure.reason for n, failure in failed.items()},
            "lost": {"votes": len(lost), "reason": lost[0].reason if lost else ""},
        }

    async def _by_model(
        self, texts: Sequence[str], found: Sequence[Extracted], model: Model, bill: Bill,
        lost: list[Failed],
    ) -> list[Pooled]:  # fmt: skip
        pool: list[Pooled] = []
        for number, one in enumerate(found):
            mine = _not_in(pool, _entities(texts[number], one), number)
            listed = numbered([known.entity for known in pool])
            prompts = [self._ask_covered(named[0], listed) for named in mine] if pool else []
            replies = await _chosen(prompts, COVERED, model, bill, lost)
            covered = [reply == "Yes" for reply in replies] or [False] * len(mine)
            pool += [
                Pooled(*named, {number})
                for named, is_covered in zip(mine, covered, strict=True)
                if not is_covered
            ]
        await self._count(pool, texts, model, bill, lost)
        return pool

    async def _count(
        self, pool: Sequence[Pooled], texts: Sequence[str], model: Model, bill: Bill,
        lost: list[Failed],
    ) -> None:  # fmt: skip
        """Which other references state each of the pool's entities."""
        open_ = [(one, n) for n in range(len(texts)) for one in pool if n not in one.having]
        prompts = [self._ask_stated(one.entity, texts[n]) for one, n in open_]
        replies = await _chosen(prompts, STATED, model, bill, lost)
        for (one, n), reply in zip(open_, replies, strict=True):
            if reply == "Yes":
                one.having.add(n)

    async def _by_embedding(
        self, texts: Sequence[str], found: Sequence[Extracted], model: Model, bill: Bill,
        lost: list[Failed],
    ) -> list[Pooled]:  # fmt: skip
        pool: list[tuple[Pooled, Vector]] = []
        for number, one in enumerate(found):
            named = _entities(texts[number], one)
            vectors = await model.embed([one[0] for one in named], self._matching.encoder)
            for told, vector in zip(named, vectors, strict=True):
                alike = [(_cosine(vector, other), -n) for n, (_, other) in enumerate(pool)]
                best, place = max(alike, default=(-1.0, 0))
                if best >= self._matching.similar:
                    pool[-place][0].having.add(number)
                else:
                    pool.append((Pooled(*told, {number}), vector))
        return [one for one, _ in pool]

    def _ask_covered(self, entity: str, listed: str) -> Prompt:
        given = {"entity": entity, "entities": listed}
        return self._pack.render("entities.covered", given, **self._words)

    def _ask_stated(self, entity: str, reference: str) -> Prompt:
        given = {"entity": entity, "reference": reference}
        return self._pack.render("entities.stated", given, **self._words)


Told = Mapping[str, Any]


def rubric_of(content: Told, at_least: int | None) -> list[Told] | Failed:
    """The entities that count, as the brief has them; why there are none."""
    told, texts = content["entities"], content["texts"]
    if content["from"] != "references":
        return list(told) or Failed(f"no entity in the {content['from']}")
    needed = at_least or ceil(texts * PAPERS_SHARE)
    kept = [one for one in told if len(one["in"]) >= needed]
    lost = content["lost"]
    more = f" ({lost['votes']} votes on it were lost: {lost['reason']})" if lost["votes"] else ""
    return kept or Failed(f"no entity is in at least {needed} of {texts} references{more}")


def outline(rubric: Sequence[Told]) -> str:
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


async def _chosen(
    prompts: Sequence[Prompt], options: Options, model: Model, bill: Bill, lost: list[Failed]
) -> list[str]:
    """The likeliest answers; where there was no reply, none, and its loss is noted."""
    if not prompts:
        return []
    replies = await model.choose(prompts, options)
    bill.tokens += cost(replies)
    lost += [reply for reply in replies if isinstance(reply, Failed)]
    return [_likeliest(reply) if isinstance(reply, Chosen) else "" for reply in replies]


def _likeliest(reply: Chosen) -> str:
    return max(reply.p, key=lambda name: reply.p[name])


Named = tuple[str, str, str]
"""An entity, the words that support it, and their heading."""


def _entities(text: str, one: Extracted) -> list[Named]:
    if isinstance(one.entities, Failed):
        return []
    return [(e.text, text[e.start : e.end], e.heading) for e in one.entities]


def _not_in(pool: Sequence[Pooled], named: Sequence[Named], number: int) -> list[Named]:
    """Those that the pool does not have word for word; those it has, this reference has too."""
    known = {folded(one.entity): one for one in pool}
    for entity, *_ in named:
        if folded(entity) in known:
            known[folded(entity)].having.add(number)
    return [one for one in named if folded(one[0]) not in known]


def _cosine(one: Vector, other: Vector) -> float:
    return fsum(a * b for a, b in zip(one, other, strict=True))
