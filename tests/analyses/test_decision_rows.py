"""From rated candidates to the rows of the report's decisions."""

from collections.abc import Sequence

import numpy as np
import pytest

from evaljudge.agreement.rated import Floats, Rated
from evaljudge.analyses.replacing import OFF_SCALE, TOO_FEW
from evaljudge.config import AgreementConfig
from tests.frames import frame, rows, warnings

HOW = AgreementConfig(resamples=200)
DOCUMENTS, SYSTEMS = 30, 6


def rated(seed: int = 0, raters: int = 3, documents: int = DOCUMENTS) -> Rated:
    """People like quality and length; `judge` sees quality, `long` measures length, in words."""
    rng, shape = np.random.default_rng(seed), (documents, SYSTEMS)
    long, good = rng.normal(size=shape), rng.normal(size=shape)
    noise = 0.4 * rng.normal(size=(raters, *shape))
    ratings = np.clip(np.rint(3 + 0.8 * good + 0.6 * long + noise), 1, 5).reshape(raters, -1).T
    document, system = (axis.ravel() for axis in np.indices(shape))
    lengths = np.rint(50 * np.exp(long / 3)).ravel()
    scores: dict[tuple[str, str], Floats] = {
        ("judge", "fluency"): ratings.mean(axis=1) + 0.1 * rng.normal(size=ratings.shape[0]),
        ("long", "*"): lengths + 5 * rng.normal(size=lengths.size),
        ("judge#2", "fluency"): lengths,
    }
    scores["judge", "fluency"] = np.clip(scores["judge", "fluency"], 1, 5)
    by_text: Sequence[tuple[float, ...]] = [tuple(row) for row in ratings.tolist()]
    human = {"fluency": ratings.mean(axis=1)}
    return Rated(document, system, scores, human, {"fluency": by_text}, lengths)


def warned_of(some: Rated) -> list[str]:
    """Length is warned of whatever else there is: of agreement and lengths alone."""
    run = frame(some, how=HOW)
    found = {name: rows(name, run) for name in ("agreement", "length")}
    return list(warnings("length", run, found).values())


def test_a_judge_on_the_raters_scale_is_tested_and_others_say_why_not():
    judge, long = rows("replacing", frame(rated(), how=HOW))
    assert (judge.scorer, judge.axis, judge.raters) == ("judge", "fluency", 3)
    assert (judge.texts, judge.documents) == (DOCUMENTS * SYSTEMS, DOCUMENTS)
    assert judge.found is not None and judge.found.passes and judge.found.epsilon == 0.1
    assert judge.answer == "yes"
    how = HOW.model_copy(update={"alt_test_epsilon": 0.2})
    assert rows("replacing", frame(rated(), how=how))[0].found.epsilon == 0.2
    assert (long.scorer, long.found, long.reason) == ("long", None, OFF_SCALE)


def test_constants_that_pass_are_told_and_judges_that_see_more_may():
    """Nearly every rating is a 5: who always says 5 is as close to others as any rater is."""
    alike = rated()
    ratings = np.full((alike.documents.size, 3), 5.0)
    ratings[np.arange(0, 90, 3), np.arange(30) % 3] = 1.0
    raters = [tuple(row) for row in ratings.tolist()]
    scores = {("judge", "fluency"): np.full(alike.documents.size, 5.0)}
    human = {"fluency": ratings.mean(axis=1)}
    some = Rated(alike.documents, alike.systems, scores, human, {"fluency": raters})
    (judge,) = rows("replacing", frame(some, how=HOW))
    assert judge.found.passes
    assert judge.constant == judge.found
    assert judge.answer == "no better than a constant"
    assert rows("replacing", frame(rated(), how=HOW))[0].constant.winning_rate == 0
    # one text in thirty is bad, which all raters and the judge see
    some = rated()
    people = np.where(np.arange(some.documents.size) % 30, 5.0, 1.0)
    raters = [(one, one, one) for one in people.tolist()]
    scores = {("judge", "fluency"): people, ("blind", "fluency"): np.full(people.size, 5.0)}
    told = Rated(some.documents, some.systems, scores, {"fluency": people}, {"fluency": raters})
    judge, blind = rows("replacing", frame(told, how=HOW))
    assert judge.constant.passes and judge.answer == "yes"
    assert blind.found.passes and blind.answer == "no better than a constant"


def test_a_judge_of_length_and_few_texts_are_said():
    judge, _ = rows("replacing", frame(rated(documents=4), how=HOW))
    assert (judge.found, judge.reason, judge.texts) == (None, TOO_FEW, 24)
    assert {row.scorer for row in rows("length", frame(rated()))} == {"judge", "long"}
    (said,) = warned_of(rated())
    assert said.startswith("long may measure length: with length held fixed")
    assert "fluency 0." in said and "judge" not in said


@pytest.mark.parametrize(
    ("documents", "scorer", "sign", "said"),
    [
        (DOCUMENTS, "odd", 1, "odd may measure length: with"),
        (8, "odd", 1, "odd may measure length: with"),
        (5, "odd", 1, ""),
        (DOCUMENTS, "odd", -1, ""),  # it has no agreement to lose
        (DOCUMENTS, "odd", 0, ""),  # noise agrees little
        (DOCUMENTS, "words", 1, ""),
    ],
)
def test_when_lengths_are_seen_through(documents, scorer, sign, said):
    some = rated(documents=documents)
    assert some.lengths is not None
    noise = np.random.default_rng(1).normal(size=some.documents.size)
    scores = {(scorer, "*"): sign * some.lengths if sign else noise}
    only = Rated(some.documents, some.systems, scores, some.human, some.raters, some.lengths)
    warned = warned_of(only)
    assert len(warned) == bool(said)
    assert "".join(warned).startswith(said)


def test_soft_accuracy_is_at_system_level():
    found = rows("agreement", frame(rated(), how=HOW))
    soft = [row for row in found if row.coefficient == "soft_accuracy"]
    assert [(row.scorer, row.level, row.n) for row in soft] == [
        ("judge", "system", SYSTEMS), ("long", "system", SYSTEMS),
    ]  # fmt: skip
    assert all(0 < row.value <= 1 for row in soft)
