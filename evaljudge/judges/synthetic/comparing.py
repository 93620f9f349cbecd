"""Two texts on one axis: how they are compared, what each reply says, and a candidate's pairs.

    COMPARE   one question, Better, Worse or Similar:             .80 .05 .15
    YES_NO    two questions, is it better? is it worse?           Yes .90, and Yes .20
              read as Better .9·(1−.2) = .72, Worse .2·(1−.9) = .02, Similar the rest: .26

However it was asked, what is read are probabilities of Better, Worse and Similar. For Yes and No
they are those of two independent answers, where a contradiction (yes to both) says no more than two
denials do; so p(Better) − p(Worse) is the paper's P(Yes|better) − P(Yes|worse) exactly.

Asked with the two texts in each other's place, a reply is read back (Better there is Worse here),
and the two readings are averaged in log space: √(.8·.6) ∝ .69, √(.05·.1) ∝ .07, √(.15·.3) ∝ .21,
normalised to .71, .07, .22.

    Pair(fluency, target="A flood.", reference="A flood has closed the bridge.", about="4")
    -> one reply to Better, Worse or Similar; or two, to Yes and No

A judge gathers the pairs of a whole case and asks them in one list.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, fsum, inf
from typing import Any

from evaljudge.judges.shared.asking import ANY_WORDS, document_texts, reason_unscorable
from evaljudge.judges.shared.references import Text, check_place
from evaljudge.judges.shared.scale import named
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, add_in_logs
from evaljudge.prompts import Task
from evaljudge.records import Axis, Candidate, Case, Document

Logs = Mapping[str, float]
Replies = Sequence[Chosen | Failed]
"""To the form's questions about one pair."""
BETTER, WORSE, SIMILAR = "Better", "Worse", "Similar"


@dataclass(frozen=True, slots=True)
class Form:
    """A template, the words of each of its questions, and the options they offer."""

    template: str
    options: Options
    relations: tuple[str, ...] = ()

    @property
    def words(self) -> Sequence[Mapping[str, str]]:
        """The words of each question, besides the axis."""
        return [{"relation": relation} for relation in self.relations] or [{}]

    def evidence(self, replies: Sequence[Chosen]) -> dict[str, Any]:
        """One comparison's replies as they are stored; evidence.py reads what follows from them."""
        stored = [{"logprobs": dict(reply.logprobs)} for reply in replies]
        return dict(zip(self.relations, stored, strict=True)) if self.relations else stored[0]

    def replies(self, evidence: Mapping[str, Any]) -> list[Chosen]:
        """The replies that were stored as `evidence`."""
        stored = [evidence[relation] for relation in self.relations] or [evidence]
        return [Chosen(one["logprobs"]) for one in stored]

    def reading(self, replies: Sequence[Chosen]) -> dict[str, float]:
        """p(Better), p(Worse), p(Similar)."""
        return self._read(_logs(replies))

    def both_readings(
        self, replies: Sequence[Chosen], exchanged: Sequence[Chosen]
    ) -> dict[str, float] | None:
        """The average of both orders in log space; None where they exclude each other."""
        averaged = [
            {name: (here[name] + there[name]) / 2 for name in here}
            for here, there in zip(_logs(replies), self._turned(exchanged), strict=True)
        ]
        if any(add_in_logs(logs.values()) == -inf for logs in averaged):
            return None
        return self._read([_normalised(logs) for logs in averaged])

    def turned_reading(self, exchanged: Sequence[Chosen]) -> dict[str, float]:
        """What the replies to the exchanged question say, as if asked in the usual order."""
        return self._read(self._turned(exchanged))

    def _turned(self, exchanged: Sequence[Chosen]) -> list[Logs]:
        logs = _logs(exchanged)
        if self.relations:  # to be better there is to be worse here
            return logs[::-1]
        return [{BETTER: p[WORSE], WORSE: p[BETTER], SIMILAR: p[SIMILAR]} for p in logs]

    def _read(self, logs: Sequence[Logs]) -> dict[str, float]:
        if not self.relations:
            return {name: exp(logs[0][name]) for name in self.options.names}
        better, worse = (exp(one["Yes"]) for one in logs)
        no_better, no_worse = (exp(one["No"]) for one in logs)
        return {
            BETTER: better * no_worse,
            WORSE: worse * no_better,
            SIMILAR: better * worse + no_better * no_worse,
        }


