"""What a run asked, in one line."""

from dataclasses import replace
from typing import Any

from evaljudge.analysis.findings import Findings
from evaljudge.report import asked_line

ROW: dict[str, Any] = {"stage": "judge", "judge": "synthetic", "asks": 1133, "prompt": 1000,
                       "prefilled": 120, "generated": 5, "floor": 100}  # fmt: skip


def test_asks_and_what_the_cache_served(findings: Findings) -> None:
    rows = [ROW, ROW | {"asks": 1, "prefilled": 380}]
    line = asked_line(replace(findings, tokens=rows))
    assert line == "1,134 times; 75.0% of 2,000 prompt tokens came from the prefix cache"


def test_nothing_was_asked(findings: Findings) -> None:
    assert asked_line(replace(findings, tokens=[])) == "nothing"
