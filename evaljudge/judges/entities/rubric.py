"""The rubric: which entities a good text has, from what people wrote or from the source itself.

    from one text     its entities
    from many         those that `at_least` of them have (by default 5 of 11, or the same share)

        reference 1   The river rose | The bridge closed          the pool, one reference at a time:
        reference 2   The bridge was shut | Two hikers stranded   whatever is not in it already
        …             then for every reference: does it state this entity?
        rubric        The bridge closed (7 of 11) | The river rose (5 of 11)

Whether two entities are the same is decided by the model, or by a sentence encoder
(`match: embedding`: their cosine is at least `similar`). The brief keeps which references have each
entity, and `at_least` is applied when a candidate is judged: another value needs no new brief.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil, fsum
from typing import Any, Literal

from evaljudge.judges.entities.extraction import Entity, Extraction, Noun, folded, numbered
from evaljudge.judges.shared.structured import Bill
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Vector
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Document

Origin = Literal["references", "reference", "source"]
PAPERS_SHARE = 5 / 11
"""The default share of the references: five of SummEval's eleven."""
COVERED = Options(("Yes", "No"))
STATED = Options(("Yes", "No", "Partially"))
TEMPLATES = ("entities.covered", "entities.stated")


Pool = list[tuple[Entity, set[int]]]
"""Each an entity of some reference, and the numbers of the references that have it."""


def origin_of(document: Document, wanted: Literal["auto"] | Origin) -> Origin:
    """`auto` is settled by the document's references."""
    if wanted != "auto":
        return wanted
    there = sum(bool(text.strip()) for text in document.references)
    return "references" if there > 1 else "reference" if there else "source"


class RubricWriting:
    """Entities match by the `encoder`, if their cosine is at least `similar`, else by the model."""

    def __init__(
        self, task: Task, extraction: Extraction, wanted: Literal["auto"] | Origin,
        encoder: str | None, similar: float,
    ) -> None:  # fmt: skip
        self._pack, self._extraction, self._wanted = task.pack, extraction, wanted
        self._encoder, self._similar = encoder, similar
        self._words = {"source_noun": task.nouns["source"], "target_noun": task.nouns["target"]}
        self._words |= {"mode": "choose"}
        self._pack.check("entities.covered", ["entity", "entities"], **self._words)
        self._pack.check("entities.stated", ["entity", "reference"], **self._words)

    async def write(self, document: Document, model: Model, bill: Bill) -> dict[str, Any] | Failed:
        """The content of the brief."""
        origin = origin_of(document, self._wanted)
        texts = [text for text in document.references if text.strip()]
        if origin != "source" and not texts:
            return Failed("no reference to take entities from")
        if origin == "references":
            return await self._from_references(texts, model, bill)
        text = document.source if origin == "source" else texts[0]
        noun: Noun = "source" if origin == "source" else "target"
        (taken,) = await self._extraction.extract([text], model, noun)
        bill += taken.bill
        if isinstance(taken.entities, Failed):
            return taken.entities
        entities = [_as_json(entity) for entity in taken.entities]
        return {"from": origin, "texts": 1, "entities": entities, "dropped": list(taken.dropped)}

    async def _from_references(
        self, texts: Sequence[str], model: Model, bill: Bill
    ) -> dict[str, Any] | Failed:
        taken = await self._extraction.extract(texts, model)
        for each in taken:
            bill += each.bill
        failed = {n: e.entities for n, e in enumerate(taken) if isinstance(e.entities, Failed)}
        if len(failed) == len(texts):
            return Failed(f"no reference's entities could be had: {failed[0].reason}")
        entities = [() if isinstance(e.entities, Failed) else e.entities for e in taken]
        lost = list[Failed]()
        if self._encoder:
            pool = await self._by_embedding(entities, self._encoder, model)
        else:
            pool = await self._by_model(entities, texts, model, bill, lost)
        return {
            "from": "references",
            "texts": len(texts),
            "entities": [_as_json(entity) | {"in": sorted(having)} for entity, having in pool],
            "dropped": [entity for each in taken for entity in each.dropped],
            "failed": {str(n): failure.reason for n, failure in failed.items()},
            "lost": {"votes": len(lost), "reason": lost[0].reason if lost else ""},
        }

    async def _by_model(
        self, lists: Sequence[Sequence[Entity]], texts: Sequence[str], model: Model, bill: Bill,
        lost: list[Failed],
    ) -> Pool:  # fmt: skip
        """`lost`: the replies that failed."""

        def prompt(template: str, entity: Entity, **slots: str) -> Prompt:
            return self._pack.render(template, {"entity": entity.text, **slots}, **self._words)

        async def choose(prompts: Sequence[Prompt], options: Options) -> list[str]:
            """The likeliest answers; an empty one where there was no reply."""
            replies = await model.choose(prompts, options) if prompts else []
            bill.tokens += cost(replies)
            lost.extend(reply for reply in replies if isinstance(reply, Failed))
            chances = [reply.p if isinstance(reply, Chosen) else {"": 1.0} for reply in replies]
            return [max(p, key=lambda name: p[name]) for p in chances]

        pool: Pool = []
        for number, entities in enumerate(lists):
            new = _not_in(pool, entities, number)
            listed = numbered([entity.text for entity, _ in pool])
            asked = [prompt("entities.covered", e, entities=listed) for e in new if pool]
            covered = await choose(asked, COVERED) or [""] * len(new)
            answers = zip(new, covered, strict=True)
            pool += [(e, {number}) for e, answer in answers if answer != "Yes"]
        open_ = [
            (entity, having, n, text)
            for n, text in enumerate(texts)
            for entity, having in pool
            if n not in having
        ]
        asked = [prompt("entities.stated", e, reference=text) for e, _, _, text in open_]
        for (_, having, n, _), reply in zip(open_, await choose(asked, STATED), strict=True):
            if reply == "Yes":
                having.add(n)
        return pool

    async def _by_embedding(
        self, lists: Sequence[Sequence[Entity]], encoder: str, model: Model
    ) -> Pool:
        pool, pooled = Pool(), list[Vector]()
        for number, entities in enumerate(lists):
            vectors = await model.embed([entity.text for entity in entities], encoder)
            for entity, vector in zip(entities, vectors, strict=True):
                alike = [(_cosine(vector, other), -n) for n, other in enumerate(pooled)]
                best, place = max(alike, default=(-1.0, 0))
                if best >= self._similar:
                    pool[-place][1].add(number)
                else:
                    pool.append((entity, {number}))
                    pooled.append(vector)
        return pool


