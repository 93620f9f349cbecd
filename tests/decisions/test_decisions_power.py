"""What so many documents can show, beside statsmodels and by simulation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evaljudge.decisions.power import detectable, documents_needed

# statsmodels 0.14.6: TTestPower().solve_power(nobs=n, alpha=alpha, power=0.8)
SHOWN = {
    (5, 0.05): 1.6819970833232674,
    (10, 0.05): 0.9960019107624178,
    (20, 0.05): 0.6604416544380312,
    (100, 0.05): 0.2829117119690806,
    (10, 0.05 / 120): 2.0958150190570954,
    (20, 0.05 / 120): 1.169629579081022,
    (100, 0.05 / 120): 0.45131552124649804,
}
# TTestPower().solve_power(effect_size=difference, alpha=alpha, power=0.8)
NEEDED = {
    (1.0, 0.05): 9.93785094105438,
    (0.5, 0.05): 33.36713118431779,
    (0.3, 0.05): 89.14936472045834,
    (0.2, 0.05): 198.150820955562,
    (0.1, 0.05): 786.808940181792,
    (0.05, 0.05): 3141.4654741036425,
    (1.0, 0.05 / 120): 25.19490013151999,
    (0.5, 0.05 / 120): 82.61765702199597,
    (0.2, 0.05 / 120): 483.84651806652414,
    (0.1, 0.05 / 120): 1916.718703257191,
}


@pytest.mark.parametrize(("documents", "alpha"), SHOWN)
def test_the_smallest_difference_is_that_of_statsmodels(documents: int, alpha: float) -> None:
    found = detectable(3.0, documents, alpha)
    assert found == pytest.approx(3.0 * SHOWN[documents, alpha], rel=1e-5)


@pytest.mark.parametrize(("difference", "alpha"), NEEDED)
def test_the_documents_needed_are_those_of_statsmodels(difference: float, alpha: float) -> None:
    assert documents_needed(-2 * difference, 2.0, alpha) == np.ceil(NEEDED[difference, alpha])


def test_needed_and_detectable_undo_each_other() -> None:
    n = np.arange(3, 3000)
    shown = detectable(0.7, n)
    assert np.all(np.abs(documents_needed(shown * (1 + 1e-9), 0.7) - n) <= (n > 1000))


def test_no_difference_needs_more_than_any_number() -> None:
    assert documents_needed(0.0, 1.0) == np.inf
    assert documents_needed(1.0, 0.0) == 2
    assert np.isnan(documents_needed(0.0, 0.0))
    assert np.isnan(documents_needed(np.nan, 1.0))
    assert np.isnan(detectable(1.0, 1))


def test_the_documentation_has_these_numbers() -> None:
    page = (Path(__file__).parents[2] / "docs" / "decisions.md").read_text()
    wanted = np.array([1, 0.5, 0.3, 0.2, 0.1])
    for what, alpha in (("for one pair", 0.05), ("among 120 pairs", 0.05 / 120)):
        shown = " | ".join(f"{n:,.0f}" for n in documents_needed(wanted, 1.0, alpha))
        assert f"| documents, {what} | {shown} |" in page


def test_two_documents_among_very_many_pairs_do_not_take_minutes() -> None:
    alpha = 0.05 / 44_850  # 300 systems: of two documents, scipy's noncentral t hangs there
    critical = 2 / (np.pi * alpha)  # t with one degree of freedom is Cauchy's distribution
    shown = critical * stats.norm.ppf(0.9) / np.sqrt(2)
    assert detectable(1.0, 2, alpha) == pytest.approx(shown, rel=1e-6)
