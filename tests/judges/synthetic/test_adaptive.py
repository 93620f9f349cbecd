"""Adaptive levels: what is asked, what is inferred, by hand and by laws; on a scripted judge."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from math import inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.agreement.rated import Rated
from evaljudge.engines.scripted import Scripted
from evaljudge.judges.collector import SeenShard
from evaljudge.judges.shared.scale import ratings
from evaljudge.judges.synthetic.adaptive import bounds, next_rating, with_inferred
from evaljudge.judges.synthetic.evidence import answers_of
from evaljudge.judges.synthetic.findings import validity
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.judges.synthetic.validity import shard_sums, validity_rows
from evaljudge.model.asks import Failed, Options, Prompt
from evaljudge.records import Candidate, Case, Document, Verdict
from tests.judges.synthetic.builders import BETTER, SIMILAR, WORSE, Answers, answers, briefs
from tests.judges.synthetic.builders import judge as plain_judge

FIVE, NINE = ratings(5), ratings(9)
NOBODY = Rated(np.empty(0, np.int64), np.empty(0, np.int64), {}, {}, {})
CASE = Case(Document("d1", "The river rose."), (Candidate("A", "A flood."),))


def judge(levels: int = 5, **settings: Any) -> Synthetic:
    return plain_judge(**{"levels": levels, "adaptive": {}, **settings})


class Says:
    """Answers by the reference's level, and keeps which were asked about."""

    def __init__(self, table: Mapping[float, Answers | Failed]) -> None:
        self.asked: list[float] = []
        self._table = table

    def __call__(self, prompt: Prompt, options: Options) -> Mapping[str, float] | Failed:
        rating = float(prompt.about.removesuffix(" exchanged"))
        self.asked.append(rating)
        p = self._table[rating]
        if isinstance(p, Failed):
            return p
        if prompt.about.endswith("exchanged"):
            p = answers(p["Worse"], p["Better"], p["Similar"])
        return {name: log(p[name]) if p[name] else -inf for name in options.names}


def verdict(judge: Synthetic, says: Says, levels: int = 5) -> Verdict:
    model = Scripted(chooses=says)
    return asyncio.run(judge.verdicts(CASE, briefs(levels), model)).verdicts[0]


def certain_at(level: float, levels: Sequence[float]) -> dict[float, Answers]:
    return {r: BETTER if r < level else WORSE if r > level else SIMILAR for r in levels}


# bounds


@pytest.mark.parametrize(
    ("rating", "asked", "expected"),
    [
        (1.0, {}, (-1, 1)),
        (1.0, {3.0: answers(0.99, 0, 0.01)}, (1 - 2 * 0, 1)),
        (4.0, {3.0: answers(0.99, 0, 0.01)}, (-1, 2 * 0.99 - 1)),
        (5.0, {4.0: answers(0.03, 0, 0.97)}, (-1, 0.06 - 1)),
        (3.5, {3.0: answers(0.03, 0, 0.97)}, (-1, 0.03)),  # half a level: it may be as good
        (2.0, {3.0: answers(0.2, 0.5, 0.3)}, (0.0, 1)),
        (3.0, {2.0: answers(0.6, 0.1, 0.3), 4.0: answers(0.1, 0.8, 0.1)}, (-0.6, 0.2)),
        (3.0, {2.0: WORSE, 4.0: BETTER}, (-1, 1)),  # answers that contradict each other
    ],
)
def test_bounds_by_hand(rating, asked, expected):
    assert bounds(rating, asked) == pytest.approx(expected)


shares = st.tuples(*[st.integers(0, 20)] * 3).filter(any)


# what is asked


@pytest.mark.parametrize(
    ("level", "asked"),
    [
        (3, [3]),  # as good as the middle: whole levels above and below are clear
        (4, [3, 4]),
        (5, [3, 4, 5]),
        (2, [3, 2]),
        (1, [3, 2, 1]),
    ],
)
def test_a_certain_judge_is_asked_about_few_references(level, asked):
    says = Says(certain_at(level, FIVE))
    found = verdict(judge(), says)
    assert says.asked == asked
    levels = found.evidence["levels"]
    assert [one["rating"] for one in levels] == FIVE
    assert {one["rating"] for one in levels if "inferred" not in one} == set(asked)
    assert all(
        one == pytest.approx(p)
        for one, p in zip(answers_of(levels), certain_at(level, FIVE).values(), strict=True)
    )
    full = judge(adaptive=None)
    whole = full.score(verdict(full, Says(certain_at(level, FIVE))))
    scores = judge().score(found)
    assert [s.value for s in scores] == pytest.approx([s.value for s in whole])


@given(st.lists(shares, min_size=9, max_size=9), st.floats(0.55, 0.999))
def test_nothing_stays_open(counts, certainty):
    """In the end what is not known lies within the tolerance, whatever was answered."""
    table = dict(zip(NINE, (answers(*(n / sum(c) for n in c)) for c in counts), strict=True))
    asked: dict[float, Answers] = {}
    while (rating := next_rating(NINE, asked, certainty)) is not None:
        assert rating not in asked
        asked[rating] = table[rating]
    evidence = {rating: {"rating": rating, "p": p} for rating, p in asked.items()}
    for one in with_inferred(NINE, evidence):
        p = one["p"]
        assert sum(p.values()) == pytest.approx(1)
        assert min(p.values()) >= -1e-12
        if "inferred" in one:
            low, high = one["inferred"]
            assert high - low <= 2 * (1 - certainty) + 1e-12
            assert low - 1e-9 <= p["Better"] - p["Worse"] <= high + 1e-9


def test_both_orders_are_asked_about_the_same_references():
    says = Says(certain_at(4, FIVE))
    found = verdict(judge(swap="both"), says)
    assert sorted(set(says.asked)) == [3, 4]  # twice for the verdict, and again to check it
    assert found.status == "ok"


def test_a_failure_ends_the_asking():
    says = Says(certain_at(5, FIVE) | {5.0: Failed("too long")})
    found = verdict(judge(), says)
    assert (found.status, found.reason) == ("unscored", "compared with level 5: too long")
    assert says.asked == [3, 4, 5]


# settings, signature, plan


def test_the_report_counts_what_was_asked():
    found = verdict(judge(), Says(certain_at(4, FIVE)))
    seen = SeenShard([CASE], [found], [], judge().score(found))
    sums = shard_sums("synthetic", seen)["fluency"]
    assert (sums["comparisons"], sums["inferred"], sums["certain"]) == (2, 3, 2)
    (table,) = (
        one
        for one in validity(validity_rows("synthetic", {"fluency": sums}, NOBODY, {})).tables
        if one.title == "Probabilities and scale"
    )  # fmt: skip
    assert "2 of 5" in table.rows[0]
