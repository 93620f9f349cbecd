"""How far can a calibrated score be from the rating of its text?

| scorer               | axis    | documents | coverage | mean width | texts of     |
| -------------------- | ------- | --------- | -------- | ---------- | ------------ |
| synthetic.calibrated | fluency |        60 |    0.958 |      2.120 | every system |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evaljudge.analyses import Analysis, RunFrame
from evaljudge.analysis.calibration import TextInterval
from evaljudge.analysis.findings import Findings
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import correlation, count, short

TITLE = "Intervals of single texts"
HEADS = ["scorer", "axis", "documents", "coverage", "mean width", "texts of"]


def rows(run: RunFrame) -> Sequence[TextInterval]:
    return run.intervals


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    """In short, of all systems together."""
    rows: list[TextInterval] = [
        row for row in findings["intervals"] if not (in_short and row.system)
    ]
    cells = [
        [row.scorer, row.axis, count(row.documents), correlation(row.coverage),
         correlation(row.width), row.system or "every system"]
        for row in rows
    ]  # fmt: skip
    shown = len(HEADS) - in_short
    table = Table(
        "Coverage and width", HEADS[:shown], [row[:shown] for row in cells], "llrrrl"[:shown]
    )
    nominal = f"{short(rows[0].confidence * 100)}%" if rows else ""
    about = (
        f"Each calibrated score has a {nominal} interval for the rating of its text (`low` and "
        "`high`). Coverage: how many hold it, each document judged by the others; of the lowest or "
        "the highest scores alone it can be some points lower."
    )
    few = "Few documents make intervals wide; with fewer than 19 each is the whole scale."
    yield Section(TITLE, [about], [table], [] if in_short else [few])


ANALYSIS = Analysis(TextInterval, rows, section, place=50)
