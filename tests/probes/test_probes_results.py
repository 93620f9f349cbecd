"""Tables and figures: text of strangers stays text, and the same values give the same bytes."""

import json
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

import pytest

from evaljudge.agreement import Measured
from evaljudge.probes.results import Dot, ProbeResult, as_html, as_json, as_markdown, as_text, drawn
from evaljudge.sections import Table
from evaljudge.text import columns

STRANGE = ["_hidden", "$a_b^2$", "<b>&", "x | y", "esc\x1b[31m", "指标", "long " * 30]
TWENTY = [f"scorer-{n}" for n in range(20 - len(STRANGE))] + STRANGE


@dataclass(frozen=True)
class Row:
    value: float
    n: int


def study(shown: Table, **more: Any) -> ProbeResult:
    told = {"about": "cases", "notes": ["A note."], "rows": []} | more
    return ProbeResult(name="n", title="A study", tables=[shown], dots=[], measure="", **told)


@pytest.mark.usefixtures("hundred_columns")
def test_a_wide_table_is_told_in_blocks():
    heads = ["scorer", *(f"head-{n}" for n in range(20))]
    rows = [[name, *("0.123" for _ in range(20))] for name in TWENTY]
    told = as_text(study(Table("", heads, rows, "l" + "r" * 20)))
    assert max(map(columns, told.splitlines())) <= 100
    assert told.count("\x1b") == 0
    blocks = told.split("\n\n")[1:-1]
    assert len(blocks) > 1
    assert [
        head for block in blocks for head in block.split()[1:] if head.startswith("head-")
    ] == heads[1:]
    assert blocks[-1].splitlines()[1].endswith("0.123")
    assert all(len(block.splitlines()) == 21 for block in blocks)


def test_markdown_escapes():
    rows = [["x | y", "0.5"], ["b", "0.25"]]
    shown = Table("T_1", ["scorer", "value"], rows, "lr")
    lines = as_markdown(study(shown, about="a *b*")).splitlines()
    assert lines[:3] == ["# A study", "", r"a \*b\*"]
    assert lines[6:10] == [
        "| scorer | value |",
        "| ------ | ----: |",
        r"| x \| y |   0.5 |",
        "| b      |  0.25 |",
    ]
    assert lines[-3:] == ["![A study](n.svg)", "", "A note."]


def test_a_page_escapes():
    rows = [[name, "0.5"] for name in STRANGE]
    page = as_html(study(Table("T <i>", ["scorer", "value"], rows, "lr"), notes=["a\nnote"]))
    assert "<h1>A study</h1>" in page and "&lt;b&gt;&amp;" in page and "T &lt;i&gt;" in page
    assert "<b>&" not in page and "\x1b" not in page and "<details open>" in page
    assert "a note" in page


def test_json_and_figures():
    told = as_json(study(Table("", ["a"], [], "l"), rows=[Row(float("nan"), 3)]))
    assert json.loads(told) == [{"value": None, "n": 3}]
    rows = [Dot(name, Measured(0.5, 0.4, 0.6, 9), True) for name in TWENTY]
    figure = drawn(rows, "s\x00aid")
    assert drawn(rows, "s\x00aid") == figure
    root = ElementTree.fromstring(figure)
    texts = {"".join(node.itertext()).strip() for node in root.iter() if node.tag.endswith("text")}
    assert {"_hidden", "$a_b^2$", "<b>&", "x | y", "esc␛[31m", "指标"} <= texts
    assert any("aid" in text for text in texts)
    assert "<dc:date>" not in figure
