"""Tables and figures of probes and papers: text of strangers stays text, equal bytes."""

import json
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from xml.etree import ElementTree

import pytest

from evaljudge.agreement import Measured
from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.probes.results import Dot, ProbeResult, as_html, as_json, as_markdown, as_text, drawn
from evaljudge.sections import Table
from evaljudge.text import columns
from jobs.papers.spurious import of
from tests import build

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


# what is refused


@pytest.mark.parametrize("command", [["probe", "position"], ["probe", "injection"], ["calibrate"]])
def test_a_slip_of_a_few_digits_is_refused(command, capsys):
    said = build.command(capsys, *command, "--resamples", "10000000", code=2)[1]
    assert "'--resamples'" in said and " 1000000 " in said, said


# the scripts that redo a paper's figures, on a small corpus of the demo's world


# Of what is not drawn at random, the numbers that the commands printed before they were scripts.
SHOWN = {
    "mixes --metrics importance,rouge1": ["importance+rouge1 0.943 0.826 1.0 6"],
    "complementarity --metrics importance,rouge1 --level system": ["rouge1 0.257 0.000"],
    "sizes --metrics rouge1 --steps 2": ["36 0.943 0.943 0.943"],
    "robustness --metrics rouge1 --steps 2": [
        "LEAD-3 rouge1 0.943 0.771", "TAIL-3 rouge1 0.943 -1.000",
    ],
    "ranges --metrics rouge1": ["systems 212 0.387 0.454 0.593 0.719 0.833 0.938 1.000"],
    "spurious --metrics rouge1": ["rouge1 0.245 0.208 0.213 0.933 0.397 0.331 -0.1 0.1"],
    "settings": ["bpe 60.0 0.418 0.231 0.143 0.143 0.429 0.543 0.829"],
}  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [call if "mixes" in call else pytest.param(call, marks=pytest.mark.long) for call in SHOWN],
)
def test_a_script_prints_its_table_and_draws_it(call, tmp_path, capsys):
    cases, figure = tmp_path / "cases.jsonl", tmp_path / "figure.svg"
    cases.write_text(as_jsonl(make_cases(36, 0)))
    name, *options = call.split()
    given = ["--cases", str(cases), "--figure", str(figure), *options]
    import_module(f"jobs.papers.{name}").main(given)
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert set(SHOWN[call]) <= set(lines), "\n".join(lines)
    assert figure.read_text().startswith("<?xml")


def test_an_axis_that_nobody_rated_is_refused(tmp_path):
    cases = tmp_path / "cases.jsonl"
    cases.write_text(as_jsonl(make_cases(3, 0)))
    with pytest.raises(SystemExit, match="--axis relevence: nobody rated it; people rated coher"):
        import_module("jobs.papers.sizes").main(
            ["--cases", str(cases), "--metrics", "words", "--axis", "relevence"]
        )


def test_what_a_text_copies_by_hand():
    assert [*of("a b c d e", "b c x e").values()] == [3 / 4, 5 / 4, 5 / 4, 4.0]
