"""The poll on a candidate: what each role says, all roles in one prompt or each alone.

candidate A, order `fixed`    one reply     General Public: candidate .74 | Critic: reference .60
              `swapped`       one reply     General Public: candidate .71 | Critic: candidate .52
                              … and each written reply is weighed for its confidences
`exact`                       one question for each role and order: p(candidate)
`plain`                       one question for each order, without roles

A reply has a line for each role, in the order in which they were asked; the engine keeps this form:

    General Public: Summary 2 — It is easy to read.           1, e^-.3 = .74
    Critic: Summary 1 — The sentences are short.              0, e^-.2 = .82
"""

import re
from asyncio import gather
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import product
from math import exp
from statistics import fmean
from typing import Any, Literal

from evaljudge.judges.roles.briefs import Role
from evaljudge.judges.roles.evidence import Order
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
        """Equation (3): exp of the mean log-probability of the tokens that begin in the choice or
        its reason. The form dictates the role's name, so its tokens do not count."""
        start, end = self.span
        return exp(fmean(token.logprob for token in tokens if start <= token.start < end))


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
        lines = [line.span() for line in re.finditer(r"(?m)^.*$", reply.text)]
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
    after: list[dict[str, Any]] = field(default_factory=list)
    """What the model had thought before it chose."""


Asked = tuple[Ballots, Order, slice]
"""What a prompt asks about: a candidate in an order, of these roles."""


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

        def prompts(template: str, asked: Sequence[Asked]) -> list[Prompt]:
            """What all prompts of a document have in common comes first in the templates."""
            rendered = []
            for ballots, order, group in asked:
                texts = [reference, ballots.candidate.text]
                first, second = texts if order == "fixed" else reversed(texts)
                listed = "\n".join(f"{role.type}: {role.description}" for role in roles[group])
                slots = {"source": document.source, "context": document.context, "roles": listed}
                slots |= {"first": first, "second": second}
                rendered.append(self._pack.render(template, slots, **self._words))
            return rendered

        every = [Ballots(candidate, []) for candidate in candidates]
        for ballots in every:
            for n, role in enumerate(roles):
                exact: dict[str, Any] = {"exact": {}} if self._exact else {}
                ballots.roles.append({**asdict(role), "static": n < static, "votes": {}, **exact})
        alone = [slice(n, n + 1) for n in range(len(roles))]
        groups = [slice(None)] if self._batch and roles else alone
        questions = [list(product(every, self._orders, [group])) for group in groups]
        forms = [VoteForm(roles[group], self.names) for group in groups]
        await gather(*(
            self._vote(form, asked, prompts("roles.vote", asked), model)
            for form, asked in zip(forms, questions, strict=True)
        ))  # fmt: skip
        if self._exact:
            asked = list(product(every, self._orders, alone))
            chances = await _chances(asked, prompts("roles.choose", asked), model)
            for (ballots, order, group), p in zip(asked, chances, strict=True):
                ballots.roles[group.start]["exact"][order] = p
        if self._plain:
            asked = list(product(every, self._orders, [slice(0)]))
            chances = await _chances(asked, prompts("roles.plain", asked), model)
            for (ballots, order, _), p in zip(asked, chances, strict=True):
                ballots.plain[order] = p
        return every

    async def _vote(
        self, form: VoteForm, asked: Sequence[Asked], prompts: Sequence[Prompt], model: Model
    ) -> None:
        """These roles' votes, in one reply for each candidate and order.

        A reply with a vote is then weighed: the log-probabilities of its tokens are read, without
        the form's mask. Tokens that do not spell the reply have places in another text.
        """
        how = replace(self._how, regex=form.regex, example=form.example)
        replies = await model.write(prompts, how)
        votes = [
            [Failed(reply.reason)] * len(form.roles)
            if isinstance(reply, Failed)
            else form.read(reply.samples[0])
            for reply in replies
        ]
        texts = {
            at: reply.text
            for at, reply in enumerate(replies)
            if isinstance(reply, Written) and any(isinstance(v, WrittenVote) for v in votes[at])
        }
        weighed = await model.weigh([prompts[at] for at in texts], list(texts.values()))
        weights = dict(zip(texts, weighed, strict=True))
        for at, (ballots, order, group) in enumerate(asked):
            weight = weights.get(at, NOTHING_TO_WEIGH)
            if isinstance(weight, Weighed) and weight.tokens[-1].end != len(texts[at]):
                weight = Failed(OTHER_LETTERS, weight.spent)
            ballots.tokens += cost([replies[at], weight])
            for role, vote in zip(ballots.roles[group], votes[at], strict=True):
                role["votes"][order] = _ballot(vote, weight, order)


async def _chances(
    asked: Sequence[Asked], prompts: Sequence[Prompt], model: Model
) -> list[float | dict[str, str]]:
    """p(candidate) by each prompt, or why there is none."""
    replies = await model.choose(prompts, WHICH) if prompts else []
    chances: list[float | dict[str, str]] = []
    for (ballots, order, _), reply in zip(asked, replies, strict=True):
        ballots.tokens += cost([reply])
        if isinstance(reply, Failed):
            chances.append({"failed": reply.reason})
        else:
            chances.append(reply.p["2" if order == "fixed" else "1"])
            ballots.after += [reply.thought] if reply.thought else []
    return chances


def _ballot(vote: WrittenVote | Failed, weighed: Weighed | Failed, order: Order) -> dict[str, Any]:
    if isinstance(vote, Failed):
        return {"failed": vote.reason}
    if isinstance(weighed, Failed):
        return {"failed": weighed.reason}
    choice = "candidate" if vote.choice == (1 if order == "fixed" else 0) else "reference"
    return {"choice": choice, "confidence": vote.confidence(weighed.tokens), "reason": vote.reason}
