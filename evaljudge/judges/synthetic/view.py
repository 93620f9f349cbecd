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

from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.shared.references import text_of
from evaljudge.judges.shared.scale import named
from evaljudge.judges.synthetic.equations import ordinal_level
from evaljudge.judges.synthetic.evidence import Level, answers_of, compared_texts
from evaljudge.model.asks import Failed
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import correlation

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


def shown_evidence(judged: JudgedCandidate) -> Section:
    verdict = judged.verdict
    levels = sorted(verdict.evidence["levels"], key=lambda level: -level["rating"])
    place = float(ordinal_level(compared_texts([levels]))[0])
    falls = f"The comparisons place the text at level {place:.2f} ({verdict.judge}.ordinal)."
    inferred = [INFERRED] if any("inferred" in level for level in levels) else []
    rows = list(map(_row, levels, answers_of(levels)))
    table = Table("Comparisons with the references", HEADS, rows, "llrrr")
    return Section(
        "Comparisons with the references", [ABOUT], [table],
        [falls, *inferred, *_references(judged, [level["rating"] for level in levels])],
    )  # fmt: skip


def _row(level: Level, p: Mapping[str, float]) -> list[str]:
    answer = max(ANSWERS, key=p.__getitem__) + (" (inferred)" if "inferred" in level else "")
    return [named(level["rating"]), answer, *(correlation(p[name]) for name in ANSWERS)]


def _references(judged: JudgedCandidate, ratings: Sequence[float]) -> Iterator[str]:
    texts: dict[float, set[str]] = {}
    for brief in judged.briefs:
        text = text_of(brief)
        if brief.axis == judged.verdict.axis and not isinstance(text, Failed):
            texts.setdefault(float(brief.part), set()).add(text)
    if not texts.keys() >= set(ratings):
        yield GONE
    elif any(len(texts[rating]) > 1 for rating in ratings):
        yield SEVERAL
    else:
        for rating in ratings:
            yield f"Reference of level {named(rating)}: {min(texts[rating])}"
