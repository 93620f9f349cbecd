"""A list of roles as a model writes it: who would read this text, and what each wants of it.

    <Politicians, They follow the law behind the case.>
    1. **Politicians** – They follow the law behind the case.
    - Politicians: They follow the law behind the case.
    Role: Politicians / Description: They follow the law behind the case.
    | Politicians | They follow the law behind the case. |
    [{"type": "Politicians", "description": "They follow the law behind the case."}]
    ->  Role("Politicians", "They follow the law behind the case.")

    "I cannot say who reads this."      unscored: no roles in the reply: “I cannot say …”

The first of these shapes that the reply has is read, and what stands around the list is passed
over. A role needs both a type and a description. A type that comes again counts once. Of a reply
cut by its limit the item that the cut may have shortened is left out, and `note` says so.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from evaljudge.judges.roles.shapes import Item, readings
from evaljudge.judges.shared.wording import fold, one_line, quoted
from evaljudge.model.asks import Failed, Sample

MOST_ROLES = 20
LONGEST_TYPE, LONGEST_DESCRIPTION = 80, 300


@dataclass(frozen=True, slots=True)
class Role:
    """`type` is who it is, in a few words; `description`, what it looks for. Each is one line."""

    type: str
    description: str


@dataclass(frozen=True, slots=True)
class RoleList:
    """Roles whose types differ by more than case and punctuation; `note`: what was left out."""

    roles: tuple[Role, ...]
    note: str = ""


def roles_in(reply: Sample, most: int = MOST_ROLES) -> RoleList | Failed:
    """The roles that the reply lists, in its order."""
    items = next((found for found in readings(reply.text) if any(map(_role, found))), [])
    cut = reply.finish == "length"
    whole = [item for item in items if not (cut and item.open)]
    distinct: dict[str, Role] = {}
    for item in whole:
        if role := _role(item):
            distinct.setdefault(fold(role.type), role)
    if not distinct:
        return Failed(_why_none(reply))
    roles = list(distinct.values())
    notes = ["the list was cut at the token limit"] if cut else []
    notes += [f"{len(roles) - most} more were listed"] if len(roles) > most else []
    return RoleList(tuple(roles[:most]), "; ".join(notes))


def _why_none(reply: Sample) -> str:
    if reply.finish == "length":
        return f"cut at the token limit before a role was whole: {quoted(reply.text)}"
    if not reply.text.strip():
        return "the reply was empty"
    return f"no roles in the reply: {quoted(reply.text)}"


_ENDS = " \t:;,.–—-="
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"))
_SCHEMA = re.compile(r"(?:(?:user|judger?|reader|role|a|the) )*(?:type|role|name|description)s?")


def _role(item: Item) -> Role | None:
    """None where it has no type or no description, or repeats the schema that it was asked for."""
    who = re.sub(r"^\(?\d{1,3}[.)]\s+", "", _bare(item.type))
    what = one_line(item.description).strip(' \t:,–—-="“”')
    if not fold(who) or not fold(what) or _SCHEMA.fullmatch(fold(who)):
        return None
    return Role(_within(who, LONGEST_TYPE), _within(what, LONGEST_DESCRIPTION))


def _bare(type_: str) -> str:
    """Without what ends it, and brackets or quotation marks that enclose it or lack their like."""
    plain = one_line(type_).strip(_ENDS)
    while shorter := _unenclosed(plain).strip(_ENDS):
        if shorter == plain:
            return plain
        plain = shorter
    return ""


def _unenclosed(plain: str) -> str:
    for opens, closes in _PAIRS:
        inner = plain[1:-1]
        begins, ends = plain[:1] == opens, plain[-1:] == closes
        more = plain.count(opens) - plain.count(closes)
        is_odd = opens == closes and plain.count(opens) % 2 == 1
        if begins and ends and len(plain) > 1 and _is_whole(inner, opens, closes):
            return inner
        if begins and (more > 0 or is_odd):
            return plain[1:]
        if ends and (more < 0 or is_odd):
            return plain[:-1]
    return plain


def _is_whole(inner: str, opens: str, closes: str) -> bool:
    """`(a) or (b)` is no pair of brackets around `a) or (b`."""
    return closes not in inner or -1 < inner.find(opens) < inner.find(closes)


def _within(line: str, most: int) -> str:
    return line if len(line) <= most else f"{line[: most - 1].rstrip()}…"
