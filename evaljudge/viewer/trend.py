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
        scale = headline.ranking.scorer, headline.ranking.axis
        means: dict[str, dict[str, RankedSystem]] = {}
        for name, findings in runs.items():
            for row in findings["systems"]:
                for system in row.systems if (row.scorer, row.axis) == scale else ():
                    means.setdefault(system.system, {})[name] = system
        title = f"{scale[0]}, {axis_name(scale[1])}"
        cells = [[system, *(_figure(of.get(n)) for n in runs)] for system, of in means.items()]
        table = Table(title, ["system", *runs], cells, "l" + "r" * len(runs))
        all_means = [mean for of in means.values() for mean in of.values()]
        least = min(s.mean if s.low is None else s.low for s in all_means)
        most = max(s.mean if s.high is None else s.high for s in all_means)
        edge = (most - least) * 0.1 or 0.5
        pictures = []
        for system, of in means.items():
            first = next(iter(of.values())).mean
            dots = [BarRow(n, s.mean, _figure(s), s.low, s.high, first) for n, s in of.items()]
            ends = least - edge, most + edge
            pictures.append(Bars("Trend", f"{system}: {title}", READING, dots, *ends, True))
        yield Section("Trend", [ABOUT], [table], (), pictures)


def _figure(mean: RankedSystem | None) -> str:
    return NONE if mean is None else bracketed(mean.mean, mean.low, mean.high)
