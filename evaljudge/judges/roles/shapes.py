"""The shapes in which a model may list roles: what each takes for a type and its description.

The most explicit comes first; what stands around the list is passed over. lists.py settles
which of the items are roles.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evaljudge.judges.shared.wording import fold


@dataclass(frozen=True, slots=True)
class Item:
    """As it stands in the reply; `open`: nothing shows that it had ended where the reply does."""

    type: str
    description: str
    open: bool = False


_LABEL = re.compile(
    r"^\W*(?:(?:user|reader|judge|judger|role|audience|persona)\W*\d+\s*[:.)–—-]"
    r"|(?:(?:user|reader|judge|judger|role)\s+)?(?:type|role|name|persona)\s*+(?:\d+\s*)?[:–—=-])",
    re.IGNORECASE,
)
"""`User type: `, `Role 2 - `: what is said of a type, but is none of it."""


def readings(text: str) -> Iterator[list[Item]]:
    yield from (_json(text), _angles(text), _table(text), _fields(text))
    yield from _marked(text)
    yield _unmarked(text)


_TYPES = ("type", "role", "name", "title", "persona", "user", "reader", "judge", "judger")
_DESCRIPTIONS = ("description", "desc", "profile", "details", "focus", "interests", "interest")


def _json(text: str) -> list[Item]:
    """Every object on its own, so that a list that was cut still has its first ones."""
    found: list[Item] = []
    for match in re.finditer(r"(?:\"(?P<key>[^\"\n]+)\"\s*:\s*)?(?P<object>\{[^{}]*\})", text):
        try:
            told = json.loads(match["object"], strict=False)
        except ValueError:
            continue
        found += _told({"type": match["key"], **told})
    return found


def _told(told: dict[str, Any]) -> list[Item]:
    """`{"type": …, "description": …}`, or `{TYPE: DESCRIPTION, …}`."""
    texts = {key: value for key, value in told.items() if isinstance(value, str)}
    named = {fold(key).split()[-1] if fold(key) else "": value for key, value in texts.items()}
    who = next((named[key] for key in _TYPES if key in named), None)
    what = next((named[key] for key in _DESCRIPTIONS if key in named), None)
    if who is not None and what is not None:
        return [Item(who, what)]
    if who is not None or what is not None:  # the other is missing
        return []
    return [Item(key, value) for key, value in texts.items()]


def _angles(text: str) -> list[Item]:
    """`<TYPE, DESCRIPTION>`; the last may lack its end."""
    found = re.finditer(r"<([^<>,:\n]+)[,:]([^<>]+)(>|\Z)", text)
    return [Item(m[1], m[2], open=not m[3]) for m in found]


def _table(text: str) -> list[Item]:
    rows = [line.strip() for line in text.splitlines() if re.match(r"\s*\|.*\|", line)]
    if len(rows) < 2:
        return []
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    told = [row for row in cells if any(re.search(r"\w", cell) for cell in row)]
    pairs = [[c for c in row if not re.fullmatch(r"\W*\d*\W*", c)] for row in told]
    last = text.rstrip(" ").splitlines()[-1].strip()
    return [
        Item(pair[0], pair[1], open=at == len(pairs) - 1 and rows[-1] == last)
        for at, pair in enumerate(pairs)
        if len(pair) > 1
    ]


_KIND = r"(?:(?:user|reader|judger?|role|audience)\s+)?"
_FIELDS = re.compile(
    rf"(?<!\w){_KIND}(?:type|role|name|user|persona|reader|judger?)\s?\d*[*_`\s]{{0,8}}[:=>]"
    rf"(?P<type>[^\n]{{1,200}}?)(?:\n|[,;/|<])\W*{_KIND}(?:{'|'.join(_DESCRIPTIONS)})[*_`\s]*[:=>]"
    rf"(?P<what>.*?)(?=\n\s*\n|</|\n[^\w\n]*(?:\d+\W+)?{_KIND}"
    r"(?:type|role|name|user|persona|reader|judger?)\s?\d*[*_`\s]{0,8}[:=>]|(?P<end>\Z))",
    re.IGNORECASE | re.DOTALL | re.MULTILINE,
)


def _fields(text: str) -> list[Item]:
    """`Type: X` and `Description: Y`, on one line or two, or as tags."""
    plain = re.sub(r"</(?:type|role|name)>|<\w+>(?=\s*<)", "", text)
    return [Item(m["type"], m["what"], m["end"] is not None) for m in _FIELDS.finditer(plain)]


_MARK = re.compile(
    r"^(?P<indent>[ \t]*)(?:(?P<mark>\(?\d{1,3}[.):][*_ \t]*|[-*•+‣–][ \t]+"
    r"|\#+[ \t]*(?:\d{1,3}[.):][ \t]*)?)|(?=\*\*|__))"
)
_OPENS = "*_`\"“'([ "
_SPLIT = re.compile(
    r":[*_`]*(?:\s|\Z)|(?<!\s)\s+[-–—=]+>?\s|(?:(?<!\d)[–—]|[–—](?!\d))|\*\*|__\s|\n"
)
"""What stands between a type and its description: `: `, ` - `, ` => `, `–`, `** `, a new line."""
_LONGEST_HEAD = 120


def _marked(text: str) -> Iterator[list[Item]]:
    """`1. Type: description`, `- **Type** – description`, `### Type` above its description.

    The items are those of the least indentation, and of a kind of mark that is there twice.
    """
    lines = text.split("\n")
    marks = [(at, mark) for at, line in enumerate(lines) if (mark := _MARK.match(line))]
    least = min((_indent(mark) for _, mark in marks), default=0)
    outer = [(at, _kind(mark)) for at, mark in marks if _indent(mark) == least]
    places = {kind: [at for at, one in outer if one == kind] for kind in _KINDS}
    for kind in sorted(_KINDS, key=lambda kind: len(places[kind]) < 2):
        ends = [*places[kind][1:], len(lines)]
        split = [
            _split(lines[at:end], last=end == len(lines))
            for at, end in zip(places[kind], ends, strict=False)
        ]
        yield [item for item in split if item]


_KINDS = ("number", "heading", "bullet", "bold")


def _indent(mark: re.Match[str]) -> int:
    return len(mark["indent"].expandtabs())


def _kind(mark: re.Match[str]) -> str:
    sign = (mark["mark"] or "**").strip(" \t(*_")[:1]
    if not mark["mark"]:
        return "bold"
    return "number" if sign.isdigit() else "heading" if sign == "#" else "bullet"


def _split(lines: list[str], last: bool) -> Item | None:
    """The item that begins in the first line; what follows a blank line is no more of it."""
    mark = _MARK.match(lines[0])
    body = [_LABEL.sub("", lines[0][mark.end() :] if mark else lines[0]), *lines[1:]]
    alone = len(body) > 1 and not body[1].strip() and not _has_description(body[0])
    start = 2 if alone else 1
    blank = next((at for at in range(start, len(body)) if not body[at].strip()), len(body))
    own = body[:1] + body[start:blank]
    who, what = _halves("\n".join(own))
    if not who:
        return None
    what = re.sub(r"\n\s*(?:[-*•+]\s+)?", " ", f"\n{what}")
    return Item(who, what, open=last and blank == len(body))


def _halves(text: str) -> tuple[str, str]:
    """The type, and all that follows it; empty where no type ends within reach."""
    plain = text.strip().lstrip(_OPENS)
    found = _SPLIT.search(plain, 1)
    if not found or found.start() > _LONGEST_HEAD:
        return "", ""
    return plain[: found.start()], plain[found.end() :]


def _has_description(line: str) -> bool:
    return bool(fold(_halves(line)[1]))


_INTRODUCTION = re.compile(
    r"(?:here|these|this|those|sure|below|the following|following|in (?:summary|conclusion|short)"
    r"|note|certainly|of course|based on|overall|i|we|okay|ok|conclusion)\b"
    r"|(?:users?|roles?|readers?)\W*$",
    re.IGNORECASE,
)
_LINE = re.compile(r"^(?P<type>[^\s:][^:\n]{0,79}?)(?:\s?:\s+|\s[-–—]+\s)(?P<what>\S.*)$")


def _unmarked(text: str) -> list[Item]:
    """`Type: description`, a line each, or the type alone on a line above its description."""
    lines = text.split("\n")
    joined: list[tuple[str, bool]] = []
    for at, line in enumerate(lines):
        above = lines[at - 1].strip() if at else ""
        if above.endswith(":") and _is_type(above[:-1]) and line.strip():
            joined[-1] = (f"{above} {line.strip()}", at == len(lines) - 1)
        else:
            joined.append((_LABEL.sub("", line), at == len(lines) - 1))
    return [
        Item(m["type"], m["what"], is_last)
        for line, is_last in joined
        if (m := _LINE.match(line.strip())) and _is_type(m["type"])
    ]


def _is_type(said: str) -> bool:
    few = len(said.split()) <= 7 and not re.search(r"[.!?]\s", said)
    return few and not _INTRODUCTION.match(said.strip())
