"""What passes between a judge and a model: prompts, options, and replies of four kinds.

    Prompt(("Compare …\n<article>\n", "The river rose …", "\n</article>\n…"), head=1)
    Options(("Better", "Worse", "Similar"))
    Chosen({"Better": -0.4, "Worse": -1.9, "Similar": -2.3}, …).p  ->  {"Better": 0.73, …}

A reply that content made impossible is a `Failed`, never an exception: it is a value with a reason.
"""

import hashlib
import random
import re
from bisect import bisect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from math import exp, fsum, inf, isfinite, log, sqrt
from statistics import stdev
from typing import Any, Literal, Self

from evaljudge.errors import UserError


@dataclass(frozen=True, slots=True)
class Prompt:
    """A rendered prompt, cut where texts of the corpus begin and end.

    Each part is tokenised apart, so that a document is tokenised once for all prompts that carry
    it; the first `head` parts are the template's own, shared by prompts of every document. `about`
    tells questions apart whose words may come out alike: two references can be the same text, and
    are asked about twice, so that how often is asked does not depend on what is written.
    `example` is the answer of a model that only imagines, for choices that decide what is asked
    next. `template` is the name of the template that it was rendered from, for people.
    """

    parts: tuple[str, ...]
    head: int = 0
    about: str = ""
    example: str = field(default="", repr=False, compare=False)
    template: str = field(default="", repr=False, compare=False)

    @property
    def text(self) -> str:
        return "".join(self.parts)

    @property
    def is_common(self) -> bool:
        """It holds no text of the corpus, so it is the same for every document."""
        return self.head == len(self.parts)


@dataclass(frozen=True, slots=True)
class Options:
    """The answers that a prompt offers, in their canonical spelling."""

    names: tuple[str, ...]

    def forms(self, name: str) -> tuple[str, ...]:
        """The spellings that count as this option: as given, other cases, after a space."""
        cases = dict.fromkeys((name, name.lower(), name.upper(), name.capitalize()))
        return tuple(lead + spelling for lead in ("", " ") for spelling in cases)


@dataclass(frozen=True, slots=True)
class Writing:
    """How to write; where `schema`, a JSON schema (as JSON), or `regex` is given, in that form.

    The form masks the sampler, so the model's own log-probabilities of the reply are read by
    `weigh`. `regex` should not bound the repetition of a set of letters: with a large vocabulary,
    each token's mask then takes milliseconds in place of microseconds.

    `example`: a reply of the kind that is asked for, for models that only imagine or are scripted;
    `{mark}` in it differs from prompt to prompt.
    """

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    n: int = 1
    schema: str | None = None
    regex: str | None = None
    example: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class Spent:
    """What one engine request cost, and the cache blocks its prompt could share with others.

    `blocks` name the prompt's full blocks by all that precedes them; the first `head` of them
    lie in the template's own words. A prompt's last token is never served from cache.
    """

    prompt: int
    cached: int
    generated: int
    blocks: tuple[int, ...] = ()
    head: int = 0
    block_size: int = 0


@dataclass(frozen=True, slots=True)
class Failed:
    """Why there is no reply: a reason in words, for the unscored."""

    reason: str
    spent: tuple[Spent, ...] = ()


UNASKED = Failed("no reply has come yet")
"""A question that may not be put to the model now: its case stays open (remembering.py)."""


@dataclass(frozen=True, slots=True)
class Token:
    start: int
    end: int
    logprob: float


@dataclass(frozen=True, slots=True)
class Sample:
    text: str
    finish: Literal["stop", "length"]


@dataclass(frozen=True, slots=True)
class Written:
    samples: tuple[Sample, ...]
    spent: tuple[Spent, ...] = ()

    @property
    def text(self) -> str:
        return self.samples[0].text


@dataclass(frozen=True)
class Chosen:
    """Each option's log-probability; `p` is normalised over the options (the softmax).

    `key` is, as a text, what its draws depend on besides `p`: the question and the engine's seed.
    `left_out` is the most probability that spellings which were not followed may hold; no `p` is
    off by more than its share of the mass. `within`: by how much a `p` may be off where a server
    shows only some of it (of sampled answers or thoughts, one standard error). `thoughts` came
    before the answer; one that was cut has the finish `length`, one that is not kept no text.
    """

    logprobs: Mapping[str, float]
    samples: tuple[str, ...] = ()
    spent: tuple[Spent, ...] = ()
    key: object = ""
    left_out: float = 0.0
    within: float = 0.0
    thoughts: tuple[Sample, ...] = ()

    @property
    def evidence(self) -> dict[str, Any]:
        """The reply as it is stored, with the most probability left out, if any."""
        doubts = {"left_out": self.left_out, "within": self.within}
        stated = {name: float(f"{value:.1e}") for name, value in doubts.items() if value}
        return {"logprobs": dict(self.logprobs), **stated, **self.thought}

    @property
    def thought(self) -> dict[str, Any]:
        texts = [thought.text for thought in self.thoughts if thought.text]
        cut = {"thoughts_cut": self.cut_thoughts} if self.cut_thoughts else {}
        return ({"thoughts": texts} if texts else {}) | cut

    @property
    def cut_thoughts(self) -> int:
        return sum(thought.finish == "length" for thought in self.thoughts)

    @cached_property
    def mass(self) -> float:
        """The probability that the options hold together, of all that the model might say."""
        return fsum(map(exp, self.logprobs.values()))

    @cached_property
    def p(self) -> dict[str, float]:
        total = add_in_logs(self.logprobs.values())
        return {name: exp(value - total) for name, value in self.logprobs.items()}

    @property
    def doubt(self) -> float:
        """The entropy of `p` as a share of the greatest: 0 where one option has all of it."""
        return -fsum(p * log(p) for p in self.p.values() if p) / log(len(self.p))

    def drawn(self, count: int) -> Self:
        """The reply with this many independent draws from `p`; the first k of n are those of any k.

        Drawn here and not by the engine: where options span several tokens a masked decode is
        not a draw from `p` (it renormalises at every step), and these can be had again after a
        resume, whatever shared the batch.
        """
        names, bounds = list(self.p), list(accumulate(self.p.values()))
        source = random.Random(hashlib.sha256(str(self.key).encode()).digest())
        picks = (bisect(bounds, source.random() * bounds[-1]) for _ in range(count))
        return replace(self, samples=tuple(names[min(pick, len(names) - 1)] for pick in picks))


