"""The poll on a candidate: what each role says, all roles in one prompt or each alone.

candidate A, order `fixed`    one reply     General Public: candidate .74 | Critic: reference .60
              `swapped`       one reply     General Public: candidate .71 | Critic: candidate .52
                              … and each written reply is weighed for its confidences
`exact`                       one question for each role and order: p(candidate)
`plain`                       one question for each order, without roles

A reply has a line for each role, in the order in which they were asked; the engine keeps this form:

    General Public: Summary 2 — It is easy to read.           1, e^-.3 = .74
    Critic: Summary 1 — The sentences are short.              0, e^-.2 = .82

Where a reply was cut at its token limit, the roles of the missing lines have no vote.
"""

from __future__ import annotations

import re
from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Any, Literal

from evaljudge.judges.roles.equations import confidence
from evaljudge.judges.roles.evidence import Order
from evaljudge.judges.roles.readers import Role
from evaljudge.judges.shared.asking import one_line, quoted
from evaljudge.model import Model
from evaljudge.model.asks import (
    Chosen,
    Failed,
    Options,
    Prompt,
    Sample,
    Token,
    Weighed,
    Writing,
    Written,
)
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Candidate, Document, Tokens

WHICH = Options(("1", "2"))
TEMPLATES = ("roles.vote", "roles.choose", "roles.plain")
OTHER_LETTERS = "the model's tokens do not spell the reply, so its votes have no confidence"
NOTHING_TO_WEIGH = Failed("no vote in the reply")
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


@dataclass
class Ballots:
    """What was said of one candidate, as evidence: by role and order."""

    votes: dict[tuple[int, Order], dict[str, Any]] = field(default_factory=dict)
    exact: dict[tuple[int, Order], float | dict[str, str]] = field(default_factory=dict)
    plain: dict[Order, float | dict[str, str]] = field(default_factory=dict)
    tokens: Tokens = Tokens()


@dataclass(frozen=True)
class Poll:
    """What one document's poll is about."""

    document: Document
    reference: str
    candidates: Sequence[Candidate]
    roles: Sequence[Role]


