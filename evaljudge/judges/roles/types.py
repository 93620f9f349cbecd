"""Which of the roles asked a text names, by type or number.

    types = Types([Role("General Public", …), Role("Critic", …), Role("News Author", …)])
    types.first("The critic and the news authors")    Mention(role=1, start=4, end=10)
    types.whole("news-authors")                       2
    types.numbered(4)                                 None: three were asked

Of two types that fit in one place the longer is meant; as it is, before any in another number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaljudge.judges.roles.lists import Role
from evaljudge.judges.roles.names import NOTHING, in_ascii


@dataclass(frozen=True, slots=True)
class Mention:
    """`role`: its place among those asked; `start`, `end`: where the text names it."""

    role: int
    start: int
    end: int


class Types:
    """Looks in texts that `in_ascii` gave."""

    def __init__(self, roles: Sequence[Role]) -> None:
        self.count = len(roles)
        words = {at: _words(role.type) for at, role in enumerate(roles)}
        order = sorted(words, key=lambda at: -len(roles[at].type))
        exact = [f"(?P<e{at}>{words[at]}){_END}" for at in order]
        other = [f"(?P<o{at}>{_in_any_number(words[at])}){_END}" for at in order]
        any_type = "|".join([*exact, *other]) or NOTHING
        self._pattern = re.compile(rf"(?<!\w)(?:{any_type})", re.IGNORECASE)

    def numbered(self, number: int) -> int | None:
        return number - 1 if 0 < number <= self.count else None

    def whole(self, text: str) -> int | None:
        """The role whose type all of the text is."""
        found = self._pattern.fullmatch(text)
        return _mention(found).role if found else None

    def first(self, text: str) -> Mention | None:
        return next(self.among(text, 0, len(text)), None)

    def among(self, text: str, start: int, end: int) -> Iterator[Mention]:
        """All that are named between `start` and `end`."""
        return map(_mention, self._pattern.finditer(text, start, end))

    def right_at(self, text: str, start: int) -> Mention | None:
        found = self._pattern.match(text, start)
        return _mention(found) if found else None


_END = r"(?!\w|-\w)"
_BETWEEN = r"[\s_/–-]+"


def _words(type_: str) -> str:
    """A pattern of the type's words, without its article."""
    plain = re.sub(r"^(?:a|an|the)\s+(?=\w)", "", in_ascii(type_).strip(), flags=re.IGNORECASE)
    words = [re.escape(word) for word in re.split(_BETWEEN, plain) if word]
    return _BETWEEN.join(re.sub("['’]", "['’]", word) for word in words) or NOTHING


def _in_any_number(words: str) -> str:
    return f"{re.sub('s$', 's?', words)}(?:e?s)?"


def _mention(found: re.Match[str]) -> Mention:
    group = str(found.lastgroup)  # e2 or o2
    return Mention(int(group[1:]), found.start(), found.end())
