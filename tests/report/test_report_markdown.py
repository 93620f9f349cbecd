"""agreement.md against literal text, and read back by a Markdown parser for a hostile corpus."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from markdown_it import MarkdownIt

from evaljudge.analysis.findings import Coverage, Findings
from evaljudge.report import agreement_markdown
from tests.frames import replaced


def test_all_of_it_as_it_is_written(
    findings: Findings, with_statistics: Findings, snapshot: Callable[..., None]
) -> None:
    snapshot(agreement_markdown(findings), "ordinary")
    snapshot(agreement_markdown(with_statistics), "statistics")


def test_accuracy_of_a_sample_is_the_samples(findings: Findings) -> None:
    """Its value too, unlike a correlation's."""
    rows = [replace(row, sampled=True) for row in findings.agreement]
    exact = "comes from a seeded sample of documents; the value is exact."
    said = agreement_markdown(replaced(findings, agreement=rows))
    assert said.count(f"{exact} Pairwise accuracy is altogether that sample's.") == 1
    assert said.count(exact) == 3


def test_accuracy_counts_apart_where_it_rests_on_more(findings: Findings) -> None:
    rows = [
        replace(row, n=54, skipped=6)
        if row.coefficient != "accuracy"
        else replace(row, n=60, skipped=0)
        for row in findings.agreement
    ]
    said = agreement_markdown(replaced(findings, agreement=rows))
    assert "| 54; accuracy 60 | 6; accuracy 0 |" in said


def test_soft_accuracy_stands_at_system_level_alone(findings: Findings) -> None:
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


def test_a_share_is_never_rounded_up_to_the_floor(findings: Findings) -> None:
    nearly = replaced(findings, coverage=[Coverage("s", "a", 94999, 5001, {"x": 5001})])
    assert "**94.9% scored: is under the floor of 95%.**" in agreement_markdown(nearly)


def test_the_reference_itself_is_counted_but_no_score_of_it_is_expected(findings: Findings) -> None:
    itself = Coverage("rouge1", "*", 480, 48, {"is the reference": 48})
    said = agreement_markdown(replaced(findings, coverage=[itself]))
    assert "**100.0% scored: reaches the floor of 95%.**" in said
    assert "is the reference × 48" in said


def test_nor_is_one_of_a_mix_of_which_that_is_a_part(findings: Findings) -> None:
    coverage = Coverage("mix", "*", 480, 58, {"rouge1: is the reference": 48, "roles: cut": 10})
    assert replaced(findings, coverage=[coverage]).share == 480 / 490


def test_expecting_nothing_is_covered(findings: Findings) -> None:
    none = replaced(findings, coverage=[])
    assert none.share == 1.0
    assert "**100.0% scored: reaches the floor of 95%.**" in agreement_markdown(none)


def test_given_scores_have_no_task_model_or_floor(findings: Findings) -> None:
    """As `evaljudge agree` makes them."""
    said = agreement_markdown(
        replace(findings, task="", model="", writer="", signatures={}, coverage_floor=0.0)
    )
    assert "- Task" not in said and "model:" not in said and "How the numbers" not in said
    assert "**99.8% scored.**" in said


def test_only_the_most_frequent_reasons_are_told_apart(findings: Findings) -> None:
    reasons = {f"reason {n}": n for n in range(1, 9)}
    said = agreement_markdown(replaced(findings, coverage=[Coverage("s", "a", 0, 36, reasons)]))
    assert (
        "reason 8 × 8; reason 7 × 7; reason 6 × 6; reason 5 × 5; reason 4 × 4; other reasons × 6 |"
    ) in said


def test_a_hostile_corpus_breaks_no_table_and_writes_no_html(hostile: Findings) -> None:
    said = agreement_markdown(hostile)
    assert "<" not in said
    tokens = MarkdownIt("commonmark").enable("table").parse(said)
    kinds = [token.type for token in tokens]
    assert kinds.count("table_open") == 2
    assert kinds.count("tr_open") == 2 * (1 + 9)
    assert kinds.count("td_open") == 9 * 6 + 9 * 9
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1"] + ["h2"] * 5
    inline = {child.type for token in tokens for child in token.children or []}
    assert inline == {"text", "strong_open", "strong_close", "softbreak"}


def test_sections_without_rows_do_not_appear(findings: Findings, with_statistics: Findings) -> None:
    def headings(of: Findings) -> list[str]:
        lines = agreement_markdown(of).splitlines()
        return [line[3:] for line in lines if line.startswith("## ")]

    titles = {
        "significance": "Highest agreement",
        "axes": "Axes among themselves",
        "ceiling": "How far people agree",
        "labels": "Agreement in labels",
    }
    ordinary, everything = headings(findings), headings(with_statistics)
    assert everything == [*ordinary[:-1], *titles.values(), ordinary[-1]]
    for field, title in titles.items():
        none: dict[str, Any] = {other: () for other in titles if other != field}
        kept = headings(replaced(with_statistics, **none))
        assert title in kept
        others = {"How far people agree"} if field == "labels" else set()  # raters' labels
        assert set(kept) - set(ordinary) == {title} | others


def test_hostile_statistics_break_no_table_and_write_no_html(
    hostile: Findings, hostile_with_statistics: Findings
) -> None:
    parser = MarkdownIt("commonmark").enable("table")
    said = agreement_markdown(hostile_with_statistics)
    assert "<" not in said
    before = [token.type for token in parser.parse(agreement_markdown(hostile))]
    tokens = parser.parse(said)
    kinds = [token.type for token in tokens]
    rows = {  # of each new table, with its head
        "significance": [1 + 10] + [1 + 9] * 9,
        "axes": [1 + 9] * 10,
        "people": [1 + 9, 1 + 9],
        "labels": [1 + 9],
    }
    tables = [table for of in rows.values() for table in of]
    assert kinds.count("table_open") - before.count("table_open") == len(tables)
    assert kinds.count("tr_open") - before.count("tr_open") == sum(tables)
    assert kinds.count("heading_open") - before.count("heading_open") == 4 + len(tables)
    inline = {child.type for token in tokens for child in token.children or []}
    assert inline == {"text", "strong_open", "strong_close", "softbreak"}


def test_where_every_text_is_its_own_reference_nothing_is_scored(findings: Findings) -> None:
    itself = Coverage("rouge1", "*", 0, 64, {"is the reference": 64})
    none = replaced(findings, coverage=[itself])
    assert (none.share, none.floor_passed) == (0, False)
    assert "**nothing to score" in agreement_markdown(none)
