"""Direct scoring by comparison with synthetic references of graded quality.

After "Direct-Scoring NLG Evaluators Can Use Pairwise Comparisons Too". For the axis `fluency` of
one document, five references are written, each between its two neighbours:

    1 "flood town bridge closed flood"  …  5 "A flood has closed the town's old bridge."

and a candidate is compared with each of them, which gives p(Better), p(Worse), p(Similar):

    1: .90 .02 .08   2: .80 .05 .15   3: .55 .15 .30   4: .30 .40 .30   5: .05 .75 .20

`synthetic` is the paper's sum Σ r·(p_better − p_worse) over the levels' ratings r: here −0.32.
`synthetic.level` carries that sum to the scale 1..5, for thresholds: piecewise linear through the
sums that an ideal judge gives a text equal to each level (N=5: −14, −11, −6, 1, 10 ↦ 1, 2, 3, 4,
5): here 3.81. A judge that is undecided everywhere (sum 0) lands at 3.86: the paper's sum rewards
beating a good reference more than it punishes losing to a bad one. A missing level leaves the
candidate unscored.
"""

from __future__ import annotations

from asyncio import gather
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Annotated, Any, Literal

from pydantic import Field

from evaljudge.asks import Chosen, Failed, Options, Prompt, Writing, Written
from evaljudge.judges.protocol import Part
from evaljudge.model import Model
from evaljudge.model.counting import cost
from evaljudge.records import Axis, Brief, Candidate, Case, Document, Score, Verdict
from evaljudge.settings import Settings, read_settings
from evaljudge.tasks import Task

LOWEST, HIGHEST = 1.0, 5.0
COMPARISON = Options(("Better", "Worse", "Similar"))
Text = str | Failed


class SyntheticSettings(Settings):
    levels: Literal[2, 3, 5, 9] = 5
    max_tokens: Annotated[int, Field(gt=0)] = 512
    temperature: Annotated[float, Field(ge=0)] = 0.0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0


