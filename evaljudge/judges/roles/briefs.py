"""What is prepared from a document alone: who would read it, and the reference to vote against.

Two lists of readers that the model writes, in one brief:

    coarse   by what people do in life        1. Politicians: the law behind the case
    fine     by how much they know of it      1. Residents of Nevada: details they have not heard

The engine keeps the lists' form, and the brief keeps the lists. Which of the readers vote is
decided when a candidate is judged (clusters.py): another number of roles needs no new brief.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, zip_longest
from typing import Any, Literal

from evaljudge.judges.protocol import Part
from evaljudge.judges.shared.asking import fold, one_line, quoted, text_of
from evaljudge.judges.shared.references import MOST_TOKENS, References, text_brief
from evaljudge.judges.shared.scale import HIGHEST, LOWEST, named, neighbours
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import ANY_AXIS, Brief, Document

KIND = "roles"
READERS, REFERENCE = "readers", "reference"  # the briefs' parts
TEMPLATES = ("roles.coarse", "roles.fine")
LINE = r"[0-9]{1,2}\. ([^:\n]+): ([^\n]+)"
LONGEST_TYPE, LONGEST_DESCRIPTION = 80, 300
Origin = Literal["human", "written", "level"]


@dataclass(frozen=True, slots=True)
class Role:
    """`type`: who it is, in a few words; `description`: what it looks for. Each is one line."""

    type: str
    description: str


def list_form(most: int) -> str:
    """The regex of a list of at most this many readers."""
    return rf"{LINE}(\n{LINE}){{0,{most - 1}}}"


def listed(reply: Written | Failed) -> dict[str, Any]:
    """The listed roles, and a note if some are left out: the last line of a reply that was cut at
    its limit may be incomplete. Or why there are none."""
    if isinstance(reply, Failed):
        return {"failed": reply.reason}
    is_cut = reply.samples[0].finish == "length"
    lines = reply.text.split("\n")[: -1 if is_cut else None]
    found = (line.groups() for line in map(re.compile(LINE).fullmatch, lines) if line)
    roles = [
        [_within(who, LONGEST_TYPE), _within(what, LONGEST_DESCRIPTION)] for who, what in found
    ]
    if roles := [role for role in roles if all(map(fold, role))]:
        return {"roles": roles, "note": "the list was cut at the token limit" if is_cut else ""}
    cut, none = "cut at the token limit before a reader was whole", "no readers in the reply"
    return {"failed": f"{cut if is_cut else none}: {quoted(reply.text)}"}


def _within(text: str, most: int) -> str:
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


class Readers:
    def __init__(self, task: Task, how: Writing, most: int) -> None:
        self._pack = task.pack
        interest = "Readers of this kind look for what matters to them in what happened."
        example = "\n".join(f"{n}. Reader {{mark}} {n}: {interest}" for n in range(1, most + 1))
        self._how = Writing(how.max_tokens, regex=list_form(most), example=example)
        self._words = {"source_noun": task.nouns["source"], "most": str(most)}
        for template in TEMPLATES:
            self._pack.check(template, ["source"], **self._words)
        self.prompts = task.pack.hash(TEMPLATES)

    async def brief(self, document: Document, model: Model) -> Brief:
        key = (document.doc_id, "", KIND, ANY_AXIS, READERS)
        if not document.source.strip():
            return Brief(*key, {}, "unscored", "empty source")
        slots = {"source": document.source}
        prompts = [self._pack.render(name, slots, **self._words) for name in TEMPLATES]
        replies = await model.write(prompts, self._how)
        halves = list(map(listed, replies))
        failed = [half["failed"] for half in halves if "failed" in half]
        if len(failed) == len(halves):
            return Brief(*key, {}, "unscored", failed[0], tokens=cost(replies))
        names = [name.partition(".")[2] for name in TEMPLATES]
        return Brief(*key, dict(zip(names, halves, strict=True)), tokens=cost(replies))


def readers_in(content: Mapping[str, Any]) -> list[Role]:
    """The readers of both lists in turn."""
    lists = [[Role(*role) for role in half.get("roles", ())] for half in content.values()]
    return [role for role in chain.from_iterable(zip_longest(*lists)) if role is not None]


def notes_in(content: Mapping[str, Any]) -> list[str]:
    """Why a list is missing, or what it lacks."""
    notes = {name: one.get("failed") or one["note"] for name, one in content.items()}
    return [f"{name} readers: {note}" for name, note in notes.items() if note]


def without_namesakes(
    readers: Sequence[Role], static: Sequence[Role]
) -> tuple[list[Role], list[tuple[Role, str]]]:
    """The readers whose type differs from all before, and the others with the reason: two of one
    name could not be distinguished in one reply."""
    taken = {fold(role.type): f"the static role “{role.type}”" for role in static}
    distinct: list[Role] = []
    namesakes: list[tuple[Role, str]] = []
    for role in readers:
        if other := taken.get(fold(role.type)):
            namesakes.append((role, f"of the same name as {other}"))
        else:
            distinct.append(role)
            taken[fold(role.type)] = "a reader before"
    return distinct, namesakes


class Opponent:
    """The reference that candidates are compared with; `level`, `axis`: of a synthetic one, written
    as the judge `synthetic` does it, so that a run with both asks once."""

    def __init__(self, task: Task, how: Writing, origin: Origin, level: float, axis: str) -> None:
        self._origin, self._level, self._axis = origin, level, axis
        self._how, self._pack = how, task.pack
        self._words = {"source_noun": task.nouns["source"], "target_noun": task.nouns["target"]}
        self.prompts: Mapping[str, str] = {}
        if origin == "written":
            self._pack.check("roles.reference", ["source"], **self._words)
            self.prompts = {"reference": task.pack.hash(["roles.reference"])}
        if origin == "level":
            on_axis = replace(task, axes=tuple(a for a in task.axes if a.name == axis))
            as_synthetic = Writing(MOST_TOKENS)
            self._graded = References(KIND, on_axis, sorted(needed(level)), as_synthetic, None)
            self.prompts = {"reference": self._graded.prompts}

    def parts(self) -> list[Part]:
        if self._origin == "level":
            return self._graded.parts()
        depends_on = {"prompts": self.prompts.get("reference"), "max_tokens": self._how.max_tokens}
        written = Part(ANY_AXIS, REFERENCE, depends_on | self._words, shows_context=True)
        return [written] if self._origin == "written" else []

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        if self._origin == "level":
            mine = [brief for brief in known if brief.axis == self._axis]
            return await self._graded.brief(document, mine, model)
        if self._origin == "human" or any(brief.part == REFERENCE for brief in known):
            return []
        key = (document.doc_id, "", KIND, ANY_AXIS, REFERENCE)
        if not document.source.strip():
            return [Brief(*key, {}, "unscored", "empty source")]
        slots = {"source": document.source, "context": document.context}
        prompt = self._pack.render("roles.reference", slots, **self._words)
        (reply,) = await model.write([prompt], self._how)
        return [text_brief(key, reply)]

    def text(self, document: Document, briefs: Sequence[Brief]) -> str | Failed:
        if self._origin == "human":
            written = (text for text in document.references if text.strip())
            return next(written, Failed("no reference to vote against"))
        part = REFERENCE if self._origin == "written" else named(self._level)
        brief = next((brief for brief in briefs if brief.part == part), None)
        return text_of(brief) if brief else Failed("the reference was never written")


def needed(level: float) -> set[float]:
    sources = () if level in (LOWEST, HIGHEST) else neighbours(level)
    return {level}.union(*map(needed, sources))
