"""What a terminal shows, as literal text; then of a corpus that means harm."""

import re
from collections import Counter
from dataclasses import replace

import pytest

from evaljudge.agreement import Agreement, Rival, Standing
from evaljudge.report.summary import agreement_text, coverage_text
from evaljudge.text import columns
from tests.frames import replaced
from tests.report.findings import PLAIN, made_of

pytestmark = pytest.mark.usefixtures("hundred_columns")


def test_as_it_is_written(findings, with_statistics, snapshot):
    ordinary, every = agreement_text(findings), agreement_text(with_statistics)
    snapshot(every)
    assert every.startswith(ordinary)


def test_few_systems_are_no_evidence(with_statistics):
    """Neither in the table nor where the best scorer is named."""
    three = [
        Agreement("system", "spearman", 1.0, 0.5, 1.0, 3, 0, scorer="synthetic", axis="fluency")
    ]
    best = Standing(
        "system", "spearman", "synthetic", 1.0,
        [Rival("x", 0.5, 1.0, 0.011, 0.022, 3, False), Rival("y", 0.5, 1.0, 0.9, 0.9, 3, False)],
        ["y"], [], None, None, 3, axis="fluency",
    )  # fmt: skip
    said = agreement_text(replaced(with_statistics, agreement=three, significance=[best]))
    assert "synthetic  fluency  1.000 (only 3 systems)\n" in said
    assert "[0.500, 1.000]" not in said
    assert "with fewer than 6 documents, or 5 systems" in said
    assert "fluency  system  synthetic (1.000, only 3 systems)  –   " in said
    assert not {"x", "y"} & set(said.split())
    assert "0.022" not in said, "no p beside a value that says nothing"


def test_documents_that_no_scorer_can_rank_are_one_line(findings):
    first = next(row for row in findings.agreement if row.level == "sample")
    some = [
        replace(first, coefficient="spearman", scorer=name, n=96, skipped=skipped)
        for name, skipped in [("a", 4), ("b", 4), ("c", 5)]
    ]
    said = coverage_text(replaced(findings, agreement=some)).splitlines()
    axis = first.axis
    assert [line for line in said if line.startswith("skipped")] == [
        f"skipped    4 of 100 documents at sample level, for 2 scorers on {axis}: nothing to rank",
        f"skipped    5 of 101 documents at sample level, for c on {axis}: nothing to rank",
    ]


def test_without_ratings_or_scorers(findings, with_statistics):
    said = agreement_text(replaced(findings, agreement=[], rated=0))
    assert said == "There are no human ratings: nothing to agree with.\n"
    said = agreement_text(replaced(with_statistics, agreement=[], significance=[], labels=[]))
    assert said.startswith("Texts are rated, but no scorer")
    assert "\n\nAxes among themselves" in said and "\n\nHow far people agree" in said
    assert "Highest agreement" not in said and "alpha" not in said


def test_columns_are_there_for_what_there_is(findings, with_statistics):
    rows = [replace(row, sampled=False) for row in findings.agreement]
    rows += [replace(row, axis="other") for row in rows if row.level != "system"]
    said = agreement_text(replaced(findings, agreement=rows))
    line = next(line for line in said.splitlines() if "other" in line)
    assert line == "synthetic  other    0.440 [0.310, 0.550]  –                     " + (
        "0.401 [0.271, 0.511]"
    )
    said = agreement_text(
        replaced(with_statistics, significance=with_statistics["significance"][1:])
    )
    assert "not compared" not in said and "Not compared" not in said
    assert "bleu (p 0.049)" in said


def test_scorers_beyond_100_columns_are_told_beside_people_again(with_statistics):
    pooled = [row for row in with_statistics["axes"] if row.level == "summary"]
    rows = pooled + [
        replace(pooled[0], of=f"a judge of some length {n}", value=n / 100) for n in range(9)
    ]
    said = agreement_text(replaced(with_statistics, axes=rows))
    section = said[said.index("Axes among") : said.index("Spearman's correlation between")]
    heads = [line for line in section.splitlines() if line.startswith("axis ")]
    assert len(heads) == 5
    assert all(" people " in head for head in heads)
    told = [line for line in section.splitlines() if line.startswith("coherence  relevance")]
    values = [value for line in told for value in line.split()[3:]]
    assert values == ["0.950", *(f"0.0{n}0" for n in range(9))]


def test_hostile_and_long_names_stay_within_100_columns(hostile):
    said, plain = agreement_text(hostile), agreement_text(made_of(PLAIN))
    assert max(map(columns, said.splitlines())) <= 100
    shown, known = (Counter(re.findall(r"-?\d\.\d{3}", text)) for text in (said, plain))
    assert shown >= known  # some stand in each part of a table that is too wide
    assert not any(ord(character) < 32 and character != "\n" for character in said)
    assert not any(character in said for character in "\u202e\x7f\x9b")
