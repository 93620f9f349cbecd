"""The section on cost: a row per judge and axis and a total, in all and for one of each."""

import re
from dataclasses import replace

import pytest

from evaljudge.analyses.costs import GPU_SECONDS
from evaljudge.analyses.costs import section as cost
from evaljudge.analysis.costs import Price
from evaljudge.analysis.findings import Findings
from evaljudge.report.lines import asked_line
from evaljudge.report.page import page
from tests.frames import replaced
from tests.report.findings import COSTS


@pytest.fixture
def costly(findings):
    return replaced(findings, costs=COSTS)


def on_gpus(findings: Findings) -> Findings:
    return replaced(findings, costs=[replace(row, gpu_seconds=2 * row.seconds) for row in COSTS])


def test_gpu_seconds_are_shown_where_there_were_gpus(costly):
    without, with_them = (next(iter(cost(one, False))) for one in (costly, on_gpus(costly)))
    assert "GPU seconds" not in without.tables[0].heads
    assert with_them.tables[0].heads[-2:] == ["seconds", "GPU seconds"]
    assert [row[-2:] for row in with_them.tables[0].rows] == [
        ["0.0", "0.0"], ["51.0", "102.0"], ["35.4", "70.8"], ["86.4", "172.8"],
    ]  # fmt: skip
    assert with_them.tables[1:] == without.tables[1:]
    assert GPU_SECONDS not in " ".join(without.notes)
    assert GPU_SECONDS in " ".join(with_them.notes)


def test_every_column_is_explained(costly):
    (section,) = cost(on_gpus(costly), False)
    said = " ".join(section.notes).lower()
    for table in section.tables:
        for head in table.heads[2:]:
            assert re.search(rf"\b{head.rstrip(':').lower()}\b", said), head


def test_money_by_judge_where_a_price_is_given(costly):
    """An hour is 3,600: 86.4 s of a worker with two GPUs at 25 each."""
    priced = replace(on_gpus(costly), price=Price(per_gpu_hour=25), candidates=500)
    (section,) = cost(priced, False)
    money = section.tables[0]
    assert money.rows == [
        ["direct", "0.00 USD", "0.00 USD"],
        ["synthetic", "1.20 USD", "2.40 USD"],
        ["total", "1.20 USD", "2.40 USD"],
    ]
    assert "25 USD per GPU-hour" in section.about[0]
    assert asked_line(priced).endswith("; the time of workers that finished a shard cost 1.20 USD")
    assert "In money" in page(priced)
    assert "In money" not in page(on_gpus(costly))
