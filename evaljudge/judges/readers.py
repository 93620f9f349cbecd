"""Who would read this: two lists that the model writes of a document, in one brief.

    coarse   by what people do in life      Politicians: the law behind the case | General Public: …
    fine     by how much they know of it    Residents of Nevada: the details they have not heard | …

The lists are kept as they were read; which of them vote is settled when a candidate is judged
(role_clusters.py), so that another number of roles, or none of the static ones, asks for no brief.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import chain, zip_longest
from typing import Any

from evaljudge.asks import Failed, Writing, Written
from evaljudge.judges.role_lists import Role, RoleList, fold, roles_in
from evaljudge.model import Model
from evaljudge.model.counting import cost
from evaljudge.records import ANY_AXIS, Brief, Document
from evaljudge.tasks import Task

PART = "readers"
TEMPLATES = ("roles.coarse", "roles.fine")
Lists = Mapping[str, RoleList | Failed]
"""By their names: `coarse`, `fine`."""


class Readers:
    def __init__(self, judge: str, task: Task, how: Writing, most: int) -> None:
        self._judge, self._pack, self._how, self._most = judge, task.pack, how, most
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


def _content(lists: Lists) -> dict[str, Any]:
    return {
        name: {"failed": one.reason}
        if isinstance(one, Failed)
        else {"roles": [[role.type, role.description] for role in one.roles], "note": one.note}
        for name, one in lists.items()
    }


def readers_in(content: Mapping[str, Any]) -> tuple[list[Role], list[str]]:
    """Both lists in turns, no type twice; and what is to be said of how they came about."""
    lists = [[Role(*told) for told in one.get("roles", ())] for one in content.values()]
    both = (role for role in chain.from_iterable(zip_longest(*lists)) if role is not None)
    distinct: dict[str, Role] = {}
    for role in both:
        distinct.setdefault(fold(role.type), role)
    notes = [
        f"{name} readers: {one.get('failed') or one['note']}"
        for name, one in content.items()
        if one.get("failed") or one.get("note")
    ]
    return list(distinct.values()), notes


def unlike(roles: Sequence[Role], others: Sequence[Role]) -> list[Role]:
    """Those whose type none of the others has."""
    known = {fold(role.type) for role in others}
    return [role for role in roles if fold(role.type) not in known]