def averaged(answers: Sequence[Chosen]) -> Chosen | Failed:
    """The arithmetic mean of the probabilities after several thoughts, with the largest standard
    error of a `p` where there are more than one."""
    if failed := next((each for each in map(sound, answers) if isinstance(each, Failed)), None):
        return failed
    count, names = len(answers), answers[0].logprobs
    logs = {n: add_in_logs([each.logprobs[n] for each in answers]) - log(count) for n in names}
    errors = [stdev(each.p[n] for each in answers) / sqrt(count) for n in names if count > 1]
    left_out = fsum(each.left_out for each in answers) / count
    return Chosen(logs, left_out=left_out, within=max(errors, default=0.0))


def sound(chosen: Chosen, samples: int = 0) -> Chosen | Failed:
    """A choice, unless the model's numbers are none: NaN (an overflow), or no mass at all."""
    if all(value == value for value in chosen.logprobs.values()) and chosen.mass > 0:
        return chosen.drawn(samples) if samples else chosen
    return Failed("the model's probabilities of the answers are not numbers", chosen.spent)


@dataclass(frozen=True, slots=True)
class Weighed:
    tokens: tuple[Token, ...]
    spent: tuple[Spent, ...] = ()

    @property
    def logprobs(self) -> tuple[float, ...]:
        return tuple(token.logprob for token in self.tokens)

    @property
    def total(self) -> float:
        return fsum(self.logprobs)


def weighed(tokens: tuple[Token, ...], spent: tuple[Spent, ...]) -> Weighed | Failed:
    if any(token.logprob != token.logprob for token in tokens):
        return Failed("the model's probabilities are not numbers", spent)
    return Weighed(tokens, spent)


def word_tokens(text: str, logprobs: Sequence[float]) -> tuple[Token, ...]:
    """Each word as a token, with the space before it, for models without a tokenizer."""
    words = re.finditer(r"\s*\S+", text)
    return tuple(Token(*word.span(), value) for word, value in zip(words, logprobs, strict=True))


@dataclass(frozen=True, slots=True)
class Rating:
    """Which number is asked of a model that was trained to rate texts.

    Without `labels` it is the model's only one, as it is (a reward). With them, it is the
    probability of the one label that the model has of these: the softmax over all of its labels,
    or of a single one the sigmoid. `between`: the words, such as `</s>`, that stand between the
    prompt and the text in place of what the model's template or tokenizer puts there.
    """

    labels: tuple[str, ...] = ()
    between: str | None = None

    def place(self, labels: Sequence[str]) -> int:
        """The place of its number among those of a model with these labels."""
        wanted = {label.casefold() for label in self.labels}
        found = [n for n, label in enumerate(labels) if not wanted or label.casefold() in wanted]
        if len(found) == 1:
            return found[0]
        if not labels:
            raise UserError("it needs a model that was trained to rate texts, and loaded here")
        raise UserError(f"`label` must name one of the model's labels: {', '.join(labels)}")

    def read(self, numbers: Sequence[float], place: int) -> float:
        """What is asked for, of all the model's numbers."""
        if not self.labels:
            return numbers[place]
        others = numbers if len(numbers) > 1 else (numbers[0], 0.0)
        return exp(numbers[place] - add_in_logs(others))


@dataclass(frozen=True, slots=True)
class ModelRating:
    value: float
    spent: tuple[Spent, ...] = ()


def rated(value: float, spent: tuple[Spent, ...]) -> ModelRating | Failed:
    if isfinite(value):
        return ModelRating(value, spent)
    return Failed("the rating is not a number", spent)


Vector = tuple[float, ...]  # a text as a sentence encoder sees it, of length 1


def some_vector(text: str, length: int = 16) -> Vector:
    """One that depends on the text alone, where there is no encoder to ask."""
    source = random.Random(hashlib.sha256(text.encode()).digest())
    numbers = [source.gauss(0, 1) for _ in range(length)]
    norm = sqrt(fsum(number * number for number in numbers))
    return tuple(number / norm for number in numbers)


def add_in_logs(values: Iterable[float]) -> float:
    """log Σ exp(v), without leaving the range of a float."""
    numbers = list(values)
    top = max(numbers, default=-inf)
    if top == -inf or len(numbers) == 1:
        return top
    return top + log(fsum([exp(v - top) for v in numbers]))
