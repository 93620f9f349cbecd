"""What a run cost, from receipts of literal tokens: sums, and shares of seconds."""

from collections.abc import Mapping
from typing import Any

import pytest

from evaljudge.analysis.costs import Accounts, CostRow, Price

Axes = Mapping[str, Mapping[str, int]]
"""By axis: what was asked, as a receipt has it."""
NO_MASSES = {"choices": 0, "total": 0.0, "low": 0}


def spent(asks: int, prompt: int, cached: int, generated: int, further: int = 0) -> dict[str, int]:
    return {"asks": asks, "requests": 2 * asks, "prompt": prompt, "cached": cached,
            "generated": generated, "floor": 0, "further": further}  # fmt: skip


def receipt(
    stage: str, asked: Mapping[str, Axes], worker: str = "a", seconds: float = 10.0, gpus: float = 0
) -> dict[str, Any]:
    told = {
        judge: {"tokens": {}, "masses": NO_MASSES, "axes": axes} for judge, axes in asked.items()
    }
    return {"stage": stage, "asked": told, "seconds": 999.0, "worker": worker,
            "worker_seconds": seconds, "gpus": gpus, "cache_block": None}  # fmt: skip


PREPARED = receipt("prepare", {"synthetic": {"fluency": spent(5, 1000, 700, 100)}}, seconds=20)
JUDGED = receipt(
    "judge",
    {
        "synthetic": {
            "fluency": spent(8, 4000, 3808, 8, further=40),
            "relevance": spent(8, 4000, 3008, 8),
        },
        "direct": {"fluency": spent(0, 0, 0, 0)},
    },
    seconds=80,
)


def test_sums_and_shares_by_hand():
    """One worker of 80 seconds computed 400 + 200 + 1,000 = 1,600 tokens: 0.05 seconds each."""
    scores = {("synthetic", "fluency"): 16, ("synthetic", "relevance"): 15}
    assert Accounts([PREPARED, JUDGED]).costs(4, scores) == [
        CostRow("judge", "direct", "fluency", 0, 0, 0, 0, 0, 0, 0.0, 0.0, 4, 0),
        CostRow("judge", "synthetic", "fluency", 8, 16, 4000, 192, 8, 40, 10.0, 0.0, 4, 16),
        CostRow("prepare", "synthetic", "fluency", 5, 10, 1000, 300, 100, 0, 20.0, 0.0, 4, 16),
        CostRow("judge", "synthetic", "relevance", 8, 16, 4000, 992, 8, 0, 50.0, 0.0, 4, 15),
    ]
    (row,) = Accounts([PREPARED, PREPARED | {"worker_seconds": 30}]).costs(4, {})
    assert (row.asks, row.prompt, row.prefilled, row.generated) == (10, 2000, 600, 200)
    assert row.seconds == 30.0, "the longest of one worker's, as they overlap"


def test_each_worker_shares_out_its_own_seconds():
    """All of the writer's 60 go to stage one; a quarter of the judge's 10 goes to fluency."""
    asked = {"synthetic": {"fluency": spent(1, 25, 0, 0), "relevance": spent(1, 60, 0, 15)}}
    accounts = Accounts(
        [
            receipt("prepare", {"synthetic": {"fluency": spent(1, 900, 0, 100)}}, "w", 60, 2),
            receipt("judge", asked, "j", 10, 0.5),
        ]
    )
    rows = accounts.costs(1, {})
    assert {(row.stage, row.axis): (row.seconds, row.gpu_seconds) for row in rows} == {
        ("prepare", "fluency"): (60.0, 120.0),
        ("judge", "fluency"): (2.5, 1.25),
        ("judge", "relevance"): (7.5, 3.75),
    }
    assert accounts.cost == {"worker_seconds": 70.0, "gpu_hours": round(125 / 3600, 6)}


