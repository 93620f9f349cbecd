"""The report of who may replace a rater, and of agreement with length held fixed."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from evaljudge.agreement import LengthHeld
from evaljudge.analyses.replacing import OFF_SCALE, ReplacingRow
from evaljudge.analysis.findings import Findings
from evaljudge.decisions.replacing import BesideRater, Replacing
from evaljudge.report import agreement_markdown, agreement_text, page, write_report
from evaljudge.storage import Place
from tests.frames import replaced


def found(winning_rate: float | None = 2 / 3, advantage: float = 0.71) -> Replacing:
    beside = BesideRater(0, 90, 30, 0.8, 0.7, 0.001, 0.005, 0.01, 0.055)
    return Replacing(
        epsilon=0.1,
        winning_rate=winning_rate,
        winning_rate_texts=1.0,
        advantage=advantage,
        low=0.62,
        high=0.8,
        raters=(beside, replace(beside, rater=1), replace(beside, rater=2)),
        left_out=1,
    )


def held(level: Any, scorer: str = "rouge1", axis: str = "fluency", **more: Any) -> LengthHeld:
    row = LengthHeld(level, 0.03, -0.04, 0.1, 88, 0.41, 0.7, 0.5, 7, scorer=scorer, axis=axis)
    return replace(row, **more)


@pytest.fixture
def decided(findings: Findings) -> Findings:
    rows = [
        ReplacingRow("direct", "fluency", 3, 90, 30, found(), found(1 / 3, 0.6), "yes"),
        ReplacingRow("geval", "fluency", 3, 90, 30, found(0.0, 0.3), found(1 / 3, 0.6), "no"),
        ReplacingRow(
            "direct",
            "relevance",
            2,
            90,
            30,
            found(1.0),
            found(1.0, 0.7),
            "no better than a constant",
        ),
        ReplacingRow("rouge1", "fluency", 3, reason=OFF_SCALE),
        ReplacingRow("chrf", "fluency", 3, reason=OFF_SCALE),
    ]
    lengths = [held("sample"), held("summary", value=None, low=None, high=None, n=0, in_order=1)]
    return replaced(findings, replacing=rows, length=lengths)


def test_a_terminal_names_who_may(decided: Findings) -> None:
    said = agreement_text(decided)
    assert (
        """\
May the judge replace a rater?
axis       yes              no better than a constant  no
fluency    direct (2 of 3)  –                          geval (0 of 3)
relevance  –                direct (3 of 3*)           –
"""
        in said
    )
    assert "epsilon = 0.1" in said
    assert "* Fewer than 3 raters" in said
    assert "length held fixed" not in said


def test_all_of_it_stands_in_the_markdown(decided: Findings) -> None:
    said = agreement_markdown(decided)
    lines = [" ".join(line.split()) for line in said.splitlines()]
    whole = "| direct | fluency | yes | 0.667 | 1.000 | 0.710 [0.620, 0.800] | 0.333 | 0.600 | 3 |"
    assert f"{whole} 90 | 30 |" in lines
    beside = "| direct | fluency | 1 | 0.800 | 0.700 | 0.010 | 0.055 | ≤ 0.001 | 0.005 | 90 | 30 |"
    assert beside in lines
    assert "| fluency | not on the raters' scale | rouge1; chrf |" in lines
    assert "| rouge1 | fluency | 0.410 | 0.030 [-0.040, 0.100] | 0.700 | 0.500 | 88 | 7 |" in lines
    assert "| rouge1 | fluency | 0.410 | – | 0.700 | 0.500 | 0 | 1 |" in lines


def test_nothing_tested_is_no_section(findings: Findings) -> None:
    rows = [ReplacingRow("rouge1", "fluency", 3, reason=OFF_SCALE)]
    assert "replace a rater" not in agreement_markdown(replaced(findings, replacing=rows))


def test_a_sample_is_marked(decided: Findings) -> None:
    sampled = replaced(decided, length=[held("sample", sampled=True)])
    said = agreement_markdown(sampled)
    assert "0.030 [-0.040, 0.100]†" in said
    assert "† The values are those of a seeded sample of documents." in said


def test_names_from_outside_are_text(decided: Findings) -> None:
    name = '<b>"| `x` {{ 1 }}'
    hostile = replaced(
        decided,
        replacing=[replace(row, scorer=name, axis=name) for row in decided["replacing"]],
        length=[replace(row, scorer=name, axis=name) for row in decided["length"]],
    )
    assert "<b>" not in agreement_markdown(hostile) + page(hostile)
    tables = MarkdownIt("commonmark").enable("table").parse(agreement_markdown(hostile))
    expected = MarkdownIt("commonmark").enable("table").parse(agreement_markdown(decided))
    rows = [sum(one.type == "td_open" for one in of) for of in (tables, expected)]
    assert rows[0] == rows[1]


def test_the_files_hold_every_number(decided: Findings, tmp_path: Path) -> None:
    write_report(Place(str(tmp_path)), decided)
    rows = json.loads((tmp_path / "replacing.json").read_text())
    assert [row["scorer"] for row in rows] == ["direct", "geval", "direct", "rouge1", "chrf"]
    assert rows[0]["found"]["raters"][1]["p_clustered"] == 0.01
    assert (rows[3]["found"], rows[3]["reason"]) == (None, OFF_SCALE)
    (sample, _) = json.loads((tmp_path / "length.json").read_text())
    assert (sample["level"], sample["value"], sample["in_order"]) == ("sample", 0.03, 7)
