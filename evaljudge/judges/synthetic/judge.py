"""Direct scoring by comparison with synthetic references of graded quality.

After "Direct-Scoring NLG Evaluators Can Use Pairwise Comparisons Too". For the axis `fluency` of
one document, references of levels 1 to 5 are written, and a candidate is compared with each of
them, which gives p(Better), p(Worse), p(Similar):

    1: .90 .02 .08   2: .80 .05 .15   3: .55 .15 .30   4: .30 .40 .30   5: .05 .75 .20

`synthetic` is the paper's sum, here −0.32; `synthetic.level`, `synthetic.ordinal` and
`synthetic.bradley-terry` are other readings of the same comparisons (equations.py): 3.81, 3.61,
3.60. Beside the verdicts the judge checks its own references (comparing.py).
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from math import inf
from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import Field, model_validator

from evaljudge.judges.collector import CollectorOptions
from evaljudge.judges.protocol import Judge, Judged, Part
from evaljudge.judges.shared.asking import text_of
from evaljudge.judges.shared.counting import SumCollector
from evaljudge.judges.shared.references import MOST_TOKENS, References
from evaljudge.judges.shared.scale import named, ratings
from evaljudge.judges.synthetic.adaptive import next_rating, with_inferred
from evaljudge.judges.synthetic.comparing import Comparing, Placing, Replies, whole
from evaljudge.judges.synthetic.equations import (
    UNDECIDED,
    ComparedTexts,
    Floats,
    bradley_terry_position,
    doubt,
    level_of_sum,
    ordinal_level,
    weighted_sum,
)
from evaljudge.judges.synthetic.evidence import COMPARE, LADDER, YES_NO, answers_of, compared_texts
from evaljudge.judges.synthetic.findings import counted, report
from evaljudge.model import Model
from evaljudge.model.asks import Failed, Options, Writing
from evaljudge.model.counting import cost
from evaljudge.prompts import Task
from evaljudge.records import Brief, Case, Document, Score, Verdict
from evaljudge.settings import Settings, read_settings

SIZES = (1, 3, 10, 100, 1000)
"""The numbers of samples in the paper; the setting `samples` is always used as well."""
READINGS: Mapping[str, Callable[[ComparedTexts], Floats]] = {
    "level": level_of_sum,
    "ordinal": ordinal_level,
    "bradley-terry": bradley_terry_position,
}
"""Other aggregations of the same comparisons, by the scorer's suffix."""
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1)]


class ChecksSettings(Settings):
    """The shares of the documents, and of the comparisons, that are drawn for checks."""

    neighbours: Share = 1.0
    exchanged: Share = 0.1


class AdaptiveSettings(Settings):
    """Ask about the middle reference first, then about those that are still open."""

    certainty: Annotated[float, Field(gt=0.5, lt=1)] = 0.98


