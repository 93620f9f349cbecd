"""What could mislead: sums by hand, of one shard and of many, and the rows that they come to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import zip_longest
from math import nan
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from evaljudge.agreement.rated import Rated
from evaljudge.judges.collector import SeenShard
from evaljudge.judges.shared.counting import Sums
from evaljudge.judges.synthetic.validity import shard_sums, validity_rows
from evaljudge.records import ANY_SYSTEM, Candidate, Case, Document, Score, Verdict
from tests.judges.synthetic.builders import BETTER, SIMILAR, WORSE, Answers, answers

Key = tuple[str, str, str]
"""A document, a system and an axis."""
Levels = list[dict[str, Any]]
"""A candidate's comparisons, as a verdict stores them."""


EVEN = answers(0.25, 0.25, 0.5)
RATHER_BETTER, RATHER_WORSE = answers(0.5, 0.25, 0.25), answers(0.25, 0.5, 0.25)


def case(doc_id: str, texts: Mapping[str, str], rated: bool = False) -> Case:
    ratings = {"fluency": 1.0} if rated else {}
    candidates = (Candidate(system, text, ratings) for system, text in texts.items())
    return Case(Document(doc_id, "source"), tuple(candidates))


def check(
    doc_id: str,
    neighbours: Sequence[Answers] = (),
    exchanged: Sequence[tuple[Answers, Answers]] = (),
    axis: str = "fluency",
) -> Verdict:
    evidence: dict[str, Any] = {
        "neighbours": [
            {"worse": float(n), "better": float(n + 1), "p": p}
            for n, p in enumerate(neighbours, start=1)
        ],
        "exchanged": [
            {"system": "A", "rating": 3.0, "p": p, "exchanged": other} for p, other in exchanged
        ],
    }
    return Verdict(doc_id, ANY_SYSTEM, "a", axis, evidence)


def levels(*ps: Answers, mass: float = 1.0) -> Levels:
    return [{"rating": float(r), "p": p, "mass": mass} for r, p in enumerate(ps, start=1)]


def sums_of(
    cases: Sequence[Case],
    compared: Mapping[Key, Levels],
    checks: Sequence[Verdict],
    scores: Mapping[Key, float | None],
) -> Sums:
    verdicts = [
        Verdict(doc_id, system, "a", axis, {"levels": found})
        for (doc_id, system, axis), found in compared.items()
    ]
    scored = [
        Score(doc_id, system, "a", axis, value) for (doc_id, system, axis), value in scores.items()
    ]
    return shard_sums("a", SeenShard(cases, verdicts, checks, scored))


def of_checks(*checks: Verdict, cases: Sequence[Case] = ()) -> Sums:
    return sums_of(cases, {}, checks, {})


def of_levels(**by_system: Levels) -> Sums:
    compared = {("d", system, "fluency"): found for system, found in by_system.items()}
    return sums_of([], compared, [], {})["fluency"]


def of_lengths(*documents: Sequence[Sequence[float | None]]) -> Sums:
    """Of each document, the candidates' scores, their numbers of words, and people's ratings where
    there are any."""
    cases: list[Case] = []
    scores: dict[Key, float | None] = {}
    for number, (values, words, *ratings) in enumerate(documents):
        rated = [{"fluency": float(rating or 0)} for rating in ratings[0]] if ratings else []
        candidates = [
            Candidate(f"s{n}", " \n".join(["word"] * int(count or 0)), rating or {})
            for n, (count, rating) in enumerate(zip_longest(words, rated))
        ]
        cases.append(Case(Document(f"d{number}", "source"), tuple(candidates)))
        scores |= {(f"d{number}", f"s{n}", "fluency"): value for n, value in enumerate(values)}
    return sums_of(cases, {}, [], scores)["fluency"]


def told(sums: Sums) -> Sums:
    """What is counted at all."""
    return {name: amount for name, amount in sums.items() if isinstance(amount, int) and amount}


def row(sums: Sums) -> Mapping[str, Any]:
    """The row of one axis, where nobody rated anything."""
    nobody = Rated(np.array([], int), np.array([], int), {}, {}, {})
    (found,) = validity_rows("a", {"fluency": sums}, nobody, {})
    return asdict(found)


# neighbours


@pytest.mark.parametrize(
    ("p", "inverted"),
    [(RATHER_BETTER, 0), (RATHER_WORSE, 1), (EVEN, 0), (SIMILAR, 0), (answers(0.1, 0.2, 0.7), 1)],
)
def test_a_pair_is_inverted_where_its_better_one_is_rather_worse(p, inverted):
    sums = of_checks(check("d", [p]))["fluency"]
    assert (sums["pairs"], sums["inverted_pairs"]) == (1, inverted)