def test_a_price_of_gpus_where_there_was_none_is_warned_of():
    one = receipt("judge", {"direct": {"fluency": spent(1, 300, 0, 0)}}, "w", 60)
    for price, is_warned in ((Price(2), True), (Price(2, 1), False), (Price(0, 1), False)):
        warned = [*Accounts([one], price).cost_warnings]
        assert any("no worker had a GPU" in warning for warning in warned) == is_warned


def test_idle_workers_and_nothing_computed():
    """Its 8 seconds are divided 3 to 1, as all tokens are."""
    busy = {"direct": {"fluency": spent(1, 300, 0, 0), "relevance": spent(1, 100, 0, 0)}}
    idle: dict[str, Axes] = {"direct": {}}
    rows = Accounts([receipt("judge", idle, "i", 8), receipt("judge", busy, "b", 40)]).costs(1, {})
    assert [(row.axis, row.seconds) for row in rows] == [("fluency", 36.0), ("relevance", 12.0)]
    (row,) = Accounts([receipt("judge", {"direct": {"x": spent(1, 50, 50, 0)}})]).costs(1, {})
    assert (row.asks, row.prompt, row.prefilled, row.seconds) == (1, 50, 0, 0.0)
    assert Accounts([]).costs(0, {}) == []


def shared(block: int | None, prompt: int, floor: int) -> Accounts:
    """Of ten requests to an engine with such a block."""
    tokens = {"requests": 10, "prompt": prompt, "floor": floor}
    told = receipt("judge", {}) | {
        "asked": {"j": {"tokens": tokens, "masses": NO_MASSES, "axes": {}}}
    }
    return Accounts([told | {"cache_block": block}])


@pytest.mark.parametrize(
    ("block", "prompt", "floor", "said"),
    [
        (0, 12_000, 12_000, "the engine keeps no prefixes"),
        (1072, 12_000, 11_400, "at most 5% of 12,000 prompt tokens can be shared"),
        (1072, 12_000, 6_000, ""),
        (32, 12_000, 12_000, ""),
        (None, 12_000, 12_000, ""),
        (0, 0, 0, ""),
    ],
)
def test_prefixes_that_cannot_be_shared_are_warned_of(block, prompt, floor, said):
    warnings = [*shared(block, prompt, floor).cost_warnings]
    assert len(warnings) == bool(said)
    assert said in "".join(warnings)


def test_what_copies_did_in_vain_is_summed():
    copied = [
        JUDGED | {"repeated": {"copies": 1, "cases": cases, "seconds": 12.34}} for cases in (7, 0)
    ]
    assert Accounts([PREPARED, *copied]).cost == {
        "worker_seconds": 80,
        "gpu_hours": 0,
        "repeated": {"copies": 2, "cases": 7, "seconds": 24.7},
    }
    assert "repeated" not in Accounts([PREPARED]).cost


def test_low_mass_is_warned_of():
    masses = {"choices": 10, "total": 2.0, "low": 0}
    asked = {"synthetic": {"tokens": {}, "masses": masses, "axes": {}}}
    (warning,) = Accounts([receipt("judge", {}) | {"asked": asked}]).warnings
    assert "20.0%" in warning and "reply: …" in warning


def test_money_is_of_workers_and_their_gpus():
    """Half an hour of a worker with two GPUs, and a quarter of one without."""
    some = [
        receipt("judge", {"direct": {"x": spent(1, 50, 0, 0)}}, "a", seconds=1800, gpus=2),
        receipt("judge", {"direct": {"x": spent(1, 50, 0, 0)}}, "b", seconds=900),
    ]
    price = Price(per_gpu_hour=2.5, per_worker_hour=0.2, currency="EUR")
    cost = Accounts(some, price).cost
    assert cost["money"] == pytest.approx(0.5 * (2 * 2.5 + 0.2) + 0.25 * 0.2)
    assert cost["price"] == {"per_gpu_hour": 2.5, "per_worker_hour": 0.2, "currency": "EUR"}
    assert str(price) == "2.5 EUR per GPU-hour and 0.2 EUR per worker-hour"
    assert "money" not in Accounts(some).cost
