"""What does each scorer add to a combination?"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from evaljudge.agreement import LEVELS, Coefficient, Level
from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.analyses.agreement import TITLES
from evaljudge.analysis.combining import on_rated
from evaljudge.decisions.differences import agreement_differences
from evaljudge.records import ANY_AXIS
from evaljudge.sections.figures import SAMPLED_NOTE, estimate, notes_on, tabled

LEFT_OUT = "Juries with each scorer left out"
GAIN = (
    "Spearman's correlation with people of a combination of scorers, with all of them and without "
    "each, on the texts that all have scored. A gain above 0 with its whole interval says that the "
    "jury agrees better with people without this scorer; one below 0, that the scorer adds "
    "something. 0 can mean that another judge says the same. Weights by agreement are those of "
    "other documents."
)
INTERVALS = "In brackets: 95% intervals over documents."


@dataclass(frozen=True, slots=True)
class LeftOut:
    combination: str
    scorer: str
    axis: str
    level: Level
    coefficient: Coefficient
    with_all: float | None  # each None where undefined
    without: float | None
    gain: float | None
    low: float | None
    high: float | None
    n: int  # documents (sample), systems (system) or texts (summary)
    sampled: bool


def rows(run: RunFrame) -> Iterator[LeftOut]:
    rated = run.rated
    for name, combination in run.combined.items():
        for axis, human in sorted(rated.human.items()):
            if (name, axis) not in rated.scores and (name, ANY_AXIS) not in rated.scores:
                continue
            parts = combination, run.weights.get((name, axis)), axis, rated
            whole = on_rated(*parts)
            without = {scorer: on_rated(*parts, scorer) for scorer in combination.of_scorers}
            fours = [(whole, smaller, human, human) for smaller in without.values()]
            codes = rated.documents, rated.systems
            differences = agreement_differences(*codes, fours, seed=run.seed)
            for scorer, levels in zip(without, differences, strict=True):
                for gain in levels:
                    at = name, scorer, axis, gain.level, gain.coefficient
                    values = gain.first, gain.second, gain.difference, gain.low, gain.high
                    yield LeftOut(*at, *values, gain.n, gain.sampled)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    rows: Sequence[LeftOut] = findings["jury"]
    shown = [row for row in rows if not in_short or row.gain is not None]
    levels = [level for level in LEVELS if any(row.level == level for row in shown)]
    columns = {
        "jury": "combination",
        "axis": "axis",
        "left out": "scorer",
        "with all": "with_all",
        "without": "without",
        "gain": lambda row: estimate(row, "gain"),
        "n": "n",
    }
    tables = [
        tabled(TITLES[level], [row for row in rows if row.level == level], 3, columns)
        for level in (levels[:1] if in_short else levels)
    ]
    notes = [INTERVALS, *notes_on(rows, SAMPLED_NOTE, "gain")]
    yield Section(LEFT_OUT, [GAIN], tables, notes)


ANALYSIS = Analysis(LeftOut, rows, section, place=60)
