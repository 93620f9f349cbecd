"""People's mean ratings of drawn texts: all systems in the report, the whole on a terminal."""

from markdown_it import MarkdownIt

from evaljudge.analyses.labelled import LabelledMean
from evaljudge.analysis.findings import Findings
from evaljudge.records import ANY_SYSTEM
from evaljudge.report import agreement_markdown, agreement_text, page
from tests.frames import replaced

ROWS = [
    LabelledMean("fluency", ANY_SYSTEM, 3.4201, 3.21, 3.6304, 1200, 87, 141.6),
    LabelledMean("fluency", "BART", 3.9, None, None, 5, 5, 4.8),
]
TABLE = """\
| axis    | system    |                 mean | texts | documents | worth |
| ------- | --------- | -------------------: | ----: | --------: | ----: |
| fluency | all texts | 3.420 [3.210, 3.630] | 1,200 |        87 |   142 |
| fluency | BART      |                3.900 |     5 |         5 |     5 |
"""
SCREEN = """\
People's ratings of drawn texts
axis     system     mean                  texts  documents  worth
fluency  all texts  3.420 [3.210, 3.630]  1,200  87         142

The mean of all texts, corrected for how they were drawn; the report has each system's.
"""


def test_the_section(findings: Findings) -> None:
    labelled = replaced(findings, labelled=ROWS)
    assert TABLE in agreement_markdown(labelled)
    assert "People&#39;s ratings of drawn texts" in page(labelled)
    assert SCREEN in agreement_text(labelled)
    for said in (agreement_markdown(findings), page(findings), agreement_text(findings)):
        assert "drawn texts" not in said


def test_names_of_strangers_are_shown_as_text(findings: Findings, hostile: Findings) -> None:
    names = [row.scorer for row in hostile.coverage]
    assert names
    rows = [LabelledMean(name, name, 1.0, None, None, 1, 1, 1.0) for name in names]
    said = agreement_markdown(replaced(findings, labelled=rows))
    assert page(replaced(findings, labelled=rows)).casefold().count("<script") == 2
    assert "<" not in said
    tokens = MarkdownIt("commonmark").enable("table").parse(said)
    before = MarkdownIt("commonmark").enable("table").parse(agreement_markdown(findings))
    rows_more = [sum(t.type == "tr_open" for t in some) for some in (tokens, before)]
    assert rows_more[0] - rows_more[1] == 1 + len(names)
