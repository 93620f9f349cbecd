"""Two texts on one axis: how they are compared, what each reply says, and a candidate's pairs.

    COMPARE   one question, Better, Worse or Similar:             .80 .05 .15
    YES_NO    two questions, is it better? is it worse?           Yes .90, and Yes .20
              read as Better .9·(1−.2) = .72, Worse .2·(1−.9) = .02, Similar the rest: .26
    LADDER    as COMPARE, in a prompt that shows all references, numbered in a drawn order

Yes and No are read as two independent answers, where a contradiction (yes to both) says no more
than two denials do; so p(Better) − p(Worse) is the paper's P(Yes|better) − P(Yes|worse) exactly.

Asked with the two texts in each other's place, a reply is read back (Better there is Worse here),
and the two readings are averaged in log space: √(.8·.6) ∝ .69, √(.05·.1) ∝ .07, √(.15·.3) ∝ .21,
normalised to .71, .07, .22. In a ladder the texts keep their places: the exchanged question asks
whether reference 3 is better than the target.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from math import exp, fsum, log
from operator import itemgetter
from typing import Any

import numpy as np

from evaljudge.judges.shared.asking import ANY_WORDS, document_texts, drawn, reason_unscorable
from evaljudge.judges.shared.references import Text, check_place
from evaljudge.judges.shared.scale import named
from evaljudge.judges.synthetic.equations import Floats
from evaljudge.model import Model
from evaljudge.model.asks import Chosen, Failed, Options, Prompt
from evaljudge.prompts import Given, Task
from evaljudge.records import Axis, Candidate, Case, Document

Replies = Sequence[Chosen | Failed]
"""To the form's questions about one pair."""
BETTER, WORSE, SIMILAR = "Better", "Worse", "Similar"
ANY_NUMBER = {"number": "1", "exchanged": ""}
"""Words of a ladder's question, to try templates with."""


@dataclass(frozen=True, slots=True)
class Form:
    """A template, the words of each of its questions, and the options they offer."""

    template: str
    options: Options
    relations: tuple[str, ...] = ()
    shows_all: bool = False
    """All references of the axis stand in the prompt, numbered, and one number is asked about."""

    @property
    def words(self) -> Sequence[Mapping[str, str]]:
        """The words of each question, besides the axis."""
        return [{"relation": relation} for relation in self.relations] or [{}]

    def example(self, pair: Pair, words: Mapping[str, str]) -> str:
        """The answer, to one of its questions, that a candidate is better than the reference."""
        if not self.relations:
            return WORSE if pair.is_exchanged else BETTER
        return "Yes" if (words["relation"] == "better") != pair.is_exchanged else "No"

    def evidence(self, replies: Sequence[Chosen]) -> dict[str, Any]:
        """One comparison's replies as they are stored; evidence.py reads what follows from them."""
        stored = [reply.evidence for reply in replies]
        return dict(zip(self.relations, stored, strict=True)) if self.relations else stored[0]

    def logs(self, comparisons: Sequence[Mapping[str, Any]]) -> Floats:
        """The log-probabilities in such evidence: comparisons × questions × options."""
        stored = (
            reply["logprobs"]
            for evidence in comparisons
            for reply in ([evidence[relation] for relation in self.relations] or [evidence])
        )
        flat = chain.from_iterable(map(itemgetter(*self.options.names), stored))
        shape = (len(comparisons), len(self.words), len(self.options.names))
        return np.fromiter(flat, dtype=np.float64).reshape(shape)

    def averaged(self, here: Floats, there: Floats) -> Floats:
        """The mean of both orders in log space, where Better there is Worse here; −∞ for every
        option where the orders exclude each other."""
        turned = _normalised(there)
        turned = turned[:, ::-1] if self.relations else turned[:, :, [1, 0, 2]]
        return (_normalised(here) + turned) / 2

    def probabilities(self, logs: Floats) -> Floats:
        """A row of p(Better), p(Worse), p(Similar) for each comparison."""
        p = _exp(_normalised(logs))
        if self.relations:
            (better, no_better), (worse, no_worse) = p.transpose(1, 2, 0)
            similar = better * worse + no_better * no_worse
            return np.stack([better * no_worse, worse * no_better, similar], axis=1)
        return p[:, 0]


COMPARE = Form("synthetic.compare", Options((BETTER, WORSE, SIMILAR)))
LADDER = Form("synthetic.ladder", COMPARE.options, shows_all=True)
YES_NO = Form("synthetic.yes-no", Options(("Yes", "No")), ("better", "worse"))


