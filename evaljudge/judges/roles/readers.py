"""Who would read this: two lists that the model writes of a document, in one brief.

    coarse   by what people do in life        1. Politicians: the law behind the case
    fine     by how much they know of it      1. Residents of Nevada: details they have not heard

The engine keeps the lists' form, and the brief keeps the lists. Which of the readers vote is
decided when a candidate is judged (clusters.py): another number of roles needs no new brief.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any

from evaljudge.judges.shared.asking import fold, one_line, quoted
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Sample, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import ANY_AXIS, Brief, Document

PART = "readers"
TEMPLATES = ("roles.coarse", "roles.fine")
LISTS = len(TEMPLATES)
LINE = r"[0-9]{1,2}\. ([^:\n]+): ([^\n]+)"
LONGEST_TYPE, LONGEST_DESCRIPTION = 80, 300


@dataclass(frozen=True, slots=True)
class Role:
    """`type`: who it is, in a few words; `description`: what it looks for. Each is one line."""

    type: str
    description: str


@dataclass(frozen=True, slots=True)
class RoleList:
    """`note` says if some are left out."""

    roles: tuple[Role, ...]
    note: str = ""


def list_form(most: int) -> str:
    """The regex of a list of at most so many readers."""
    return rf"{LINE}(\n{LINE}){{0,{most - 1}}}"


def roles_in(reply: Sample) -> RoleList | Failed:
    """The last line of a reply that was cut at its limit may be incomplete, and is left out."""
    is_cut = reply.finish == "length"
    lines = reply.text.split("\n")[: -1 if is_cut else None]
    kept = (line.groups() for line in map(re.compile(LINE).fullmatch, lines) if line)
    found = (
        Role(_within(who, LONGEST_TYPE), _within(what, LONGEST_DESCRIPTION)) for who, what in kept
    )
    roles = tuple(role for role in found if fold(role.type) and fold(role.description))
    if roles:
        return RoleList(roles, "the list was cut at the token limit" if is_cut else "")
    if is_cut:
        return Failed(f"cut at the token limit before a reader was whole: {quoted(reply.text)}")
    return Failed(f"no readers in the reply: {quoted(reply.text)}")


def _within(text: str, most: int) -> str:
    line = one_line(text)
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"


class Readers:
    def __init__(self, judge: str, task: Task, how: Writing, most: int) -> None:
        self._judge, self._pack = judge, task.pack
        interest = "Readers of this kind look for what matters to them in what happened."
        example = "\n".join(f"{n}. Reader {{mark}} {n}: {interest}" for n in range(1, most + 1))
        self._how = Writing(how.max_tokens, regex=list_form(most), example=example)
        self._words = {"source_noun": task.nouns["source"], "most": str(most)}
        for template in TEMPLATES:
            self._pack.check(template, ["source"], **self._words)
        self.prompts = task.pack.hash(TEMPLATES)

    async def brief(self, document: Document, model: Model) -> Brief:
        known = (document.doc_id, "", self._judge, ANY_AXIS, PART)
        if not document.source.strip():
            return Brief(*known, {}, "unscored", "empty source")
        given = {"source": document.source}
        prompts = [self._pack.render(name, given, **self._words) for name in TEMPLATES]
        replies = await model.write(prompts, self._how)
        tokens = cost(replies)
        names = [name.partition(".")[2] for name in TEMPLATES]
        content = {name: _listed(reply) for name, reply in zip(names, replies, strict=True)}
        failed = [one["failed"] for one in content.values() if "failed" in one]
        if len(failed) == len(content):
            return Brief(*known, {}, "unscored", failed[0], tokens=tokens)
        return Brief(*known, content, tokens=tokens)


def _listed(reply: Written | Failed) -> dict[str, Any]:
    found = reply if isinstance(reply, Failed) else roles_in(reply.samples[0])
    if isinstance(found, Failed):
        return {"failed": found.reason}
    return {"roles": [[role.type, role.description] for role in found.roles], "note": found.note}


def readers_in(content: Mapping[str, Any]) -> list[Role]:
    """The readers of both lists in turn."""
    lists = [[Role(*role) for role in one.get("roles", ())] for one in content.values()]
    return [role for role in chain.from_iterable(zip_longest(*lists)) if role is not None]


def notes_in(content: Mapping[str, Any]) -> list[str]:
    """Why a list is missing, or what it lacks."""
    said = {name: one.get("failed") or one["note"] for name, one in content.items()}
    return [f"{name} readers: {note}" for name, note in said.items() if note]


def of_other_names(
    found: Sequence[Role], static: Sequence[Role]
) -> tuple[list[Role], list[tuple[Role, str]]]:
    """The readers whose type differs from all before, and the others with the reason: two of one
    name could not be told apart in one reply."""
    known = {fold(role.type): f"the static role “{role.type}”" for role in static}
    distinct: list[Role] = []
    namesakes: list[tuple[Role, str]] = []
    for role in found:
        if other := known.get(fold(role.type)):
            namesakes.append((role, f"of the same name as {other}"))
        else:
            distinct.append(role)
            known[fold(role.type)] = "a reader before"
    return distinct, namesakes