class Polling:
    def __init__(
        self,
        task: Task,
        how: Writing,
        orders: Sequence[Order],
        batch: bool,
        exact: bool,
        plain: bool,
    ) -> None:
        self._pack, self._how, self._orders = task.pack, how, orders
        self._batch, self._exact, self._plain = batch, exact, plain
        noun = task.nouns["target"]
        self.names = (f"{noun.capitalize()} 1", f"{noun.capitalize()} 2")
        self._words = {"source_noun": task.nouns["source"], "target_noun": noun,
                       "first_name": self.names[0], "second_name": self.names[1]}  # fmt: skip
        for template in TEMPLATES:
            needed = ["first", "second", *(["roles"] if template != "roles.plain" else [])]
            self._pack.check(template, needed, **self._words)
        self.prompts = task.pack.hash(TEMPLATES)

    async def ask(self, poll: Poll, model: Model) -> list[Ballots]:
        """The ballots of each candidate."""
        ballots = [Ballots() for _ in poll.candidates]
        roles = range(len(poll.roles))
        groups = [tuple(roles)] if self._batch else [(n,) for n in roles]
        if roles:
            await gather(*(self._vote(poll, ballots, group, model) for group in groups))
        asked = list(product(range(len(ballots)), self._orders))
        if self._exact:
            alone = [(c, order, (n,)) for c, order in asked for n in roles]
            chances = await self._choose("roles.choose", poll, ballots, alone, model)
            for (c, order, (n,)), p in zip(alone, chances, strict=True):
                ballots[c].exact[n, order] = p
        if self._plain:
            plain = [(c, order, ()) for c, order in asked]
            chances = await self._choose("roles.plain", poll, ballots, plain, model)
            for (c, order), p in zip(asked, chances, strict=True):
                ballots[c].plain[order] = p
        return ballots

    async def _vote(
        self, poll: Poll, ballots: Sequence[Ballots], group: Sequence[int], model: Model
    ) -> None:
        """Of these roles, in one reply for each candidate and order; each reply is then weighed."""
        form = VoteForm([poll.roles[n] for n in group], self.names)
        how = replace(self._how, regex=form.regex, example=form.example)
        asked = list(product(range(len(ballots)), self._orders))
        prompts = [self._prompt("roles.vote", poll, c, order, group) for c, order in asked]
        replies = await model.write(prompts, how)
        votes = [
            [Failed(reply.reason)] * len(group)
            if isinstance(reply, Failed)
            else form.read(reply.samples[0])
            for reply in replies
        ]
        weighed = await _weigh(prompts, replies, votes, model)
        found = zip(asked, replies, votes, weighed, strict=True)
        for (c, order), reply, own_votes, weights in found:
            ballots[c].tokens += cost([reply, weights])
            for n, vote in zip(group, own_votes, strict=True):
                ballots[c].votes[n, order] = _ballot(vote, weights, order)

    async def _choose(
        self, template: str, poll: Poll, ballots: Sequence[Ballots],
        asked: Sequence[tuple[int, Order, Sequence[int]]], model: Model,
    ) -> list[float | dict[str, str]]:  # fmt: skip
        """p(candidate), of each candidate, order and group of roles that is asked."""
        prompts = [self._prompt(template, poll, *one) for one in asked]
        replies = await model.choose(prompts, WHICH)
        for (c, _, _), reply in zip(asked, replies, strict=True):
            ballots[c].tokens += cost([reply])
        return [_p_candidate(one[1], reply) for one, reply in zip(asked, replies, strict=True)]

    def _prompt(
        self, template: str, poll: Poll, candidate: int, order: Order, group: Sequence[int]
    ) -> Prompt:
        """What all prompts of a document have in common comes first in the templates."""
        texts = [poll.reference, poll.candidates[candidate].text]
        first, second = texts if order == "fixed" else reversed(texts)
        listed = [f"{poll.roles[n].type}: {poll.roles[n].description}" for n in group]
        given = {"source": poll.document.source, "context": poll.document.context}
        given |= {"roles": "\n".join(listed), "first": first, "second": second}
        return self._pack.render(template, given, **self._words)


async def _weigh(
    prompts: Sequence[Prompt], replies: Sequence[Written | Failed],
    votes: Sequence[Sequence[WrittenVote | Failed]], model: Model,
) -> list[Weighed | Failed]:  # fmt: skip
    """The log-probabilities, without the form's mask, of each reply's tokens; Failed where the
    reply has no vote."""
    texts = {
        at: reply.text
        for at, (reply, found) in enumerate(zip(replies, votes, strict=True))
        if isinstance(reply, Written) and any(isinstance(vote, WrittenVote) for vote in found)
    }
    weighed = await model.weigh([prompts[at] for at in texts], list(texts.values()))
    pairs = zip(texts.items(), weighed, strict=True)
    found = {at: _spelling(text, reply) for (at, text), reply in pairs}
    return [found.get(at, NOTHING_TO_WEIGH) for at in range(len(replies))]


def _spelling(text: str, reply: Weighed | Failed) -> Weighed | Failed:
    """Failed where the tokens do not spell the reply, so that their places are of another text."""
    if isinstance(reply, Failed) or reply.tokens[-1].end == len(text):
        return reply
    return Failed(OTHER_LETTERS, reply.spent)


def _ballot(vote: WrittenVote | Failed, weighed: Weighed | Failed, order: Order) -> dict[str, Any]:
    if isinstance(vote, Failed):
        return {"failed": vote.reason}
    if isinstance(weighed, Failed):
        return {"failed": weighed.reason}
    choice = "candidate" if vote.choice == (1 if order == "fixed" else 0) else "reference"
    return {"choice": choice, "confidence": vote.confidence(weighed.tokens), "reason": vote.reason}


def _p_candidate(order: Order, reply: Chosen | Failed) -> float | dict[str, str]:
    if isinstance(reply, Failed):
        return {"failed": reply.reason}
    return reply.p["2" if order == "fixed" else "1"]
