"""What raters noted, beside how far the judge is from people's ratings; the farthest first."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.analysis.telling import disagreement
from evaljudge.records import ANY_AXIS
from evaljudge.sections.figures import correlation, count, tabled

MOST_SHOWN = 50
ABOUT = (
    "For each note, the scorer and the axis whose score is farthest from people's rating of the "
    "text: disagreement is the distance between its places among the scores and among the ratings."
)


@dataclass(frozen=True, slots=True)
class Noted:
    """A note, and the score that is farthest from people's rating; empty where none has both."""

    doc_id: str
    system: str
    rater: str
    note: str
    scorer: str = ""
    axis: str = ""
    value: float | None = None
    rating: float | None = None  # by people, in the mean
    apart: float | None = None


def rows(run: RunFrame) -> list[Noted]:
    if not run.notes:
        return []
    rated, judged = run.rated, set(run.headlines.values())
    places = {text: place for place, text in enumerate(rated.texts)}
    columns = [
        (scorer, name, values, human, disagreement(values, human))
        for (scorer, axis), values in rated.scores.items()
        for name, human in rated.human.items()
        if axis in (name, ANY_AXIS) and (scorer in judged or not judged)
    ]

    def noted(doc_id: str, system: str, rater: str, note: str) -> Iterator[Noted]:
        place = places.get((doc_id, system))
        for scorer, axis, *numbers in columns if place is not None else ():
            value, rating, apart = (float(column[place]) for column in numbers)
            if isfinite(apart):
                yield Noted(doc_id, system, rater, note, scorer, axis, value, rating, apart)

    def distance(row: Noted) -> float:
        return -1.0 if row.apart is None else row.apart

    all_noted = (
        max(noted(*text, rater, note), key=distance, default=Noted(*text, rater, note))
        for text, rater, note in run.notes
    )
    return sorted(all_noted, key=distance, reverse=True)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    shown, columns = findings["notes"][:MOST_SHOWN], ["rater", "note", "scorer", "axis"]
    heads = {"document": "doc_id", "system": "system", **{name: name for name in columns}}
    figures = {"score": "value", "people": "rating", "disagreement": "apart"}
    table = tabled(
        "Notes by the judge's error",
        shown,
        len(heads),
        heads
        | {head: lambda row, of=of: correlation(getattr(row, of)) for head, of in figures.items()},
    )
    more = len(findings["notes"]) - len(shown)
    left_out = [f"{count(more)} more are in notes.json."] if more else []
    if not in_short:
        yield Section("Notes of raters", [ABOUT], [table], left_out)


ANALYSIS = Analysis(Noted, rows, section, place=55)
