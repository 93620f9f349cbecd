"""What did a run cost? A row for each judge and axis, in all and for one document and one score.

| judge     |     cost | for 1,000 texts |
| --------- | -------: | --------------: |
| synthetic | 4.10 USD |        2.56 USD |

| judge     | axis    |  asks |     prompt | further | prefilled | generated | seconds |
| --------- | ------- | ----: | ---------: | ------: | --------: | --------: | ------: |
| synthetic | fluency | 8,500 | 10,200,000 |       0 | 1,240,000 |    68,000 |    61.3 |

| judge     | axis    | scores, each: | asks | prompt | prefilled | generated | seconds |
| --------- | ------- | ------------: | ---: | -----: | --------: | --------: | ------: |
| synthetic | fluency |         1,597 |  5.3 |  6,387 |     776.5 |      42.6 |  0.0384 |
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from evaljudge.analyses import Analysis, RunFrame
from evaljudge.analysis.costs import CostRow, Price
from evaljudge.analysis.findings import Findings
from evaljudge.sections import BarRow, Bars, Section, Table
from evaljudge.sections.figures import NONE, axis_name, count, percent

COST = "What it cost"
ASKED = (
    "Both stages together: the briefs written and the candidates judged. Asks: questions put to a "
    "model; prompt: the tokens of all their requests; prefilled: those of them that the prefix "
    "cache did not serve; generated: the tokens that came out. Further: prompt tokens of an ask's "
    "second request and on. They come from options that span several tokens, and how many there "
    "are depends on the replies; the rest is known once the briefs are written."
)
SHARED = (
    "A question that two judges share is asked once and charged to the judge that the "
    "configuration lists first. What was known already, such as the briefs of an earlier run, "
    "costs nothing."
)
SECONDS = (
    "Seconds are shared out, not measured apart: a worker's engine answers for all judges and axes "
    "at once. What each worker took in all, loading its model included, is divided by the tokens "
    "that it prefilled and generated for each; a generated token counts as much as a prefilled "
    "one. Seconds of workers side by side add up, to more than the run took."
)
GPU_SECONDS = "GPU seconds: the same, times the GPUs of each worker."
PRICED = (
    "In money: the time of the workers at {price}. Loading the model is counted; the head node, "
    "storage, and machines while they have no worker are not."
)
EACH = (
    "Under “documents, each” and “scores, each” stand how many there are, and beside it what one "
    "of them cost on average. A score is that of one candidate on one axis; of the total, any."
)
READING = (
    "Each bar is a share of the workers' seconds, largest first; the bars together are all that "
    "the judges took."
)
MOST_BARS = 12
"""Where judges and axes are more, a bar is a judge with all its axes."""
_ADDED = "asks requests prompt prefilled generated further seconds gpu_seconds".split()


def rows(run: RunFrame) -> Sequence[CostRow]:
    if run.accounts is None:
        return []
    scored = {(row.scorer, row.axis): row.scored for row in run.tables.coverage()}
    scores = {
        (judge.name, axis): max(scored.get((scorer, axis), 0) for scorer in judge.scorers)
        for judge in run.judges
        for axis in judge.axes
    }
    return run.accounts.costs(run.tables.cases, scores)


def section(findings: Findings, in_short: bool) -> Iterator[Section]:
    rows = _by_judge_and_axis(findings["costs"])
    on_gpus = any(row.gpu_seconds for row in rows)
    heads = ["asks", "prompt", "further", "prefilled", "generated", "seconds"]
    in_all = [_in_all(on_gpus, row) for row in rows]
    tables = [_table("In all", heads + ["GPU seconds"] * on_gpus, rows, in_all)]
    for what in ("document", "score"):
        each = [_each(f"{what}s", row) for row in rows]
        heads_each = [f"{what}s, each:", *heads[:2], *heads[3:]]
        tables.append(_table(f"For one {what}", heads_each, rows, each))
    notes = [ASKED, SHARED, f"{SECONDS} {GPU_SECONDS}" if on_gpus else SECONDS, EACH]
    about = []
    if findings.price and rows:
        about = [PRICED.format(price=findings.price)]
        tables = [_money(findings, rows), *tables]
    yield Section(COST, about, tables, notes, _pictures(findings.price, rows[:-1]))


def _pictures(price: Price, rows: Sequence[CostRow]) -> list[Bars]:
    """Nothing of a run whose cost is all of one judge on one axis, or that asked nothing."""
    if len(rows) > MOST_BARS:
        judges = dict.fromkeys(row.judge for row in rows)
        rows = [
            replace(_sum([row for row in rows if row.judge == judge]), axis="") for judge in judges
        ]
    whole = sum(row.seconds for row in rows)
    if len(rows) < 2 or not whole:
        return []
    bars = []
    for row in sorted(rows, key=lambda row: -row.seconds):
        share = row.seconds / whole
        figure = f"{percent(share)}, {row.seconds:,.1f} seconds"
        if price:
            figure += f", {price.money(price.of(row.seconds, row.gpu_seconds))}"
        names = filter(None, (row.judge, axis_name(row.axis)))
        bars.append(BarRow(" · ".join(names), share, figure))
    return [Bars("Cost", "Share of the workers' seconds", READING, bars)]


def _money(findings: Findings, rows: Sequence[CostRow]) -> Table:
    """By judge, and in all: `rows` has the total at its end."""
    price, texts = findings.price, max(1, findings.candidates)
    amounts = dict.fromkeys((row.judge for row in rows), 0.0)
    for row in rows:
        amounts[row.judge] += price.of(row.seconds, row.gpu_seconds)
    cells = [
        [judge, price.money(amount), price.money(1000 * amount / texts)]
        for judge, amount in amounts.items()
    ]
    return Table("In money", ["judge", "cost", "for 1,000 texts"], cells, "lrr", lead=1)


def _by_judge_and_axis(costs: Sequence[CostRow]) -> list[CostRow]:
    """A row with the stages of each added up, then a total: documents are the same in all rows,
    scores differ.
    """
    stages: dict[tuple[str, str], list[CostRow]] = {}
    for row in costs:
        stages.setdefault((row.judge, row.axis), []).append(row)
    rows = [_sum(each) for each in stages.values()]
    if rows:
        scores = sum(row.scores for row in rows)
        rows.append(replace(_sum(rows), judge="total", axis="", scores=scores))
    return rows


def _sum(rows: Sequence[CostRow]) -> CostRow:
    sums: dict[str, Any] = {name: sum(getattr(row, name) for row in rows) for name in _ADDED}
    return replace(rows[0], **sums)


def _in_all(on_gpus: bool, row: CostRow) -> list[str]:
    counts = map(count, (row.asks, row.prompt, row.further, row.prefilled, row.generated))
    seconds = [row.seconds, row.gpu_seconds] if on_gpus else [row.seconds]
    return [*counts, *(f"{one:,.1f}" for one in seconds)]


def _each(what: str, row: CostRow) -> list[str]:
    """How many documents or scores there are, and what one of them cost."""
    n: int = getattr(row, what)
    if not n:
        return [count(n), *[NONE] * 5]
    amounts = (row.asks, row.prompt, row.prefilled, row.generated)
    return [count(n), *(_average(amount / n) for amount in amounts), f"{row.seconds / n:,.4f}"]


def _average(number: float) -> str:
    """With tenths below 1,000."""
    return f"{number:,.1f}" if number < 1000 else f"{number:,.0f}"


def _table(
    title: str, heads: Sequence[str], rows: Sequence[CostRow], figures: Sequence[list[str]]
) -> Table:
    cells = [[row.judge, row.axis, *own] for row, own in zip(rows, figures, strict=True)]
    return Table(title, ["judge", "axis", *heads], cells, "ll" + "r" * len(heads), lead=2)


ANALYSIS = Analysis(CostRow, rows, section, place=130)
