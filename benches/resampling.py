"""What bootstrap intervals cost, beside a loop that builds every resample and calls scipy.

    python benches/resampling.py

Ten scorers against four axes, 100 documents by 16 systems, 1,000 resamples, all three levels and
all coefficients: seconds, where documents are resampled and where documents and systems are. Then
one scorer and axis with few resamples, both ways, without accuracy (which scipy has not): the
ratio of the times, and the greatest difference of their intervals. Prints all of it with the
machine named, and writes benches/resampling.json.
"""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from evaljudge.agreement import LEVELS, Agreement, Resampled, agreements
from evaljudge.agreement.bootstrap import Draws, drawn, interval

DOCUMENTS, SYSTEMS, SCORERS, AXES = 100, 16, 10, 4
FEW = 40  # resamples of the loop
HERE = Path(__file__).parent
MODES: tuple[Resampled, ...] = ("documents", "both")
COEFFICIENTS: dict[str, Callable[[Any, Any], float]] = {
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
    "kendall_c": lambda x, y: stats.kendalltau(x, y, variant="c").statistic,
}


def judged() -> tuple[Any, Any]:
    """Ratings (axes, documents, systems) in thirds, as the mean of three people; and scores."""
    stream = np.random.default_rng(0)
    quality = stream.normal(size=(1, DOCUMENTS, SYSTEMS)) + stream.normal(size=(1, 1, SYSTEMS))
    rated = 3 + quality + stream.normal(size=(AXES, DOCUMENTS, SYSTEMS))
    scores = quality + stream.normal(size=(SCORERS, DOCUMENTS, SYSTEMS))
    return np.clip(np.round(3 * rated) / 3, 1, 5), scores


def found(scores: Any, human: Any, resample: Resampled, resamples: int) -> list[Agreement]:
    document, system = np.indices((DOCUMENTS, SYSTEMS))
    columns = (column.ravel() for column in (document, system, scores, human))
    return agreements(*columns, resample=resample, resamples=resamples)


def looped(scores: Any, human: Any, resample: Resampled, resamples: int) -> list[Any]:
    """The same intervals, from every resampled table."""
    blocks = drawn((DOCUMENTS, SYSTEMS), resample, resamples, seed=0, block=resamples)
    values = [list(statistics(*redrawn(scores, human, draws, row)))
              for draws in blocks for row in range(resamples)]  # fmt: skip
    return [interval(np.array(column)) for column in zip(*values, strict=True)]


def redrawn(scores: Any, human: Any, draws: Draws, row: int) -> tuple[Any, Any]:
    rows = np.repeat(np.arange(DOCUMENTS), draws.documents[row].astype(int))
    columns = np.repeat(np.arange(SYSTEMS), draws.systems[row].astype(int))
    return scores[np.ix_(rows, columns)], human[np.ix_(rows, columns)]


def statistics(x: Any, y: Any) -> Iterator[float]:
    for coefficient in COEFFICIENTS.values():
        yield float(np.mean([coefficient(a, b) for a, b in zip(x, y, strict=True)]))
    for coefficient in COEFFICIENTS.values():
        yield coefficient(x.mean(axis=0).round(12), y.mean(axis=0).round(12))
    for coefficient in COEFFICIENTS.values():
        yield coefficient(x.ravel(), y.ravel())


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    made = work()
    return time.perf_counter() - started, made


def side_by_side(resample: Resampled) -> dict[str, float]:
    human, scores = judged()
    one = scores[0], human[0], resample, FEW
    loop, expected = timed(lambda: looped(*one))
    ours, rows = min((timed(lambda: found(*one)) for _ in range(3)), key=lambda run: run[0])
    mine = [(row.low, row.high) for row in rows if row.coefficient in COEFFICIENTS]
    assert len(mine) == len(LEVELS) * len(COEFFICIENTS)
    gap = float(np.abs(np.array(mine) - np.array(expected)).max())
    return {"loop / ours": round(loop / ours, 1), "greatest difference": gap}


def all_pairs(resample: Resampled) -> dict[str, float]:
    """A busy machine lengthens what elapses more than what the processor spends."""
    human, scores = judged()
    work = [(x, y, resample, 1000) for x in scores for y in human]
    before = time.process_time()
    elapsed = timed(lambda: [found(*one) for one in work])[0]
    return {"elapsed": round(elapsed, 1), "processor": round(time.process_time() - before, 1)}


def main() -> None:
    figures = {
        "machine": f"{os.cpu_count()} cores of {platform.machine()}, {platform.platform()}",
        "busy with others": round(os.getloadavg()[0], 1),
        "numpy": np.__version__,
        "seconds, 1000 resamples": {mode: all_pairs(mode) for mode in MODES},
        f"beside a loop, {FEW} resamples": {mode: side_by_side(mode) for mode in MODES},
    }
    (HERE / "resampling.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
