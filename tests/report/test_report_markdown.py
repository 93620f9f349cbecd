"""agreement.md against literal text, and read back by a Markdown parser for a hostile corpus."""

import json
from collections import Counter
from dataclasses import asdict, replace
from typing import Any

import pytest
from markdown_it import MarkdownIt

from evaljudge.analyses import analyses
from evaljudge.analyses.replacing import OFF_SCALE, ReplacingRow
from evaljudge.analysis.findings import Coverage
from evaljudge.decisions.powered import NOTHING
from evaljudge.report import read_findings, write_report
from evaljudge.report.lines import agreement_markdown
from evaljudge.storage import Place
from evaljudge.text import IS_THE_REFERENCE as SELF
from tests.frames import replaced
from tests.report.findings import PLAIN, made_of, made_with_statistics, on_peoples_scale


def test_all_of_it_as_it_is_written(findings, with_statistics, snapshot):
    snapshot(agreement_markdown(findings), "ordinary")
    snapshot(agreement_markdown(with_statistics), "statistics")


def test_accuracy_is_told_from_the_correlations(findings):
    """Its value too, unlike a correlation's."""
    rows = [replace(row, sampled=True) for row in findings.agreement]
    exact = "comes from a seeded sample of documents; the value is exact."
    said = agreement_markdown(replaced(findings, agreement=rows))
    assert said.count(f"{exact} Pairwise accuracy is altogether that sample's.") == 1
    assert said.count(exact) == 3
    rows = [
        replace(row, n=54, skipped=6)
        if row.coefficient != "accuracy"
        else replace(row, n=60, skipped=0)
        for row in findings.agreement
    ]
    said = agreement_markdown(replaced(findings, agreement=rows))
    assert "| 54; accuracy 60 | 6; accuracy 0 |" in said


def test_soft_accuracy_stands_at_system_level_alone(findings):
    (first, *_) = (row for row in findings.agreement if row.level == "system")
    soft = replace(first, coefficient="soft_accuracy", value=0.897, low=None, high=None)
    rows = [*findings.agreement, soft]
    said = agreement_markdown(replaced(findings, agreement=rows))
    sample, system, summary = said.split("\n## ")[3:6]
    assert "Soft accuracy" not in sample + summary
    heads, row = (line for line in system.splitlines() if line.startswith(("| scorer", "| synth")))
    cells = dict(zip(heads.split("|"), row.split("|"), strict=True))
    assert cells[" Soft accuracy "].strip() == "0.897"
    assert "It has no interval." in system and "seeded sample" not in system
    sampled = [*findings.agreement, replace(soft, sampled=True)]
    said = agreement_markdown(replaced(findings, agreement=sampled))
    assert said.count("It has no interval. It is that of a seeded sample of documents.") == 1


@pytest.mark.parametrize(
    ("rows", "share", "said"),
    [
        ([("s", 94999, {"x": 5001})], 0.94999, "94.9% scored: is under the floor of 95%."),
        ([("rouge1", 480, {SELF: 48})], 1.0, "100.0% scored: reaches the floor of 95%."),
        ([("mix", 480, {f"rouge1: {SELF}": 48, "roles: cut": 10})], 480 / 490, "98.0% scored: "),
        ([("rouge1", 0, {SELF: 64})], 0.0, "nothing to score"),
        ([], 1.0, "100.0% scored: reaches the floor of 95%."),
        ([("a", 990, {}), ("b", 5, {"x": 5})], 0.995, "99.5% scored, but b 50.0%: is under the"),
    ],
)
def test_the_share_is_of_what_is_expected_and_never_rounded_up(findings, rows, share, said):
    """No score is expected of the reference itself."""
    coverage = [Coverage(name, "*", n, sum(why.values()), why) for name, n, why in rows]
    found = replaced(findings, coverage=coverage)
    assert found.share == pytest.approx(share)
    assert found.floor_passed == ("is under" not in said and bool(share))
    markdown = agreement_markdown(found)
    assert f"**{said}" in markdown
    assert all(f"{reason} × {n:,}" in markdown for *_, why in rows for reason, n in why.items())


def test_given_scores_and_many_reasons(findings):
    """As `evaljudge agree` makes them."""
    said = agreement_markdown(
        replace(findings, task="", model="", writer="", signatures={}, coverage_floor=0.0)
    )
    assert "- Task" not in said and "model:" not in said and "How the numbers" not in said
    assert "**99.9% scored.**" in said
    reasons = {f"reason {n}": n for n in range(1, 9)}
    said = agreement_markdown(replaced(findings, coverage=[Coverage("s", "a", 0, 36, reasons)]))
    assert (
        "reason 8 × 8; reason 7 × 7; reason 6 × 6; reason 5 × 5; reason 4 × 4; other reasons × 6 |"
    ) in said


def test_no_word_breaks_a_table_or_writes_html(hostile):
    said = agreement_markdown(hostile)
    assert "<" not in said
    parser = MarkdownIt("commonmark").enable("table")
    tokens, plain = parser.parse(said), parser.parse(agreement_markdown(made_of(PLAIN)))
    assert Counter(token.type for token in tokens) == Counter(token.type for token in plain)
    inline = {child.type for token in tokens for child in token.children or []}
    assert inline == {"text", "strong_open", "strong_close", "softbreak", "code_inline"}


@pytest.mark.parametrize("analysis", [*filter(made_with_statistics().rows.get, analyses())])
def test_a_section_is_there_where_its_analysis_has_rows(analysis, findings, with_statistics):
    rows: dict[str, Any] = {analysis: with_statistics[analysis]}
    alone = agreement_markdown(replaced(findings, **rows))
    heads = [line for line in alone.splitlines() if line.startswith("#")]
    whole = agreement_markdown(with_statistics).splitlines()
    ordinary = agreement_markdown(findings).splitlines()
    assert len(heads) > sum(line.startswith("#") for line in ordinary) or analysis == "agreement"
    assert [line for line in whole if line in heads] == heads


@pytest.mark.parametrize(
    "rows",
    [
        {"replacing": [ReplacingRow("rouge1", "fluency", 3, reason=OFF_SCALE)]},
        {"people_scale": [replace(on_peoples_scale("A"), slope=None, together=NOTHING)]},
    ],
)
def test_rows_that_say_nothing_make_no_section(findings, rows):
    assert agreement_markdown(replaced(findings, **rows)) == agreement_markdown(findings)


def test_the_files_hold_every_number(with_statistics, tmp_path):
    write_report(Place(str(tmp_path)), with_statistics)

    def read(name: str) -> bytes | None:
        return (tmp_path / name).read_bytes() if (tmp_path / name).exists() else None

    again = read_findings(read)
    for analysis, rows in with_statistics.rows.items():
        found, given = (json.dumps(list(map(asdict, each))) for each in (again[analysis], rows))
        assert json.loads(found) == json.loads(given), analysis
    write_report(Place(str(tmp_path)), replaced(with_statistics, systems=()))
    assert not (tmp_path / "systems.json").exists()
