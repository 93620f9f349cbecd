"""Whether a judge favours its own family: by hand, and in simulated worlds of known bias."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike
from scipy.special import expit

from evaljudge.agreement.rated import Floats, Grid
from evaljudge.analyses.families import (
    FamilyRow,
    _points,
    reliability,
    rows,
    seen_by,
    steepness,
)
from evaljudge.config import Config
from tests.frames import frame, warnings

SYSTEMS = ["own", "a", "b", "c", "d"]
SEEDS = 60


def grid(tables: Mapping[str, ArrayLike], human: ArrayLike | None = None) -> Grid:
    scores = {(name, "fluency"): np.asarray(one, np.float64) for name, one in tables.items()}
    documents, systems = next(iter(scores.values())).shape
    people = {} if human is None else {"fluency": np.asarray(human, np.float64)}
    return Grid([f"d{n}" for n in range(documents)], SYSTEMS[:systems], scores, people)


def rows_of(of: Grid, families: Mapping[str, Sequence[str]]) -> list[FamilyRow]:
    names = [name for name, _ in of.scores]
    headlines = dict(zip(names, names, strict=True))
    run = SimpleNamespace(families=families, headlines=headlines, grid=of, seed=0)
    return list(rows(run))


# by hand


def test_the_expected_share_follows_from_pairs_without_the_family():
    """Others see a gap of one between `a` and `b`, and one between `own` and each; the judge puts
    `a` above `b` on 3 of 4 documents and `own` above all."""
    others = [[2.0, 1.0, 0.0]] * 4
    judge = [[9.0, 2.0, 1.0]] * 3 + [[9.0, 1.0, 2.0]]
    (row,) = rows_of(grid({"judge": judge, "other": others}), {"judge": ["own"]})
    # a curve with 3/4 at a gap of 1: odds of 3, so odds of 9 at a gap of 2
    assert (row.share, row.pairs, row.documents) == (1.0, 8, 4)
    assert row.expected == pytest.approx((3 / 4 + 9 / 10) / 2, abs=1e-6)
    assert row.excess == pytest.approx(1 - 0.825, abs=1e-6)


def test_all_figures_of_a_row_are_of_the_same_pairs():
    nan = np.nan
    judge = [[3.0, 1.0, 2.0], [2.0, 1.0, nan], [1.0, 3.0, 2.0], [3.0, 2.0, 1.0]]
    others = [[3.0, 1.0, 2.0], [3.0, 2.0, 1.0], [3.0, 1.0, 2.0], [nan, 2.0, 1.0]]
    people = [[nan, nan, nan], [nan, nan, nan], [2.0, 1.0, 3.0], [2.0, 1.0, 3.0]]
    beside_judges, beside_people = rows_of(
        grid({"judge": judge, "other": others}, people), {"judge": ["own"]}
    )
    assert (beside_judges.share, beside_judges.pairs, beside_judges.documents) == (3 / 5, 5, 3)
    assert (beside_people.share, beside_people.pairs, beside_people.documents) == (2 / 4, 4, 2)
    assert (list(beside_judges.others), list(beside_people.others)) == (["other"], ["people"])


def test_figures_are_points_of_pairs_that_others_see():
    draw = np.random.default_rng(0)
    of = grid({name: draw.normal(0, 1, (9, 3)) for name in ("a", "twin", "b")})
    rows = rows_of(of, {"a": ["own"], "twin": ["own"]})
    assert [list(row.others) for row in rows] == [["b"], ["b"]]
    draw = np.random.default_rng(0)
    one, other = draw.normal(0, 1, (2, 30, 4))
    alike, wide = seen_by(np.stack([one, other])), seen_by(np.stack([one, 100 * other]))
    assert wide == pytest.approx(alike)
    assert _points(0.26, 0.08, 0.47) == "+26.0 points [8.0, 47.0]"
    assert _points(-0.013, None, None) == "-1.3 points"
    assert _points(None, None, None) == "–"


@pytest.mark.parametrize(
    ("tables", "systems", "reason"),
    [
        (["judge"], ["own"], "there is no other judge outside the family"),
        (["judge", "b"], ["own", "a"], "no pair without the family has both scores"),
        (["judge", "b"], ["elsewhere"], "no pair has a text of the family"),
    ],
)
def test_where_there_is_no_estimate_the_row_says_why(tables, systems, reason):
    draw = np.random.default_rng(0)
    (row,) = rows_of(grid({name: draw.normal(0, 1, (5, 3)) for name in tables}), {"judge": systems})
    assert row.reason.startswith(reason)
    assert (row.share, row.expected, row.excess, row.low, row.high) == (None,) * 5


def test_the_curve_of_a_judge_that_always_or_never_agrees_is_bounded():
    gaps = np.array([1.0, 2.0, -1.0])
    assert steepness(gaps, np.array([1.0, 1.0, 0.0])) > 10
    assert steepness(gaps, np.array([0.0, 0.0, 1.0])) < -10
    assert steepness(np.zeros(3), np.array([1.0, 0.0, 0.5])) == 0
    exact = steepness(gaps, expit(0.7 * gaps))
    assert exact == pytest.approx(0.7)


def test_reliability_is_cronbachs_alpha_within_systems():
    draw = np.random.default_rng(0)
    quality = draw.normal(0, 1, (4000, 3))
    tables = np.stack([quality + draw.normal(0, 1, quality.shape) for _ in range(3)])
    assert reliability(tables) == pytest.approx(3 / 4, abs=0.02)
    assert reliability(tables + np.array([5.0, 0.0, -5.0])) == pytest.approx(reliability(tables))
    assert reliability(tables[:1]) == 1.0
    assert reliability(np.ones((2, 3, 3))) == 1.0


def test_odd_families_are_said():
    families = {"a": ["own", "aa"], "b": ["own", "a"], "c": ["a"]}
    config = Config.model_construct(families=families)
    run = frame(grid=Grid(["d"], ["own", "a"], {}, {}), config=config)
    assert warnings("families", run, {"families": []}) == {
        "unknown system": "families.a: unknown system 'aa': did you mean 'a'?",
        "only the family": (
            "families.b: all systems are of the family: none is left to compare with"
        ),
    }


# simulated: texts of known quality, three other judges, and people

Q = {"weak": -1.2, "equal": 0.0, "strong": 1.2}


def world(
    documents: int, draw: np.random.Generator, family: str, noise: float, favour: float = 0.0,
    coarse: bool = False,
) -> Grid:  # fmt: skip
    """`noise`: of the judge, in standard deviations of quality; infinite: it answers at random."""
    means = np.array([Q[family], 0.3, 0.1, -0.1, -0.3])
    quality = means + draw.normal(0, 1, (documents, len(SYSTEMS)))
    judge = draw.normal(0, 1, quality.shape)
    if np.isfinite(noise):
        judge = quality + noise * judge
    judge[:, 0] += favour
    if coarse:
        judge = np.clip(np.round(judge + 3), 2, 4)
    others = {f"o{n}": quality + draw.normal(0, 0.7, quality.shape) for n in range(3)}
    return grid({"judge": judge, **others}, quality + draw.normal(0, 0.5, quality.shape))


def found_in(documents: int, seeds: int = SEEDS, **world_of: Any) -> list[FamilyRow]:
    """Beside the other judges."""
    draws = [np.random.default_rng((documents, seed)) for seed in range(seeds)]
    return [rows_of(world(documents, draw, **world_of), {"judge": ["own"]})[0] for draw in draws]


def shares(rows: Sequence[FamilyRow]) -> tuple[float, float, float]:
    """How often a row's interval is below 0, holds it, and is above it."""
    ends = np.array([(row.low, row.high) for row in rows], dtype=np.float64)
    below, above = np.mean(ends[:, 1] < 0), np.mean(ends[:, 0] > 0)
    return float(below), float(1 - below - above), float(above)


