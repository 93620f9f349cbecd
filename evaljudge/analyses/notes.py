"""What raters noted, beside how far the judge is from people's ratings; the farthest first."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.analysis.telling import disagreement
from evaljudge.records import ANY_AXIS
from evaljudge.sections.figures import count, tabled

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
    rated, judged = run.rated, set(run.headlines.values())
    places = {text: place for place, text in enumerate(rated.texts if run.notes else ())}
    columns = [
        (scorer, name, values, human, disagreement(values, human))
        for (scorer, axis), values in rated.scores.items()
        for name, human in rated.human.items()
        if run.notes and axis in (name, ANY_AXIS) and (scorer in judged or not judged)
    ]
    found = list[Noted]()
    for (doc_id, system), rater, note in run.notes:
        noted = Noted(doc_id, system, rater, note)
        place = places.get((doc_id, system))
        for scorer, axis, *numbers in columns if place is not None else ():
            value, rating, apart = (float(column[place]) for column in numbers)
            if apart > _distance(noted):  # not where it is NaN
                noted = Noted(doc_id, system, rater, note, scorer, axis, value, rating, apart)
        found.append(noted)
    return sorted(found, key=_distance, reverse=True)


def _distance(row: Noted) -> float:
    return -1.0 if row.apart is None else row.apart


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    shown: Sequence[Noted] = () if in_short else findings["notes"][:MOST_SHOWN]
    columns = {"document": "doc_id"}
    columns |= {name: name for name in ("system", "rater", "note", "scorer", "axis")}
    columns |= {"score": "value", "people": "rating", "disagreement": "apart"}
    table = tabled("Notes by the judge's error", shown, 6, columns)
    more = len(findings["notes"]) - len(shown)
    left_out = [f"{count(more)} more are in notes.json."] if more else []
    yield Section("Notes of raters", [ABOUT], [table], left_out)


ANALYSIS = Analysis(Noted, rows, section, place=55)
