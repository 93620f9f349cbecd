"""Holm's adjustment, and which scorers cannot be told from the best."""

from collections.abc import Sequence
from math import nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.agreement.compare import compare
from evaljudge.agreement.significance import Standing, against_best, holm


@pytest.mark.parametrize(
    ("ps", "expected"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),  # 3 x .01, .06 before .04, 2 x .03
        ([0.5, 0.9], [1.0, 1.0]),
        ([0.2], [0.2]),
        ([], []),
    ],
)
def test_holm(ps: list[float], expected: list[float]) -> None:
    assert holm(ps) == pytest.approx(expected)


@given(st.lists(st.floats(0, 1), max_size=8), st.floats(0.001, 0.999))
def test_holm_rejects_what_stepping_down_rejects(ps: list[float], alpha: float) -> None:
    adjusted = holm(ps)
    assert {i for i, p in enumerate(adjusted) if p <= alpha} == stepped_down(ps, alpha)
    assert all(p <= q <= 1 for p, q in zip(ps, adjusted, strict=True))
    in_order = [q for _, q in sorted(zip(ps, adjusted, strict=True))]
    assert in_order == sorted(adjusted)


def stepped_down(ps: Sequence[float], alpha: float) -> set[int]:
    """By definition: reject the smallest while it is at most alpha / (how many are left)."""
    left = sorted(range(len(ps)), key=ps.__getitem__)
    rejected = set()
    while left and len(left) * ps[left[0]] <= alpha:
        rejected.add(left.pop(0))
    return rejected


def standing(scores: dict[str, list[float]], human: list[float], **how: object) -> Standing:
    size = len(human)
    documents, systems = [i // 4 for i in range(size)], [i % 4 for i in range(size)]
    found = against_best(documents, systems, scores, human, level="summary", **how)  # type: ignore[arg-type]
    assert found is not None
    return found


def untested(found: Standing) -> list[str]:
    return [rival.scorer for rival in found.rivals if rival.p_holm is None]


def test_who_is_told_from_the_best() -> None:
    stream = np.random.default_rng(0)
    human = stream.normal(size=80)
    noise = stream.normal(size=(3, 80))
    scores = {
        "good": human + noise[0],
        "blind": noise[1],
        "best": human + 0.8 * noise[2],
        "constant": np.ones(80),
        "backwards": -human,
    }
    found = standing({name: list(values) for name, values in scores.items()}, list(human))
    assert (found.best, found.undefined, untested(found)) == ("best", ("constant",), [])
    assert [rival.scorer for rival in found.rivals] == ["good", "blind", "backwards"]
    assert found.indistinguishable == ("good",)
    assert found.value == found.rivals[0].best_value


def test_every_rival_is_compared_with_the_best_and_adjusted() -> None:
    stream = np.random.default_rng(1)
    human = list(stream.normal(size=40))
    scores = {name: [h + stream.normal() for h in human] for name in "abcd"}
    found = standing(scores, human, permutations=200, seed=3)
    expected = [
        compare(
            [i // 4 for i in range(40)], [i % 4 for i in range(40)],
            scores[found.best], scores[rival.scorer], human,
            level="summary", permutations=200, seed=3,
        )
        for rival in found.rivals
    ]  # fmt: skip
    assert [(r.best_value, r.value, r.p, r.p_williams, r.n, r.sampled) for r in found.rivals] == [
        (c.first, c.second, c.p_permutation, c.p_williams, c.n, c.sampled) for c in expected
    ]
    ps = [one.p_permutation for one in expected]
    assert [rival.p_holm for rival in found.rivals] == holm([p for p in ps if p is not None])


def test_alpha_is_the_line() -> None:
    stream = np.random.default_rng(2)
    human = list(stream.normal(size=40))
    scores = {name: [h + stream.normal() for h in human] for name in "abc"}
    ps = {rival.scorer: rival.p_holm for rival in standing(scores, human).rivals}
    for alpha in (0.0, *ps.values(), 1.1):
        assert alpha is not None
        expected = tuple(name for name, p in ps.items() if p is not None and p >= alpha)
        assert standing(scores, human, alpha=alpha).indistinguishable == expected


def test_one_scorer_is_the_best_of_one() -> None:
    found = standing({"only": [1.0, 2.0, 3.0, 4.0]}, [1.0, 2.0, 4.0, 3.0])
    assert (found.best, found.value) == ("only", pytest.approx(0.8))
    assert (found.rivals, found.indistinguishable, found.undefined) == ((), (), ())


def test_nobody_is_the_best_where_nothing_varies() -> None:
    human = [1.0, 2.0, 4.0, 3.0]
    assert against_best([0] * 4, range(4), {"flat": [1.0] * 4}, human, level="summary") is None


def test_scorers_that_share_no_candidate_with_the_best_are_untested() -> None:
    scores = {"first": [1.0, 2.0, 3.0, *[nan] * 3], "second": [*[nan] * 3, 1.0, 3.0, 2.0]}
    found = standing(scores, [1.0, 2.0, 3.0] * 2)
    assert (found.best, untested(found), found.indistinguishable) == ("first", ["second"], ())
    assert found.rivals[0].p_holm is None
