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
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise, product
from typing import Any, Literal

from evaljudge.judges.roles.briefs import Role
from evaljudge.judges.roles.evidence import Order, confidence
from evaljudge.judges.shared.asking import one_line, quoted
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Options, Prompt, Sample, Token, Weighed, Writing, Written
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Candidate, Document, Tokens

WHICH = Options(("1", "2"))
TEMPLATES = ("roles.vote", "roles.choose", "roles.plain")
OTHER_LETTERS = "the model's tokens do not spell the reply, so its votes have no confidence"
NOTHING_TO_WEIGH: Weighed | Failed = Failed("no vote in the reply")
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
        """The confidence from the tokens that begin in the choice or its reason. The form dictates
        the role's name, so its tokens do not count."""
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
        """The votes in the order of `roles`, without a cut reply's last, maybe incomplete line."""
        ends = [at for at, letter in enumerate(reply.text) if letter == "\n"]
        lines = [(start + 1, end) for start, end in pairwise([-1, *ends, len(reply.text)])]
        is_cut = reply.finish == "length"
        whole = lines[:-1] if is_cut else lines
        pairs = zip(self.roles, whole, strict=False)
        votes = [self._vote(reply.text, role, line) for role, line in pairs]
        return votes + [CUT if is_cut else MISSING] * (len(self.roles) - len(votes))

    def _vote(self, text: str, role: Role, line: tuple[int, int]) -> WrittenVote | Failed:
        match = re.compile(self._line(role)).fullmatch(text, *line)
        if not match:
            return Failed(f"not a vote of this role: {quoted(text[slice(*line)])}")
        choice: Literal[0, 1] = 0 if match[1] == self.names[0] else 1
        return WrittenVote(choice, one_line(match[2]), (match.start(1) - 1, match.end()))

    def _line(self, role: Role) -> str:
        first, second = map(_escaped, self.names)
        return rf"{_escaped(role.type)}: ({first}|{second}) — ([^\n]+)"


def _escaped(text: str) -> str:
    """Escapes only what every engine's regexes must: `re.escape` escapes spaces too."""
    return re.sub(r"([\\^$.|?*+()\[\]{}])", r"\\\1", text)


@dataclass
class Ballots:
    """The evidence on one candidate: what each role said in each order, and without roles."""

    candidate: Candidate
    roles: list[dict[str, Any]]
    plain: dict[Order, float | dict[str, str]] = field(default_factory=dict)
    tokens: Tokens = Tokens()


Asked = tuple[Ballots, Order, Sequence[Role]]
"""What a prompt asks about: a candidate in an order, of these roles."""


Chance = tuple[Asked, dict[Order, Any]]
Render = Callable[[str, Asked], Prompt]


