"""Numbers as the report writes them."""

import pytest

from evaljudge.agreement import Agreement
from evaljudge.sections.figures import bracketed, correlation, estimate, probability


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0.5139, "0.514"), (1.0, "1.000"), (-0.0004, "0.000"), (-0.0006, "-0.001"), (None, "–")],
)
def test_correlations_have_three_decimals(value: float | None, shown: str) -> None:
    assert correlation(value) == shown


def test_an_interval_stands_beside_its_value() -> None:
    assert bracketed(0.4405, 0.3104, -0.00001) == "0.441 [0.310, 0.000]"
    assert bracketed(0.44, 0.31, 0.55, sampled=True) == "0.440 [0.310, 0.550]†"
    assert bracketed(0.44, None, None, sampled=True) == "0.440"
    assert bracketed(None, None, None) == "–"


@pytest.mark.parametrize(
    ("p", "shown"),
    [
        (None, "–"),
        (0.0, "≤ 0.001"),
        (1 / 1001, "≤ 0.001"),
        (0.0011, "0.001"),
        (0.0494, "0.049"),
        (0.04996, "0.049"),
        (0.05, "0.050"),
        (0.0504, "0.050"),
        (1.0, "1.000"),
    ],
)
def test_a_p_under_five_percent_looks_so(p: float | None, shown: str) -> None:
    assert probability(p) == shown


@pytest.mark.parametrize(
    ("level", "n", "shown"),
    [
        ("system", 3, "1.000 (only 3 systems)"),
        ("system", 4, "1.000 (only 4 systems)"),
        ("system", 5, "1.000 [0.500, 1.000]"),
        ("sample", 1, "1.000 (only 1 document)"),
        ("sample", 5, "1.000 (only 5 documents)"),
        ("sample", 6, "1.000 [0.500, 1.000]"),
        ("summary", 4, "1.000 (only 4 candidates)"),
        ("summary", 5, "1.000 [0.500, 1.000]"),
    ],
)
def test_of_few_units_a_coefficient_says_so(level: str, n: int, shown: str) -> None:
    row = Agreement(level, "spearman", 1.0, 0.5, 1.0, n, 0)
    assert estimate(row) == shown


def test_of_few_units_what_is_undefined_stays_so() -> None:
    row = Agreement("system", "spearman", None, None, None, 2, 0)
    assert estimate(row) == "–"
