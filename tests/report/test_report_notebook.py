"""A run as Python and notebooks show it: three lines, and a table in which names are text."""

from evaljudge.analysis.findings import Findings
from evaljudge.report import outcome_html, outcome_text
from evaljudge.runs.outcome import Outcome
from tests.frames import replaced


def test_three_lines(findings: Findings) -> None:
    said = outcome_text(findings, "runs/first").splitlines()
    assert len(said) == 3
    assert said[0].startswith("runs/first: ")
    assert " on " in said[1]
    assert said[2] == "report: runs/first/report/index.html"
    assert repr(Outcome("runs/first", findings)) == "\n".join(said)


def test_without_agreement(findings: Findings) -> None:
    said = outcome_text(replaced(findings, agreement=[]), "runs/first")
    assert said.splitlines()[1] == "agreement within documents (Spearman): –"
    assert "<table>" not in outcome_html(replaced(findings, agreement=[]), "runs/first")


def test_names_are_text(hostile: Findings) -> None:
    page = Outcome("<script>x", hostile)._repr_html_()
    assert "<script" not in page
    assert page.count("<tr>") >= 2
    assert len(repr(Outcome("a\nb", hostile)).splitlines()) == 3
