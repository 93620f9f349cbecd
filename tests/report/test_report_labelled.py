"""People's mean ratings of drawn texts: all systems in the report, the whole on a terminal."""

from collections.abc import Callable

from evaljudge.analysis.findings import Findings
from evaljudge.decisions.sampling import WeightedMean
from evaljudge.records import ANY_SYSTEM
from evaljudge.report import agreement_markdown, agreement_text, page
from tests.frames import replaced

ROWS = [
    WeightedMean(3.4201, 3.21, 3.6304, 1200, 87, 141.6, axis="fluency", system=ANY_SYSTEM),
    WeightedMean(3.9, None, None, 5, 5, 4.8, axis="fluency", system="BART"),
]


def test_the_section(findings: Findings, snapshot: Callable[..., None]) -> None:
    labelled = replaced(findings, labelled=ROWS)
    title = "People's ratings of drawn texts"
    shown = {"markdown": agreement_markdown(labelled), "screen": agreement_text(labelled)}
    snapshot({name: text[text.index(title) :].splitlines() for name, text in shown.items()})
    assert "People&#39;s ratings of drawn texts" in page(labelled)
