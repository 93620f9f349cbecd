"""Which texts the page shows: disagreement, doubt and the whole spread, not the first ones."""

import numpy as np
import pytest

from evaljudge.agreement.rated import Rated
from evaljudge.analysis.tables import Tables
from evaljudge.analysis.telling import disagreement, disagreements, telling_texts
from evaljudge.records import Candidate, Case, Document, Score

KEY = ("s", "fluency")


def kept(
    scores: list[float | None],
    ratings: list[float | None] | None = None,
    doubts: list[float] | None = None,
) -> Rated:
    made = Tables([KEY])
    for number, value in enumerate(scores):
        rating = ratings[number] if ratings else None
        rated = {} if rating is None else {"fluency": rating}
        case = Case(Document(f"d{number}", "source"), (Candidate("A", "text", rated),))
        doubt = doubts[number] if doubts else None
        made.add(case, {("A", *KEY): Score(f"d{number}", "A", *KEY, value, doubt=doubt)})
    return made.as_kept()


def names(found: list[tuple[str, str]]) -> set[str]:
    return {doc_id for doc_id, _ in found}


def test_the_most_telling_come_first():
    found = names(telling_texts(kept([float(n) for n in range(100)]), [KEY], 9))
    assert len(found) == 9
    assert {"d0", "d99"} <= found  # both ends
    doubts, scores = [0.1] * 60, [float(n) for n in range(60)]
    doubts[33] = 0.95
    assert "d33" in names(telling_texts(kept([1.0] * 60, None, doubts), [KEY], 6))
    assert "d20" in names(telling_texts(kept([*scores[:20], None, *scores[21:]]), [KEY], 10))
    ratings: list[float | None] = [float(n) for n in range(60)]
    doubts = [0.1] * 60
    ratings[7], doubts[33] = 59.5, 0.95
    made = kept([float(n) for n in range(60)], ratings, doubts)
    assert names(telling_texts(made, [KEY], 60)[:3]) == {"d7", "d33", "d0"}
    assert telling_texts(made, [KEY], 60)[:10] == telling_texts(made, [KEY], 10)
    few = kept([1.0, None, 3.0])
    assert len(telling_texts(few, [KEY], 30)) == 3
    assert telling_texts(few, [KEY], 0) == []
    assert telling_texts(kept([None, None]), [KEY], 5) == [("d0", "A"), ("d1", "A")]
    assert telling_texts(Tables([KEY]).as_kept(), [KEY], 5) == []


def test_disagreement_is_the_distance_between_two_places():
    scores, ratings = np.array([1, 9, 3, np.nan, 5]), np.array([4, 1, 2, 5, np.nan])
    assert disagreement(scores, ratings) == pytest.approx([1, 1, 0, np.nan, np.nan], nan_ok=True)
    tied = disagreement(np.array([2.0, 2.0, 7.0]), np.array([1.0, 2.0, 3.0]))
    assert tied == pytest.approx([0, 0, 0])  # the first two scores share the places 1 and 2
    across = disagreement(np.array([2.0, 2.0, 7.0]), np.array([2.0, 3.0, 1.0]))
    assert across == pytest.approx([0, 0.5, 1])
    scores = np.array([-6.0, 9.83, 9.98, 10.0])
    assert disagreement(scores, np.array([1.0, 5.0, 5.0, 5.0])) == pytest.approx([0, 0, 0, 0])
    assert disagreement(scores, np.array([5.0, 5.0, 5.0, 1.0])) == pytest.approx([1 / 3, 0, 0, 1])
    ratings: list[float | None] = [float(n) for n in range(60)]
    ratings[50], ratings[8] = -1.0, None
    made = kept([float(n) for n in range(60)], ratings)
    (found,) = disagreements(made, [("d8", "A"), ("d50", "A"), ("d59", "A")])
    assert (found.scorer, found.axis) == KEY
    assert found.apart == [None, pytest.approx(49 / 58), 0.0]
