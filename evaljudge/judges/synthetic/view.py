"""The evidence on one text, for people: its comparisons, where it falls, and the references.

reference of level  answer   p(Better)  p(Similar)  p(Worse)
5                   Worse        0.050       0.200     0.750
4                   Worse        0.300       0.300     0.400
3                   Better       0.550       0.300     0.150   …

The comparisons place the text at level 3.61 (synthetic.ordinal).
Reference of level 5: A flood has closed the town's old bridge.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.asking import text_of
from evaljudge.judges.shared.scale import named
from evaljudge.judges.synthetic.equations import ordinal_level, weighted_sum
from evaljudge.judges.synthetic.evidence import Answers, answers_of, compared_texts
from evaljudge.model.asks import Failed
from evaljudge.sections import Section, Table, View
from evaljudge.sections.figures import correlation

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
    """The comparison with the reference of one level; `adds`: its part of the judge's score."""

    level: str
    answer: str
    p: Answers
    reference: str  # empty where it is not known
    adds: str

    @property
    def figures(self) -> str:
        return ", ".join(f"p({name}) {correlation(self.p[name])}" for name in ANSWERS)


@dataclass(frozen=True, slots=True)
class Ladder:
    """A text's comparisons from the best reference to the worst, and where it falls."""

    rungs: Sequence[Rung]
    place: str
    falls: float  # down the ladder: 0 is the best reference's middle, 1 the worst's
    score: str  # how the judge's score is made of the comparisons, in a sentence
    notes: Sequence[str]

    @property
    def nearest(self) -> Rung:
        """The lowest reference that the text lost to; the best, where it lost to none."""
        return next((r for r in self.rungs[::-1] if r.answer.startswith("Worse")), self.rungs[0])


def pictured_evidence(judged: JudgedCandidate) -> View:
    return View(TEMPLATE, _ladder(judged))


def shown_evidence(judged: JudgedCandidate) -> Section:
    ladder, title = _ladder(judged), "Comparisons with the references"
    place = (
        f"The comparisons place the text at level {ladder.place} ({judged.verdict.judge}.ordinal)."
    )
    rows = [[r.level, r.answer, *(correlation(r.p[a]) for a in ANSWERS)] for r in ladder.rungs]
    references = [
        f"Reference of level {r.level}: {r.reference}" for r in ladder.rungs if r.reference
    ]
    table = Table(title, HEADS, rows, "llrrr")
    return Section(title, [ABOUT], [table], [place, *ladder.notes, *references])


def _ladder(judged: JudgedCandidate) -> Ladder:
    levels = sorted(judged.verdict.evidence["levels"], key=lambda level: -level["rating"])
    ratings, texts = [level["rating"] for level in levels], compared_texts([levels])
    place = float(ordinal_level(texts)[0])
    written: dict[float, set[str]] = {}
    for brief in judged.briefs:
        text = text_of(brief)
        if brief.axis == judged.verdict.axis and not isinstance(text, Failed):
            written.setdefault(float(brief.part), set()).add(text)
    is_known = all(len(written.get(rating, ())) == 1 for rating in ratings)
    rungs = [
        Rung(
            named(level["rating"]),
            max(ANSWERS, key=p.__getitem__) + (" (inferred)" if "inferred" in level else ""),
            p,
            min(written[level["rating"]]) if is_known else "",
            _signed(level["rating"] * (p["Better"] - p["Worse"])),
        )
        for level, p in zip(levels, answers_of(levels), strict=True)
    ]
    falls = (ratings[0] - place) / (ratings[0] - ratings[-1])
    notes = [INFERRED] if any("inferred" in level for level in levels) else []
    if not is_known:
        notes.append(SEVERAL if written.keys() >= set(ratings) else GONE)
    score = (
        f"{judged.verdict.judge} = {_signed(float(weighted_sum(texts)[0]))}: the sum, over the "
        "levels, of level × (p(Better) − p(Worse)), which stands beside each bar."
    )
    if any("draws" in level for level in levels):
        score = (
            f"{judged.verdict.judge} is the sum of level × (share of Better − share of Worse) in "
            "drawn answers."
        )
    return Ladder(rungs, f"{place:.2f}", min(max(falls, 0.0), 1.0), score, notes)


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:+.2f}"
