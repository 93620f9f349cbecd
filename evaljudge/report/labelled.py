"""People's mean ratings from texts that were drawn for rating.

| axis    | system    |                 mean | texts | documents | worth |
| ------- | --------- | -------------------: | ----: | --------: | ----: |
| fluency | all texts | 3.420 [3.210, 3.630] |   200 |        87 |   141 |
"""

from __future__ import annotations

from evaljudge.analysis.findings import Findings
from evaljudge.records import ANY_SYSTEM
from evaljudge.sections import Section, Table
from evaljudge.sections.figures import bracketed, count

TITLE = "People's ratings of drawn texts"
ABOUT = (
    "Mean ratings of all texts and of each system's, corrected for how the rated texts were drawn: "
    "a text counts as many times as there are texts that it was drawn in place of. Intervals: 95%, "
    "documents as clusters; none of fewer than 6 documents. Worth: texts drawn with equal "
    "probabilities that would weigh as much."
)
IN_SHORT = "The mean of all texts, corrected for how they were drawn; the report has each system's."


def labelled(findings: Findings, in_short: bool = False) -> Section:
    """In short, of all texts only."""
    rows = [row for row in findings.labelled if row.system == ANY_SYSTEM or not in_short]
    cells = [
        [
            row.axis,
            "all texts" if row.system == ANY_SYSTEM else row.system,
            bracketed(row.value, row.low, row.high),
            *map(count, (row.n, row.documents, round(row.effective))),
        ]
        for row in rows
    ]
    heads = ["axis", "system", "mean", "texts", "documents", "worth"]
    about, title = (IN_SHORT, "") if in_short else (ABOUT, "Mean ratings")
    return Section(TITLE, [about], [Table(title, heads, cells, "llrrrr", lead=2)])
