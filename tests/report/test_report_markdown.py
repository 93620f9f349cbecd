"""agreement.md against literal text, and read back by a Markdown parser for a hostile corpus."""

from __future__ import annotations

from dataclasses import replace

from markdown_it import MarkdownIt

from evaljudge.report import Coverage, Findings, agreement_markdown

OPENING = """\
# Agreement with human ratings: first

- Task: summary
- Corpus: data/cases.jsonl
- Judge model: Qwen/Qwen3-8B@9c925d64
- Writer model: Qwen/Qwen3-8B@9c925d64
- Cases: 100
- Candidates: 1,600 (1,600 rated by people)

## Coverage

**99.8% scored: reaches the floor of 95%.**

| scorer          | axis    | scored | unscored |  share | reasons                             |
| --------------- | ------- | -----: | -------: | -----: | ----------------------------------- |
| synthetic       | fluency |  1,597 |        3 |  99.8% | empty text × 2; reply truncated × 1 |
| synthetic.level | fluency |  1,597 |        3 |  99.8% | empty text × 3                      |
| rouge1          | \\*      |  1,600 |        0 | 100.0% |                                     |

## Warnings

- synthetic: the answers offered hold only 41.0% of the probability

## Sample level: within documents

| scorer    | axis    |          Spearman |   Kendall (tau-b) | Pearson |   n | skipped |
| --------- | ------- | ----------------: | ----------------: | ------: | --: | ------: |
| synthetic | fluency | 0.44 [0.31, 0.55] | 0.38 [0.25, 0.49] |       – | 100 |       2 |

## System level: between systems
"""


def test_begins_with_coverage_then_warnings_then_levels(findings: Findings) -> None:
    assert agreement_markdown(findings).startswith(OPENING)


def test_a_sampled_interval_is_marked_and_explained(findings: Findings) -> None:
    lines = agreement_markdown(findings).splitlines()
    assert (
        "| synthetic | fluency | 0.40 [0.27, 0.51]† | 0.30 [0.17, 0.41]† | 0.00 [-0.13, 0.11]† "
        "| 1,597 |       2 |"
    ) in lines
    assert "† Its interval comes from a seeded sample of documents; the value is exact." in lines


def test_says_what_a_system_level_interval_may_do(findings: Findings) -> None:
    said = agreement_markdown(findings)
    assert "leans towards 0 and may not hold a value near 1" in said


def test_the_numbers_carry_their_signatures(findings: Findings) -> None:
    said = agreement_markdown(findings)
    assert (
        '- synthetic: synthetic@1 \\| Qwen/Qwen3-8B@9c925d64 \\| {"levels": 5} \\| seed 0' in said
    )


def test_without_ratings_there_is_nothing_to_agree_with(findings: Findings) -> None:
    said = agreement_markdown(replace(findings, agreement=[], rated=0))
    assert "no human ratings: nothing to agree with" in said
    assert "level" not in said.replace("synthetic.level", "").replace('"levels"', "")


def test_ratings_that_no_scorer_shares_are_another_matter(findings: Findings) -> None:
    said = agreement_markdown(replace(findings, agreement=[]))
    assert "no scorer has a number on a rated axis" in said
    assert "no human ratings" not in said


def test_a_share_is_never_rounded_up_to_the_floor(findings: Findings) -> None:
    nearly = replace(findings, coverage=[Coverage("s", "a", 94999, 5001, {"x": 5001})])
    assert "**94.9% scored: is under the floor of 95%.**" in agreement_markdown(nearly)


def test_expecting_nothing_is_covered(findings: Findings) -> None:
    none = replace(findings, coverage=[])
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
    said = agreement_markdown(replace(findings, coverage=[Coverage("s", "a", 0, 36, reasons)]))
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
    assert kinds.count("td_open") == 9 * 6 + 9 * 7
    assert [token.tag for token in tokens if token.type == "heading_open"] == ["h1"] + ["h2"] * 5
    inline = {child.type for token in tokens for child in token.children or []}
    assert inline == {"text", "strong_open", "strong_close", "softbreak"}
