"""The page's first screen: which system is best on which axis, and how far to trust that.

    answers(findings)[0]
    -> AxisAnswer("relevance", "synthetic", "north is best.", "Agrees …", dots=[…])

Values only, with places between 0 and 1: pictures.html.j2 draws them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import floor, log10
from urllib.parse import quote, urlencode

from evaljudge.agreement import Agreement
from evaljudge.analysis.findings import Findings
from evaljudge.decisions.systems import RankedSystem, SystemRanking
from evaljudge.records import ANY_AXIS, HUMAN
from evaljudge.report.levels import NOTHING_RATED
from evaljudge.sections.figures import bracketed, correlation, count, estimate, only
from evaljudge.text import counted

MOST_SYSTEMS = 12
"""Of an axis; all of them stand in the table of systems."""
MOST_NAMED = 3


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
    """One axis, by the headline scorer of the first judge or metric that has it."""

    axis: str
    scorer: str
    of_axis: str
    """The axis of the scorer: of metrics, which have none, the sign for any."""
    sentence: str
    trust: str
    is_trusted: bool | None
    """None: nobody rated, or too few did."""
    dots: Sequence[Dot]
    ticks: Sequence[tuple[float, str]]
    hidden: int
    """Systems that are not drawn."""

    @property
    def title(self) -> str:
        return axis_name(self.axis)

    @property
    def worst_texts(self) -> str:
        """The link to the list of the first system's texts, the worst first."""
        wanted = {"scorer": self.scorer, "axis": self.of_axis, "system": self.dots[0].system}
        return f"#texts?{urlencode(wanted | {'sort': 'low'}, quote_via=quote)}"


def axis_name(axis: str) -> str:
    return "all axes" if axis == ANY_AXIS else axis


def answers(findings: Findings) -> list[AxisAnswer]:
    """One for each axis with scores. Where no scorer has an axis, as in a run of metrics alone, one
    for each axis that people rated, by the scorer that agrees with them best."""
    judged = [row for row in findings.rankings if row.scorer != HUMAN]
    axes = dict.fromkeys(row.axis for row in judged)
    if axes.keys() != {ANY_AXIS}:
        axes.pop(ANY_AXIS, None)
        return [_answer(findings, next(r for r in judged if r.axis == axis)) for axis in axes]
    best = {one.axis: one for one in sorted(_within_documents(findings), key=_value)}
    ranked = {row.scorer: row for row in judged}
    found = [_answer(findings, ranked[best[axis].scorer], axis) for axis in sorted(best)]
    return found or [_answer(findings, judged[0])]


def _within_documents(findings: Findings) -> list[Agreement]:
    """The headline agreement, by Spearman's coefficient, where there is any."""
    return [
        one
        for one in findings.agreement
        if (one.level, one.coefficient) == ("sample", "spearman") and one.value is not None
    ]


def _value(row: Agreement) -> float:
    assert row.value is not None
    return row.value


def _answer(findings: Findings, row: SystemRanking, axis: str = "") -> AxisAnswer:
    """`axis`: that of people's ratings, where the scorer has none."""
    shown = row.systems[:MOST_SYSTEMS]
    low, high = _range(shown)
    trust, is_trusted = _trust(findings, row, axis or row.axis)
    return AxisAnswer(
        axis=axis or row.axis,
        scorer=row.scorer,
        of_axis=row.axis,
        sentence=_sentence(row),
        trust=trust,
        is_trusted=is_trusted,
        dots=[_dot(one, low, high) for one in shown],
        ticks=[((tick - low) / (high - low), f"{tick:g}") for tick in ticks(low, high)],
        hidden=len(row.systems) - len(shown),
    )


def _sentence(row: SystemRanking) -> str:
    """Who is best, and whether that is sure."""
    first = row.systems[0]
    if len(row.systems) == 1:
        return f"There is only one system, {first.system}: {correlation(first.mean)}."
    close = [p.second for p in row.pairs if p.first == first.system and not p.told_apart]
    if not close:
        return f"{first.system} is best, and differs from every other system."
    named = ", ".join(close[:MOST_NAMED])
    more = f" and {len(close) - MOST_NAMED} more" if len(close) > MOST_NAMED else ""
    return f"{first.system} is first, but cannot be told apart from {named}{more}."


def _trust(findings: Findings, row: SystemRanking, axis: str) -> tuple[str, bool | None]:
    found = [one for one in _within_documents(findings) if one.scorer == row.scorer]
    mine = next((one for one in found if axis in (one.axis, ANY_AXIS)), None)
    if mine is None:
        return (NOTHING_RATED if not findings.rated else "Not compared with people on it."), None
    if only(mine.level, mine.n):
        return f"Rated too little to say how far it agrees with people ({estimate(mine)}).", None
    best = "" if axis == row.axis else " best of all scorers"
    said = f"Agrees with people{best}, within documents: {estimate(mine)} (Spearman)."
    return said, _holds(mine)


def _holds(row: Agreement) -> bool:
    """Whether the interval lies above 0."""
    return row.low is not None and row.low > 0


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


def missing_line(findings: Findings) -> str:
    """`4 scores of 4,964 are missing.`, and how many are not expected."""
    missing = sum(row.unscored for row in findings.coverage) - findings.not_expected
    said = counted(missing, "score", "scores") if missing else "No score"
    verb = "is" if missing <= 1 else "are"
    line = f"{said} of {count(findings.expected)} {verb} missing."
    if not findings.not_expected:
        return line
    more = counted(findings.not_expected, "more is", "more are")
    return f"{line} {more} not expected, as the text is itself the reference."
