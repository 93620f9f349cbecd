"""How far can a calibrated score be from the rating of its text?"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from evaljudge.analyses import Analysis, Findings, Section
from evaljudge.decisions.conformal import Covered
from evaljudge.sections.figures import short, tabled

TITLE = "Intervals of single texts"
WIDE = (
    "Few documents make intervals wide. With fewer than 19, each is the whole scale; with fewer "
    "than 24, that of a rated document is, as it comes from the other folds alone."
)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    rows: list[Covered] = [row for row in findings["intervals"] if not (in_short and row.system)]
    columns: dict[str, Any] = {"scorer": "scorer", "axis": "axis", "documents": "documents"}
    columns |= {"coverage": "coverage", "mean width": "width"}
    if not in_short:
        columns["texts of"] = lambda row: row.system or "every system"
    table = tabled("Coverage and width", rows, 2, columns, lead=1)
    table = replace(table, sides="llrrrl"[: len(columns)])
    nominal = f"{short(rows[0].confidence * 100)}%" if rows else ""
    about = (
        f"Each calibrated score has a {nominal} interval for the rating of its text (`low` and "
        "`high`). Coverage: how many hold it, each document judged by the others; of the lowest or "
        "the highest scores alone it can be some points lower."
    )
    yield Section(TITLE, [about], [table], [] if in_short else [WIDE])


ANALYSIS = Analysis(Covered, lambda run: run.intervals, section, place=50)
