"""The evidence on one text, for people: its comparisons, where it falls, and the references.

reference of level  answer   p(Better)  p(Similar)  p(Worse)
5                   Worse        0.050       0.200     0.750
4                   Worse        0.300       0.300     0.400
3                   Better       0.550       0.300     0.150   …

The comparisons place the text at level 3.61 (synthetic.ordinal).
Reference of level 5: A flood has closed the town's old bridge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.references import text_of
from evaljudge.judges.shared.scale import named
from evaljudge.judges.synthetic.equations import ordinal_level, weighted_sum
from evaljudge.judges.synthetic.evidence import Level, answers_of, compared_texts
from evaljudge.model.asks import Failed
from evaljudge.sections import Section, Table, View
from evaljudge.sections.figures import correlation
from evaljudge.text import harmless

TEMPLATE = Path(__file__).with_name("view.html.j2")
HEADS = ("reference of level", "answer", "p(Better)", "p(Similar)", "p(Worse)")
ANSWERS = ("Better", "Similar", "Worse")
ABOUT = (
    "The text was compared with synthetic references of graded quality, of which level 5 is the "
    "best. The answer is the most probable one: the text is Better than the reference, Similar to "
    "it, or Worse."
)
INFERRED = "Inferred answers were not asked for: they follow from the other answers."
SEVERAL = (
    "The references' texts are not shown: several judges of this run wrote references of these "
    "levels, and their files do not say which judge used which."
)
GONE = "The references' texts are not shown: this run's folder of briefs does not hold them."


@dataclass(frozen=True, slots=True)
class Rung:
    """The comparison with the reference of one level; shares add up to 1."""

    level: str
    answer: str
    better: float
    similar: float
    worse: float
    figures: str
    reference: str
    """Empty where it is not known."""
    adds: str
    """What the comparison adds to the judge's score."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """A text's comparisons from the best reference to the worst, and where it falls."""

    rungs: Sequence[Rung]
    place: str
    falls: float
    """Down the ladder: 0 is the best reference's middle, 1 the worst's."""
    score: str
    """How the judge's score is made of the comparisons, in a sentence."""
    notes: Sequence[str]

    @property
    def nearest(self) -> Rung:
        """The lowest reference that the text lost to; the best, where it lost to none."""
        lost = [rung for rung in self.rungs if rung.answer.startswith("Worse")]
        return lost[-1] if lost else self.rungs[0]


def pictured_evidence(judged: JudgedCandidate) -> View:
    levels = _falling(judged)
    ratings = [level["rating"] for level in levels]
    place = _place(levels)
    known = _texts(judged, ratings)
    rungs = [
        Rung(
            named(level["rating"]),
            _answer(level, p),
            p["Better"],
            p["Similar"],
            p["Worse"],
            ", ".join(f"p({name}) {correlation(p[name])}" for name in ANSWERS),
            harmless(known.get(level["rating"], "")),
            _signed(level["rating"] * (p["Better"] - p["Worse"])),
        )
        for level, p in zip(levels, answers_of(levels), strict=True)
    ]
    falls = (ratings[0] - place) / (ratings[0] - ratings[-1])
    notes = [*_inferred(levels), *([] if known else [next(_references(judged, ratings))])]
    score = _score(judged.verdict.judge, levels)
    return View(TEMPLATE, Ladder(rungs, f"{place:.2f}", min(max(falls, 0.0), 1.0), score, notes))


def _score(judge: str, levels: Sequence[Level]) -> str:
    if any("draws" in level for level in levels):
        return f"{judge} is the sum of level × (share of Better − share of Worse) in drawn answers."
    total = _signed(float(weighted_sum(compared_texts([levels]))[0]))
    return (
        f"{judge} = {total}: the sum, over the levels, of level × (p(Better) − p(Worse)), which "
        "stands beside each bar."
    )


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}".replace("-", "−")


def shown_evidence(judged: JudgedCandidate) -> Section:
    levels = _falling(judged)
    falls = (
        f"The comparisons place the text at level {_place(levels):.2f} "
        f"({judged.verdict.judge}.ordinal)."
    )
    rows = list(map(_row, levels, answers_of(levels)))
    table = Table("Comparisons with the references", HEADS, rows, "llrrr")
    return Section(
        "Comparisons with the references", [ABOUT], [table],
        [falls, *_inferred(levels), *_references(judged, [level["rating"] for level in levels])],
    )  # fmt: skip


def _falling(judged: JudgedCandidate) -> list[Level]:
    return sorted(judged.verdict.evidence["levels"], key=lambda level: -level["rating"])


def _place(levels: Sequence[Level]) -> float:
    return float(ordinal_level(compared_texts([levels]))[0])


def _inferred(levels: Sequence[Level]) -> list[str]:
    return [INFERRED] if any("inferred" in level for level in levels) else []


def _answer(level: Level, p: Mapping[str, float]) -> str:
    return max(ANSWERS, key=p.__getitem__) + (" (inferred)" if "inferred" in level else "")


def _row(level: Level, p: Mapping[str, float]) -> list[str]:
    figures = (correlation(p[name]) for name in ANSWERS)
    return [named(level["rating"]), _answer(level, p), *figures]


def _texts(judged: JudgedCandidate, ratings: Sequence[float]) -> dict[float, str]:
    """The reference of each level; empty where it is not certain which they were."""
    found = _written(judged)
    if not found.keys() >= set(ratings) or any(len(found[rating]) > 1 for rating in ratings):
        return {}
    return {rating: min(found[rating]) for rating in ratings}


def _written(judged: JudgedCandidate) -> dict[float, set[str]]:
    texts: dict[float, set[str]] = {}
    for brief in judged.briefs:
        text = text_of(brief)
        if brief.axis == judged.verdict.axis and not isinstance(text, Failed):
            texts.setdefault(float(brief.part), set()).add(text)
    return texts


def _references(judged: JudgedCandidate, ratings: Sequence[float]) -> Iterator[str]:
    if known := _texts(judged, ratings):
        for rating in ratings:
            yield f"Reference of level {named(rating)}: {known[rating]}"
    elif _written(judged).keys() >= set(ratings):
        yield SEVERAL
    else:
        yield GONE