def _as_json(entity: Entity) -> dict[str, Any]:
    return {"entity": entity.text, "words": entity.words, "heading": entity.heading}


def _not_in(pool: Pool, entities: Sequence[Entity], number: int) -> list[Entity]:
    """The entities that the pool does not have word for word; the others get this reference."""
    by_text = {folded(entity.text): having for entity, having in pool}
    new = []
    for entity in entities:
        if (same := by_text.get(folded(entity.text))) is not None:
            same.add(number)
        else:
            new.append(entity)
    return new


def _cosine(left: Vector, right: Vector) -> float:
    return fsum(a * b for a, b in zip(left, right, strict=True))


RubricEntry = Mapping[str, Any]


def rubric_of(content: Mapping[str, Any], at_least: int | None) -> list[RubricEntry] | Failed:
    """The brief's entities that count; Failed where there are none."""
    listed, texts = content["entities"], content["texts"]
    if content["from"] != "references":
        return list(listed) or Failed(f"no entity in the {content['from']}")
    needed = at_least or ceil(texts * PAPERS_SHARE)
    kept = [entry for entry in listed if len(entry["in"]) >= needed]
    lost = content["lost"]
    more = f" ({lost['votes']} votes on it were lost: {lost['reason']})" if lost["votes"] else ""
    return kept or Failed(f"no entity is in at least {needed} of {texts} references{more}")


def outline(rubric: Sequence[RubricEntry]) -> str:
    """What many references have in common, as one text; under headings, where there are any."""
    sections: dict[str, list[str]] = {}
    for entry in rubric:
        sections.setdefault(entry["heading"], []).append(entry["entity"])
    if set(sections) <= {""}:
        return numbered([entry["entity"] for entry in rubric])
    ordered = sorted(sections.items(), key=lambda section: bool(section[0]))
    return "\n\n".join(
        "\n".join([f"{heading}:"] * bool(heading) + [f"- {entity}" for entity in entities])
        for heading, entities in ordered
    )