def test_one_inverted_pair_inverts_the_document():
    checks = [
        check("d0", [BETTER, WORSE, WORSE]),
        check("d1", [BETTER, BETTER, SIMILAR]),
        check("d1", [WORSE], axis="coherence"),
    ]
    sums = of_checks(*checks)
    assert told(sums["fluency"]) == {"checked": 2, "inverted": 1, "pairs": 6, "inverted_pairs": 2}
    assert told(sums["coherence"]) == {"checked": 1, "inverted": 1, "pairs": 1, "inverted_pairs": 1}


def test_a_check_that_failed_is_not_counted():
    failed = Verdict("d0", ANY_SYSTEM, "a", "fluency", {}, "unscored", "empty source")
    sums = of_checks(failed, check("d1", [BETTER]))
    assert told(sums["fluency"]) == {"checked": 1, "pairs": 1}
    assert of_checks(failed) == {}


def test_ids_are_kept_of_rated_documents_with_an_inversion_alone():
    cases = [case(f"d{n}", {"A": "t"}, rated) for n, rated in enumerate([True, False, True])]
    checks = [check("d0", [WORSE]), check("d1", [WORSE]), check("d2", [BETTER])]
    sums = of_checks(*checks, cases=cases)["fluency"]
    assert sums["inverted_ids"] == ["d0"]
    assert sums["inverted"] == 2


# probabilities and the scale


def test_entropy_certainty_and_mass_are_means_over_comparisons():
    found = levels(BETTER, EVEN, mass=0.5), levels(answers(0.5, 0.5, 0), SIMILAR, mass=0.75)
    found = row(of_levels(A=found[0], B=found[1]))
    assert found["comparisons"] == 4
    assert found["entropy"] == pytest.approx((0 + 1.5 + 1 + 0) / 4)
    assert found["certain"] == 0.5
    assert found["mass"] == 0.625


def test_candidates_lie_below_between_or_above_the_references():
    sums = of_levels(
        A=levels(WORSE, RATHER_WORSE),
        B=levels(BETTER, RATHER_BETTER),
        C=levels(BETTER, RATHER_BETTER),
        D=levels(BETTER, WORSE),
        E=levels(BETTER, SIMILAR),
    )
    assert (sums["candidates"], sums["below"], sums["above"]) == (5, 1, 2)


# position


@pytest.mark.parametrize(
    ("p", "exchanged", "flipped"),
    [
        (BETTER, RATHER_WORSE, 1),
        (RATHER_WORSE, answers(0.2, 0.1, 0.7), 1),
        (BETTER, RATHER_BETTER, 0),
        (WORSE, WORSE, 0),
        (BETTER, SIMILAR, 0),
        (EVEN, WORSE, 0),
        (EVEN, SIMILAR, 0),
    ],
)
def test_a_comparison_flips_where_it_takes_the_other_side(p, exchanged, flipped):
    sums = of_checks(check("d", exchanged=[(p, exchanged)]))["fluency"]
    assert (sums["exchanged"], sums["flipped"]) == (1, flipped)


# length


def test_length_is_the_mean_of_documents_correlations():
    sums = of_lengths(([1, 2, 3], [10, 20, 30]), ([1, 2, 3], [10, 30, 20]))  # 1 and 0.5
    found = row(sums)
    # deviation √⅛, standard error ¼
    assert found["length"] == 0.75
    assert found["length_low"] == pytest.approx(0.75 - 1.96 / 4)
    assert found["length_high"] == 1.0  # and not 1.24


def test_length_tells_nothing_of_few_candidates_or_where_nothing_varies():
    few = [1, 2], [10, 20]
    unscored = [1, None, 2, None], [10, 20, 30, 40]
    flat_scores, flat_lengths = ([2, 2, 2], [10, 20, 30]), ([1, 2, 3], [5, 5, 5])
    for documents in ([few], [few, unscored], [few, unscored, flat_scores, flat_lengths]):
        assert row(of_lengths(*documents))["length_documents"] == 0
    falling = [3, None, 2, 1], [10, 99, 20, 30]
    found = row(of_lengths(few, unscored, flat_scores, falling))
    assert (found["length_documents"], found["length"]) == (1, -1.0)


