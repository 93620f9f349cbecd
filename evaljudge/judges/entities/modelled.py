"""Votes weighed by how reliable each prompt was in a run, in place of one ballot for each prompt.

    coverage     presence     support    in the run      the ballots say    the model says
    yes          no           yes        130 entities    yes                yes, .91
    partially    partially    yes        252 entities    yes                partially, .97
    no           partially    yes         62 entities    no                 no, .77
    partially    no           yes         54 entities    no                 partially, .85

All patterns of a run together show how each prompt errs, although nobody says a single true answer
(see agreement/voters.py). Here `support` says yes to nearly everything, and `coverage` errs least.
This is kept of each aspect, with the scores:

    {"identified": true, "converged": true, "entities": 3000, "labels": ["yes", "no", …],
     "prompts": ["coverage", …], "shares": {"yes": .56, …},
     "confusions": {"support": {"yes": {"yes": .95, …}, "no": {"yes": .81, "no": .16, …}, …}, …}}

Policy:
- An entity counts once for each candidate that it was asked of. One without an answer counts for
  nothing, and stays without a verdict.
- Prompts are assumed to err independently of each other. Two that make the same mistakes are
  believed too much.
- Where no entity has three answers nothing can be identified, and the rules of the ballots hold.
- Among equally likely verdicts, the rules of the ballots decide, if their verdict is one of them.
- The numbers are kept, and used, with DIGITS digits, so that a machine that adds up in another
  order comes to the same.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import fsum, prod
from typing import Any

from evaljudge.agreement.voters import MISSING, dawid_skene
from evaljudge.judges.entities.equations import (
    OPTIONS,
    Answer,
    Aspect,
    Decide,
    Votes,
    answers,
    majority,
    ruling,
)
from evaljudge.model.asks import Failed
from evaljudge.records import Verdict

Patterns = Counter[frozenset[tuple[str, Answer]]]
"""How many entities the prompts gave these answers, each by its prompt."""

PLACES: Mapping[Aspect, tuple[str, str]] = {
    "completeness": ("rubric", "votes"),
    "correctness": ("entities", "correctness"),
}
"""Where the votes are in the evidence, for the aspects that have three prompts."""
TIED = 1e-9
DIGITS = 9


@dataclass(frozen=True)
class AspectModel:
    """What the answers about one aspect mean; without numbers where nothing is identified."""

    identified: bool
    converged: bool
    entities: int
    labels: tuple[Answer, ...]
    prompts: tuple[str, ...]
    shares: Mapping[Answer, float] = field(default_factory=dict)
    confusions: Mapping[str, Mapping[Answer, Mapping[Answer, float]]] = field(default_factory=dict)
    """The probability for each prompt, true answer and answer given."""

    def of(self, replies: Mapping[str, Answer]) -> Answer | Failed:
        """The most probable verdict on an entity that the prompts gave these answers; where
        nothing is identified, the one by the ballots' rules."""
        voted = ruling(list(replies.values()), lost=len(self.prompts) - len(replies))
        decided = voted if isinstance(voted, Failed) else voted.verdict
        if not replies or not self.identified:
            return decided
        chances = self.chances(replies)
        most = max(chances.values())
        tied = [label for label in self.labels if chances[label] > most - TIED]
        return decided if decided in tied else tied[0]

    def chances(self, replies: Mapping[str, Answer]) -> dict[Answer, float]:
        """Each verdict's probability by Bayes' theorem."""
        joint = {
            true: self.shares[true]
            * prod(self.confusions[prompt][true][answer] for prompt, answer in replies.items())
            for true in self.labels
        }
        total = fsum(joint.values())
        return {true: chance / total for true, chance in joint.items()}


def patterns(verdicts: Iterable[Verdict]) -> dict[Aspect, Patterns]:
    """The distinct patterns of a run of any length, and how often each occurs."""
    counts: dict[Aspect, Patterns] = {aspect: Counter() for aspect in PLACES}
    for verdict in verdicts:
        for aspect, (part, place) in PLACES.items():
            entities = verdict.evidence.get(part, []) if verdict.status == "ok" else []
            answered = (answers(aspect, entity[place]) for entity in entities)
            counts[aspect].update(frozenset(pattern.items()) for pattern in answered if pattern)
    return counts


def by_model(learnt: Mapping[str, Any]) -> Decide:
    """By the model of the votes on an aspect, where there is one, else by majority."""
    models = {aspect: AspectModel(**model) for aspect, model in learnt.items()}

    def decide(aspect: Aspect, votes: Votes) -> Answer | Failed:
        model = models.get(aspect)
        return model.of(answers(aspect, votes)) if model else majority(aspect, votes)

    return decide


def model_votes(times_of: Mapping[Aspect, Patterns]) -> dict[Aspect, AspectModel]:
    """The patterns' order does not matter."""
    return {aspect: _modelled(OPTIONS[aspect], times) for aspect, times in times_of.items()}


def _modelled(labels: tuple[Answer, ...], times_of: Patterns) -> AspectModel:
    entities = times_of.total()
    prompts = tuple(sorted({prompt for votes in times_of for prompt, _ in votes}))
    if not entities:
        return AspectModel(False, False, 0, labels, prompts)
    code = {label: number for number, label in enumerate(labels)}
    coded = [({prompt: code[a] for prompt, a in votes}, times) for votes, times in times_of.items()]
    rows = sorted(([votes.get(prompt, MISSING) for prompt in prompts], n) for votes, n in coded)
    fitted = dawid_skene([row for row, _ in rows], len(labels), [times for _, times in rows])
    facts = (fitted.identified, fitted.converged, entities, labels, prompts)
    if not fitted.identified:
        return AspectModel(*facts)
    confusions = {
        prompt: {true: _by_label(labels, row) for true, row in zip(labels, of_prompt, strict=True)}
        for prompt, of_prompt in zip(prompts, fitted.confusions.tolist(), strict=True)
    }
    return AspectModel(*facts, _by_label(labels, fitted.shares.tolist()), confusions)


def _by_label(labels: Sequence[Answer], numbers: Sequence[float]) -> dict[Answer, float]:
    rounded = (float(f"{number:.{DIGITS}g}") for number in numbers)
    return dict(zip(labels, rounded, strict=True))
