"""What did a run cost? A row for each judge and axis, in all and for one document and one score."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from evaljudge.analyses import Analysis, Findings, RunFrame, Section
from evaljudge.analysis.costs import CostRow, Price
from evaljudge.sections import BarRow, Bars, Table
from evaljudge.sections.figures import NONE, axis_name, percent, tabled

COST = "What it cost"
ASKED = (
    "Both stages together. Asks: questions put to a model; prompt: the tokens of all their "
    "requests; prefilled: those of them that the prefix cache did not serve; generated: the tokens "
    "that came out. Further: prompt tokens of an ask's second request and on, for options that "
    "span several tokens; how many depends on the replies."
)
SHARED = (
    "A question that two judges share is charged to the judge that the configuration lists first. "
    "What was known already, such as the briefs of an earlier run, costs nothing. What `evaljudge "
    "why` asks later is in no total: it says what that was."
)
SECONDS = (
    "Seconds are shared out, not measured apart: what each worker took in all, loading its model "
    "included, is divided by the tokens that it prefilled and generated for each judge and axis. "
    "Seconds of workers side by side add up, to more than the run took."
)
GPU_SECONDS = "GPU seconds: the same, times the GPUs of each worker."
PRICED = (
    "In money: what was used, at {price}. Of workers' time, loading the model is counted; the head "
    "node, storage, and machines while they have no worker are not."
)
EACH = (
    "Under “documents, each” and “scores, each” stand how many there are, and beside it what one "
    "of them cost on average. A score is that of one text on one axis; of the total, any."
)
READING = "Each bar is a share of the workers' seconds, largest first."
_ADDED = "asks requests prompt prefilled generated further seconds gpu_seconds for_tokens".split()


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
    whose: dict[str, Any] = {"judge": "judge", "axis": "axis"}
    counts = {name: name for name in ("asks", "prompt", "further", "prefilled", "generated")}
    times = {"seconds": lambda row: f"{row.seconds:,.1f}"}
    if on_gpus:
        times["GPU seconds"] = lambda row: f"{row.gpu_seconds:,.1f}"
    tables = [tabled("In all", rows, 2, whose | counts | times)]
    for what in ("document", "score"):
        shown = {name: _average(name, f"{what}s") for name in counts if name != "further"}
        seconds = {"seconds": _average("seconds", f"{what}s")}
        each = whose | {f"{what}s, each:": f"{what}s"} | shown | seconds
        tables.append(tabled(f"For one {what}", rows, 2, each))
    notes = [ASKED, SHARED, f"{SECONDS} {GPU_SECONDS}" if on_gpus else SECONDS, EACH]
    about = []
    if findings.price and rows:
        about = [PRICED.format(price=findings.price)]
        tables = [_money(findings, rows), *tables]
    yield Section(COST, about, tables, notes, _pictures(findings.price, rows[:-1]))


def _average(name: str, what: str) -> Callable[[CostRow], str]:
    def shown(row: CostRow) -> str:
        if not getattr(row, what):
            return NONE
        amount = getattr(row, name) / getattr(row, what)
        digits = 4 if name == "seconds" else int(amount < 1000)
        return f"{amount:,.{digits}f}"

    return shown


def _pictures(price: Price, rows: Sequence[CostRow]) -> list[Bars]:
    """Nothing of a run whose cost is all of one judge on one axis, or that asked nothing."""
    whole = sum(row.seconds for row in rows)
    if len(rows) < 2 or not whole:
        return []
    bars = []
    for row in sorted(rows, key=lambda row: -row.seconds):
        share = row.seconds / whole
        figure = f"{percent(share)}, {row.seconds:,.1f} seconds"
        if price:
            figure += f", {price.money(price.of_row(row))}"
        bars.append(BarRow(f"{row.judge} · {axis_name(row.axis)}", share, figure))
    return [Bars("Cost", "Share of the workers' seconds", READING, bars)]


def _money(findings: Findings, rows: Sequence[CostRow]) -> Table:
    price, texts = findings.price, max(1, findings.candidates)
    amounts = dict.fromkeys((row.judge for row in rows), 0.0)
    for row in rows:
        amounts[row.judge] += price.of_row(row)
    columns = {
        "judge": lambda item: item[0],
        "cost": lambda item: price.money(item[1]),
        "for 1,000 texts": lambda item: price.money(1000 * item[1] / texts),
    }
    return tabled("In money", amounts.items(), 1, columns)


def _by_judge_and_axis(costs: Sequence[CostRow]) -> list[CostRow]:
    """A row with the stages of each added up, then a total: documents are the same in all rows,
    scores differ."""
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


ANALYSIS = Analysis(CostRow, rows, section, place=130)
