"""Who would read this: two lists that the model writes of a document, in one brief.

    coarse   by what people do in life      Politicians: the law behind the case | General Public: …
    fine     by how much they know of it    Residents of Nevada: the details they have not heard | …

The lists are kept as they were read; which of them vote is settled when a candidate is judged
(clusters.py), so that another number of roles, or none of the static ones, asks for no brief.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import chain, zip_longest
from typing import Any

from evaljudge.judges.roles.lists import Role, RoleList, roles_in
from evaljudge.judges.shared.wording import fold
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import ANY_AXIS, Brief, Document

PART = "readers"
TEMPLATES = ("roles.coarse", "roles.fine")
LISTS = len(TEMPLATES)
Lists = Mapping[str, RoleList | Failed]
"""By their names: `coarse`, `fine`."""


class Readers:
    def __init__(self, judge: str, task: Task, how: Writing, most: int) -> None:
        self._judge, self._pack, self._most = judge, task.pack, most
        self._how = replace(how, example=_example(most))
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
        lists = {name: self._read(reply) for name, reply in zip(names, replies, strict=True)}
        failed = {name: one.reason for name, one in lists.items() if isinstance(one, Failed)}
        if len(failed) == len(lists):
            return Brief(*known, {}, "unscored", next(iter(failed.values())), tokens=tokens)
        return Brief(*known, _content(lists), tokens=tokens)

    def _read(self, reply: Written | Failed) -> RoleList | Failed:
        return reply if isinstance(reply, Failed) else roles_in(reply.samples[0], self._most)


def _example(most: int) -> str:
    told = "Readers of this kind look for what matters to them in what happened."
    return "\n".join(f"{n}. Reader {{mark}} {n}: {told}" for n in range(1, most + 1))


def _content(lists: Lists) -> dict[str, Any]:
    return {
        name: {"failed": one.reason}
        if isinstance(one, Failed)
        else {"roles": [[role.type, role.description] for role in one.roles], "note": one.note}
        for name, one in lists.items()
    }


def readers_in(content: Mapping[str, Any]) -> list[Role]:
    """Both lists in turns."""
    lists = [[Role(*told) for told in one.get("roles", ())] for one in content.values()]
    return [role for role in chain.from_iterable(zip_longest(*lists)) if role is not None]


def notes_in(content: Mapping[str, Any]) -> list[str]:
    """What is to be said of how the lists came about."""
    return [
        f"{name} readers: {one.get('failed') or one['note']}"
        for name, one in content.items()
        if one.get("failed") or one.get("note")
    ]


def of_other_names(
    found: Sequence[Role], static: Sequence[Role]
) -> tuple[list[Role], list[tuple[Role, str]]]:
    """The readers whose type nobody before them has, and the others: two of one name would vote
    under it in one reply."""
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