class Synthetic:
    name = "synthetic"
    version = "1"
    options = (COMPARISON,)
    scorers = ("synthetic", "synthetic.level")

    def __init__(self, settings: Mapping[str, Any], task: Task) -> None:
        self._settings = read_settings(SyntheticSettings, settings, "judges.synthetic")
        self._axes, self._pack = task.axes, task.pack
        told = {"axis": "axis", "description": "what it is"}
        self._pack.check("synthetic.extreme", ["source"], extreme="worst", **told)
        self._pack.check("synthetic.between", ["worse", "better"], **told)
        self._pack.check("synthetic.compare", ["reference", "target"], **told)
        self._how = Writing(
            self._settings.max_tokens, self._settings.temperature, self._settings.top_p
        )
        self._writing_hash = task.pack.hash(["synthetic.extreme", "synthetic.between"])
        self._comparing_hash = task.pack.hash(["synthetic.compare"])
        self._ratings = ratings(self._settings.levels)

    @property
    def asking(self) -> Mapping[str, Any]:
        prompts = {"writing": self._writing_hash, "comparing": self._comparing_hash}
        return self._settings.model_dump() | {"prompts": prompts}

    @property
    def axes(self) -> Sequence[str]:
        return [axis.name for axis in self._axes]

    # stage one: the references, extremes first, then each between its two neighbours

    def parts(self) -> list[Part]:
        return [
            Part(axis.name, _named(rating), self._told(axis, rating), axis.context)
            for axis in self._axes
            for rating in self._ratings
        ]

    def _told(self, axis: Axis, rating: float) -> dict[str, Any]:
        how = self._settings.model_dump(exclude={"levels"})
        return {"axis": axis.name, "description": axis.description, "rating": rating,
                "prompts": self._writing_hash, **how}  # fmt: skip

    async def brief(self, document: Document, known: Sequence[Brief], model: Model) -> list[Brief]:
        mine = await gather(
            *(
                self._references(document, axis, [b for b in known if b.axis == axis.name], model)
                for axis in self._axes
            )
        )
        return [brief for briefs in mine for brief in briefs]

    async def _references(
        self, document: Document, axis: Axis, known: Sequence[Brief], model: Model
    ) -> list[Brief]:
        texts: dict[float, Text] = {float(b.part): _text_of(b) for b in known}
        new: list[Brief] = []
        for round_ in rounds(self._ratings):
            missing = [rating for rating in round_ if rating not in texts]
            written = await self._write(document, axis, missing, texts, model)
            new += written
            texts |= {float(b.part): _text_of(b) for b in written}
        return new

    async def _write(
        self, document: Document, axis: Axis, missing: Sequence[float],
        texts: Mapping[float, Text], model: Model,
    ) -> list[Brief]:  # fmt: skip
        prompts = [self._writing_prompt(document, axis, rating, texts) for rating in missing]
        asked = [prompt for prompt in prompts if isinstance(prompt, Prompt)]
        replies = iter(await model.write(asked, self._how))
        answers = [next(replies) if isinstance(p, Prompt) else p for p in prompts]
        return [
            self._reference(document, axis, rating, answer)
            for rating, answer in zip(missing, answers, strict=True)
        ]

    def _writing_prompt(
        self, document: Document, axis: Axis, rating: float, texts: Mapping[float, Text]
    ) -> Prompt | Failed:
        if not document.source.strip():
            return Failed("empty source")
        if rating in (LOWEST, HIGHEST):
            extreme = "worst" if rating == LOWEST else "best"
            return self._prompt("synthetic.extreme", document, axis, {}, extreme=extreme)
        worse, better = neighbours(rating)
        for neighbour in (worse, better):
            if isinstance(found := texts[neighbour], Failed):
                return found
        given = {"worse": str(texts[worse]), "better": str(texts[better])}
        return self._prompt("synthetic.between", document, axis, given)

    def _reference(
        self, document: Document, axis: Axis, rating: float, answer: Written | Failed
    ) -> Brief:
        text = _usable(answer)
        content: dict[str, Any] = {"rating": rating}
        reason = text.reason if isinstance(text, Failed) else ""
        if isinstance(text, str):
            content["text"] = text
        return Brief(
            document.doc_id, "", self.name, axis.name, _named(rating), content,
            "unscored" if reason else "ok", reason, tokens=cost([answer]),
        )  # fmt: skip

    # stage two: every candidate against every level, all of a case's asks in one list

    async def verdicts(self, case: Case, briefs: Sequence[Brief], model: Model) -> list[Verdict]:
        levels = {
            axis.name: {float(b.part): _text_of(b) for b in briefs if b.axis == axis.name}
            for axis in self._axes
        }
        pairs = [(axis, candidate) for axis in self._axes for candidate in case.candidates]
        hurdles = [self._hurdle(case, axis, c, levels[axis.name]) for axis, c in pairs]
        prompts = [
            self._comparing_prompt(case.document, axis, candidate, levels[axis.name][rating])
            for (axis, candidate), hurdle in zip(pairs, hurdles, strict=True)
            for rating in (() if hurdle else self._ratings)
        ]
        replies = iter(await model.choose(prompts, COMPARISON))
        return [
            Verdict(case.document.doc_id, c.system, self.name, axis.name, {}, "unscored", hurdle)
            if hurdle
            else self._verdict(case, axis, c, [next(replies) for _ in self._ratings])
            for (axis, c), hurdle in zip(pairs, hurdles, strict=True)
        ]

    def _hurdle(
        self, case: Case, axis: Axis, candidate: Candidate, levels: Mapping[float, Text]
    ) -> str:
        """Why this candidate cannot be compared at all; empty where it can."""
        if not case.document.source.strip():
            return "empty source"
        if not candidate.text.strip():
            return "empty text"
        for rating in self._ratings:
            level = levels.get(rating, Failed("never written"))
            if isinstance(level, Failed):
                return f"no reference of level {_named(rating)} on {axis.name}: {level.reason}"
        return ""

    def _comparing_prompt(
        self, document: Document, axis: Axis, candidate: Candidate, reference: Text
    ) -> Prompt:
        given = {"reference": str(reference), "target": candidate.text}
        return self._prompt("synthetic.compare", document, axis, given)

    def _verdict(
        self, case: Case, axis: Axis, candidate: Candidate, replies: Sequence[Chosen | Failed]
    ) -> Verdict:
        known = (case.document.doc_id, candidate.system, self.name, axis.name)
        tokens = cost(replies)
        for rating, reply in zip(self._ratings, replies, strict=True):
            if isinstance(reply, Failed):
                reason = f"compared with level {_named(rating)}: {reply.reason}"
                return Verdict(*known, {}, "unscored", reason, tokens)
        levels = [
            {"rating": rating, "p": r.p, "mass": r.mass, "logprobs": dict(r.logprobs)}
            for rating, r in zip(self._ratings, replies, strict=True)
            if isinstance(r, Chosen)
        ]
        return Verdict(*known, {"levels": levels}, tokens=tokens)

    def _prompt(
        self, name: str, document: Document, axis: Axis, given: Mapping[str, str], **words: str
    ) -> Prompt:
        context = document.context if axis.context else None
        told = {"source": document.source, "context": context, **given}
        return self._pack.render(name, told, axis=axis.name, description=axis.description, **words)

    # the driver: arithmetic, no model

    def score(self, verdict: Verdict) -> list[Score]:
        values: tuple[float | None, float | None] = (None, None)
        if verdict.status == "ok":
            levels = verdict.evidence["levels"]
            total = weighted_sum([(lv["rating"], lv["p"]) for lv in levels])
            values = (total, level_of(total, [lv["rating"] for lv in levels]))
        return [
            Score(verdict.doc_id, verdict.system, scorer, verdict.axis, value, verdict.reason)
            for scorer, value in zip(self.scorers, values, strict=True)
        ]