class Polling:
    def __init__(
        self, task: Task, how: Writing, orders: Sequence[Order], *, batch: bool, exact: bool,
        plain: bool,
    ) -> None:  # fmt: skip
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

    async def ask(
        self, document: Document, reference: str, candidates: Sequence[Candidate],
        roles: Sequence[Role], static: int, model: Model,
    ) -> list[Ballots]:  # fmt: skip
        """The ballots of each candidate; the first roles are `static`."""

        def prompt(template: str, asked: Asked) -> Prompt:
            """What all prompts of a document have in common comes first in the templates."""
            ballot, order, group = asked
            texts = [reference, ballot.candidate.text]
            first, second = texts if order == "fixed" else reversed(texts)
            listed = "\n".join(f"{role.type}: {role.description}" for role in group)
            slots = {"source": document.source, "context": document.context, "roles": listed}
            return self._pack.render(
                template, slots | {"first": first, "second": second}, **self._words
            )

        more: dict[str, Any] = {"exact": {}} if self._exact else {}
        ballots = [
            Ballots(candidate, [
                {**asdict(role), "static": n < static, "votes": {}} | deepcopy(more)
                for n, role in enumerate(roles)
            ])
            for candidate in candidates
        ]  # fmt: skip
        asked = list(product(ballots, self._orders))
        groups = [slice(None)] if self._batch else [slice(n, n + 1) for n in range(len(roles))]
        if roles:
            await gather(*(
                self._vote([(b, order, roles[group]) for b, order in asked], group, prompt, model)
                for group in groups
            ))  # fmt: skip
        alone: list[Chance] = [
            ((b, order, roles[n : n + 1]), b.roles[n]["exact"])
            for b, order in asked
            for n in range(len(roles))
            if self._exact
        ]
        await self._choose("roles.choose", alone, prompt, model)
        plain: list[Chance] = [((*asking, ()), asking[0].plain) for asking in asked if self._plain]
        await self._choose("roles.plain", plain, prompt, model)
        return ballots

    async def _vote(
        self, asked: Sequence[Asked], group: slice, prompt: Render, model: Model
    ) -> None:
        """These roles' votes, in one reply for each candidate and order, which is then weighed."""
        form = VoteForm(asked[0][2] if asked else (), self.names)
        how = replace(self._how, regex=form.regex, example=form.example)
        prompts = [prompt("roles.vote", question) for question in asked]
        replies = await model.write(prompts, how)
        votes = [
            [Failed(reply.reason)] * len(form.roles)
            if isinstance(reply, Failed)
            else form.read(reply.samples[0])
            for reply in replies
        ]
        weighed = await _weigh(prompts, replies, votes, model)
        for (ballots, order, _), reply, mine, weights in zip(
            asked, replies, votes, weighed, strict=True
        ):
            ballots.tokens += cost([reply, weights])
            for role, vote in zip(ballots.roles[group], mine, strict=True):
                role["votes"][order] = _ballot(vote, weights, order)

    async def _choose(
        self, template: str, asked: Sequence[Chance], prompt: Render, model: Model
    ) -> None:
        """p(candidate), which goes into the mapping beside each question."""
        prompts = [prompt(template, question) for question, _ in asked]
        replies = await model.choose(prompts, WHICH) if prompts else []
        for ((ballots, order, _), into), reply in zip(asked, replies, strict=True):
            ballots.tokens += cost([reply])
            if isinstance(reply, Failed):
                into[order] = {"failed": reply.reason}
            else:
                into[order] = reply.p["2" if order == "fixed" else "1"]


async def _weigh(
    prompts: Sequence[Prompt], replies: Sequence[Written | Failed],
    votes: Sequence[Sequence[WrittenVote | Failed]], model: Model,
) -> list[Weighed | Failed]:  # fmt: skip
    """The log-probabilities, without the form's mask, of each reply's tokens; Failed where the
    reply has no vote, or the tokens do not spell it, so that their places are of another text."""
    texts = {
        at: reply.text
        for at, (reply, mine) in enumerate(zip(replies, votes, strict=True))
        if isinstance(reply, Written) and any(isinstance(vote, WrittenVote) for vote in mine)
    }
    weighed = await model.weigh([prompts[at] for at in texts], list(texts.values()))
    weights = [NOTHING_TO_WEIGH for _ in replies]
    for (at, text), reply in zip(texts.items(), weighed, strict=True):
        is_spelt = isinstance(reply, Failed) or reply.tokens[-1].end == len(text)
        weights[at] = reply if is_spelt else Failed(OTHER_LETTERS, reply.spent)
    return weights


def _ballot(vote: WrittenVote | Failed, weighed: Weighed | Failed, order: Order) -> dict[str, Any]:
    if isinstance(vote, Failed):
        return {"failed": vote.reason}
    if isinstance(weighed, Failed):
        return {"failed": weighed.reason}
    choice = "candidate" if vote.choice == (1 if order == "fixed" else 0) else "reference"
    return {"choice": choice, "confidence": vote.confidence(weighed.tokens), "reason": vote.reason}