FAIR = [
    {"family": "strong", "noise": 1.5},
    {"family": "equal", "noise": 0.7},
    {"family": "weak", "noise": np.inf},
    {"family": "weak", "noise": 1.5},
    {"family": "weak", "noise": 0.3},
    {"family": "strong", "noise": 0.3},
    {"family": "weak", "noise": 0.7, "coarse": True},
    {"family": "strong", "noise": 0.7, "coarse": True},
]


@pytest.mark.parametrize("documents", [8, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize(
    "fair", [FAIR[0], *(pytest.param(one, marks=pytest.mark.long) for one in FAIR[1:])]
)
def test_a_judge_that_is_fair_is_not_accused(documents, fair):
    """In 95% of worlds the interval should hold 0; of 60, 52 do or more by chance in 98%."""
    rows = found_in(documents, **fair)
    _, holding, above = shares(rows)
    assert holding >= 52 / SEEDS
    assert above <= 6 / SEEDS
    assert abs(np.mean([row.excess for row in rows if row.excess is not None])) < 0.05


@pytest.mark.parametrize(
    ("documents", "biased", "least"),
    [
        (40, {"family": "equal", "noise": 0.7}, 0.85),
        pytest.param(200, {"family": "strong", "noise": 1.5}, 0.8, marks=pytest.mark.long),
        pytest.param(200, {"family": "weak", "noise": 1.5}, 0.8, marks=pytest.mark.long),
    ],
)
def test_a_judge_that_favours_its_own_is_found(documents, biased, least):
    """Also a noisy judge of a strong family, which prefers it less often than the others do."""
    assert shares(found_in(documents, 30, favour=0.6, **biased))[2] >= least


def test_of_very_many_documents_a_sample_is_compared(monkeypatch):
    monkeypatch.setattr("evaljudge.analyses.families.MOST_DOCUMENTS", 20)
    of = world(50, np.random.default_rng(1), "equal", 0.7)
    assert [row.documents for row in rows_of(of, {"judge": ["own"]})] == [20, 20]


def test_without_each_document_all_is_estimated_again():
    """The interval against a jackknife by hand, from rows without each document."""
    of = world(8, np.random.default_rng(3), "equal", 0.7)
    row, _ = rows_of(of, {"judge": ["own"]})

    def without(document: int) -> float:
        rest: dict[str, Floats] = {
            name: np.delete(table, document, axis=0) for (name, _), table in of.scores.items()
        }
        (smaller,) = rows_of(grid(rest), {"judge": ["own"]})
        return smaller.excess

    smaller = np.array([without(n) for n in range(8)])
    error = np.sqrt(7 / 8 * np.sum((smaller - smaller.mean()) ** 2))
    assert row.excess is not None and row.high is not None
    assert row.high - row.excess == pytest.approx(2.3646 * error, rel=1e-4)
