"""The section on cost: a row per judge and axis and a total, in all and for one of each."""

import re
from dataclasses import replace

import pytest
from markdown_it import MarkdownIt

from evaljudge.analyses import sections
from evaljudge.analyses.costs import COST, GPU_SECONDS
from evaljudge.analyses.costs import section as cost
from evaljudge.analysis.costs import CostRow, Price
from evaljudge.analysis.findings import Findings
from evaljudge.report import agreement_markdown, agreement_text, asked_line, page
from tests.frames import replaced

COSTS = [
    CostRow("judge", "direct", "fluency", 0, 0, 0, 0, 0, 0, 0.0, 0.0, 40, 0),
    CostRow("judge", "synthetic", "fluency", 8000, 8000, 9_600_000, 900_000, 8000, 1200, 45.4, 0.0,
            40, 1600),
    CostRow("prepare", "synthetic", "fluency", 200, 200, 160_000, 100_000, 12_000, 0, 5.6, 0.0,
            40, 1600),
    CostRow("judge", "synthetic", "relevance", 7900, 7900, 9_500_000, 700_000, 7900, 0, 35.4, 0.0,
            40, 1500),
]  # fmt: skip


@pytest.fixture
def costly(findings: Findings) -> Findings:
    return replaced(findings, costs=COSTS)


def on_gpus(findings: Findings) -> Findings:
    return replaced(findings, costs=[replace(row, gpu_seconds=2 * row.seconds) for row in COSTS])


def test_gpu_seconds_are_shown_where_there_were_gpus(costly: Findings) -> None:
    without, with_them = (next(iter(cost(one, False))) for one in (costly, on_gpus(costly)))
    assert "GPU seconds" not in without.tables[0].heads
    assert with_them.tables[0].heads[-2:] == ["seconds", "GPU seconds"]
    assert [row[-2:] for row in with_them.tables[0].rows] == [
        ["0.0", "0.0"], ["51.0", "102.0"], ["35.4", "70.8"], ["86.4", "172.8"],
    ]  # fmt: skip
    assert with_them.tables[1:] == without.tables[1:]
    assert GPU_SECONDS not in " ".join(without.notes)
    assert GPU_SECONDS in " ".join(with_them.notes)


def test_every_column_is_explained(costly: Findings) -> None:
    (section,) = cost(on_gpus(costly), False)
    said = " ".join(section.notes).lower()
    for table in section.tables:
        for head in table.heads[2:]:
            assert re.search(rf"\b{head.rstrip(':').lower()}\b", said), head


IN_A_TERMINAL = """\
What it cost
judge      axis       asks    prompt      further  prefilled  generated  seconds
direct     fluency    0       0           0        0          0          0.0
synthetic  fluency    8,200   9,760,000   1,200    1,000,000  20,000     51.0
synthetic  relevance  7,900   9,500,000   0        700,000    7,900      35.4
total                 16,100  19,260,000  1,200    1,700,000  27,900     86.4

judge      axis       documents, each:  asks   prompt   prefilled  generated  seconds
direct     fluency    40                0.0    0.0      0.0        0.0        0.0000
synthetic  fluency    40                205.0  244,000  25,000     500.0      1.2750
synthetic  relevance  40                197.5  237,500  17,500     197.5      0.8850
total                 40                402.5  481,500  42,500     697.5      2.1600

judge      axis       scores, each:  asks  prompt  prefilled  generated  seconds
direct     fluency    0              –     –       –          –          –
synthetic  fluency    1,600          5.1   6,100   625.0      12.5       0.0319
synthetic  relevance  1,500          5.3   6,333   466.7      5.3        0.0236
total                 3,100          5.2   6,213   548.4      9.0        0.0279

Both stages together:"""


def test_each_table_fits_a_terminal(costly: Findings) -> None:
    assert IN_A_TERMINAL in agreement_text(costly)


def test_every_report_shows_it_only_where_there_is_one(findings: Findings) -> None:
    for write in (page, agreement_markdown, agreement_text):
        assert COST not in write(findings)
        assert COST in write(replaced(findings, costs=COSTS))


def test_it_is_the_last_section(with_statistics: Findings) -> None:
    for in_short in (False, True):
        found = sections(replaced(with_statistics, costs=COSTS), in_short)
        assert len(found) > 1 and found[-1].title == COST


def test_hostile_names_stay_names(hostile: Findings) -> None:
    words = hostile.warnings
    rows = [replace(COSTS[1], judge=word, axis=" ".join(words)) for word in words]
    found = replaced(hostile, costs=rows)
    assert "<script>alert" not in page(found)
    said = agreement_markdown(found)
    assert "<" not in said
    kinds = [token.type for token in MarkdownIt("commonmark").enable("table").parse(said)]
    assert kinds.count("table_open") == 2 + 3
    assert kinds.count("tr_open") == 2 * (1 + 9) + 3 * (1 + 9 + 1)


def test_money_by_judge_where_a_price_is_given(costly: Findings) -> None:
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
    assert asked_line(priced).endswith("; the workers' time cost 1.20 USD")
    assert "In money" in page(priced)
    assert "In money" not in page(on_gpus(costly))
