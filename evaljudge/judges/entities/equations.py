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

A share is of what has a verdict; it is Failed, with the reason, where nothing has.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
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
SHARES = {
    "completeness": "The share of the expected entities that the text has",
    "correctness": "The share of the text's entities that are correct",
    "consistency": "The share of the text's entities that are not incorrect",
    "supported": "The share of the text's entities that the source supports",
    "unknown": "The share of the text's entities of which it is not known; lower is better",
    "denied": "The share of the text's entities that the majority denies; lower is better",
    "divided": "The share of the text's entities without a majority; lower is better",
    "alignment": "The share of the text's entities that are in the right place",
    "readability": "The share of the text's sentences without an issue",
}
AXES = ("consistency", "relevance", "coherence", "fluency")
"""SummEval's, which `entities` scores where the task has them."""


@dataclass(frozen=True, slots=True)
class Ruling:
    verdict: Answer
    rule: Rule


EXCEPTIONS: Mapping[tuple[Answer, ...], Answer] = {("partially", "partially", "yes"): "yes"}
"""Sorted ballots that the majority does not decide."""
DENIED, DIVIDED = Ruling("no", "majority"), Ruling("no", "divided")
WORTH: Mapping[Answer, float] = {"yes": 1, "partially": 0.5}
"""Every other answer is worth nothing."""

NO_BALLOT = Failed("no prompt gave an answer")
DIVIDED_BY_LOSS = Failed("its prompts disagree, and one gave no answer")
NO_RUBRIC = "the rubric has no entities"


def ruling(ballot: Sequence[Answer], lost: int = 0) -> Ruling | Failed:
    """The ruling on the answers that could be read, in any order; `lost`: how many could not."""
    if not ballot:
        return NO_BALLOT
    if exception := EXCEPTIONS.get(tuple(sorted(ballot))):
        return Ruling(exception, "exception")
    [(answer, times)] = Counter(ballot).most_common(1)
    if 2 * times > len(ballot):
        return Ruling(answer, "majority")
    return DIVIDED_BY_LOSS if lost else DIVIDED


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


def any_issue(votes: Votes, decide: Decide, kinds: Sequence[Kind] = KINDS) -> Answer | Failed:
    """Whether a sentence has an issue of these kinds, each of which has one prompt. One issue is
    enough, whatever else failed; `no` needs an answer on every kind."""
    verdicts = [decide("readability", {kind: votes.get(kind, {})}) for kind in kinds]
    if "yes" in verdicts:
        return "yes"
    return next((answer for answer in verdicts if isinstance(answer, Failed)), "no")


def mean_worth(
    verdicts: Sequence[object] | Failed,
    worth: Mapping[Any, float] = WORTH,
    none: str = "the text has no entities",
) -> Value:
    """The mean over the verdicts, among which are Failed; `none`: why there may be none at all."""
    if isinstance(verdicts, Failed):
        return verdicts
    decided = [verdict for verdict in verdicts if not isinstance(verdict, Failed)]
    if not decided:
        return Failed("no verdict on any entity or sentence" if verdicts else none)
    return sum(worth.get(verdict, 0.0) for verdict in decided) / len(decided)


def share(verdicts: Sequence[object] | Failed, *among: object) -> Value:
    return mean_worth(verdicts, dict.fromkeys(among, 1.0))


def readability(sentences: Sequence[Votes], decide: Decide, kinds: Sequence[Kind] = KINDS) -> Value:
    """The share of sentences without issues of these kinds, which formula (4) counts."""
    verdicts = [any_issue(votes, decide, kinds) for votes in sentences]
    return rest(mean_worth(verdicts, {"yes": 1.0}, "the text has no sentences"))


def relevance(rubric: Sequence[object] | Failed, target: Sequence[object] | Failed) -> Value:
    """The mean of the rubric's share that is found, at least in part, and the text's share that
    is relevant, from the verdicts on completeness and on alignment."""
    covered = mean_worth(rubric, {"yes": 1.0, "partially": 1.0}, NO_RUBRIC)
    placed = share(target, "yes")
    if isinstance(covered, Failed) or isinstance(placed, Failed):
        return covered if isinstance(covered, Failed) else placed
    return (covered + placed) / 2


def rest(part: Value) -> Value:
    return part if isinstance(part, Failed) else 1 - part


def scaled(share: Value) -> Value:
    """The share on the scale of ratings: `0 ↦ 1, ½ ↦ 3, 1 ↦ 5`."""
    return share if isinstance(share, Failed) else LOWEST + (HIGHEST - LOWEST) * share


def shares_of(verdict: Verdict, decide: Decide, consistent: str = "consistency") -> Shares:
    """Every number that a verdict gives; `consistent`: the share that is on the axis consistency.

    What is denied and what is divided is always by the ballots, whatever decides the verdicts.
    """
    if verdict.status == "unscored":
        keys = [*((share, ANY_AXIS) for share in SHARES), *(("", axis) for axis in AXES)]
        return dict.fromkeys(keys, Failed(verdict.reason))
    evidence = verdict.evidence
    lost = {part: Failed(reason) for part, reason in evidence["failed"].items() if reason}
    entities, no_entities = evidence["entities"], lost.get("entities")
    rubric = lost.get("rubric") or [decide("completeness", e["votes"]) for e in evidence["rubric"]]
    right = no_entities or [decide("correctness", e["correctness"]) for e in entities]
    rulings = no_entities or [ruling_of("correctness", e["correctness"]) for e in entities]
    placed = no_entities or [decide("alignment", e["alignment"]) for e in entities]
    sentences = [sentence["votes"] for sentence in evidence["sentences"]]
    shares = {
        "completeness": mean_worth(rubric, none=NO_RUBRIC),  # formula (1)
        "correctness": mean_worth(right),  # formula (2)
        "consistency": rest(share(right, "no")),  # formula (3)
        "supported": share(right, "yes", "partially"),
        "unknown": share(right, "unknown"),
        "denied": share(rulings, DENIED),
        "divided": share(rulings, DIVIDED),
        "alignment": share(placed, "yes"),
        "readability": readability(sentences, decide),
    }
    on_axes = {
        "consistency": shares[consistent],
        "relevance": relevance(rubric, placed),
        "coherence": readability(sentences, decide, ["flow"]),
        "fluency": readability(sentences, decide, ["grammar", "spelling"]),
    }
    return {(share, ANY_AXIS): value for share, value in shares.items()} | {
        ("", axis): scaled(value) for axis, value in on_axes.items()
    }
