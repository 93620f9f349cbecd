"""Ranking by pairwise preferences: the candidates of a document are compared with each other.

After "Aligning with Human Judgement: The Role of Pairwise Preference in Large Language Model
Evaluators" (PairS). For one document and axis, the model is asked which of two texts is better:

    A or B?   First .80, Second .20        B or A?   First .50, Second .50
    both orders, averaged as log-odds: A is the better one with a preference of .67

and a search ranks the texts by as few of these comparisons as it can (sorting.py). `pairs` is the
share of the document's other texts that a text stands above, from 0 to 1, and `pairs.bradley-terry`
its strength by whichever comparisons were asked (equations.py).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from evaljudge.judges.collector import CollectorOptions
from evaljudge.judges.pairs.contest import Contest, PairQuestion, Ranking, Swap, read_comparison
from evaljudge.judges.pairs.equations import doubt, rank_score
from evaljudge.judges.pairs.findings import counted, report
from evaljudge.judges.pairs.instructions import (
    OURS,
    Instructions,
    by_document,
    document_fairness,
    instruction_in,
    kept_instructions,
)
from evaljudge.judges.pairs.sorting import Beam, Likelihood, by_merge_sort, by_round_robin
from evaljudge.judges.protocol import Judge, Judged, Learnt, Part, Ratings
from evaljudge.judges.shared.counting import SumCollector, Sums, add
from evaljudge.model import Model
from evaljudge.model.asks import Failed
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Axis, Brief, Case, Document, Score, Verdict
from evaljudge.settings import Settings, read_settings

OF_BEAM = frozenset({"beam", "threshold", "likelihood"})
CAUTION = (
    "its scores order the texts of one document, from 1 (the best) to 0: they do not compare texts "
    "of different documents, and a system's mean depends on which other systems are in the run"
)


class PairsSettings(Settings):
    method: Literal["beam", "greedy", "round_robin"] = "beam"
    beam: Annotated[int, Field(ge=1)] = 10
    threshold: Annotated[float, Field(ge=0, le=0.5)] = 0.1
    likelihood: Likelihood = "asked"
    swap: Swap = "both"
    optimise: Literal["fairness"] | None = None
    paraphrases: Annotated[int, Field(ge=1, le=20)] = 5
    instruction: Annotated[int, Field(ge=0, le=20)] = OURS
    """The number of a paraphrase to use; 0: none."""

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if not self.optimise and "paraphrases" in self.model_fields_set:
            raise ValueError("paraphrases goes with `optimise: fairness`")
        if self.optimise and self.instruction:
            raise ValueError("optimise chooses the instruction itself: leave `instruction` out")
        if self.swap == "fairness" and not self.optimise:
            raise ValueError("`swap: fairness` goes with `optimise: fairness`; the ranking is that "
                             "of `swap: none`")  # fmt: skip
        return self


class PairsJudge(Judge):
    kind = "pairs"
    version = "1"
    axes: Sequence[str] = ()
    whole_documents = True

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self.name = name
        self._settings = chosen = read_settings(PairsSettings, settings, f"judges.{name}")
        self._axes, self.axes = task.axes, [axis.name for axis in task.axes]
        self._numbers = range(chosen.paraphrases + 1) if chosen.optimise else [chosen.instruction]
        self._instructions = Instructions(self.kind, task, self._numbers)
        self._comparing = PairQuestion(task, paraphrased=any(self._numbers))
        width = chosen.beam if chosen.method == "beam" else 1
        beam = Beam(width, chosen.threshold, chosen.likelihood)
        self._ranking: Ranking = partial(by_merge_sort, beam=beam)
        if chosen.method == "round_robin":
            self._ranking = by_round_robin
        self.options = [self._comparing.options]
        self.cautions = [f"judges.{name}: {CAUTION}"]

    @property
    def asking(self) -> Mapping[str, Any]:
        chosen = self._settings
        unused = set() if chosen.method == "beam" else set(OF_BEAM)
        unused |= set() if chosen.optimise else {"optimise", "paraphrases"}
        unused |= set() if chosen.instruction else {"instruction"}
        prompts = {"comparing": self._comparing.prompts} | self._instructions.prompts
        return chosen.model_dump(exclude=unused) | {"prompts": prompts}

    @property
    def estimated(self) -> str:
        if self._settings.method == "round_robin":
            return ""
        return (
            "It is assumed that the judge is sure which of two texts is better, and that it never "
            "contradicts itself. A beam asks more where the judge is not sure: of n texts, at most "
            "n (n - 1) / 2 comparisons."
        )

    meanings = {
        "": "The share of the document's other texts that the text stands above, from 0 to 1; "
        "it does not compare across documents.",
        ".bradley-terry": "The text's strength among the texts of its document, in log-odds; 0 "
        "is about their average.",
    }

    @property
    def other_readings(self) -> Sequence[str]:
        return [f"{self.name}.bradley-terry"]

    def parts(self) -> list[Part]:
        return self._instructions.parts()

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        return await self._instructions.brief(document, known, model)

    # stage two: the texts of each axis, the next comparisons of all axes in one list

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> Judged:
        by_axis: dict[Axis, dict[int, Contest | Failed]] = {axis: {} for axis in self._axes}
        for axis, numbered in by_axis.items():
            for number in self._numbers:
                text = instruction_in(briefs, axis, number)
                numbered[number] = text if isinstance(text, Failed) else Contest(
                    case, axis, self._comparing, self._ranking, self._settings.swap, text
                )  # fmt: skip
        contests = [
            c for numbered in by_axis.values() for c in numbered.values() if isinstance(c, Contest)
        ]
        while wanted := [
            (contest, orders)
            for contest in contests
            if (orders := [order for pair in contest.wanted() for order in contest.orders(pair)])
        ]:
            prompts = [contest.prompt(order) for contest, orders in wanted for order in orders]
            replies = iter(await model.choose(prompts, self._comparing.options))
            for contest, orders in wanted:
                contest.learn({order: next(replies) for order in orders})
        return Judged([
            self._verdict(case, axis, candidate.system, numbered)
            for axis, numbered in by_axis.items()
            for candidate in case.candidates
        ])  # fmt: skip

    def _verdict(
        self, case: Case, axis: Axis, system: str, contests: Mapping[int, Contest | Failed]
    ) -> Verdict:
        key = (case.document.doc_id, system, self.name, axis.name)
        held = [contest for contest in contests.values() if isinstance(contest, Contest)]
        tokens = cost(reply for contest in held for reply in contest.replies_shown_first(system))
        by_number = {
            number: contest if isinstance(contest, Failed) else contest.evidence[system]
            for number, contest in contests.items()
        }
        failed = [content for content in by_number.values() if isinstance(content, Failed)]
        if len(failed) == len(by_number):
            return Verdict(*key, {}, "unscored", failed[0].reason, tokens)
        plain = {
            str(number): {"failed": content.reason} if isinstance(content, Failed) else content
            for number, content in by_number.items()
        }
        evidence = {"instructions": plain} if self._settings.optimise else plain.popitem()[1]
        return Verdict(*key, evidence, tokens=tokens)

    def fit(self, verdicts: Iterable[Verdict], ratings: Callable[[], Ratings]) -> Learnt | None:
        if not self._settings.optimise:
            return None
        tried: Sums = {}
        for axis, number, texts in by_document(verdicts):
            add(tried, {axis: {number: document_fairness(texts.values())}})
        return kept_instructions(tried)

    def score(self, verdict: Verdict) -> list[Score]:
        return self.score_by({}, verdict)

    def score_by(self, learnt: Learnt, verdict: Verdict) -> list[Score]:
        """By the instruction that is kept on the axis, or else the first."""
        key = verdict.doc_id, verdict.system
        content: Mapping[str, Any] = verdict.evidence
        if "instructions" in content:
            tried = content["instructions"]
            of_axis = learnt.get(verdict.axis, {})
            content = tried[of_axis.get("kept", next(iter(tried)))]
        reason = verdict.reason or content.get("failed", "")
        if reason:
            return [Score(*key, scorer, verdict.axis, None, reason) for scorer in self.scorers]
        texts = sum(map(len, content["order"]))
        values = [rank_score(content["rank"], texts), content["strength"]]
        preferences = [read_comparison(pair).preference for pair in content["comparisons"]]
        undecided = doubt(preferences) if preferences else None
        return [
            Score(*key, scorer, verdict.axis, value, doubt=undecided)
            for scorer, value in zip(self.scorers, values, strict=True)
        ]

    def collecting(self, wanted: CollectorOptions) -> Callable[[], SumCollector]:
        return partial(SumCollector, counted, partial(report, self.name))
