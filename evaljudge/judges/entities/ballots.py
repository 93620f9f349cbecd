"""Several prompts' answers about one entity become one verdict, and verdicts become shares.

    ballot                              verdict      by
    yes, yes, contradict                yes          majority
    partially, partially, yes           yes          exception
    yes, no, partially                  no           divided
    yes, no                             no           divided
    (no prompt was answered)            none: “no prompt gave an answer”

    yes, yes, partially, contradict     (1 + 1 + .5 + 0) / 4 = .625 complete; scaled, 3.5

The rules, in their order: EXCEPTIONS, the majority, and where there is none, `no`. What the paper
leaves open is read so:

- A majority is more than half of the ballots. Of three that are all different none is one, and
  “no agreement is no” holds for every aspect, as do the exceptions.
- The two prompts of alignment that disagree do not agree: no. An entity is well placed where
  neither finds it out of place, which fits prompts that are there to find what the other misses.
- A prompt whose reply failed has no ballot, and the majority is of those that are there. Where
  these are divided the lost one might have decided: the entity is unscored, as one without any
  ballot is. It is left out above and below the line of every share, and counted.
- An entity is incorrect where its verdict is `no`, by whichever rule: it is denied by the majority,
  or its prompts are divided. Equation (3), `consistency`, counts what is not incorrect: three times
  `unknown` costs nothing there, and `yes, partially, unknown` costs a whole entity. `supported`
  counts what is confirmed, if only in part, and nothing else. Every entity with a verdict is one of
  supported, unknown, denied and divided.
- What is contradicted is not found.
- The paper once adds up all errors of readability and once (formula 4) counts sentences that have
  any: only the second is a share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import fsum, prod
from typing import Literal

from evaljudge.judges.shared.scale import HIGHEST, LOWEST
from evaljudge.model.asks import Failed

Aspect = Literal["completeness", "correctness", "alignment", "readability"]
Answer = Literal["yes", "no", "contradict", "partially", "unknown"]
Kind = Literal["flow", "language", "grammar", "spelling"]
Rule = Literal["exception", "majority", "divided"]
Chances = Mapping[Answer, float]
"""How likely each answer, or each verdict, is; they sum to 1."""

OPTIONS: Mapping[Aspect, tuple[Answer, ...]] = {
    "completeness": ("yes", "no", "contradict", "partially"),
    "correctness": ("yes", "no", "partially", "unknown"),
    "alignment": ("yes", "no"),
    "readability": ("yes", "no"),  # whether a sentence has an issue of a kind
}
KINDS: tuple[Kind, ...] = ("flow", "language", "grammar", "spelling")
COHERENCE: tuple[Kind, ...] = ("flow",)
FLUENCY: tuple[Kind, ...] = ("grammar", "spelling")

EXCEPTIONS: Mapping[tuple[Answer, ...], Answer] = {
    ("partially", "partially", "yes"): "yes",
}
"""Sorted ballots that the majority does not decide."""
DIVIDED: Answer = "no"
WORTH: Mapping[Answer, float] = {
    "yes": 1.0,
    "partially": 0.5,
    "no": 0.0,
    "contradict": 0.0,
    "unknown": 0.0,
}

NO_BALLOT = Failed("no prompt gave an answer")
DIVIDED_BY_LOSS = Failed("its prompts disagree, and one gave no answer")


@dataclass(frozen=True, slots=True)
class Ruling:
    verdict: Answer
    rule: Rule


def ruling(ballot: Sequence[Answer], lost: int = 0) -> Ruling | Failed:
    """From the answers that are there, in any order; so many more could not be read."""
    if not ballot:
        return NO_BALLOT
    found = _ruling(ballot)
    return DIVIDED_BY_LOSS if lost and found.rule == "divided" else found


def _ruling(ballot: Sequence[Answer]) -> Ruling:
    exception = EXCEPTIONS.get(tuple(sorted(ballot)))
    if exception:
        return Ruling(exception, "exception")
    [(answer, times)] = Counter(ballot).most_common(1)
    if 2 * times > len(ballot):
        return Ruling(answer, "majority")
    return Ruling(DIVIDED, "divided")


def verdict_chances(prompts: Sequence[Chances]) -> Chances | Failed:
    """How likely each verdict is, were every prompt to draw its answer by its probabilities.

    `yes ½, no ½` from each of two prompts ↦ `yes ¼, no ¾`.
    """
    if not prompts:
        return NO_BALLOT
    chances: dict[Answer, list[float]] = {}
    for ballot in product(*(prompt.items() for prompt in prompts)):
        verdict = _ruling([answer for answer, _ in ballot]).verdict
        chances.setdefault(verdict, []).append(prod(chance for _, chance in ballot))
    return {verdict: fsum(parts) for verdict, parts in chances.items()}


@dataclass(frozen=True, slots=True)
class Tally:
    """How many entities (or sentences) have each verdict; with chances, how many to expect."""

    verdicts: Mapping[Answer, float]
    scored: int
    unscored: int

    def share(self, *among: Answer) -> float:
        return fsum(self.verdicts.get(answer, 0.0) for answer in among) / self.scored

    @property
    def worth(self) -> float:
        return fsum(WORTH[answer] * times for answer, times in self.verdicts.items()) / self.scored


def tally(verdicts: Iterable[Answer | Chances | Failed]) -> Tally:
    """One of each entity; Failed where it has none."""
    given = list(verdicts)
    scored = [verdict for verdict in given if not isinstance(verdict, Failed)]
    sure = [{verdict: 1.0} if isinstance(verdict, str) else verdict for verdict in scored]
    counts = {a: fsum(chances.get(a, 0.0) for chances in sure) for a in WORTH}
    return Tally(counts, scored=len(scored), unscored=len(given) - len(scored))


def completeness(rubric: Tally) -> float | Failed:
    """Formula (1)."""
    return _hurdle(rubric, "the rubric has no entities") or rubric.worth


def correctness(target: Tally) -> float | Failed:
    """Formula (2)."""
    return _hurdle(target, "the text has no entities") or target.worth


def consistency(target: Tally) -> float | Failed:
    """Formula (3), of the verdicts on correctness; what is unknown is `unknown_share`."""
    return _hurdle(target, "the text has no entities") or 1 - target.share("no")


def supported(target: Tally) -> float | Failed:
    """The share that is confirmed, at least in part: what cannot be confirmed is not consistent."""
    return _hurdle(target, "the text has no entities") or target.share("yes", "partially")


def rejections(rulings: Iterable[Ruling | Failed], rule: Rule) -> Tally:
    """Of each entity: is it incorrect by this rule? Denied: `majority`; or `divided`."""
    return tally(
        one if isinstance(one, Failed) else "yes" if one == Ruling("no", rule) else "no"
        for one in rulings
    )


def rejected(found: Tally) -> float | Failed:
    return _hurdle(found, "the text has no entities") or found.share("yes")


def unknown_share(target: Tally) -> float | Failed:
    return _hurdle(target, "the text has no entities") or target.share("unknown")


def alignment(target: Tally) -> float | Failed:
    """The share of entities that are rightly placed."""
    return _hurdle(target, "the text has no entities") or target.share("yes")


def relevance(rubric: Tally, target: Tally) -> float | Failed:
    """Of the verdicts on the rubric's completeness and on the text's alignment.

    The mean of what is found, if only partially, and of what is not irrelevant.
    """
    placed = alignment(target)
    hurdle = _hurdle(rubric, "the rubric has no entities")
    if hurdle or isinstance(placed, Failed):
        return hurdle or placed
    return (rubric.share("yes", "partially") + placed) / 2


def issues(
    sentences: Iterable[Mapping[Kind, Answer | Failed]], kinds: Sequence[Kind] = KINDS
) -> Tally:
    """Of each sentence: has it an issue of any of these kinds?

    One issue is enough, whatever else failed; that there is none must be said of every kind.
    """
    return tally(_any_issue([found.get(kind, NO_BALLOT) for kind in kinds]) for found in sentences)


def _any_issue(found: Sequence[Answer | Failed]) -> Answer | Failed:
    if "yes" in found:
        return "yes"
    return next((answer for answer in found if isinstance(answer, Failed)), "no")


def writing_issues(sentences: Tally) -> float | Failed:
    """Formula (4), from `issues`."""
    return _hurdle(sentences, "the text has no sentences") or sentences.share("yes")


def readability(sentences: Tally) -> float | Failed:
    """The share without issues: of KINDS; coherence of COHERENCE, fluency of FLUENCY."""
    share = writing_issues(sentences)
    return share if isinstance(share, Failed) else 1 - share


def scaled(share: float | Failed) -> float | Failed:
    """On the scale of ratings: `0 ↦ 1, ½ ↦ 3, 1 ↦ 5`."""
    return share if isinstance(share, Failed) else LOWEST + (HIGHEST - LOWEST) * share


def _hurdle(counted: Tally, none: str) -> Failed | None:
    """Why there is no share to take."""
    if counted.scored:
        return None
    return Failed("no verdict on any entity or sentence" if counted.unscored else none)
