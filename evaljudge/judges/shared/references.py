"""Synthetic references of graded quality: written for a document and an axis, before any candidate.

    on `fluency`, the extremes, then each between its two neighbours:
    1 "flood town bridge closed flood"
    3 "A flood closed bridge of town, which old."        between 1 and 5
    5 "A flood has closed the town's old bridge."

A reference that cannot be had (a reply cut by its limit, an empty one) is unscored with its reason,
and so are those that would have been written between it and another.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from evaljudge.errors import UserError
from evaljudge.judges.protocol import Part
from evaljudge.judges.shared.scale import HIGHEST, LOWEST, named, neighbours, rounds
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Prompt, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Pack, Task
from evaljudge.records import Axis, Brief, Document

Text = str | Failed
TEMPLATES = ("synthetic.extreme", "synthetic.between")
MOST_TOKENS = 512
"""Of a reference, where nothing else is said."""


class References:
    """Writes what is missing of a document's references."""

    def __init__(
        self, judge: str, task: Task, wanted: Sequence[float], how: Writing, origin: str | None
    ) -> None:
        """`origin`: the digest of the file that references were taken from, if any were."""
        self._judge, self._axes, self._pack = judge, task.axes, task.pack
        self._ratings, self._how, self._origin = wanted, how, origin
        words = {"axis": "axis", "description": "what it is"}
        self._pack.check("synthetic.extreme", ["source"], extreme="worst", **words)
        check_place(self._pack, "synthetic.extreme", "extreme", ["worst", "best"])
        self._pack.check("synthetic.between", ["worse", "better"], **words)
        self.prompts = task.pack.hash(TEMPLATES)

    def parts(self) -> list[Part]:
        return [
            Part(axis.name, named(rating), self._depends_on(axis, rating), axis.context)
            for axis in self._axes
            for rating in self._ratings
        ]

    def _depends_on(self, axis: Axis, rating: float) -> dict[str, Any]:
        how = self._how
        settings = {"max_tokens": how.max_tokens, "temperature": how.temperature}
        given = {"references": self._origin} if self._origin else {}
        of_level = {"name": axis.name, "rating": rating, "prompts": self.prompts}
        return of_level | axis.words | {"top_p": how.top_p} | settings | given

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        mine = await gather(
            *(
                self._references(document, axis, [b for b in known if b.axis == axis.name], model)
                for axis in self._axes
            )
        )
        return [brief for briefs in mine for brief in briefs]

    async def _references(
        self, document: Document, axis: Axis, known: Sequence[Brief], model: Model
    ) -> list[Brief]:
        texts: dict[float, Text] = {float(b.part): text_of(b) for b in known}
        new: list[Brief] = []
        for round_ in rounds(self._ratings):
            missing = [rating for rating in round_ if rating not in texts]
            written = await self._write(document, axis, missing, texts, model)
            new += written
            texts |= {float(b.part): text_of(b) for b in written}
        return new

    async def _write(
        self, document: Document, axis: Axis, missing: Sequence[float],
        texts: Mapping[float, Text], model: Model,
    ) -> list[Brief]:  # fmt: skip
        prompts = [self._writing_prompt(document, axis, rating, texts) for rating in missing]
        asked = [prompt for prompt in prompts if isinstance(prompt, Prompt)]
        replies = iter(await model.write(asked, self._how))
        answers = [next(replies) if isinstance(p, Prompt) else p for p in prompts]
        return [
            self._reference(document, axis, rating, answer)
            for rating, answer in zip(missing, answers, strict=True)
        ]

    def _writing_prompt(
        self, document: Document, axis: Axis, rating: float, texts: Mapping[float, Text]
    ) -> Prompt | Failed:
        if not document.source.strip():
            return Failed("empty source")
        if rating in (LOWEST, HIGHEST):
            extreme = "worst" if rating == LOWEST else "best"
            return self._prompt("synthetic.extreme", document, axis, rating, {}, extreme=extreme)
        worse, better = neighbours(rating)
        for neighbour in (worse, better):
            if isinstance(found := texts[neighbour], Failed):
                return found
        given = {"worse": str(texts[worse]), "better": str(texts[better])}
        return self._prompt("synthetic.between", document, axis, rating, given)

    def _reference(
        self, document: Document, axis: Axis, rating: float, answer: Written | Failed
    ) -> Brief:
        text = usable(answer)
        content: dict[str, Any] = {"rating": rating}
        reason = text.reason if isinstance(text, Failed) else ""
        if isinstance(text, str):
            content["text"] = text
        return Brief(
            document.doc_id, "", self._judge, axis.name, named(rating), content,
            "unscored" if reason else "ok", reason, tokens=cost([answer]),
        )  # fmt: skip

    def _prompt(
        self,
        name: str,
        document: Document,
        axis: Axis,
        rating: float,
        given: Mapping[str, str],
        **words: str,
    ) -> Prompt:
        texts = {"source": document.source, "context": shown_context(document, axis), **given}
        prompt = self._pack.render(name, texts, **axis.words, **words)
        return replace(prompt, about=named(rating))


def check_place(pack: Pack, template: str, word: str, choices: Sequence[str]) -> None:
    """Refuse a template that says the same whichever of these words it is given."""
    given = {slot: f"the {slot}" for slot in ("source", "context", "reference", "target")}
    words = {"axis": "axis", "description": "what it is"}
    if len({pack.render(template, given, **words, **{word: one}) for one in choices}) < len(
        choices
    ):
        raise UserError(f"prompt {template}: needs a place for {{{{ {word} }}}}")


def shown_context(document: Document, axis: Axis) -> str | None:
    return document.context if axis.context else None


def usable(answer: Written | Failed) -> Text:
    """A reference must be whole: a reply that was cut by its limit is none."""
    if isinstance(answer, Failed):
        return answer
    sample = answer.samples[0]
    if sample.finish == "length":
        return Failed("the reply was cut at its token limit")
    return sample.text.strip() or Failed("the reply was empty")


def text_of(brief: Brief) -> Text:
    return str(brief.content["text"]) if brief.status == "ok" else Failed(brief.reason)
