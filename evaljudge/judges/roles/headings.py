"""Headings: the lines of a reply at which a role's part begins.

    **Critic**: Summary 1, because …       a line that begins with the role's type
    As a critic, I prefer Summary 1.
    Role 2 prefers Summary 1.              … or with its number
    2. Summary 1, because …                an item of a list that has one for every role
    Editor: Summary 1                      someone who was not asked: the part of no role

A role that is named elsewhere in a line is mentioned, no more.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from evaljudge.judges.roles.names import A_NAME, Names
from evaljudge.judges.roles.phrases import LABEL
from evaljudge.judges.roles.types import Types


@dataclass(frozen=True, slots=True)
class Head:
    """`role`: None if it was not asked; `body`: where the part goes on after its heading."""

    role: int | None
    start: int
    body: int


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    start: int

    def head(self, role: int | None, length: int = 0) -> Head:
        return Head(role, self.start, self.start + length)


def headings(text: str, types: Types, names: Names, is_cut: bool) -> list[Head]:
    """In the order of the text."""
    lines = _lines(text)
    named = {at: head for at, line in enumerate(lines) if (head := _named(line, types, names))}
    numbered = {at: head for at, line in enumerate(lines) if (head := _numbered(line, types))}
    own = numbered | named
    counted = _counted(_items(lines), own, types, is_cut)
    heads = own | _strangers(lines, named, names) | counted
    return [heads[at] for at in sorted(heads)]


def first_heading(text: str, types: Types, names: Names) -> Head | None:
    """That of the first line, if a role's type begins it."""
    return _named(_lines(text)[0], types, names)


def _lines(text: str) -> list[_Line]:
    found, start = [], 0
    for line in text.split("\n"):
        found.append(_Line(line, start))
        start += len(line) + 1
    return found


# a role's type at the beginning

WHO = r"(?:role|judger?|reader|voter|persona|user|type|name)"
LEAD = re.compile(
    r"[^\w\n]*+(?:\d{1,3}\b[^\w\n]++)?"  # **2.
    rf"(?:{WHO}\b[^\w\n]*+(?:\d{{1,3}}\b[^\w\n]*+)?"  # Role 2 –
    r"(?:(?:type|name)\b[^\w\n]*+)?)?"  # Type:
    r"(?:(?:votes?|choice|opinion|preference)\s+(?:of|by|from)\s+)?"  # vote of
    r"(?:i\b[^\w\n]++)?"  # I,
    r"(?:(?:for|as|from|to|in|(?:speaking|acting)\s+as|according\s+to)\s+)?"  # speaking as
    r"(?:the\s+(?:perspective|viewpoint|point\s+of\s+view|view|eyes|standpoint)\s+of\s+)?"
    r"(?:(?:a|an|the)\s+)?[^\w\n]*",  # the "
    re.IGNORECASE,
)
"""What may stand before the type: from the point of view of …"""
_SUFFIX = re.compile(r"[ \t]+(?:user|reader|role|judge|perspective|view)s?\b", re.IGNORECASE)
"""Critic [reader]: …"""
_TITLED = re.compile(r"[ \t]+(?!(?:User|Reader|Role|Judge|Perspective|View)s?\b)[A-Z]\w")
_JOINED = re.compile(r"\s+(?:and|or|of)\b|\s*&", re.IGNORECASE)


def _named(line: _Line, types: Types, names: Names) -> Head | None:
    who = types.first(line.text)
    if not who or not LEAD.fullmatch(line.text, 0, who.start):
        return None
    rest = line.text[who.end :]
    if _names_more(rest, types) or _has_longer_title(rest, names):
        return None
    suffix = _SUFFIX.match(rest)
    return line.head(who.role, who.end + (suffix.end() if suffix else 0))


def _names_more(rest: str, types: Types) -> bool:
    """`Critic and …`, `Critic of …`, `Critic, News Author`: not this role alone."""
    listed = re.match(r"\s*[,/]\s*", rest)
    return bool(_JOINED.match(rest) or (listed and types.right_at(rest, listed.end())))


