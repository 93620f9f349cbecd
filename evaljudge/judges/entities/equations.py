"""Several prompts' answers about one entity become one verdict, and verdicts become shares.

    ballot                              verdict      by
    yes, yes, contradict                yes          majority
    partially, partially, yes           yes          exception
    yes, no, partially                  no           divided
    yes, no                             no           divided
    (no prompt was answered)            none: “no prompt gave an answer”

    yes, yes, partially, contradict     (1 + 1 + .5 + 0) / 4 = .625 complete; scaled, 3.5

The rules apply in this order: EXCEPTIONS, the majority, and `no` where there is no majority. Where
the paper leaves something open, it is read as follows:

- A majority is more than half of the ballots. Two prompts of alignment that disagree give `no`.
- A prompt whose reply failed has no ballot. Where the others are divided, the lost ballot might
  have decided, so the entity is unscored, like one without any ballot: it counts in neither
  numerator nor denominator of a share, and is reported.
- An entity is incorrect where its verdict is `no`, either denied (by the majority) or divided:
  every entity with a verdict is supported, unknown, denied or divided.
- What is contradicted is not found.
- The paper once adds up all errors of readability, and once (formula 4) counts the sentences that
  have any: only the second is a share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from evaljudge.judges.shared.scale import HIGHEST, LOWEST
from evaljudge.model.asks import Failed
from evaljudge.records import ANY_AXIS, Verdict

Aspect = Literal["completeness", "correctness", "alignment", "readability"]
Answer = Literal["yes", "no", "contradict", "partially", "unknown"]
Kind = Literal["flow", "language", "grammar", "spelling"]
Rule = Literal["exception", "majority", "divided"]
Vote = Mapping[str, Any]
Votes = Mapping[str, Vote]
"""One entity's votes by prompt, as in the evidence: `{"presence": {"answer": "yes", …}, …}`."""
Decide = Callable[[Aspect, Votes], Answer | Failed]
"""How the votes on one entity or sentence become its verdict."""
Value = float | Failed
Shares = Mapping[tuple[str, str], Value]
"""The keys are the share's name ("" for a number on a human axis) and the axis."""

OPTIONS: Mapping[Aspect, tuple[Answer, ...]] = {
    "completeness": ("yes", "no", "contradict", "partially"),
    "correctness": ("yes", "no", "partially", "unknown"),
    "alignment": ("yes", "no"),
    "readability": ("yes", "no"),  # whether a sentence has an issue of a kind
}
KINDS: tuple[Kind, ...] = ("flow", "language", "grammar", "spelling")
COHERENCE: tuple[Kind, ...] = ("flow",)
FLUENCY: tuple[Kind, ...] = ("grammar", "spelling")
SHARES = ("completeness", "correctness", "consistency", "supported", "unknown", "denied", "divided",
          "alignment", "readability")  # fmt: skip
AXES = ("consistency", "relevance", "coherence", "fluency")
"""SummEval's, which `entities` scores where the task has them."""

EXCEPTIONS: Mapping[tuple[Answer, ...], Answer] = {("partially", "partially", "yes"): "yes"}
"""Sorted ballots that the majority does not decide."""
DIVIDED: Answer = "no"
WORTH: Mapping[Answer, float] = {
    "yes": 1, "partially": 0.5, "no": 0, "contradict": 0, "unknown": 0,
}  # fmt: skip

NO_BALLOT = Failed("no prompt gave an answer")
DIVIDED_BY_LOSS = Failed("its prompts disagree, and one gave no answer")


@dataclass(frozen=True, slots=True)
class Ruling:
    verdict: Answer
    rule: Rule


def ruling(ballot: Sequence[Answer], lost: int = 0) -> Ruling | Failed:
    """The ruling on the answers that could be read, in any order; `lost`: how many could not."""
    if not ballot:
        return NO_BALLOT
    if exception := EXCEPTIONS.get(tuple(sorted(ballot))):
        return Ruling(exception, "exception")
    [(answer, times)] = Counter(ballot).most_common(1)
    if 2 * times > len(ballot):
        return Ruling(answer, "majority")
    return DIVIDED_BY_LOSS if lost else Ruling(DIVIDED, "divided")


def answers(aspect: Aspect, votes: Votes) -> dict[str, Answer]:
    """Each prompt's answer, without the prompts that gave none of the aspect's answers."""
    replies = {prompt: vote.get("answer") for prompt, vote in votes.items()}
    return {prompt: answer for prompt, answer in replies.items() if answer in OPTIONS[aspect]}


def ruling_of(aspect: Aspect, votes: Votes) -> Ruling | Failed:
    ballot = list(answers(aspect, votes).values())
    return ruling(ballot, lost=len(votes) - len(ballot))


def majority(aspect: Aspect, votes: Votes) -> Answer | Failed:
    decision = ruling_of(aspect, votes)
    return decision if isinstance(decision, Failed) else decision.verdict


Tally = Mapping[Answer | None, int]
"""How many entities (or sentences) have each verdict; None: how many have none."""
NO_RUBRIC = "the rubric has no entities"
NO_ENTITIES, NO_SENTENCES = "the text has no entities", "the text has no sentences"


def tally(verdicts: Iterable[Answer | Failed]) -> Tally:
    """Counts one verdict for each entity; Failed where it has none."""
    return Counter(None if isinstance(verdict, Failed) else verdict for verdict in verdicts)


