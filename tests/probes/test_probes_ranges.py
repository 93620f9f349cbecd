"""Ranges of known inputs, and what follows length instead of quality."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evaljudge.metrics.protocol import Value
from evaljudge.probes.matrix import Measure, measured_columns, score_matrix
from evaljudge.probes.ranges import ranges, ranges_study
from evaljudge.probes.results import as_text
from evaljudge.probes.spurious import spurious, spurious_study
from evaljudge.records import Candidate, Case, Document

SOURCE = "Red fox. Green frog. Blue bird. White wolf. Black bear."
SYSTEMS = tuple(Candidate(name, text) for name, text in zip("ABC", ("x", "x y", ""), strict=True))
CASES = [
    Case(Document("d", SOURCE, ("red fox runs", "fox runs far far")), SYSTEMS),
    Case(Document("e", SOURCE, ("only one",)), SYSTEMS),
    Case(Document("f", SOURCE), SYSTEMS),
]


def test_inputs_of_known_kinds(measure: Measure) -> None:
    matrix = score_matrix(
        CASES, {("given", "*"): {("d", "A"): 7.0}}, measured_columns(measure, CASES)
    )
    rows = {(row.scorer, row.input): row for row in ranges(matrix, measure)}
    words = {kind: row for (scorer, kind), row in rows.items() if scorer == "words"}
    assert {kind: (row.n, row.median) for kind, row in words.items()} == {
        "human": (2, 3.0),  # four and two words; one document has no reference
        "RAND-3": (3, 6.0),
        "LEAD-3": (3, 6.0),
        "TAIL-3": (3, 6.0),
        "document": (3, 10.0),
        "systems": (9, 1.0),
    }
    human = rows["overlap", "human"]  # [fox runs] of four against the others; one against itself
    assert (human.lowest, human.highest, human.unscored) == (0.5, 1.0, 0)
    document = rows["overlap", "document"]
    assert (document.n, document.unscored, document.median) == (2, 1, 0.0)
    assert [key for key in rows if key[0] == "given"] == [("given", "systems")]
    assert (rows["given", "systems"].n, rows["given", "systems"].unscored) == (1, 8)


def test_a_human_text_is_taken_from_among_the_references() -> None:
    def references(cases: Sequence[Case]) -> dict[str, list[list[Value]]]:
        return {
            "n": [[float(len(case.document.references)) for _ in case.candidates] for case in cases]
        }

    matrix = score_matrix(CASES, {}, measured_columns(references, CASES))
    found = {row.input: (row.lowest, row.highest) for row in ranges(matrix, references)}
    assert (found["human"], found["RAND-3"]) == ((1, 1), (0, 2))


def test_quantiles(measure: Measure) -> None:
    values = np.random.default_rng(0).random(9)
    matrix = score_matrix(CASES, {}, {"m": values})
    (row,) = ranges(matrix, lambda _: {})
    assert (row.lowest, row.highest) == (values.min(), values.max())
    ordered = sorted(values)
    assert (row.p25, row.median, row.p75) == (ordered[2], ordered[4], ordered[6])
    assert row.p5 == pytest.approx(ordered[0] + 0.4 * (ordered[1] - ordered[0]))


def test_what_ranges_say(measure: Measure) -> None:
    matrix = score_matrix(CASES, {}, measured_columns(measure, CASES))
    study = ranges_study(ranges(matrix, measure), "cases")
    lines = as_text(study).splitlines()
    assert lines[3].split()[:4] == ["scorer", "input", "n", "lowest"]
    assert lines[4].split()[:3] == ["overlap", "human", "2"]
    assert "overlap" in study.draw()


@pytest.fixture
def followed() -> Any:
    """Texts of 1 to 6 words of a source; `long` is their length, `good` the rating."""
    source = "a b c d e f g h"
    texts = ["a", "x y", "a b z", "a b c d", "x x x x a", "a b c d e f"]
    rating = [1.0, 3.0, 2.0, 5.0, 4.0, 6.0]
    other = [2.0, 1.0, 4.0, 3.0, 6.0, 5.0]
    cases = [
        Case(Document("d", source), tuple(
            Candidate(f"s{i}", text, {"relevance": rating[i], "length": other[i]})
            for i, text in enumerate(texts)
        ))
    ]  # fmt: skip
    given = {
        ("long", "*"): {("d", f"s{i}"): i + 1.0 for i in range(6)},
        ("judge", "length"): {("d", f"s{i}"): other[i] for i in range(6)},
    }
    return score_matrix(cases, given, {"good": np.array(rating)})


def test_correlates_that_exceed_the_human_axis(followed: Any) -> None:
    rows = spurious(followed, "relevance")
    found = {(r.scorer, r.property, r.coefficient): r for r in rows}
    length = found["long", "length", "spearman"]
    assert (length.value, length.exceeds, length.n) == (pytest.approx(1.0), True, 6)
    compression = found["long", "compression", "spearman"]
    assert (compression.value, compression.exceeds) == (pytest.approx(-1.0), True)
    rating = [1.0, 3.0, 2.0, 5.0, 4.0, 6.0]
    coverage = [1, 0, 2 / 3, 1, 1 / 5, 1]
    expected = stats.pearsonr(rating, coverage).statistic
    assert found["good", "coverage", "pearson"].value == pytest.approx(expected)
    assert not any(row.exceeds for row in rows if row.scorer == "good")
    assert not any(row.exceeds for row in rows if not row.spurious)


def test_a_scorer_of_an_axis_meets_that_axis_alone(followed: Any) -> None:
    rows = [row for row in spurious(followed, "relevance") if row.scorer == "judge"]
    assert [row.property for row in rows if not row.spurious] == ["length (rated)"] * 2
    assert [row.value for row in rows if not row.spurious] == pytest.approx([1.0, 1.0])
    assert len(rows) == 2 * (1 + 4)


def test_what_spurious_says(followed: Any) -> None:
    study = spurious_study(spurious(followed, "relevance"), "relevance", "cases")
    lines = as_text(study).splitlines()
    assert lines[3] == "Pearson"
    heads = ["relevance", "length", "(rated)", "coverage", "density", "compression", "length"]
    assert lines[4].split() == ["scorer", *heads]
    assert next(line for line in lines if line.startswith("long")).endswith("1.000*")
    assert next(line for line in lines if line.startswith("judge")).split()[1] == "–"
    assert "Spearman" in study.draw()
