"""The poll on a candidate: all roles in one prompt, or each alone; and what each of them said.

candidate A, order `fixed`    one reply     General Public: candidate .74 | Critic: reference .60
              `swapped`       one reply     General Public: candidate .71 | Critic: candidate .52
                              … and each reply weighed, once written, for its confidences
`exact`                       one ask for each role and order: p(candidate)
`plain`                       one ask for each order, without roles
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from evaljudge.judges.roles.clusters import Survivors
from evaljudge.judges.roles.evidence import Order
from evaljudge.judges.roles.readers import Role
from evaljudge.judges.roles.votes import VoteForm, WrittenVote
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Weighed, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Candidate, Document, Tokens

WHICH = Options(("1", "2"))
TEMPLATES = ("roles.vote", "roles.choose", "roles.plain")
OTHER_LETTERS = "the model's tokens do not spell the reply, so its votes have no confidence"
NOTHING_TO_WEIGH = Failed("no vote in the reply")


@dataclass(frozen=True)
class Electorate:
    """Who votes on every candidate of a document; who does not, and why."""

    static: Sequence[Role]
    dynamic: Sequence[Role] = ()
    dropped: Sequence[tuple[Role, str]] = ()
    notes: Sequence[str] = ()

    @classmethod
    def of(
        cls, kept: Survivors, static: int, others: Sequence[tuple[Role, str]], notes: Sequence[str]
    ) -> Electorate:
        """`others`: who was dropped before."""
        said = [*notes, *filter(None, [kept.note])]
        dropped = [*others, *kept.dropped]
        return cls(kept.roles[:static], kept.roles[static:], dropped, said)

    @property
    def roles(self) -> list[Role]:
        return [*self.static, *self.dynamic]


@dataclass
class Ballots:
    """What was said of one candidate: by role and order."""

    votes: dict[tuple[int, Order], dict[str, Any]] = field(default_factory=dict)
    exact: dict[tuple[int, Order], Any] = field(default_factory=dict)
    plain: dict[Order, Any] = field(default_factory=dict)
    tokens: Tokens = Tokens()


@dataclass(frozen=True)
class Asking:
    """How a poll is held."""

    orders: Sequence[Order]
    batch: bool
    exact: bool
    plain: bool


class Polling:
    def __init__(self, task: Task, how: Writing, asking: Asking) -> None:
        self._pack, self._how, self._asking = task.pack, how, asking
        noun = task.nouns["target"]
        self.names = (f"{noun.capitalize()} 1", f"{noun.capitalize()} 2")
        self._words = {"source_noun": task.nouns["source"], "target_noun": noun,
                       "first_name": self.names[0], "second_name": self.names[1]}  # fmt: skip
        for template in TEMPLATES:
            needed = ["first", "second", *(["roles"] if template != "roles.plain" else [])]
            self._pack.check(template, needed, **self._words)
        self.prompts = task.pack.hash(TEMPLATES)

    async def poll(
        self, document: Document, reference: str, candidates: Sequence[Candidate],
        voters: Electorate, model: Model,
    ) -> list[Ballots]:  # fmt: skip
        """Of each candidate; whatever is alike in all prompts of the document stands first."""
        cast = _Cast(document, reference, candidates, voters.roles, model)
        if cast.roles:
            await self._vote(cast)
        if self._asking.exact:
            await self._choose(cast)
        if self._asking.plain:
            await self._ask_plainly(cast)
        return cast.ballots

    async def _vote(self, cast: _Cast) -> None:
        everyone = range(len(cast.roles))
        groups = [tuple(everyone)] if self._asking.batch else [(n,) for n in everyone]
        await gather(*(self._vote_together(cast, group) for group in groups))

    async def _vote_together(self, cast: _Cast, group: Sequence[int]) -> None:
        """These roles, in one reply for each candidate and order; each reply is then weighed."""
        form = VoteForm([cast.roles[n] for n in group], self.names)
        how = replace(self._how, regex=form.regex, example=form.example)
        asked = list(product(range(len(cast.candidates)), self._asking.orders))
        prompts = [self._prompt("roles.vote", cast, c, order, group) for c, order in asked]
        replies = await cast.model.write(prompts, how)
        votes = [_read(reply, form) for reply in replies]
        weighed = await _weigh(prompts, replies, votes, cast.model)
        found = zip(asked, replies, votes, weighed, strict=True)
        for (c, order), reply, own_votes, weights in found:
            cast.ballots[c].tokens += cost([reply, weights])
            for n, vote in zip(group, own_votes, strict=True):
                cast.ballots[c].votes[n, order] = _ballot(vote, weights, order)

    async def _choose(self, cast: _Cast) -> None:
        asked = list(
            product(range(len(cast.candidates)), self._asking.orders, range(len(cast.roles)))
        )
        prompts = [self._prompt("roles.choose", cast, c, order, (n,)) for c, order, n in asked]
        replies = await cast.model.choose(prompts, WHICH)
        for (c, order, n), reply in zip(asked, replies, strict=True):
            cast.ballots[c].tokens += cost([reply])
            cast.ballots[c].exact[n, order] = _p_candidate(reply, order)

    async def _ask_plainly(self, cast: _Cast) -> None:
        asked = list(product(range(len(cast.candidates)), self._asking.orders))
        prompts = [self._prompt("roles.plain", cast, c, order, ()) for c, order in asked]
        replies = await cast.model.choose(prompts, WHICH)
        for (c, order), reply in zip(asked, replies, strict=True):
            cast.ballots[c].tokens += cost([reply])
            cast.ballots[c].plain[order] = _p_candidate(reply, order)

    def _prompt(
        self, template: str, cast: _Cast, candidate: int, order: Order, group: Sequence[int]
    ) -> Prompt:
        texts = [cast.reference, cast.candidates[candidate].text]
        first, second = texts if order == "fixed" else reversed(texts)
        listed = [f"{cast.roles[n].type}: {cast.roles[n].description}" for n in group]
        document = cast.document
        given = {"source": document.source, "context": document.context}
        given |= {"roles": "\n".join(listed)}
        given |= {"first": first, "second": second}
        return self._pack.render(template, given, **self._words)


@dataclass
class _Cast:
    """One document's poll while it is held."""

    document: Document
    reference: str
    candidates: Sequence[Candidate]
    roles: Sequence[Role]
    model: Model

    def __post_init__(self) -> None:
        self.ballots = [Ballots() for _ in self.candidates]


