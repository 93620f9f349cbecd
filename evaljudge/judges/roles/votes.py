"""One reply in which every role votes for one of two texts, in a form that the engine keeps.

    General Public: Summary 2 — It is easy to read.           1, e^-.3 = .74
    Critic: Summary 1 — The sentences are short.              0, e^-.2 = .82

The form is a line for each role, in the order in which they were asked. Where a reply was cut at
its token limit, the roles of the missing lines have no vote. The engine's mask changes the
probabilities of what is written, so the tokens are weighed afterwards without it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from evaljudge.judges.roles.equations import confidence
from evaljudge.judges.roles.readers import Role
from evaljudge.judges.shared.asking import one_line, quoted
from evaljudge.model.asks import Failed, Sample, Token

CUT = Failed("the reply was cut at its token limit before this role had voted")
MISSING = Failed("no vote of this role in the reply")


@dataclass(frozen=True, slots=True)
class WrittenVote:
    """`choice`: the first or the second text; `span`: the place of choice and reason in the reply,
    from the space after the role's colon to the end of its line."""

    choice: Literal[0, 1]
    reason: str
    span: tuple[int, int]

    def confidence(self, tokens: Sequence[Token]) -> float:
        """By the tokens that begin in the choice or its reason. The form dictates the role's
        name, so its tokens do not count."""
        start, end = self.span
        return confidence([token for token in tokens if start <= token.start < end])


@dataclass(frozen=True, slots=True)
class VoteForm:
    """The form of a reply of these roles; `names`: what the two texts are called."""

    roles: Sequence[Role]
    names: tuple[str, str]

    @property
    def regex(self) -> str:
        """Reasons have no bound but the reply's: see `Writing`."""
        return r"\n".join(map(self._line, self.roles))

    @property
    def example(self) -> str:
        reason = "It tells these readers {mark} most of what they want to know, in plain words."
        return "\n".join(f"{role.type}: {self.names[1]} — {reason}" for role in self.roles)

    def read(self, reply: Sample) -> list[WrittenVote | Failed]:
        """In the order of `roles`. The last line of a cut reply may be incomplete: it is left."""
        ends = [at for at, letter in enumerate(reply.text) if letter == "\n"]
        lines = [(start + 1, end) for start, end in pairwise([-1, *ends, len(reply.text)])]
        is_cut = reply.finish == "length"
        whole = lines[:-1] if is_cut else lines
        pairs = zip(self.roles, whole, strict=False)
        found = [self._vote(reply.text, role, line) for role, line in pairs]
        return found + [CUT if is_cut else MISSING] * (len(self.roles) - len(found))

    def _vote(self, text: str, role: Role, line: tuple[int, int]) -> WrittenVote | Failed:
        found = re.compile(self._line(role)).fullmatch(text, *line)
        if not found:
            return Failed(f"not a vote of this role: {quoted(text[slice(*line)])}")
        choice: Literal[0, 1] = 0 if found[1] == self.names[0] else 1
        return WrittenVote(choice, one_line(found[2]), (found.start(1) - 1, found.end()))

    def _line(self, role: Role) -> str:
        first, second = map(_escaped, self.names)
        return rf"{_escaped(role.type)}: ({first}|{second}) — ([^\n]+)"


def _escaped(text: str) -> str:
    """Only what regexes of every engine must escape: `re.escape` does so to spaces too."""
    return re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", text)
