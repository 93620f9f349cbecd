"""May a judge take a rater's place: the authors' numbers, and what clusters of texts do to them."""

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from evaljudge.decisions.replacing import Replacing, replacing

Floats = NDArray[np.float64]
TEXTS, NAN = range(90), float("nan")


def rating(text: int, rater: int) -> float:
    """The last rater rated few texts, and each leaves some out."""
    if not (text + 2 * rater) % 7 or (rater == 3 and text >= 20):
        return NAN
    up, down = (text * (rater + 2) * 7 + rater**2) % 11 // 7, (text * (rater + 3) * 5) % 13 // 11
    return 1 + ((text * text * 3 + text) % 5 + up - down) % 5


RATINGS = [[rating(text, rater) for rater in range(4)] for text in TEXTS]
JUDGES = {
    "labels": [
        1 + ((i * i * 3 + i) % 5 + (i * 23) % 11 // 8) % 5 if i % 17 else NAN for i in TEXTS
    ],
    "fine": [
        1 + ((i * i * 3 + i) % 5) * 0.75 + (i * 13 % 10) / 10 if i % 17 else NAN for i in TEXTS
    ],
}
P = Sequence[float]


@pytest.mark.parametrize(
    ("judge", "epsilon", "winning_rate", "advantage", "p"),
    [
        # alt_test of nitaytech/AltTest's notebook alt_test_example.ipynb at commit
        # 18428b1f4f34ac61c4978bc180263b90111e7337, which was changed to keep each p-value; with
        # the scoring function `neg_rmse`.
        ("labels", 0.1, 1 / 3, 0.8240740740740741,
         [0.4832928474636394, 0.00014332108820325578, 0.04690398811158581]),
        ("labels", 0.2, 2 / 3, 0.8240740740740741,
         [0.06214406873289065, 1.9881494534830927e-06, 0.0010602419173823497]),
        ("fine", 0.1, 2 / 3, 0.6064814814814815,
         [0.034788079758371455, 0.0019662344438170897, 0.015430114950080148]),
        ("fine", 0.2, 1.0, 0.6064814814814815,
         [0.004154351644297428, 0.0001203962422868025, 0.0014973708222179199]),
    ],
)  # fmt: skip
def test_is_the_authors(judge, epsilon, winning_rate, advantage, p):
    """Who also leave out the last rater, with 15 texts."""
    found = replacing(JUDGES[judge], RATINGS, TEXTS, epsilon=epsilon)
    assert found.winning_rate_texts == pytest.approx(winning_rate)
    assert found.advantage == pytest.approx(advantage)
    assert [one.p for one in found.raters] == pytest.approx(p, rel=1e-9)
    assert ([one.rater for one in found.raters], found.left_out) == ([0, 1, 2], 1)
    # A document of one text each makes no cluster.
    assert [one.p_clustered for one in found.raters] == pytest.approx(p, rel=1e-9)
    assert found.winning_rate == found.winning_rate_texts


def test_corrected_p_values_by_hand():
    """Benjamini and Yekutieli: p times 3 (1 + 1/2 + 1/3) over its rank, and no larger later."""
    found = replacing(JUDGES["labels"], RATINGS, TEXTS, epsilon=0.1)
    factor, p = 3 * (1 + 1 / 2 + 1 / 3), [one.p for one in found.raters]
    expected = [p[0] * factor / 3, p[1] * factor, p[2] * factor / 2]
    assert [one.p_corrected for one in found.raters] == pytest.approx(expected)


def world(documents: int, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """The judge and three raters misjudge whole documents of ten texts."""
    quality = rng.normal(3, 1, (documents, 10))
    ratings = quality[..., None] + rng.normal(0, 0.7, (documents, 1, 3))
    ratings = np.rint(ratings + rng.normal(0, 0.5, (documents, 10, 3)))
    judge = quality + rng.normal(0, 0.9, (documents, 1))
    return judge.ravel(), ratings.reshape(-1, 3), np.repeat(np.arange(documents), 10)


def test_clusters_of_texts_are_no_evidence_of_their_own():
    """With the rater's true lead as epsilon, one in twenty rejections is false."""
    rng = np.random.default_rng(0)
    truth = found_in(world(8000, rng), 0.1)
    lead = float(np.mean([one.itself - one.judge for one in truth.raters]))
    found = [found_in(world(15, rng), lead).raters[0] for _ in range(400)]
    by_documents = sum((one.p_clustered or 0) <= 0.05 for one in found)
    by_texts = sum(one.p <= 0.05 for one in found)
    assert 8 <= by_documents <= 34  # of 400: 20 at 5%, within 3.2 standard errors
    assert by_texts > 44  # the authors', who take texts as independent


def test_the_interval_of_the_advantage_holds_the_truth():
    rng = np.random.default_rng(1)
    truth = found_in(world(8000, rng), 0.1).advantage
    found = [found_in(world(15, rng), 0.1) for _ in range(400)]
    kept = sum(one.low <= truth <= one.high for one in found)  # type: ignore[operator]
    assert 366 <= kept <= 394


def found_in(drawn: tuple[Floats, Floats, Floats], epsilon: float) -> Replacing:
    return replacing(*drawn, epsilon=epsilon)


def test_a_judge_with_the_others_ratings_wins_and_one_with_none_of_them_loses():
    documents = np.repeat(np.arange(20), 4)
    ratings = np.random.default_rng(0).integers(1, 6, (80, 3)).astype(float)
    found = replacing(np.median(ratings, axis=1), ratings, documents)
    assert found is not None and found.passes and found.winning_rate == 1
    away = replacing(np.full(80, 99.0), ratings, documents, epsilon=0.2)
    assert away is not None and not away.passes
    assert (away.advantage, away.winning_rate, away.raters[0].p) == (0, 0, 1)


def test_a_single_document_has_no_clusters():
    found = replacing(JUDGES["labels"], RATINGS, [0] * 90)
    assert found is not None and not found.passes
    assert (found.winning_rate, found.low, found.raters[0].p_clustered) == (None, None, None)


def test_too_few_texts_are_no_test():
    assert replacing([1, 2], [[1, 2], [2, 2]], [0, 1]) is None
    assert replacing([1.0] * 40, [[1.0]] * 40, range(40)) is None
