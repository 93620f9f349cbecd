"""Several runs beside each other, in the order in which they were named: the trend of each mean.

trend({"runs/may": findings, "runs/june": …, "runs/july": …})  ->  [Section("Trend", …)]
"""

from collections.abc import Iterator, Mapping

from evaljudge.analysis.findings import Findings
from evaljudge.decisions.systems import RankedSystem
from evaljudge.report.first import headlines
from evaljudge.sections import BarRow, Bars, Section, Table
from evaljudge.sections.figures import NONE, axis_name, bracketed

ABOUT = (
    "Mean scores with 95% t intervals over each run's documents. Runs are compared document by "
    "document by `evaljudge diff`."
)
READING = (
    "A dot is a system's mean in one run, the line its interval; the open dot is the mean in the "
    "first of the runs, which are in the given order."
)


def trend(runs: Mapping[str, Findings]) -> Iterator[Section]:
    """For the scorers of the first run's first screen."""
    for headline in headlines(next(iter(runs.values()))):
        scorer, axis = headline.ranking.scorer, headline.ranking.axis
        means: dict[str, dict[str, RankedSystem]] = {}
        for name, findings in runs.items():
            for row in findings["systems"]:
                if (row.scorer, row.axis) == (scorer, axis):
                    for system in row.systems:
                        means.setdefault(system.system, {})[name] = system
        title = f"{scorer}, {axis_name(axis)}"
        cells = [
            [system, *(_figure(by_run.get(name)) for name in runs)]
            for system, by_run in means.items()
        ]
        table = Table(title, ["system", *runs], cells, "l" + "r" * len(runs))
        ends = [end for by_run in means.values() for s in by_run.values()
                for end in (s.mean, s.low, s.high) if end is not None]  # fmt: skip
        edge = (max(ends) - min(ends)) * 0.1 or 0.5
        pictures = [
            Bars(
                "Trend",
                f"{system}: {title}",
                READING,
                [
                    BarRow(
                        name, s.mean, _figure(s), s.low, s.high, next(iter(by_run.values())).mean
                    )
                    for name, s in by_run.items()
                ],
                min(ends) - edge,
                max(ends) + edge,
                is_change=True,
            )
            for system, by_run in means.items()
        ]
        yield Section("Trend", [ABOUT], [table], (), pictures)


def _figure(mean: RankedSystem | None) -> str:
    return NONE if mean is None else bracketed(mean.mean, mean.low, mean.high)
