"""One reply in which every role says which of two texts is better: a vote of each, or why none.

    1. General Public: Summary 2, because it is easy to read.      1, e^-.3 = .74
    2. **Critic** – The critic would prefer Summary 1 over         0, e^-.2 = .82
       Summary 2; critics like short sentences.
    3. News Author: Both are equally good.                         undecided: “Both are …”
    (nothing of the fourth role)                                   no vote of this role in the reply

The confidence is exp of the mean log-probability of the role's own part (equations 2 to 4 of the
paper: r is per role), which goes from its heading to the next: a token is of the part in which its
middle lies. A part begins where a line or an item does with a role's type (the longest that fits)
or number; a role that is named elsewhere is mentioned, no more.

A choice is said by a name right after the heading (`Critic: Summary 1, because …`), after a word
such as `choice` or `vote`, as what is preferred or chosen, or by a plain `is better`. `Better
written`, `is clearer and more complete` and the like praise one side of a text and choose none: on
purpose, as a vote that is missed does less harm than one that nobody cast. What is denied, asked,
conditional or said of another role is no choice, and all that are said must agree; but the reason
of a choice that opens the part (`Summary 1, because experts prefer Summary 2`) says none. In a
reply cut by its limit, a choice at the very end may lack its rest (`Summary 1 … is too long`): it
is none.

`role_names` finds the two texts' names and `role_types` the roles'; `role_parts`, with the lines in
`role_headings`, where each part stands; `role_choices`, with its `role_phrases`, what it says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, fsum, isfinite
from sys import float_info

from evaljudge.judges.roles.choices import NO_CHOICE, Choices, reason_in
from evaljudge.judges.roles.lists import Role
from evaljudge.judges.roles.names import Choice, Names
from evaljudge.judges.roles.parts import Part, parts_of
from evaljudge.judges.roles.types import Types
from evaljudge.judges.shared.wording import quoted
from evaljudge.model.asks import Failed, Sample, Token

NO_VOTE = Failed("no vote of this role in the reply")
"""Where others have parts; where none has, the reason quotes the reply."""


@dataclass(frozen=True, slots=True)
class Vote:
    """`choice`: which of the two names; `span`: where the role's own part stands in the reply."""

    choice: Choice
    reason: str
    confidence: float | None
    span: tuple[int, int]


def votes_in(reply: Sample, roles: Sequence[Role], names: tuple[str, str]) -> list[Vote | Failed]:
    """In the order of `roles`. Of one role that was asked alone, the whole reply is its part."""
    texts, types = Names(names), Types(roles)
    parts, choices = parts_of(reply, types, texts), Choices(texts, types)
    if all(part.role is None for part in parts):
        return [Failed(f"no vote of any role in the reply: {quoted(reply.text)}")] * len(roles)
    return [
        _agreed([_vote(reply, part, role, choices) for part in parts if part.role == role])
        for role in range(len(roles))
    ]


def _vote(reply: Sample, part: Part, role: int, choices: Choices) -> Vote | Failed:
    body = reply.text[part.body : part.end]
    is_cut = reply.finish == "length" and part.end == len(reply.text)
    choice = choices.choice_in(body, role, is_cut)
    if isinstance(choice, Failed):
        return choice
    reason = reason_in(reply.text[part.start : part.end], body)
    sure = confidence(reply.tokens, part.start, part.end)
    return Vote(choice, reason, sure, (part.start, part.end))


def _agreed(votes: Sequence[Vote | Failed]) -> Vote | Failed:
    """A role that comes twice must not contradict itself; where it says nothing is passed over."""
    cast = [vote for vote in votes if isinstance(vote, Vote)]
    failed = [vote for vote in votes if isinstance(vote, Failed)]
    unclear = [vote for vote in failed if not vote.reason.startswith(NO_CHOICE)]
    if not cast:
        return next(iter(unclear or failed), NO_VOTE)
    if len({vote.choice for vote in cast}) > 1 or unclear:
        return Failed("two votes of this role that disagree in the reply")
    return cast[0]


def confidence(tokens: Sequence[Token] | None, start: int, end: int) -> float | None:
    """None without log-probabilities, or where one of them is no number."""
    own = [t.logprob for t in tokens or () if start <= (t.start + t.end) / 2 < end]
    if not own or not all(map(isfinite, own)):
        return None
    return max(exp(min(fsum(own) / len(own), 0.0)), float_info.min)
