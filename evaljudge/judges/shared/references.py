"""Synthetic references of graded quality: written for a document and an axis, before any candidate.

    on `fluency`, the extremes, then each between its two neighbours:
    1 "flood town bridge closed flood"
    3 "A flood closed bridge of town, which old."        between 1 and 5
    5 "A flood has closed the town's old bridge."

A reference that could not be written (its reply was cut by its limit, or empty) is unscored with
its reason, and so are those that would have been written between it and another.
"""

from asyncio import gather
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evaljudge.judges.protocol import Part
from evaljudge.judges.shared.asking import ANY_WORDS, Text, check_place, document_texts, text_of
from evaljudge.judges.shared.scale import HIGHEST, LOWEST, named, neighbours, rounds
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Prompt, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Axis, Brief, Document

EXTREME, BETWEEN = "synthetic.extreme", "synthetic.between"
EXTREMES = {LOWEST: "worst", HIGHEST: "best"}
MOST_TOKENS = 512  # the limit of a reference, where the settings give no other


class References:
    def __init__(
        self, judge: str, task: Task, wanted: Sequence[float], how: Writing, origin: str | None
    ) -> None:
        """`origin`: the digest of the file that references were taken from, if any were."""
        self._judge, self._axes, self._pack = judge, task.axes, task.pack
        self._ratings, self._how, self._origin = wanted, how, origin
        self._pack.check(EXTREME, ["source"], extreme="worst", **ANY_WORDS)
        check_place(self._pack, EXTREME, "extreme", list(EXTREMES.values()))
        self._pack.check(BETWEEN, ["worse", "better"], **ANY_WORDS)
        self.prompts = task.pack.hash([EXTREME, BETWEEN])

    def parts(self) -> list[Part]:
        how = self._how
        common = {"prompts": self.prompts, "top_p": how.top_p, "max_tokens": how.max_tokens,
                  "temperature": how.temperature}  # fmt: skip
        common |= {"references": self._origin} if self._origin else {}
        return [
            Part(axis.name, named(rating),
                 {"name": axis.name, "rating": rating} | axis.words | common, axis.context)
            for axis in self._axes
            for rating in self._ratings
        ]  # fmt: skip

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        each = (self._axis_briefs(document, axis, known, model) for axis in self._axes)
        return [brief for briefs in await gather(*each) for brief in briefs]

    async def _axis_briefs(
        self, document: Document, axis: Axis, known: Sequence[Brief], model: Model
    ) -> list[Brief]:
        texts = {float(b.part): text_of(b) for b in known if b.axis == axis.name}
        new: list[Brief] = []
        for round_ in rounds(self._ratings):
            missing = {r: self._prompt(document, axis, r, texts) for r in round_ if r not in texts}
            prompts = [prompt for prompt in missing.values() if isinstance(prompt, Prompt)]
            replies = iter(await model.write(prompts, self._how))
            for rating, prompt in missing.items():
                answer = next(replies) if isinstance(prompt, Prompt) else prompt
                key = (document.doc_id, "", self._judge, axis.name, named(rating))
                new.append(text_brief(key, answer, rating=rating))
                texts[rating] = text_of(new[-1])
        return new

    def _prompt(
        self, document: Document, axis: Axis, rating: float, texts: Mapping[float, Text]
    ) -> Prompt | Failed:
        """`texts`: the references of the rounds before, by their rating."""
        if not document.source.strip():
            return Failed("empty source")
        slots = document_texts(document, axis)
        if rating in EXTREMES:
            words = axis.words | {"extreme": EXTREMES[rating]}
            return replace(self._pack.render(EXTREME, slots, **words), about=named(rating))
        for slot, neighbour in zip(("worse", "better"), neighbours(rating), strict=True):
            text = texts[neighbour]
            if isinstance(text, Failed):
                return text
            slots[slot] = text
        return replace(self._pack.render(BETWEEN, slots, **axis.words), about=named(rating))


def text_brief(
    key: tuple[str, str, str, str, str], answer: Written | Failed, **more: object
) -> Brief:
    """A brief that is one written text, which must be whole; `key`: its document, key, judge, axis
    and part."""
    tokens = cost([answer])
    if isinstance(answer, Failed):
        return Brief(*key, more, "unscored", answer.reason, tokens=tokens)
    if answer.samples[0].finish == "length":
        return Brief(*key, more, "unscored", "the reply was cut at its token limit", tokens=tokens)
    if not (text := answer.text.strip()):
        return Brief(*key, more, "unscored", "the reply was empty", tokens=tokens)
    return Brief(*key, {**more, "text": text}, tokens=tokens)
