"""One comparison: what is stored of its replies, and what these say.

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

    {"rating": 3, "logprobs": {"Better": -0.7, "Worse": -2.4, "Similar": -1.7}}     one question
    {"rating": 3, "better": {"logprobs": {…}}, "worse": {"logprobs": {…}}}          two questions
    {"rating": 3, "logprobs": {…}, "exchanged": {"logprobs": {…}}}                  both orders
    {"rating": 3, "p": {"Better": 0.99, …}, "inferred": [0.98, 1.0]}                not asked
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from math import exp, fsum, isnan, log, nan
from operator import itemgetter
from typing import Any, TypedDict

import numpy as np

from evaljudge.judges.synthetic.equations import ComparedTexts, Floats
from evaljudge.model.asks import Chosen, Options

Level = Mapping[str, Any]
Answers = Mapping[str, float]
ANSWERS = BETTER, WORSE, SIMILAR = "Better", "Worse", "Similar"


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

    def example(self, words: Mapping[str, str], turned: bool) -> str:
        """The answer, to one of its questions, that a candidate is better than the reference."""
        if not self.relations:
            return WORSE if turned else BETTER
        return "Yes" if (words["relation"] == "better") != turned else "No"

    def evidence(self, replies: Sequence[Chosen]) -> dict[str, Any]:
        stored = [reply.evidence for reply in replies]
        return dict(zip(self.relations, stored, strict=True)) if self.relations else stored[0]

    def logs(self, comparisons: Sequence[Level]) -> Floats:
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
        p = _each(exp, _normalised(logs))
        if self.relations:
            (better, no_better), (worse, no_worse) = p.transpose(1, 2, 0)
            similar = better * worse + no_better * no_worse
            return np.stack([better * no_worse, worse * no_better, similar], axis=1)
        return p[:, 0]


COMPARE = Form("synthetic.compare", Options(ANSWERS))
LADDER = Form("synthetic.ladder", COMPARE.options, shows_all=True)
YES_NO = Form("synthetic.yes-no", Options(("Yes", "No")), ("better", "worse"))


def _normalised(logs: Floats) -> Floats:
    """The log-probabilities, shifted so that the options' probabilities add up to 1."""
    top = logs.max(axis=2, keepdims=True)
    exponentials = _each(exp, logs - top).reshape(-1, logs.shape[2])
    sums = np.array([fsum(row) for row in exponentials.tolist()]).reshape(top.shape)
    normalised: Floats = logs - (top + _each(log, sums))
    return normalised


def _each(function: Callable[[float], float], values: Floats) -> Floats:
    """Python's functions are used: the last digit of numpy's differs between processors."""
    results = map(function, values.ravel().tolist())
    return np.fromiter(results, dtype=np.float64).reshape(values.shape)


def answers_of(levels: Iterable[Level]) -> list[Answers]:
    """p(Better), p(Worse) and p(Similar) of each level."""
    rows = read_levels(list(levels))[0].tolist()
    return [dict(zip(ANSWERS, row, strict=True)) for row in rows]


def compared_texts(texts: Sequence[Sequence[Level]]) -> ComparedTexts:
    """All texts were compared with references of the same ratings, in the same order."""
    ratings = np.array([level["rating"] for level in texts[0]])
    order = np.argsort(ratings, kind="stable")
    p, _ = read_levels(list(chain.from_iterable(texts)))
    p = p.reshape(len(texts), len(ratings), len(ANSWERS))
    return ComparedTexts(tuple(ratings[order].tolist()), p[:, order])


def read_levels(levels: Sequence[Level]) -> tuple[Floats, Floats]:
    """A row of p(Better), p(Worse), p(Similar) for each level; and the probability that the options
    hold together, on average over the replies. Many levels at once, since a shard has many."""
    p, mass = np.empty((len(levels), len(ANSWERS))), np.empty(len(levels))
    alike: dict[tuple[bool, bool, bool], list[int]] = {}
    for at, level in enumerate(levels):
        kind = "p" in level, "logprobs" in level, "exchanged" in level
        alike.setdefault(kind, []).append(at)
    for (is_read, is_one_question, is_exchanged), places in alike.items():
        group = [levels[at] for at in places]
        if is_read:
            p[places] = list(map(itemgetter(*ANSWERS), (level["p"] for level in group)))
            mass[places] = [level.get("mass", nan) for level in group]
            continue
        form = COMPARE if is_one_question else YES_NO
        logs = form.logs(group)
        mass[places] = np.exp(logs).sum(axis=2).mean(axis=1)
        if is_exchanged:
            turned = form.logs([level["exchanged"] for level in group])
            mass[places] = (mass[places] + np.exp(turned).sum(axis=2).mean(axis=1)) / 2
            logs = form.averaged(logs, turned)
        p[places] = form.probabilities(logs)
    return p, mass


class AnswerColumns(TypedDict):
    better: float
    worse: float
    similar: float


class LevelColumns(TypedDict):
    """One comparison with a reference; `mass` is null where it is not known."""

    rating: float
    p: AnswerColumns
    mass: float | None
    inferred: bool


class SyntheticColumns(TypedDict):
    levels: list[LevelColumns]


class ReferenceColumns(TypedDict):
    rating: float
    text: str | None


def verdict_columns(evidence: Sequence[Mapping[str, Any]]) -> list[SyntheticColumns]:
    levels = list(chain.from_iterable(text["levels"] for text in evidence))
    rows = zip(levels, *(column.tolist() for column in read_levels(levels)), strict=True)
    columns = (
        LevelColumns(
            rating=level["rating"],
            p=AnswerColumns(better=p[0], worse=p[1], similar=p[2]),
            mass=None if isnan(mass) else mass,
            inferred="inferred" in level,
        )
        for level, p, mass in rows
    )
    return [{"levels": list(islice(columns, len(text["levels"])))} for text in evidence]