def _read(reply: Written | Failed, form: VoteForm) -> Sequence[WrittenVote | Failed]:
    if isinstance(reply, Failed):
        return [Failed(reply.reason)] * len(form.roles)
    return form.read(reply.samples[0])


async def _weigh(
    prompts: Sequence[Prompt], replies: Sequence[Written | Failed],
    votes: Sequence[Sequence[WrittenVote | Failed]], model: Model,
) -> list[Weighed | Failed]:  # fmt: skip
    """Of each reply that holds a vote, its tokens' log-probabilities without the form's mask."""
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
    """Places in the reply are those of its tokens only where these spell it, letter by letter."""
    if isinstance(reply, Failed) or reply.tokens[-1].end == len(text):
        return reply
    return Failed(OTHER_LETTERS, reply.spent)


def _ballot(vote: WrittenVote | Failed, weighed: Weighed | Failed, order: Order) -> dict[str, Any]:
    if isinstance(vote, Failed):
        return {"failed": vote.reason}
    if isinstance(weighed, Failed):
        return {"failed": weighed.reason}
    is_candidate = vote.choice == (1 if order == "fixed" else 0)
    choice = "candidate" if is_candidate else "reference"
    return {"choice": choice, "confidence": vote.confidence(weighed.tokens), "reason": vote.reason}


def _p_candidate(reply: Chosen | Failed, order: Order) -> float | dict[str, str]:
    if isinstance(reply, Failed):
        return {"failed": reply.reason}
    return reply.p["2" if order == "fixed" else "1"]
