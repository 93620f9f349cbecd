"""Certified thresholds: by hand, by loops, and kept promises in simulated worlds."""

from __future__ import annotations

import sys
from itertools import islice
from math import comb, log, nan
from pathlib import Path

import numpy as np
import pytest

from evaljudge.decisions.certified import (
    MOST_STAKED,
    WITHIN,
    Certified,
    certified,
)

sys.path.insert(0, str(Path(__file__).parents[2] / "benches"))
from promises_thresholds import WORLDS, World, rows


def found(
    documents: object, scores: object, ratings: object, target: float = 0.9, seed: int = 0
) -> Certified:
    told = {"good": 4, "target": target, "confidence": 0.95, "seed": seed}
    return certified(documents, scores, ratings, **told)


@pytest.mark.parametrize(("number", "is_certified"), [(28, False), (29, True)])
def test_all_good_of_one_candidate_each(number, is_certified):
    """0.9 ** 28 = 0.052, and 0.9 ** 29 = 0.047."""
    one = found(range(number), range(number), [5] * number)
    assert (one.threshold is not None) == is_certified
    assert one.tested[-1].p == pytest.approx(0.9 ** one.tested[-1].selected)
    assert (one.needed is None) == is_certified


def test_one_candidate_each_is_an_exact_binomial_test():
    """100 documents; those with the lowest 30 scores are bad, and every tenth of the others."""
    ratings = np.where((np.arange(100) < 30) | (np.arange(100) % 10 == 9), 1, 5)
    one = found(range(100), range(100), ratings, target=0.7)
    for test in one.tested:
        chances = (comb(test.selected, k) * 0.7**k * 0.3 ** (test.selected - k)
                   for k in range(test.good, test.selected + 1))  # fmt: skip
        assert test.p == pytest.approx(sum(chances))
        assert test.selected == np.sum(np.arange(100) >= test.threshold)
        assert test.coverage == test.selected / 100
    kept, failed = one.tested[-2:]
    assert kept.p <= 0.05 < failed.p
    assert (one.threshold, one.coverage) == (kept.threshold, kept.coverage)
    assert one.precision == kept.good / kept.selected
    assert one.recall == kept.good / 63
    assert (one.base, one.documents, one.needed) == (0.63, 100, None)


def test_several_candidates_each_are_bets_on_documents():
    stream = np.random.default_rng(3)
    quality = stream.normal(size=(80, 3)) + stream.normal(size=(80, 1))
    scores = quality + stream.normal(size=(80, 3)) / 2
    ratings = np.where(quality > 0, 5, 1).astype(float)
    documents = np.repeat(np.arange(80), 3)
    one = found(documents, scores.ravel(), ratings.ravel(), target=0.8)
    turns = np.argsort(np.random.default_rng(0).permutation(80))
    assert one.threshold is not None and len(one.tested) > 2
    for test in one.tested:
        expected = test.coverage * 3
        variance = 0.8 * 0.2 * expected * (1 + WITHIN * expected)
        stake = min((2 * log(20) / (80 * variance)) ** 0.5, MOST_STAKED / (0.8 * 3))
        wealth, highest = 1.0, 1.0
        for document in turns:
            selected = scores[document] >= test.threshold
            good = selected & (ratings[document] >= 4)
            wealth *= 1 + stake * (good.sum() - 0.8 * selected.sum())
            highest = max(highest, wealth)
        assert test.p == pytest.approx(1 / highest)


def test_only_candidates_with_both_count_as_rated_and_every_score_for_coverage():
    """Every second candidate is rated, and one that is has no score."""
    one = found(range(121), [*range(120), nan], [*[5, nan] * 60, 1], target=0.7)
    assert (one.documents, one.base) == (60, 1)
    assert one.tested[-1].coverage == 1
    assert one.threshold == 0
    assert (one.precision, one.recall) == (1, 1)


def test_tied_scores_are_selected_together():
    one = found(range(60), [1, 2, 2] * 20, [1, 5, 5] * 20, target=0.8)
    assert [test.threshold for test in one.tested] == [2, 1]
    assert (one.threshold, one.precision, one.recall) == (2, 1, 1)
    assert one.coverage == pytest.approx(2 / 3)


def test_the_order_of_rows_changes_nothing():
    world = WORLDS[0]
    scores, quality = world.drawn(40, 1)
    columns = np.repeat(np.arange(40), 6), scores.ravel(), np.where(quality.ravel() > 0, 5, 1)
    order = np.random.default_rng(0).permutation(240)
    assert found(*columns, 0.6) == found(*(column[order] for column in columns), 0.6)


def test_fewer_than_two_documents_certify_nothing():
    asked = {"good": 4.0, "target": 0.5, "confidence": 0.9}
    assert certified([1, 1, 2], [1, 2, 3], [5, 5, nan], **asked) is None


def test_so_many_documents_as_are_needed_certify_about_half_the_time():
    world = World("", 40)
    needed = [one.needed for one in drawn(world, 40, 40) if one.threshold is None]
    typical = int(np.median([one for one in needed if one is not None]))
    assert typical > 50
    certain = [one.threshold is not None for one in drawn(world, typical, 40)]
    assert 0.3 < np.mean(certain) < 0.85


def test_no_number_of_documents_would_help_an_inverted_judge():
    for one in drawn(World("", 60, judge=-0.6), 60, 5):
        assert (one.threshold, one.needed) == (None, None)


def drawn(world: World, documents: int, times: int) -> list[Certified]:
    at = np.repeat(np.arange(documents), world.candidates)
    return [
        found(at, scores.ravel(), np.where(quality.ravel() > 0, 5, 1), world.target, seed)
        for seed in range(times)
        for scores, quality in [world.drawn(documents, (7, seed))]
    ]


@pytest.mark.long
def test_promises_are_kept_and_the_plug_in_rule_breaks_its_own():
    """Of 30 worlds of each kind, 6 or more would break it by chance once in 300 times at 5%."""
    one_at_a_time = islice(rows(30, seed=1), len(WORLDS) - 2)
    found = {str(row["world"]): row for row in one_at_a_time}
    promised = [row["kept"] for row in found.values() if row["bound"] == "at least"]
    assert min(promised) >= 25  # type: ignore[type-var,operator]
    assert found["200 of 600 texts, drawn by doubt"]["kept"] < 20  # type: ignore[operator]
    usual = found["100 documents, 6 candidates each"]
    assert usual["certified"] >= 10 and usual["plug_in_kept"] < 25  # type: ignore[operator]
    assert found["60 documents, an inverted judge"]["certified"] == 0
