"""Parts of a reply: where what each role says begins and ends.

    Here are the votes.                               of nobody
    **General Public**: Summary 2. It is clear.       part of role 0
    **Critic**: Summary 1, because …                  part of role 1
    The sentences are short.                          … which goes to the next heading
    **Editor**: Summary 2                             of nobody: no editor was asked
    **News Author**: Summary 1                        part of role 2

    Overall, Summary 1 is better.                     of nobody, as it follows the last vote

`{"role": "Critic", …}` and `{"Critic": …}` are read before lines are.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from evaljudge.judges.roles.headings import LEAD, WHO, Head, first_heading, headings
from evaljudge.judges.roles.names import Names, in_ascii
from evaljudge.judges.roles.types import Types
from evaljudge.model.asks import Sample


@dataclass(frozen=True, slots=True)
class Part:
    """What stands between two headings; `body`: after its own. `role` is None if not asked."""

    role: int | None
    start: int
    body: int
    end: int


def parts_of(reply: Sample, types: Types, names: Names) -> list[Part]:
    """Of one role that was asked alone, the whole reply is its part."""
    text = in_ascii(reply.text)
    if types.count == 1:
        head = first_heading(text, types, names)
        return [Part(0, 0, head.body if head else 0, len(text))]
    heads = (
        _objects(text, types)
        or _keys(text, types)
        or headings(text, types, names, is_cut=reply.finish == "length")
    )
    bounds = [*(head.start for head in heads), len(text)]
    parts = [
        Part(head.role, head.start, head.body, end)
        for head, end in zip(heads, bounds[1:], strict=True)
    ]
    return _without_closing(parts, text)


# closing words

_CLOSING = re.compile(
    r"\n[ \t]*\n[^\w\n]*(?:votes[*_ \t]*:|(?:overall|in (?:conclusion|summary|short|total)"
    r"|conclusion|therefore|thus|to (?:conclude|sum up|summari[sz]e)"
    r"|final (?:verdict|votes?|results?|tally|decision|score)"
    r"|(?:vote )?(?:tally|totals?)|results?|i hope|let me know|note)\b)"
    r"|\n[ \t]*(?:-{3,}|\*{3,}|_{3,}|={3,})[ \t]*\n(?=.*\w)",
    re.IGNORECASE | re.DOTALL,
)
"""A new paragraph `Overall, …` or `Votes: …` (`Vote: …` would be the last role's own), or a rule
with text below it."""


def _without_closing(parts: list[Part], text: str) -> list[Part]:
    """What follows the last vote and sums up is of no role, unless every role sums up."""
    if len(parts) < 2:
        return parts
    *others, last = parts
    closing = _closing(last, text)
    if not closing or any(_closing(part, text) for part in others):
        return parts
    return [*others, replace(last, end=closing.start())]


def _closing(part: Part, text: str) -> re.Match[str] | None:
    return _CLOSING.search(text, part.body, part.end)


# JSON

_OBJECT = re.compile(r"\{[^{}]*(?:\}|\Z)")
_ROLE = re.compile(
    rf"\"(?:{WHO}|\w+[ _](?:type|name))\"\s*:\s*(?:\"(?P<type>[^\"\n]*)\"|(?P<n>\d+))",
    re.IGNORECASE,
)
_KEY = re.compile(r"(?<!\\)\"(?P<type>[^\"\n]{1,120})\"\s*:")


def _objects(text: str, types: Types) -> list[Head]:
    """`{"role": "Critic", "choice": …}`; the last may lack its end."""
    return [
        Head(_whose(who, types), item.start(), item.start())
        for item in _OBJECT.finditer(text)
        if (who := _ROLE.search(item[0]))
    ]


def _whose(who: re.Match[str], types: Types) -> int | None:
    """`Critic`, `the critic`, `Role 2`, `2`."""
    said = (who["type"] or "").strip()
    numbered = re.fullmatch(r"(?:\w+ )?(\d{1,3})", who["n"] or said)
    if numbered:
        return types.numbered(int(numbered[1]))
    lead, named = LEAD.match(said), types.first(said)
    if not lead or not named or named.start > lead.end() or named.end < len(said):
        return None
    return named.role


def _keys(text: str, types: Types) -> list[Head]:
    """`{"Critic": "Summary 1", …}` or `{"Critic": {"choice": …}, …}`."""
    if "{" not in text:
        return []
    found = []
    for key in _KEY.finditer(text):
        said = key["type"].strip()
        role, numbered = types.whole(said), re.fullmatch(r"(?i:role )?(\d{1,3})", said)
        if role is not None:
            found.append(Head(role, key.start(), key.end()))
        elif numbered:
            found.append(Head(types.numbered(int(numbered[1])), key.start(), key.end()))
    return found