COMPARE = Form("synthetic.compare", Options((BETTER, WORSE, SIMILAR)))
YES_NO = Form("synthetic.yes-no", Options(("Yes", "No")), ("better", "worse"))


def mass(replies: Sequence[Chosen]) -> float:
    """The probability that the options hold together, on average over the replies."""
    return fsum(reply.mass for reply in replies) / len(replies)


def _logs(replies: Sequence[Chosen]) -> list[Logs]:
    return [_normalised(reply.logprobs) for reply in replies]


def _normalised(logs: Logs) -> dict[str, float]:
    total = add_in_logs(logs.values())
    return {name: value - total for name, value in logs.items()}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts to be compared on an axis."""

    axis: Axis
    target: str
    reference: str
    about: str
    """The references that it holds, for the prompt's label."""

    @property
    def exchanged(self) -> Pair:
        return Pair(self.axis, self.reference, self.target, f"{self.about} exchanged")


@dataclass(frozen=True, slots=True)
class Placing:
    """A candidate to be placed on an axis' scale; `reason`: why it cannot be."""

    axis: Axis
    candidate: Candidate
    pairs: Mapping[float, Pair]
    reason: str = ""

    def only(self, ratings: Container[float]) -> Placing:
        """With the pairs of these ratings."""
        return replace(self, pairs={r: pair for r, pair in self.pairs.items() if r in ratings})


class Comparing:
    def __init__(self, task: Task, form: Form, wanted: Sequence[float]) -> None:
        self._pack, self.form, self.ratings = task.pack, form, wanted
        for words in form.words:
            self._pack.check(form.template, ["reference", "target"], **ANY_WORDS, **words)
        check_place(self._pack, form.template, "relation", form.relations)
        self.prompts = task.pack.hash([form.template])

    async def ask(
        self, document: Document, pairs: Sequence[Pair], model: Model, samples: int
    ) -> list[Replies]:
        """For each pair, the replies to the form's questions."""
        words = self.form.words
        prompts = [self._prompt(document, pair, w) for pair in pairs for w in words]
        replies = await model.choose(prompts, self.form.options, samples)
        return [replies[at : at + len(words)] for at in range(0, len(replies), len(words))]

    def _prompt(self, document: Document, pair: Pair, words: Mapping[str, str]) -> Prompt:
        pair_texts = {"reference": pair.reference, "target": pair.target}
        texts = document_texts(document, pair.axis) | pair_texts
        prompt = self._pack.render(self.form.template, texts, **pair.axis.words, **words)
        return replace(prompt, about=pair.about)

    def placing(
        self, case: Case, axis: Axis, candidate: Candidate, levels: Mapping[float, Text]
    ) -> Placing:
        if reason := reason_unscorable(case.document, candidate):
            return Placing(axis, candidate, {}, reason)
        pairs: dict[float, Pair] = {}
        for rating in self.ratings:
            level = levels.get(rating, Failed("never written"))
            if isinstance(level, Failed):
                reason = f"no reference of level {named(rating)} on {axis.name}: {level.reason}"
                return Placing(axis, candidate, {}, reason)
            pairs[rating] = Pair(axis, candidate.text, level, named(rating))
        return Placing(axis, candidate, pairs)


def whole(replies: Replies) -> Sequence[Chosen] | Failed:
    """All of a pair's replies, or the first that failed."""
    for reply in replies:
        if isinstance(reply, Failed):
            return reply
    return [reply for reply in replies if isinstance(reply, Chosen)]
