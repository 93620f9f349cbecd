"""Whether the references rise in truth, where an oracle knows: a row for each axis.

| axis    | documents | no inversion | each above the last | true level of 1 |  …  |  5   |
| ------- | --------: | -----------: | ------------------: | --------------: | --- | ---: |
| fluency |        36 |        97.2% |               94.4% |            1.03 |  …  | 4.97 |
"""

from __future__ import annotations

from evaljudge.analysis.findings import Findings
from evaljudge.report.figures import NONE, count, ratio
from evaljudge.sections import Section, Table

GRADED = "Are the references graded in truth?"
ABOUT = (
    "These documents are of evaljudge's own small world, whose oracle reads the true level of any "
    "text: here, of the references that the writer wrote for each level. An inversion is a "
    "reference whose true level is lower than that of the one below it."
)


def graded(findings: Findings) -> Section:
    rows = findings.graded
    ratings = sorted({rating for row in rows for rating in row.means})
    heads = ["axis", "documents", "no inversion", "all rising", *(f"true {r:g}" for r in ratings)]
    cells = [
        [
            row.axis,
            count(row.documents),
            ratio(row.documents - row.inverted, row.documents),
            ratio(row.strict, row.documents),
            *(f"{row.means[r]:.2f}" if r in row.means else NONE for r in ratings),
        ]
        for row in rows
    ]
    table = Table("References by the world's oracle", heads, cells, "l" + "r" * (len(heads) - 1))
    return Section(GRADED, [ABOUT], [table])