class SyntheticSettings(Settings):
    levels: Literal[2, 3, 5, 9] = 5
    layout: Literal["pairs", "ladder"] = "pairs"
    adaptive: AdaptiveSettings | None = None
    predict: Literal["probabilities", "yes-no", "sampled"] = "probabilities"
    samples: Count = 1000
    """With `predict: sampled`: how many answers are drawn for each comparison."""
    trials: Count = 5
    """How often all of these are drawn."""
    swap: Literal["none", "both"] = "none"
    checks: ChecksSettings = ChecksSettings()
    references: str | None = None
    max_tokens: Annotated[int, Field(gt=0)] = MOST_TOKENS
    temperature: Annotated[float, Field(ge=0)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0

    @model_validator(mode="after")
    def _goes_together(self) -> Self:
        if self.predict == "sampled" and self.swap == "both":
            raise ValueError("predict: sampled and swap: both do not go together")
        if self.predict != "sampled" and {"samples", "trials"} & self.model_fields_set:
            raise ValueError("samples and trials need `predict: sampled`")
        if self.layout == "ladder" and self.predict == "yes-no":
            raise ValueError("layout: ladder has no questions for predict: yes-no")
        if self.adaptive and self.predict == "sampled":
            raise ValueError("adaptive needs probabilities: predict: sampled has none")
        return self


class Synthetic(Judge):
    kind = "synthetic"
    version = "3"
    axes: Sequence[str] = ()
    has_checks = True

    def __init__(self, settings: Mapping[str, Any], task: Task, name: str = kind) -> None:
        self.name = name
        self._settings = read_settings(SyntheticSettings, settings, f"judges.{name}")
        self._axes = task.axes
        self.axes, self.examples = [axis.name for axis in task.axes], task.examples
        self._form = YES_NO if self._settings.predict == "yes-no" else COMPARE
        if self._settings.layout == "ladder":
            self._form = LADDER
        self.options: Sequence[Options] = (self._form.options,)
        chosen, wanted = self._settings, ratings(self._settings.levels)
        # where every question is asked in both orders anyway, checking them all costs nothing
        exchanged = 1.0 if chosen.swap == "both" else chosen.checks.exchanged
        self._comparing = Comparing(task, self._form, wanted, chosen.checks.neighbours, exchanged)
        how = Writing(chosen.max_tokens, chosen.temperature, chosen.top_p)
        self._references = References(self.kind, task, wanted, how, chosen.references)
        self._samples = chosen.samples * chosen.trials if chosen.predict == "sampled" else 0
        self._sizes = [*(size for size in SIZES if size < chosen.samples), chosen.samples]
        self._readings = {f"{name}.{suffix}": reading for suffix, reading in READINGS.items()}
        # of fewer draws, and of other trials: scorer, draws, trial
        sizes = [*((f".n{size}", size) for size in self._sizes[:-1]), ("", chosen.samples)]
        self._further_draws = [
            (name + suffix + (f"#{trial + 1}" if trial else ""), size, trial)
            for suffix, size in sizes
            for trial in range(chosen.trials)
            if self._samples and (suffix or trial)
        ]

    @property
    def asking(self) -> Mapping[str, Any]:
        prompts = {"writing": self._references.prompts, "comparing": self._comparing.prompts_hash}
        unused = set() if self._settings.predict == "sampled" else {"samples", "trials"}
        unused |= set() if self._settings.adaptive else {"adaptive"}
        unused |= set() if self._form.shows_all else {"layout"}
        return self._settings.model_dump(exclude=unused) | {"prompts": prompts}

    @property
    def estimated(self) -> str:
        if self._settings.adaptive is None:
            return ""
        return (
            "It is assumed that the judge is sure that every candidate is better than all "
            "references. A judge that is sure of other answers asks less, and one that is not "
            "sure asks more."
        )

    @property
    def scorers(self) -> Sequence[str]:
        return [self.name, *self._readings, *(name for name, _, _ in self._further_draws)]

    def parts(self) -> list[Part]:
        return self._references.parts()

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        return await self._references.brief(document, known, model)

    # stage two: every candidate against every level, all of a case's asks in one list

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> Judged:
        references = {
            axis: {float(b.part): text_of(b) for b in briefs if b.axis == axis.name}
            for axis in self._axes
        }
        placings = [
            self._comparing.placing(case.document, axis, candidate, levels)
            for axis, levels in references.items()
            for candidate in case.candidates
        ]
        orders = (False, True) if self._settings.swap == "both" else (False,)
        while wanted := [(placing, r) for placing in placings for r in self._wanted(placing)]:
            asked = [
                self._comparing.prompts(
                    case.document, p.axis, p.candidate.text, p.references, r, turned=turned
                )
                for turned in orders
                for p, r in wanted
            ]
            replies = await self._comparing.ask(asked, model, self._samples)
            for at, (placing, rating) in enumerate(wanted):
                both = replies[at :: len(wanted)]
                placing.replies += chain.from_iterable(both)
                placing.levels[rating] = self._level(rating, *both)
        verdicts = [self._verdict(case, placing) for placing in placings]
        checks = await self._comparing.checks(self.name, case, references, placings, model)
        return Judged(verdicts, checks)

    def _wanted(self, placing: Placing) -> Sequence[float]:
        """The references to ask about next: all at once, unless the setting is adaptive."""
        how, evidence = self._settings.adaptive, placing.evidence
        if not placing.references or len(evidence) < len(placing.levels):
            return []
        if how is None:
            return [] if evidence else list(placing.references)
        answers = dict(zip(evidence, answers_of(evidence.values()), strict=True))
        following = next_rating(self._comparing.ratings, answers, how.certainty)
        return [] if following is None else [following]

    def _verdict(self, case: Case, placing: Placing) -> Verdict:
        tokens = cost(placing.replies)
        key = (case.document.doc_id, placing.candidate.system, self.name, placing.axis.name)
        if placing.reason:
            return Verdict(*key, {}, "unscored", placing.reason)
        for rating, level in sorted(placing.levels.items()):
            if isinstance(level, Failed):
                reason = f"compared with level {named(rating)}: {level.reason}"
                return Verdict(*key, {}, "unscored", reason, tokens)
        levels = with_inferred(self._comparing.ratings, placing.evidence)
        return Verdict(*key, {"levels": levels}, tokens=tokens)

    def _level(
        self, rating: float, here: Replies, there: Replies | None = None
    ) -> dict[str, Any] | Failed:
        usual = whole(here)
        if isinstance(usual, Failed):
            return usual
        level: dict[str, Any] = {"rating": rating, **self._form.evidence(usual)}
        if self._samples:
            level["draws"] = self._draws(usual[0].samples)
        if there is None:
            return level
        turned = whole(there)
        if isinstance(turned, Failed):
            return turned
        exchanged = self._form.evidence(turned)
        logs = self._form.averaged(self._form.logs([level]), self._form.logs([exchanged]))
        if (logs.max(axis=2) == -inf).any():
            return Failed("the replies in the two orders exclude each other")
        return level | {"exchanged": exchanged}

    def _draws(self, samples: Sequence[str]) -> dict[str, list[list[int]]]:
        """How often each answer was among the first n draws, for every n and trial."""
        size, names = self._settings.samples, self._form.options.names
        trials = [samples[at : at + size] for at in range(0, len(samples), size)]
        return {
            str(n): [[trial[:n].count(name) for name in names] for trial in trials]
            for n in self._sizes
        }

    @property
    def undecided(self) -> Mapping[str, float]:
        levels = [{"rating": rating, "p": UNDECIDED} for rating in self._comparing.ratings]
        texts = compared_texts([levels])
        return {scorer: float(read(texts)[0]) for scorer, read in self._readings.items()}

    @property
    def meanings(self) -> Mapping[str, str]:
        levels = self._comparing.ratings
        most = named(sum(levels))
        references = f"comparisons with {len(levels)} references"
        return {
            "": f"Weighted sum over {references}, from -{most} (worse than all) to {most} "
            "(better than all).",
            ".level": "The weighted sum on the scale of ratings, from 1 (worst) to 5 (best).",
            ".ordinal": f"The expected level by {references}, from 1 (worst) to 5 (best).",
            ".bradley-terry": f"The position by wins and losses in {references}: 1 is the level of "
            "the worst, 5 of the best.",
        }

    @property
    def other_readings(self) -> Sequence[str]:
        return list(self._readings)

    def collecting(self, wanted: CollectorOptions) -> Callable[[], SumCollector]:
        return partial(SumCollector, partial(counted, self.name), partial(report, self.name))

    def score(self, verdict: Verdict) -> list[Score]:
        return self.scores([verdict])

    def scores(self, verdicts: Sequence[Verdict]) -> list[Score]:
        """All at once: a run's texts are compared with references of the same ratings."""
        texts = [v.evidence["levels"] for v in verdicts if v.status == "ok"]
        rows = iter(self._columns(texts).tolist() if texts else ())
        nothing = [None] * (1 + len(self.scorers))
        numbers = [next(rows) if v.status == "ok" else nothing for v in verdicts]
        return [
            Score(v.doc_id, v.system, scorer, v.axis, value, v.reason, doubt=undecided)
            for v, (undecided, *values) in zip(verdicts, numbers, strict=True)
            for scorer, value in zip(self.scorers, values, strict=True)
        ]

    def _columns(self, texts: Sequence[Sequence[Mapping[str, Any]]]) -> Floats:
        """A row for each text: how undecided its comparisons are, then each scorer's value."""
        size = self._settings.samples
        read = self._drawn(texts, size, 0) if self._samples else compared_texts(texts)
        draws = [self._drawn(texts, size, trial) for _, size, trial in self._further_draws]
        columns = [doubt(read), weighted_sum(read)]
        columns += [reading(read) for reading in self._readings.values()]
        return np.stack([*columns, *map(weighted_sum, draws)], axis=1)

    def _drawn(
        self, texts: Sequence[Sequence[Mapping[str, Any]]], size: int, trial: int
    ) -> ComparedTexts:
        """The texts with answers' shares among these draws in place of their probabilities."""
        names = self._form.options.names

        def shares(level: Mapping[str, Any]) -> dict[str, float]:
            counts = level["draws"][str(size)][trial]
            return {name: n / size for name, n in zip(names, counts, strict=True)}

        return compared_texts(
            [[{"rating": level["rating"], "p": shares(level)} for level in text] for text in texts]
        )
