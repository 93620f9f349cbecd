"""Entities of a text in three steps, and the rubric: which entities a good text has.

    "Rain fell. On 3 May the river rose and the bridge closed."
    listed      Rain fell | 3 May | The river rose | The bridge closed | Boats were sent
    verified    Rain fell | The river rose on 3 May | The bridge closed | Boats were sent
    found       Rain fell         in sentence 1: "Rain fell"
                The river rose …  in sentence 2: "On 3 May the river rose"
                The bridge closed in sentence 2: "the bridge closed"
                Boats were sent   in none: dropped

The last step answers with the number of a sentence and the words in it, so that an entity is always
supported by words of the text: by these where they are in the sentence, else by the whole sentence.

A rubric comes from what people wrote or from the source itself:

    from one text     its entities
    from many         those that `at_least` of them have (by default 5 of 11, or the same share)

        reference 1   The river rose | The bridge closed          the pool, one reference at a time:
        reference 2   The bridge was shut | Two hikers stranded   whatever is not in it already
        …             then for every reference: does it state this entity?
        rubric        The bridge closed (7 of 11) | The river rose (5 of 11)

The brief keeps which references have each entity, and `at_least` is applied when a candidate is
judged: another value needs no new brief.
"""

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil, fsum
from operator import mul
from typing import Any, Literal

from evaljudge.judges.shared.structured import Bill, ask, list_of, object_of, one_of, string
from evaljudge.metrics.passages import find, sentences
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Vector, Writing
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Document

Noun = Literal["source", "target"]
Origin = Literal["references", "reference", "source"]
TEMPLATES = {
    "entities.extract": ("text",),
    "entities.verify": ("text", "entities"),
    "entities.locate": ("sentences", "entities"),
    "entities.covered": ("entity", "entities"),
    "entities.stated": ("entity", "reference"),
}
"""The slots that each template needs."""
LONGEST = 200  # characters of an entity, and of the words that support it
WORDS_EACH = 4
"""Words of a text for each entity it may have, so that the length of a reply is bounded."""
FEWEST = 4
PAPERS_SHARE = 5 / 11  # the default share of the references: five of SummEval's eleven
COVERED = Options(("Yes", "No"))
STATED = Options(("Yes", "No", "Partially"))


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
    dropped: tuple[str, ...] = ()  # what no sentence of the text supports
    bill: Bill = field(default_factory=Bill)


Pool = list[tuple[Entity, set[int]]]
"""Each an entity of some reference, and the numbers of the references that have it."""


def origin_of(document: Document, wanted: Literal["auto"] | Origin) -> Origin:
    """`auto` is settled by the document's references."""
    if wanted != "auto":
        return wanted
    there = sum(bool(text.strip()) for text in document.references)
    return "references" if there > 1 else "reference" if there else "source"