def _has_longer_title(rest: str, names: Names) -> bool:
    """`Critic Association`; but `Critic Summary 1` goes on with a choice."""
    return bool(_TITLED.match(rest)) and not re.match(rf"\s*{A_NAME}", names.marked(rest))


# a number at the beginning

_NUMBERED = re.compile(
    r"[^\w\n]*+(?:\d{1,3}[.)]\s*+)?(?:role|judger?|reader|voter|persona|user)"
    r"\s*+[#(\[]?\s*+(?P<n>\d{1,3})\b[)\]]?",
    re.IGNORECASE,
)
"""Role 2, **Judge (2)**, 2. Reader #2"""
_ITEM = re.compile(r"[ \t]*(?:[*_#>|-]+[ \t]*)?\(?(?P<n>\d{1,3})(?:[.):]|[ \t]*\|)(?!\d)")
"""2., (2), **2:, | 2 |"""


def _numbered(line: _Line, types: Types) -> Head | None:
    found = _NUMBERED.match(line.text)
    return line.head(types.numbered(int(found["n"])), found.end()) if found else None


@dataclass(frozen=True, slots=True)
class _Item:
    """A line that begins with a number; `at`: which line."""

    at: int
    number: int
    indent: int
    head: Head


def _items(lines: Iterable[_Line]) -> list[_Item]:
    return [
        _Item(at, int(found["n"]), _indent(line.text), line.head(None, found.end()))
        for at, line in enumerate(lines)
        if (found := _ITEM.match(line.text))
    ]


def _indent(line: str) -> int:
    wide = line.expandtabs()
    return len(wide) - len(wide.lstrip())


def _counted(
    items: Sequence[_Item], heads: Mapping[int, Head], types: Types, is_cut: bool
) -> dict[int, Head]:
    """Items of the list in which the roles stand, by their numbers alone."""
    if not heads:
        return _whole_list(items, types, is_cut)
    if heads.keys() <= {item.at for item in items}:
        return _rest_of_list(items, heads, types)
    return {}


def _whole_list(items: Sequence[_Item], types: Types, is_cut: bool) -> dict[int, Head]:
    """1., 2., … of as many as there are roles; of a reply that was cut, the first of them."""
    least = min((item.indent for item in items), default=0)
    outer = [item for item in items if item.indent == least]
    is_whole = len(outer) <= types.count if is_cut else len(outer) == types.count
    if not is_whole or [item.number for item in outer] != list(range(1, len(outer) + 1)):
        return {}
    return {item.at: replace(item.head, role=item.number - 1) for item in outer}


def _rest_of_list(
    items: Sequence[_Item], heads: Mapping[int, Head], types: Types
) -> dict[int, Head]:
    """The items without a heading are of no role, unless those with one are in the roles' order."""
    own = [item for item in items if item.at in heads]
    rest = [item for item in items if item.at not in heads]
    in_order = all(heads[item.at].role == item.number - 1 for item in own)
    free = set(range(types.count)) - {head.role for head in heads.values()} if in_order else set()
    indents = {item.indent for item in own}
    return {
        item.at: replace(item.head, role=item.number - 1 if item.number - 1 in free else None)
        for item in rest
        if item.indent in indents
    }


# someone who was not asked

_VOTING = re.compile(rf"[^\w\n]*+(?:\d+\W++)?(?P<who>\w[^\n:|–—]{{0,59}})[:|–—]\W*+{A_NAME}")
"""Editor: Summary 1"""
_FIELD = re.compile(
    rf"{LABEL}|{A_NAME}|\b(?:reason|explanation|why|because|rationale|justification|analysis"
    r"|comments?|overall|choose|chose|prefer|select|favou?r)"
)
"""What is said before a colon and is nobody: `Choice: Summary 1`."""


def _strangers(lines: Sequence[_Line], named: Collection[int], names: Names) -> dict[int, Head]:
    """Lines in which someone votes as those do whose type begins a line."""
    voting = {
        at: found
        for at, line in enumerate(lines)
        if (found := _VOTING.match(names.marked(line.text)))
    }
    if voting.keys().isdisjoint(named):
        return {}
    return {
        at: lines[at].head(None)
        for at, found in voting.items()
        if at not in named and not _FIELD.search(found["who"])
    }
