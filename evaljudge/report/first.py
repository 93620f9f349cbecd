"""The page's first screen: which system is best on which axis, and how far to trust that.

    answers(findings)[0]
    -> AxisAnswer("relevance", "synthetic", "north is first, but …", "Agrees …", dots=[…])

Values only, with places between 0 and 1: pictures.html.j2 draws them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from urllib.parse import quote, urlencode

from evaljudge.analysis.findings import Findings
from evaljudge.decisions.systems import RankedSystem, SystemRanking
from evaljudge.records import HUMAN
from evaljudge.report.headlines import Headline, headlines
from evaljudge.report.trust import LONGEST_NAME, gained_without, listed, trust
from evaljudge.sections.figures import axis_name, bracketed, correlation
from evaljudge.text import counted, shortened

MOST_SYSTEMS = 12
"""Of an axis; all of them stand in the table of systems."""
FEW_LETTERS = 3


@dataclass(frozen=True, slots=True)
class Dot:
    """A system's mean with its interval, as places on the axis of the picture."""

    system: str
    at: float
    low: float | None
    high: float | None
    letters: str
    figure: str


@dataclass(frozen=True, slots=True)
class AxisAnswer:
    """One axis, by its headline scorer (see headlines.py)."""

    axis: str
    scorer: str
    of_axis: str
    """The axis of the scorer: of metrics, which have none, the sign for any."""
    sentence: str
    people: str
    """Which system is best by people's ratings; empty where nobody rated the axis."""
    trust: str
    is_trusted: bool | None
    """None: nobody rated, or too few did."""
    notes: Sequence[str]
    dots: Sequence[Dot]
    ticks: Sequence[tuple[float, str]]
    hidden: int
    """Systems that are not drawn."""

    @property
    def title(self) -> str:
        return axis_name(self.axis)

    @property
    def has_many_letters(self) -> bool:
        """Whether they need a wide column; all rows of a picture have the same."""
        return any(len(dot.letters) > FEW_LETTERS for dot in self.dots)

    @property
    def worst_texts(self) -> str:
        """The link to the list of the first system's texts, the worst first; beside a scorer
        without axes stand people's ratings on this axis."""
        wanted = {"scorer": self.scorer, "axis": self.of_axis, "system": self.dots[0].system}
        if self.axis != self.of_axis:
            wanted["people"] = self.axis
        return f"#texts?{urlencode(wanted | {'sort': 'low'}, quote_via=quote)}"


def answers(findings: Findings) -> list[AxisAnswer]:
    shown = headlines(findings)
    by_scorer: dict[str, list[RankedSystem]] = {}
    for one in shown:
        by_scorer.setdefault(one.ranking.scorer, []).extend(one.ranking.systems[:MOST_SYSTEMS])
    ranges = {scorer: _range(systems) for scorer, systems in by_scorer.items()}
    return [_answer(findings, one, *ranges[one.ranking.scorer]) for one in shown]


def _answer(findings: Findings, headline: Headline, low: float, high: float) -> AxisAnswer:
    """`low` and `high`: where the picture begins and ends, the same for all axes of a scorer, so
    that a small difference does not look like a large one."""
    row = headline.ranking
    shown = row.systems[:MOST_SYSTEMS]
    said, is_trusted = trust(findings, headline)
    return AxisAnswer(
        axis=headline.axis,
        scorer=row.scorer,
        of_axis=row.axis,
        sentence=_sentence(row),
        people=_peoples_best(findings, headline.axis),
        trust=said,
        is_trusted=is_trusted,
        notes=gained_without(findings, row),
        dots=[_dot(one, low, high) for one in shown],
        ticks=[((tick - low) / (high - low), tick_label(tick)) for tick in ticks(low, high)],
        hidden=len(row.systems) - len(shown),
    )


def _sentence(row: SystemRanking) -> str:
    """Who is best, and whether that is sure."""
    first, name = row.systems[0], shortened(row.systems[0].system, LONGEST_NAME)
    if len(row.systems) == 1:
        mean = correlation(first.mean).removesuffix(".000")
        return f"There is only one system, {name}: {mean}."
    if len({one.mean for one in row.systems}) == 1:
        return "The means of all systems are equal."
    if row.documents == 1:
        return f"{name} is first, but one document cannot tell systems apart."
    if not any(pair.told_apart for pair in row.pairs):
        return "No system can be told from another by this scorer."
    own = [pair for pair in row.pairs if pair.first == first.system]
    close = [pair.second for pair in own if not pair.told_apart]
    if not close:
        return f"{name} has the highest mean by this scorer, and differs from every other system."
    if len(close) == len(own):
        return f"{name} is first, but cannot be told apart from any other system."
    return f"{name} is first, but cannot be told apart from {listed(close)}."


def _peoples_best(findings: Findings, axis: str) -> str:
    """`people's best: north`, where they rated texts of several systems on this axis."""
    rated = next((r for r in findings["systems"] if (r.scorer, r.axis) == (HUMAN, axis)), None)
    if rated is None or len(rated.systems) < 2:
        return ""
    best = best_of(rated)
    if len(best) == len(rated.systems):
        return f"rated by {findings.rated_by}, all systems are alike"
    return f"{best_by(findings)}: {listed(best)}"


def stand_in(findings: Findings) -> str:
    """That it is not people who rated, for the places where agreement with people is spoken of."""
    is_people = findings.rated_by == "people"
    return "" if is_people else f"In place of people's ratings stand {findings.rated_by}."


def best_by(findings: Findings) -> str:
    """What the systems with the highest mean rating are called."""
    is_people = findings.rated_by == "people"
    return "people's best" if is_people else f"best by {findings.rated_by}"


def best_of(row: SystemRanking) -> list[str]:
    """The system with the highest mean, or all that have it."""
    return [one.system for one in row.systems if one.mean == row.systems[0].mean]


def _dot(one: RankedSystem, low: float, high: float) -> Dot:
    def at(value: float | None) -> float | None:
        return None if value is None else min(max((value - low) / (high - low), 0.0), 1.0)

    place = at(one.mean)
    assert place is not None
    documents = counted(one.n, "document", "documents")
    figure = f"{bracketed(one.mean, one.low, one.high)}, {documents}"
    return Dot(one.system, place, at(one.low), at(one.high), one.letters, figure)


def _range(systems: Iterable[RankedSystem]) -> tuple[float, float]:
    """What the axis of the picture goes over: all intervals, and a little more."""
    ends = [end for one in systems for end in (one.mean, one.low, one.high) if end is not None]
    low, high = min(ends), max(ends)
    edge = (high - low) * 0.04 or abs(low) * 0.1 or 0.5
    return low - edge, high + edge


def ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Round numbers in between: 1, 2 or 5 times a power of ten apart."""
    rough = (high - low) / wanted
    power = 10.0 ** floor(log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough)
    first = -floor(-low / step)
    return [round(i * step, 10) for i in range(first, floor(high / step) + 1)]


def tick_label(value: float) -> str:
    """With the sign that is as wide as a digit."""
    return f"{value + 0.0:g}".replace("-", "−", 1) if value < 0 else f"{value + 0.0:g}"
