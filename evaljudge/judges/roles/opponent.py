"""The reference that a candidate is compared with.

human      the document's first reference
written    the best text that the model can write, a brief of the document
level 3    the synthetic reference of that level on one axis, and those that it is written from: the
           same as the judge `synthetic` writes by default, so that a run with both asks only once
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Literal

from evaljudge.errors import UserError, unknown
from evaljudge.judges.protocol import Part
from evaljudge.judges.shared.references import MOST_TOKENS, References, text_brief, text_of
from evaljudge.judges.shared.scale import HIGHEST, LOWEST, named, neighbours
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Writing
from evaljudge.prompts import Task
from evaljudge.records import ANY_AXIS, Brief, Document

Origin = Literal["human", "written", "level"]
WRITTEN = "reference"


class Opponent:
    def __init__(
        self, judge: str, task: Task, how: Writing, origin: Origin, level: float, axis: str
    ) -> None:
        self._judge, self._origin, self._level = judge, origin, level
        self._axis, self._how, self._pack = axis, how, task.pack
        self._words = {"source_noun": task.nouns["source"], "target_noun": task.nouns["target"]}
        self.prompts: Mapping[str, str] = {}
        if origin == "written":
            self._pack.check("roles.reference", ["source"], **self._words)
            self.prompts = {"reference": task.pack.hash(["roles.reference"])}
        if origin == "level":
            on_axis = replace(task, axes=tuple(a for a in task.axes if a.name == axis))
            as_synthetic = Writing(MOST_TOKENS)
            self._graded = References(judge, on_axis, sorted(needed(level)), as_synthetic, None)
            self.prompts = {"reference": self._graded.prompts}

    def parts(self) -> list[Part]:
        if self._origin == "level":
            return self._graded.parts()
        depends_on = {"prompts": self.prompts.get("reference"), "max_tokens": self._how.max_tokens}
        written = Part(ANY_AXIS, WRITTEN, depends_on | self._words, shows_context=True)
        return [written] if self._origin == "written" else []

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        """The briefs that `known` lacks."""
        if self._origin == "level":
            mine = [brief for brief in known if brief.axis == self._axis]
            return await self._graded.brief(document, mine, model)
        if self._origin == "human" or any(brief.part == WRITTEN for brief in known):
            return []
        return [await self._write(document, model)]

    async def _write(self, document: Document, model: Model) -> Brief:
        known = (document.doc_id, "", self._judge, ANY_AXIS, WRITTEN)
        if not document.source.strip():
            return Brief(*known, {}, "unscored", "empty source")
        given = {"source": document.source, "context": document.context}
        prompt = self._pack.render("roles.reference", given, **self._words)
        (reply,) = await model.write([prompt], self._how)
        return text_brief(known, reply)

    def is_out_of_reach(self, document: Document) -> bool:
        """Whether a person's text is wanted and there is none."""
        return self._origin == "human" and not any(map(str.strip, document.references))

    def text(self, document: Document, briefs: Sequence[Brief]) -> str | Failed:
        if self.is_out_of_reach(document):
            return Failed("no reference to vote against")
        if self._origin == "human":
            return next(text for text in document.references if text.strip())
        part = WRITTEN if self._origin == "written" else named(self._level)
        brief = next((brief for brief in briefs if brief.part == part), None)
        return text_of(brief) if brief else Failed("the reference was never written")


def needed(level: float) -> set[float]:
    """This level, and those that it is written from."""
    sources = () if level in (LOWEST, HIGHEST) else neighbours(level)
    return {level}.union(*map(needed, sources))


def checked_axis(judge: str, task: Task, axis: str | None) -> str:
    """The named axis; by default the task's first one."""
    names = [one.name for one in task.axes]
    if axis is not None and axis not in names:
        raise UserError(f"judges.{judge}.axis: {unknown('axis', axis, names)}")
    return axis or names[0]