def _normalised(logs: Floats) -> Floats:
    """So that the probabilities of the options add up to 1."""
    top = logs.max(axis=2)
    columns = _exp(logs - top[:, :, None]).reshape(-1, logs.shape[2]).T.tolist()
    sums = map(fsum, zip(*columns, strict=True))
    normalised: Floats = logs - (top + _each(log, sums, top.shape))[:, :, None]
    return normalised


def _exp(values: Floats) -> Floats:
    """By Python's function: the last digit of numpy's differs between processors."""
    return _each(exp, values.ravel().tolist(), values.shape)


def _each(
    function: Callable[[float], float], values: Iterable[float], shape: tuple[int, ...]
) -> Floats:
    return np.fromiter(map(function, values), dtype=np.float64).reshape(shape)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two texts to be compared on an axis."""

    axis: Axis
    target: str
    reference: str
    about: str
    """The references that it holds, for the prompt's label."""
    is_exchanged: bool = False
    shown: tuple[str, ...] = ()
    """All references of the axis, in the order in which a ladder shows them."""
    number: int = 0
    """The place of this reference among those shown, from 1."""

    @property
    def exchanged(self) -> Pair:
        return replace(self, about=f"{self.about} exchanged", is_exchanged=True)


@dataclass
class Placing:
    """A candidate to be placed on an axis' scale; `reason`: why it cannot be."""

    axis: Axis
    candidate: Candidate
    pairs: Mapping[float, Pair]
    reason: str = ""
    levels: dict[float, dict[str, Any] | Failed] = field(default_factory=dict)
    """By rating, in the order of asking: the evidence, or why there is none."""
    replies: list[Chosen | Failed] = field(default_factory=list)

    @property
    def evidence(self) -> dict[float, dict[str, Any]]:
        return {r: level for r, level in self.levels.items() if not isinstance(level, Failed)}


class Comparing:
    def __init__(self, task: Task, form: Form, wanted: Sequence[float]) -> None:
        self._pack, self.form, self.ratings = task.pack, form, wanted
        texts = ["target"] if form.shows_all else ["target", "reference"]
        for words in form.words:
            given = {**ANY_WORDS, **ANY_NUMBER, **words}
            several = ["references"] if form.shows_all else []
            self._pack.check(form.template, texts, several=several, **given)
        check_place(self._pack, form.template, "relation", form.relations)
        if form.shows_all:
            check_place(self._pack, form.template, "number", ["1", "2"], exchanged="")
            check_place(self._pack, form.template, "exchanged", ["", "yes"], number="1")
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
        texts: dict[str, Given] = {**document_texts(document, pair.axis)}
        if self.form.shows_all:
            texts |= {"references": pair.shown, "target": pair.target}
            turn = "yes" if pair.is_exchanged else ""
            words = {**words, "number": str(pair.number), "exchanged": turn}
        elif pair.is_exchanged:
            texts |= {"reference": pair.target, "target": pair.reference}
        else:
            texts |= {"reference": pair.reference, "target": pair.target}
        prompt = self._pack.render(self.form.template, texts, **pair.axis.words, **words)
        return replace(prompt, about=pair.about, example=self.form.example(pair, words))

    def placing(
        self, case: Case, axis: Axis, candidate: Candidate, levels: Mapping[float, Text]
    ) -> Placing:
        if reason := reason_unscorable(case.document, candidate):
            return Placing(axis, candidate, {}, reason)
        texts: dict[float, str] = {}
        for rating in self.ratings:
            level = levels.get(rating, Failed("never written"))
            if isinstance(level, Failed):
                reason = f"no reference of level {named(rating)} on {axis.name}: {level.reason}"
                return Placing(axis, candidate, {}, reason)
            texts[rating] = level
        pairs = self.pairs(case.document, axis, candidate.text, texts)
        return Placing(axis, candidate, pairs)

    def pairs(
        self, document: Document, axis: Axis, target: str, references: Mapping[float, str]
    ) -> dict[float, Pair]:
        """This text beside each of an axis' references."""
        if not self.form.shows_all:
            return {r: Pair(axis, target, text, named(r)) for r, text in references.items()}
        order = sorted(references, key=lambda rating: drawn(document.doc_id, axis.name, rating))
        shown = tuple([references[rating] for rating in order])
        return {
            rating: Pair(
                axis, target, text, named(rating), shown=shown, number=order.index(rating) + 1
            )
            for rating, text in references.items()
        }


def whole(replies: Replies) -> Sequence[Chosen] | Failed:
    """All of a pair's replies, or the first that failed."""
    for reply in replies:
        if isinstance(reply, Failed):
            return reply
    return [reply for reply in replies if isinstance(reply, Chosen)]
