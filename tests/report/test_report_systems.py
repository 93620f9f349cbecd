"""Systems in a report: means with intervals and letters, and what so many documents can show."""

import json
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt

from evaljudge.analysis.findings import Findings
from evaljudge.decisions.systems import RankedSystem, SystemPair, SystemRanking
from evaljudge.report import agreement_markdown, agreement_text, page, write_report
from evaljudge.storage import Place
from evaljudge.text import columns
from tests.frames import replaced

pytestmark = pytest.mark.usefixtures("hundred_columns")

LETTERS = ("a", "ab", "b")
NAMES = ("BART", "T5", "LEAD-3")


def ranking(names: tuple[str, ...] = NAMES, **more: Any) -> SystemRanking:
    """Means a tenth apart, of which neighbours cannot be told apart."""
    systems = [
        RankedSystem(name, 4.1 - place / 10, 4.0 - place / 10, 4.2 - place / 10, 100 - place, mark)
        for place, (name, mark) in enumerate(zip(names, LETTERS, strict=False))
    ]
    pairs = [
        SystemPair(one, other, 0.1, -0.04, 0.25, 0.1, 0.2, 99, 1120, 2300)
        for one, other in combinations(names, 2)
    ]
    if len(pairs) == 3:
        pairs[1] = replace(pairs[1], p=0.01, p_holm=0.03)
    ordinary: dict[str, Any] = {
        "scorer": "synthetic", "axis": "fluency", "documents": 100, "test": "permutation",
        "told_apart": 1, "spread": 0.9, "detectable": 0.25, "detectable_among_all": None,
        "alpha": 0.05, "power": 0.8,
    }  # fmt: skip
    return SystemRanking(systems=systems, pairs=pairs, **ordinary | more)


@pytest.fixture
def with_systems(findings: Findings) -> Findings:
    rows = [
        ranking(scorer="human", test="exact"),
        ranking(),
        ranking(("T5", "BART"), scorer="synthetic.level", sampled=True),
        ranking(("T5",), scorer="rouge1", axis="*", sampled=True),
    ]
    return replaced(findings, systems=rows)


def test_a_terminal_shows_who_is_first(with_systems: Findings) -> None:
    said = agreement_text(with_systems)
    assert said[said.index("Systems\n") :] == (
        """\
Systems
axis     scorer     first (mean)  cannot be told from it  smallest difference
fluency  people     BART (4.100)  T5                      0.250 (–)
fluency  synthetic  BART (4.100)  T5                      0.250 (–)
*†       rouge1     T5 (4.100)    –                       0.250 (–)

Told apart: compared document by document, at 5% after Holm's correction for all pairs. Smallest
difference: what these documents show in 80% of cases, of a typical pair alone (among all pairs).
† Systems are compared on a seeded sample of documents; means are exact.
All 4 rows are in agreement.md and systems.json.
"""
    )


def cells(said: str, title: str) -> list[list[str]]:
    """Of the Markdown table below this title, without its rule."""
    lines = said.split(f"### {title}\n\n")[1].split("\n\n")[0].splitlines()
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in lines
        if "--" not in line
    ]


def test_markdown_has_a_table_for_each_axis(with_systems: Findings) -> None:
    said = agreement_markdown(with_systems)
    assert cells(said, "Mean scores: fluency") == [
        ["system", "n", "people", "synthetic", "synthetic.level"],
        ["BART", "99–100", *["4.100 [4.000, 4.200] a"] * 2, "4.000 [3.900, 4.100]† ab"],
        ["T5", "99–100", *["4.000 [3.900, 4.100] ab"] * 2, "4.100 [4.000, 4.200]† a"],
        ["LEAD-3", "98", *["3.900 [3.800, 4.000] b"] * 2, "–"],
    ]
    assert cells(said, "Mean scores: scorers without axes")[1:] == [
        ["T5", "100", "4.100 [4.000, 4.200]† a"]
    ]


def test_markdown_says_what_so_many_documents_can_show(with_systems: Findings) -> None:
    said = agreement_markdown(with_systems)
    lead = ["0.250 (–)", "0.100 [-0.040, 0.250]", "0.200", "1,120 (2,300)"]
    assert cells(said, "What so many documents can show")[1:] == [
        ["fluency", "people", "100", "1 of 3", *lead],
        ["fluency", "synthetic", "100", "1 of 3", *lead],
        ["fluency", "synthetic.level", "100†", "1 of 1", *lead],
    ]
    assert "all choices of signs, up to 15 documents; 20,000 random ones." in said


def test_every_pair_is_written(with_systems: Findings, tmp_path: Path) -> None:
    write_report(Place(str(tmp_path)), with_systems)
    rows = json.loads((tmp_path / "systems.json").read_text())
    assert [(row["scorer"], len(row["pairs"])) for row in rows] == [
        ("human", 3), ("synthetic", 3), ("synthetic.level", 1), ("rouge1", 0)
    ]  # fmt: skip
    assert rows[0]["pairs"][1]["p_holm"] == 0.03
    write_report(Place(str(tmp_path)), replaced(with_systems, systems=()))
    assert not (tmp_path / "systems.json").exists()


def test_hostile_names_stay_names(hostile: Findings) -> None:
    words = tuple(hostile.warnings)[:3]
    rows = [ranking(words, scorer=word, axis=word) for word in hostile.warnings]
    found = replaced(hostile, systems=rows)
    assert "<" not in agreement_markdown(found)
    kinds = [t.type for t in MarkdownIt().enable("table").parse(agreement_markdown(found))]
    before = [t.type for t in MarkdownIt().enable("table").parse(agreement_markdown(hostile))]
    assert kinds.count("table_open") - before.count("table_open") == 9 + 1
    assert kinds.count("tr_open") - before.count("tr_open") == 9 * (1 + 3) + 1 + 9
    assert page(found).count("<script>") == 1
    said = agreement_text(found)
    assert max(map(columns, said.splitlines())) <= 100
    assert not any(ord(character) < 32 and character != "\n" for character in said)