def ratings(levels: int) -> list[float]:
    """What level 1..N stands for: 1 + 4(i−1)/(N−1)."""
    return [LOWEST + (HIGHEST - LOWEST) * i / (levels - 1) for i in range(levels)]


def rounds(wanted: Sequence[float]) -> list[list[float]]:
    """The extremes, the middle, the quarters, the eighths: each needs only those before it."""
    gaps: dict[float, list[float]] = {}
    for rating in wanted:
        gaps.setdefault(_gap(rating), []).append(rating)
    return [gaps[gap] for gap in sorted(gaps, reverse=True)]


def neighbours(rating: float) -> tuple[float, float]:
    """The two levels that an in-between level is written between, whatever N is."""
    return rating - _gap(rating), rating + _gap(rating)


def _gap(rating: float) -> float:
    gap = HIGHEST - LOWEST
    while (rating - LOWEST) % gap:
        gap /= 2
    return gap


def weighted_sum(levels: Sequence[tuple[float, Mapping[str, float]]]) -> float:
    """The paper's score: Σ r·(p(Better) − p(Worse))."""
    return sum(rating * (p["Better"] - p["Worse"]) for rating, p in levels)


def ideal_sums(levels: Sequence[float]) -> list[float]:
    """What an ideal judge's sum is for a text equal to each level: it beats those below only."""
    return [sum(r for r in levels if r < mine) - sum(r for r in levels if r > mine)
            for mine in levels]  # fmt: skip


def level_of(total: float, levels: Sequence[float]) -> float:
    """The sum on the scale 1..5: piecewise linear through the ideal sums, clamped."""
    sums = ideal_sums(levels)
    if total <= sums[0]:
        return levels[0]
    for (low, high), (below, above) in zip(pairwise(sums), pairwise(levels), strict=True):
        if total <= high:
            return below + (above - below) * (total - low) / (high - low)
    return levels[-1]


def _named(rating: float) -> str:
    return f"{rating:g}"


def _usable(answer: Written | Failed) -> Text:
    """A reference must be whole: a reply that was cut by its limit is none."""
    if isinstance(answer, Failed):
        return answer
    sample = answer.samples[0]
    if sample.finish == "length":
        return Failed("the reply was cut at its token limit")
    return sample.text.strip() or Failed("the reply was empty")


def _text_of(brief: Brief) -> Text:
    return str(brief.content["text"]) if brief.status == "ok" else Failed(brief.reason)
