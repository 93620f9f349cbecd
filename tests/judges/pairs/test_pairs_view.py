"""What people see of one text: the order of its document, and its comparisons."""

from math import log
from typing import Any

import pytest

from evaljudge.judges.pairs.view import THIS, pictured_evidence, shown_evidence
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.records import Candidate, Verdict
from evaljudge.report.page import _macros
from evaljudge.sections import Named


def said(p: float) -> dict[str, float]:
    return {"First": log(p), "Second": log(1 - p)}


EVIDENCE: dict[str, Any] = {
    "rank": 2.5, "strength": 0.4, "order": [["B"], ["A", "<i>D"], ["C"], ["E"]],
    "ranks": [1, 2.5, 4.5, 4.5],
    "comparisons": [
        {"other": "B", "first": said(0.2), "second": said(0.5)},
        {"other": "E", "second": said(0.1)},
    ],
}  # fmt: skip
JUDGED = JudgedCandidate(Candidate("A", "text"), Verdict("d", "A", "mine", "fluency", EVIDENCE))


def test_the_order_and_the_comparisons_of_a_text():
    """Against B: √(.2/.8 · .5/.5) = .5 to 1, which is a third; against E: 1 − .1."""
    section = shown_evidence(JUDGED)
    assert section.tables[0].rows == [
        ["1", [Named("B")], "0.333 (shown first 0.200, second 0.500)"],
        ["2.5", [Named("A"), Named("<i>D")], THIS],
        ["4.5", [Named("C")], "–"],
        ["4.5", [Named("E")], "0.900"],
    ]
    assert section.notes == [
        "Rank 2.5 of 5: the score 0.625 is the share of the other texts that it stands above. Its "
        "strength by all comparisons is 0.40, where 0 is about the average."
    ]


def test_the_picture():
    view = pictured_evidence(JUDGED)
    html = str(_macros(view.template).text(view.text))
    (order,) = view.text
    assert [row["preference"] for row in order["rows"]] == [
        pytest.approx(1 / 3), None, None, pytest.approx(0.9)
    ]  # fmt: skip
    assert html.count('class="better"') == 2
    assert "&lt;i&gt;D" in html
    assert "<i>" not in html
    assert html.count("<strong>this text</strong>") == 1
    assert "Rank 2.5 of 5" in html


def test_several_instructions():
    tried = {"0": EVIDENCE, "1": {"failed": "cut"}, "2": EVIDENCE | {"rank": 1}}
    verdict = Verdict("d", "A", "mine", "fluency", {"instructions": tried})
    judged = JudgedCandidate(Candidate("A", "text"), verdict)
    section = shown_evidence(judged)
    assert [table.title for table in section.tables] == ["Instruction 0", "Instruction 2"]
    assert section.notes[1].startswith("Instruction 2: rank 1 of 5")
    view = pictured_evidence(judged)
    html = str(_macros(view.template).text(view.text))
    assert html.count("<caption>Instruction ") == 2