def mean_worth(
    verdicts: Tally | Failed, worth: Mapping[Answer, float] = WORTH, none: str = NO_ENTITIES
) -> Value:
    """Failed, with the reason, where there is no verdict."""
    if isinstance(verdicts, Failed):
        return verdicts
    counts = {answer: times for answer, times in verdicts.items() if answer is not None}
    if not counts:
        return Failed("no verdict on any entity or sentence" if verdicts.get(None) else none)
    return sum(worth[answer] * times for answer, times in counts.items()) / sum(counts.values())


def share(verdicts: Tally | Failed, among: Container[Answer], none: str = NO_ENTITIES) -> Value:
    """The share that has one of these verdicts."""
    return mean_worth(verdicts, {answer: float(answer in among) for answer in WORTH}, none)


def completeness(rubric: Tally | Failed) -> Value:
    """Formula (1)."""
    return mean_worth(rubric, none=NO_RUBRIC)


def correctness(target: Tally | Failed) -> Value:
    """Formula (2)."""
    return mean_worth(target)


def consistency(target: Tally | Failed) -> Value:
    """Formula (3), of the verdicts on correctness."""
    return _rest(share(target, {"no"}))


def supported(target: Tally | Failed) -> Value:
    """The share that is confirmed, at least in part."""
    return share(target, {"yes", "partially"})


def rejections(rulings: Iterable[Ruling | Failed], rule: Rule) -> Tally:
    """Whether each entity is incorrect by this rule: denied by the `majority`, or `divided`."""
    return tally(
        ruled if isinstance(ruled, Failed) else "yes" if ruled == Ruling("no", rule) else "no"
        for ruled in rulings
    )


def relevance(rubric: Tally | Failed, target: Tally | Failed) -> Value:
    """The mean of the rubric's share that is found, at least in part, and the text's share that
    is relevant, from the verdicts on completeness and on alignment."""
    covered, placed = share(rubric, {"yes", "partially"}, NO_RUBRIC), share(target, {"yes"})
    if isinstance(covered, Failed) or isinstance(placed, Failed):
        return covered if isinstance(covered, Failed) else placed
    return (covered + placed) / 2


def issues_found(votes: Votes, decide: Decide) -> dict[Kind, Answer | Failed]:
    """Whether one sentence has an issue of each kind; each kind has one prompt."""
    return {kind: decide("readability", {kind: votes[kind]}) for kind in KINDS if kind in votes}


def any_issue(
    by_kind: Mapping[Kind, Answer | Failed], kinds: Sequence[Kind] = KINDS
) -> Answer | Failed:
    """One issue is enough, whatever else failed; `no` needs an answer on every kind."""
    verdicts = [by_kind.get(kind, NO_BALLOT) for kind in kinds]
    if "yes" in verdicts:
        return "yes"
    return next((answer for answer in verdicts if isinstance(answer, Failed)), "no")


def issues(
    sentences: Iterable[Mapping[Kind, Answer | Failed]], kinds: Sequence[Kind] = KINDS
) -> Tally:
    return tally(any_issue(by_kind, kinds) for by_kind in sentences)


def readability(sentences: Tally) -> Value:
    """The share of sentences without issues, which formula (4) counts."""
    return _rest(share(sentences, {"yes"}, NO_SENTENCES))


def _rest(part: Value) -> Value:
    return part if isinstance(part, Failed) else 1 - part


def scaled(share: Value) -> Value:
    """The share on the scale of ratings: `0 ↦ 1, ½ ↦ 3, 1 ↦ 5`."""
    return share if isinstance(share, Failed) else LOWEST + (HIGHEST - LOWEST) * share


def shares_of(
    verdict: Verdict, decide: Decide, consistent: Callable[[Tally | Failed], Value] = consistency
) -> Shares:
    """Every number that a verdict gives; `consistent` gives the one on the axis consistency.

    What is denied and what is divided is always by the ballots, whatever decides the verdicts.
    """
    if verdict.status == "unscored":
        keys = [*((share, ANY_AXIS) for share in SHARES), *(("", axis) for axis in AXES)]
        return dict.fromkeys(keys, Failed(verdict.reason))
    evidence = verdict.evidence
    lost = {part: Failed(reason) for part, reason in evidence["failed"].items() if reason}
    wanted, entities = evidence["rubric"], evidence["entities"]
    rubric = lost.get("rubric") or tally(decide("completeness", e["votes"]) for e in wanted)
    right, placed = (
        lost.get("entities") or tally(decide(aspect, e[aspect]) for e in entities)
        for aspect in ("correctness", "alignment")
    )
    rulings = [ruling_of("correctness", e["correctness"]) for e in entities]
    sentences = [issues_found(sentence["votes"], decide) for sentence in evidence["sentences"]]
    shares = {
        "completeness": completeness(rubric),
        "correctness": correctness(right),
        "consistency": consistency(right),
        "supported": supported(right),
        "unknown": share(right, {"unknown"}),
        "denied": share(lost.get("entities") or rejections(rulings, "majority"), {"yes"}),
        "divided": share(lost.get("entities") or rejections(rulings, "divided"), {"yes"}),
        "alignment": share(placed, {"yes"}),
        "readability": readability(issues(sentences)),
    }
    on_axes = {
        "consistency": consistent(right),
        "relevance": relevance(rubric, placed),
        "coherence": readability(issues(sentences, COHERENCE)),
        "fluency": readability(issues(sentences, FLUENCY)),
    }
    return {(share, ANY_AXIS): value for share, value in shares.items()} | {
        ("", axis): scaled(value) for axis, value in on_axes.items()
    }