class Extraction:
    """Entities of references match by the `encoder`, if their cosine is at least `similar`, else by
    the model; `origin`: where a rubric comes from."""

    def __init__(
        self, task: Task, how: Writing, most: int, origin: Literal["auto"] | Origin,
        encoder: str | None, similar: float,
    ) -> None:  # fmt: skip
        self._pack, self._nouns, self._how, self._most = task.pack, task.nouns, how, most
        self._origin, self._encoder, self._similar = origin, encoder, similar
        for template, slots in TEMPLATES.items():
            self._pack.check(template, slots, most="9", **self._words("target"))

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
        places = sentences(text)
        slots = {"sentences": numbered([p.text for p in places]), "entities": numbered(listed)}
        prompt = self._pack.render("entities.locate", slots, **self._words(noun))
        answer = {"sentence": one_of(range(_size(len(places)) + 1)), "words": string(LONGEST)}
        schema = object_of({str(n): object_of(answer) for n in range(1, len(listed) + 1)})
        reply = await ask(prompt, schema, self._how, model, bill)
        if isinstance(reply, Failed):
            return Extracted(reply, bill=bill)
        kept, dropped = list[Entity](), list[str]()
        for n, entity in enumerate(listed, 1):
            number, words = reply[str(n)]["sentence"], reply[str(n)]["words"]
            if 0 < number <= len(places):
                place = places[number - 1]
                start, end = find(words, place.start, place.end, text) or (place.start, place.end)
                kept.append(Entity(entity, start, end, text[start:end], place.heading))
            else:
                dropped.append(entity)
        return Extracted(tuple(kept), tuple(dropped), bill)

    async def rubric(self, document: Document, model: Model, bill: Bill) -> dict[str, Any] | Failed:
        """The content of the document's brief."""
        origin = origin_of(document, self._origin)
        noun: Noun = "source" if origin == "source" else "target"
        written = [text for text in document.references if text.strip()]
        by_origin = {"source": [document.source], "reference": written[:1], "references": written}
        if not (texts := by_origin[origin]):
            return Failed("no reference to take entities from")
        taken = await self.extract(texts, model, noun)
        for each in taken:
            bill += each.bill
        failed = {n: e.entities for n, e in enumerate(taken) if isinstance(e.entities, Failed)}
        entities = [() if isinstance(e.entities, Failed) else e.entities for e in taken]
        dropped = [entity for each in taken for entity in each.dropped]
        if origin != "references":
            listed = [_as_json(entity) for entity in entities[0]]
            content = {"from": origin, "texts": 1, "entities": listed, "dropped": dropped}
            return failed.get(0, content)
        if len(failed) == len(texts):
            return Failed(f"no reference's entities could be had: {failed[0].reason}")
        lost = list[Failed]()
        if self._encoder:
            pool = await self._by_embedding(entities, self._encoder, model)
        else:
            pool = await self._by_model(entities, texts, model, bill, lost)
        return {
            "from": origin,
            "texts": len(texts),
            "entities": [_as_json(entity) | {"in": sorted(having)} for entity, having in pool],
            "dropped": dropped,
            "failed": {str(n): failure.reason for n, failure in failed.items()},
            "lost": {"votes": len(lost), "reason": lost[0].reason if lost else ""},
        }

    async def _by_model(
        self, lists: Sequence[Sequence[Entity]], texts: Sequence[str], model: Model, bill: Bill,
        lost: list[Failed],
    ) -> Pool:  # fmt: skip
        """`lost`: the replies that failed."""
        words = self._words("target")

        def prompt(template: str, entity: Entity, **slots: str) -> Prompt:
            return self._pack.render(template, {"entity": entity.text, **slots}, **words)

        async def choose(prompts: Sequence[Prompt], options: Options) -> list[str]:
            """The likeliest answers; an empty one where there was no reply."""
            replies = await model.choose(prompts, options) if prompts else []
            bill.tokens += cost(replies)
            bill.after += [r.thought for r in replies if isinstance(r, Chosen) and r.thought]
            lost.extend(reply for reply in replies if isinstance(reply, Failed))
            chances = [reply.p if isinstance(reply, Chosen) else {"": 1.0} for reply in replies]
            return [max(p, key=lambda name: p[name]) for p in chances]

        pool: Pool = []
        for number, entities in enumerate(lists):
            by_text = {folded(entity.text): having for entity, having in pool}
            for entity in entities:  # what the pool has word for word is not asked about
                by_text.get(folded(entity.text), set()).add(number)
            new = [entity for entity in entities if folded(entity.text) not in by_text]
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
                alike = [(fsum(map(mul, vector, other)), -n) for n, other in enumerate(pooled)]
                best, place = max(alike, default=(-1.0, 0))
                if best >= self._similar:
                    pool[-place][1].add(number)
                else:
                    pool.append((entity, {number}))
                    pooled.append(vector)
        return pool


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


def _as_json(entity: Entity) -> dict[str, Any]:
    return {"entity": entity.text, "words": entity.words, "heading": entity.heading}


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
