"""The agreement tables as a terminal shows them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from evaljudge.report import AgreementRow, Findings, agreement_text
from evaljudge.report.plain import columns

ORDINARY = """\
Sample level: within documents
scorer     axis     Spearman           Kendall (tau-b)    Pearson  n
synthetic  fluency  0.44 [0.31, 0.55]  0.38 [0.25, 0.49]  –        100

System level: between systems
scorer     axis     Spearman           Kendall (tau-b)    Pearson            n
synthetic  fluency  0.80 [0.67, 0.91]  0.70 [0.57, 0.81]  0.85 [0.72, 0.96]  16

Summary level: all candidates pooled
scorer     axis     Spearman            Kendall (tau-b)     Pearson              n
synthetic  fluency  0.40 [0.27, 0.51]†  0.30 [0.17, 0.41]†  0.00 [-0.13, 0.11]†  1,597

† Its interval comes from a seeded sample of documents; the value is exact.
"""

Rows = list[AgreementRow]


def test_ordinary_findings(findings: Findings) -> None:
    assert agreement_text(findings) == ORDINARY


def test_no_ratings(findings: Findings) -> None:
    said = agreement_text(replace(findings, agreement=[], rated=0))
    assert said == "There are no human ratings: nothing to agree with.\n"


@pytest.fixture
def rows_for(findings: Findings) -> Callable[[int], Rows]:
    """The ordinary rows again under so many axes: three lines each."""
    return lambda axes: [
        replace(row, axis=f"axis {n}", sampled=False)
        for n in range(axes)
        for row in findings.agreement
    ]


def test_many_rows_show_spearman_at_each_level(
    findings: Findings, rows_for: Callable[[int], Rows]
) -> None:
    said = agreement_text(replace(findings, agreement=rows_for(7)))
    assert said.splitlines()[:3] == [
        "Spearman's correlation at each level",
        "scorer     axis    sample             system             summary",
        "synthetic  axis 0  0.44 [0.31, 0.55]  0.80 [0.67, 0.91]  0.40 [0.27, 0.51]",
    ]
    assert len(said.splitlines()) == 2 + 7


def test_twenty_rows_are_not_yet_many(findings: Findings, rows_for: Callable[[int], Rows]) -> None:
    said = agreement_text(replace(findings, agreement=rows_for(6)))
    assert "Kendall" in said
    assert said.count("synthetic") == 18


def test_a_level_that_a_scorer_lacks_is_a_dash(
    findings: Findings, rows_for: Callable[[int], Rows]
) -> None:
    lacking = [row for row in rows_for(9) if (row.axis, row.level) != ("axis 3", "system")]
    said = agreement_text(replace(findings, agreement=lacking))
    line = next(line for line in said.splitlines() if "axis 3" in line)
    assert line == "synthetic  axis 3  0.44 [0.31, 0.55]  –                  0.40 [0.27, 0.51]"


def test_hostile_and_long_names_stay_within_100_columns(hostile: Findings) -> None:
    said = agreement_text(hostile)
    assert len(said.splitlines()) == 2 + 9
    assert max(map(columns, said.splitlines())) <= 100
    assert said.count("0.40 [0.27, 0.51]") == 9
    assert not any(ord(character) < 32 and character != "\n" for character in said)


def test_the_widest_figures_leave_names_room(findings: Findings) -> None:
    wide = [
        replace(row, value=-0.44, low=-0.61, high=-0.35, n=1_234_567, sampled=True)
        for row in findings.agreement
    ]
    said = agreement_text(replace(findings, agreement=wide))
    assert max(map(columns, said.splitlines())) <= 100
    assert "synthetic" in said and "-0.44 [-0.61, -0.35]†" in said
