"""What a jury's judges add, how far they agree, and whom they favour."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evaljudge.agreement.agree import agreements
from evaljudge.agreement.rated import Floats, Grid, Rated
from evaljudge.analyses.among_judges import JudgePair
from evaljudge.analyses.jury import LeftOut
from evaljudge.analysis.combining import Combination, weights_of
from evaljudge.config import Rule
from tests.frames import frame, rows

DOCUMENTS, SYSTEMS = 40, 5
DRAW = np.random.default_rng(1)
HUMAN = DRAW.normal(0, 1, (DOCUMENTS, SYSTEMS))
TABLES = {
    "good": HUMAN + DRAW.normal(0, 0.7, HUMAN.shape),
    "fair": HUMAN + DRAW.normal(0, 0.9, HUMAN.shape),
    "random": DRAW.normal(0, 2, HUMAN.shape),
}
NAMES = np.repeat([f"d{n:02}" for n in range(DOCUMENTS)], SYSTEMS).astype(object)


def rated(tables: Mapping[str, Floats]) -> Rated:
    codes = np.repeat(np.arange(DOCUMENTS), SYSTEMS)
    scores = {(name, "fluency"): table.ravel() for name, table in tables.items()}
    return Rated(codes, np.tile(np.arange(SYSTEMS), DOCUMENTS), scores,
                 {"fluency": HUMAN.ravel()}, {}, texts=[(name, "") for name in NAMES])  # fmt: skip


def combination(by: Rule, tables: Mapping[str, Floats] = TABLES) -> Combination:
    return Combination(tuple((name, 1.0) for name in tables), by)


def left_out(combined: Mapping[str, Combination], weights: Any, of: Rated) -> list[LeftOut]:
    return rows("jury", frame(of, combined=combined, weights=weights))


def among_judges(scorers: Sequence[str], of: Grid) -> list[JudgePair]:
    combined = {"all": Combination(tuple((name, 1.0) for name in scorers), "mean")}
    return rows("among_judges", frame(grid=of, combined=combined))


@pytest.mark.parametrize("by", ["mean", "median", "agreement"])
def test_one_that_answers_at_random_is_left_out_at_a_gain(by):
    one = combination(by)
    fitted = {}
    if by == "agreement":
        fitted["jury", "fluency"] = weights_of("jury", one, "fluency", rated(TABLES), 0)
    of = rated(TABLES | {"jury": np.mean(list(TABLES.values()), axis=0)})
    rows = left_out({"jury": one}, fitted, of)
    found = {(row.scorer, row.level): row for row in rows}
    assert set(found) == {(s, level) for s in TABLES for level in ("sample", "system", "summary")}
    gains = {scorer: found[scorer, "sample"] for scorer in TABLES}
    random, good = gains["random"], gains["good"]
    assert good.gain is not None and good.gain < 0
    if by == "agreement":
        assert random.gain == pytest.approx(0, abs=0.05), "its weight is small already"
    else:
        assert random.low is not None and random.low > 0
        assert good.high is not None and good.high < 0


def test_the_gain_is_the_difference_of_the_agreements():
    of = rated(TABLES | {"jury": HUMAN})
    (row,) = [
        row for row in left_out({"jury": combination("mean")}, {}, of)
        if (row.scorer, row.level) == ("random", "sample")
    ]  # fmt: skip

    def agreed(*tables: Floats) -> float:
        (one,) = [
            a for a in agreements(of.documents, of.systems, np.mean(tables, axis=0).ravel(),
                                  HUMAN.ravel(), coefficients=["spearman"])
            if a.level == "sample"
        ]  # fmt: skip
        return one.value

    assert row.with_all == pytest.approx(agreed(*TABLES.values()))
    assert row.without == pytest.approx(agreed(TABLES["good"], TABLES["fair"]))
    assert row.gain == pytest.approx((row.without or 0) - (row.with_all or 0))


def grid(tables: Mapping[str, Any], human: Any = None) -> Grid:
    shape = next(iter(tables.values())).shape
    return Grid(
        documents=[f"d{n}" for n in range(shape[0])],
        systems=["own", "kin", "x", "y", "z"][: shape[1]],
        scores={(name, "fluency"): table for name, table in tables.items()},
        human={} if human is None else {"fluency": human},
    )


def test_judges_are_compared_on_texts_that_nobody_rated():
    rows = among_judges(list(TABLES), grid(TABLES))
    spearman = {(r.one, r.other): r for r in rows
                if (r.level, r.coefficient) == ("sample", "spearman")}  # fmt: skip
    assert set(spearman) == {("good", "fair"), ("good", "random"), ("fair", "random")}
    assert not any(row.sampled for row in rows)
    alike, apart = spearman["good", "fair"], spearman["good", "random"]
    assert alike.low is not None and apart.high is not None
    assert alike.low > apart.high
    assert (alike.n, alike.axis) == (DOCUMENTS, "fluency")
    sampled = among_judges(["good", "fair"], replace(grid(TABLES), is_sample=True))
    assert all(row.sampled for row in sampled)
