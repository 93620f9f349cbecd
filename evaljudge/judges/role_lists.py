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

import json
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from evaljudge.asks import Failed, Sample

MOST_ROLES = 20
LONGEST_TYPE, LONGEST_DESCRIPTION = 80, 300
MOST_SHOWN = 60
"""Characters of a reply that a reason quotes."""


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
    items = next((found for found in _readings(reply.text) if any(map(_role, found))), [])
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


def fold(text: str) -> str:
    """By which types are the same: without case, punctuation and spacing."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(" " if unicodedata.category(c)[0] in "PZSC" else c for c in plain)
    return " ".join(kept.split())


def one_line(text: str) -> str:
    """Without what does not print, and without marks of emphasis, code, fences and headings."""
    shown = "".join(c if c.isprintable() else " " for c in text)
    return " ".join(
        re.sub(r"[<>|]+", " ", re.sub(r"[*`]+|(?<!\w)[_#]+|_+(?!\w)", "", shown)).split()
    )


def quoted(text: str) -> str:
    """A reply in one line of a reason, shortened."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return f"“{line}”" if len(line) <= MOST_SHOWN else f"“{line[: MOST_SHOWN - 1]}…”"


@dataclass(frozen=True, slots=True)
class _Item:
    """As it stands in the reply; `open`: nothing shows that it had ended where the reply does."""

    type: str
    description: str
    open: bool = False


_ENDS = " \t:;,.–—-="
_PAIRS = (("(", ")"), ("[", "]"), ("{", "}"), ('"', '"'), ("'", "'"), ("“", "”"), ("‘", "’"))
_LABEL = re.compile(
    r"^\W*(?:(?:user|reader|judge|judger|role|audience|persona)\W*\d+\s*[:.)–—-]"
    r"|(?:(?:user|reader|judge|judger|role)\s+)?(?:type|role|name|persona)\s*+(?:\d+\s*)?[:–—=-])",
    re.IGNORECASE,
)
"""`User type: `, `Role 2 - `: what is said of a type, but is none of it."""
_SCHEMA = re.compile(r"(?:(?:user|judger?|reader|role|a|the) )*(?:type|role|name|description)s?")


def _role(item: _Item) -> Role | None:
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


# the shapes, the most explicit first


def _readings(text: str) -> Iterator[list[_Item]]:
    yield from (_json(text), _angles(text), _table(text), _fields(text))
    yield from _marked(text)
    yield _unmarked(text)


_TYPES = ("type", "role", "name", "title", "persona", "user", "reader", "judge", "judger")
_DESCRIPTIONS = ("description", "desc", "profile", "details", "focus", "interests", "interest")


def _json(text: str) -> list[_Item]:
    """Every object on its own, so that a list that was cut still has its first ones."""
    found: list[_Item] = []
    for match in re.finditer(r"(?:\"(?P<key>[^\"\n]+)\"\s*:\s*)?(?P<object>\{[^{}]*\})", text):
        try:
            told = json.loads(match["object"], strict=False)
        except ValueError:
            continue
        found += _told({"type": match["key"], **told})
    return found


def _told(told: dict[str, Any]) -> list[_Item]:
    """`{"type": …, "description": …}`, or `{TYPE: DESCRIPTION, …}`."""
    texts = {key: value for key, value in told.items() if isinstance(value, str)}
    named = {fold(key).split()[-1] if fold(key) else "": value for key, value in texts.items()}
    who = next((named[key] for key in _TYPES if key in named), None)
    what = next((named[key] for key in _DESCRIPTIONS if key in named), None)
    if who is not None and what is not None:
        return [_Item(who, what)]
    if who is not None or what is not None:  # the other is missing
        return []
    return [_Item(key, value) for key, value in texts.items()]


def _angles(text: str) -> list[_Item]:
    """`<TYPE, DESCRIPTION>`; the last may lack its end."""
    found = re.finditer(r"<([^<>,:\n]+)[,:]([^<>]+)(>|\Z)", text)
    return [_Item(m[1], m[2], open=not m[3]) for m in found]


def _table(text: str) -> list[_Item]:
    rows = [line.strip() for line in text.splitlines() if re.match(r"\s*\|.*\|", line)]
    if len(rows) < 2:
        return []
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    told = [row for row in cells if any(re.search(r"\w", cell) for cell in row)]
    pairs = [[c for c in row if not re.fullmatch(r"\W*\d*\W*", c)] for row in told]
    last = text.rstrip(" ").splitlines()[-1].strip()
    return [
        _Item(pair[0], pair[1], open=at == len(pairs) - 1 and rows[-1] == last)
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


def _fields(text: str) -> list[_Item]:
    """`Type: X` and `Description: Y`, on one line or two, or as tags."""
    plain = re.sub(r"</(?:type|role|name)>|<\w+>(?=\s*<)", "", text)
    return [_Item(m["type"], m["what"], m["end"] is not None) for m in _FIELDS.finditer(plain)]


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


def _marked(text: str) -> Iterator[list[_Item]]:
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


def _split(lines: list[str], last: bool) -> _Item | None:
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
    return _Item(who, what, open=last and blank == len(body))


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


def _unmarked(text: str) -> list[_Item]:
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
        _Item(m["type"], m["what"], is_last)
        for line, is_last in joined
        if (m := _LINE.match(line.strip())) and _is_type(m["type"])
    ]


def _is_type(said: str) -> bool:
    few = len(said.split()) <= 7 and not re.search(r"[.!?]\s", said)
    return few and not _INTRODUCTION.match(said.strip())