def test_length_is_that_of_scipy():
    stream = np.random.default_rng(7)
    documents = [
        (stream.integers(0, 5, n).astype(float).tolist(), stream.integers(5, 40, n).tolist())
        for n in [3, 5, 8, 16] * 5
    ]
    found = [
        float(stats.spearmanr(scores, words).statistic)
        for scores, words in documents
        if len(set(scores)) > 1 and len(set(words)) > 1
    ]
    length = row(of_lengths(*documents))
    low, high = stats.norm.interval(0.95, np.mean(found), stats.sem(found))
    assert length["length_documents"] == len(found)
    assert length["length"] == pytest.approx(np.mean(found))
    assert [length["length_low"], length["length_high"]] == pytest.approx([low, high], abs=1e-4)


# length, given what people rated

WORDS = [10, 20, 30, 40, 50, 60]


def test_a_judge_that_follows_length_as_people_do_is_not_misled():
    ratings = [1.0, 3, 2, 5, 4, 6]  # with length: 0.886
    found = row(of_lengths(*[(ratings, WORDS, ratings)] * 12))
    assert found["length"] == found["people_length"] == pytest.approx(31 / 35)
    assert (found["given_length"], found["rated_length_documents"]) == (0.0, 12)


def test_given_length_is_the_partial_correlation_of_ranks():
    """By its other definition: of what is left of either once the ratings' ranks are fitted."""
    stream = np.random.default_rng(3)
    documents = [
        (stream.normal(size=8).tolist(), stream.permutation(80)[:8].tolist(),
         stream.integers(1, 6, 8).astype(float).tolist())
        for _ in range(15)
    ]  # fmt: skip

    def left(values: Sequence[float], ratings: Sequence[float]) -> NDArray[np.float64]:
        y, x = stats.rankdata(values), stats.rankdata(ratings)
        slope, constant = np.polyfit(x, y, 1)
        return y - slope * x - constant

    each = [
        float(np.corrcoef(left(scores, ratings), left(words, ratings))[0, 1])
        for scores, words, ratings in documents
    ]
    found = row(of_lengths(*documents))
    low, high = stats.norm.interval(0.95, np.mean(each), stats.sem(each))
    assert found["given_length"] == pytest.approx(np.mean(each))
    found = [found["given_length_low"], found["given_length_high"]]
    assert found == pytest.approx([low, high], abs=1e-4)


def test_few_rated_candidates_or_flat_ratings_settle_nothing():
    three = [1.0, 2, 3], [10, 30, 20], [1.0, 3, 2]
    flat = [1.0, 2, 3, 4], [10, 30, 20, 40], [2.0] * 4
    unrated = [1.0, 2, 3, 4], [10, 30, 20, 40], [1.0, 2, 3, nan]
    by_length = [1.0, 3, 2, 4], [10, 20, 30, 40], [1.0, 2, 3, 4]
    assert row(of_lengths(three, flat, unrated, by_length))["rated_length_documents"] == 0


# agreement with people, with and without the inverted documents

ROWS = {"documents": [0, 0, 0, 1, 1, 1, 2, 2, 2], "systems": [0, 1, 2] * 3}
# within documents 0, 1 and 2: 1, 0.5 and −1
SCORES = [1, 2, 3, 1, 3, 2, 3, 2, 1]
RATINGS = [1, 2, 3, 1, 2, 3, 1, 2, 3]
CODES = {"d0": 0, "d1": 1, "d2": 2}


def rated(scores: Sequence[float] = SCORES, human: str = "fluency") -> Rated:
    return Rated(
        documents=np.array(ROWS["documents"]),
        systems=np.array(ROWS["systems"]),
        scores={("a", "fluency"): np.array(scores, float), ("b", "fluency"): np.zeros(9)},
        human={human: np.array(RATINGS, float)},
        raters={},
    )


def agreement(found: Rated, sums: Sums, *inverted: str) -> tuple[float | None, ...]:
    total = {"fluency": sums | {"inverted_ids": list(inverted)}}
    (row,) = validity_rows("a", total, found, CODES)
    return (row.agreement, row.agreement_documents, row.graded_agreement, row.graded_documents)


CHECKED: Sums = {"checked": 3, "inverted": 1, "pairs": 6, "inverted_pairs": 1}


def test_agreement_with_and_without_inverted_documents():
    assert agreement(rated(), CHECKED, "d2") == pytest.approx((1 / 6, 3, 0.75, 2))
    assert agreement(rated(), CHECKED, "d1", "d2") == pytest.approx((1 / 6, 3, 1.0, 1))
    assert agreement(rated(), CHECKED) == pytest.approx((1 / 6, 3, 1 / 6, 3))
    assert agreement(rated(), CHECKED, *CODES)[2:] == (None, 0)
