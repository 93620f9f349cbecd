"""The values that scorers take for inputs of known kinds (Gigant et al. 2024, figures 9 and 10).

    scorer  input     n      lowest  5%     25%    median  75%    95%    highest
    rouge1  human     100    0.103   0.183  0.220  0.279   0.340  0.440  0.571
    rouge1  document  100    0.083   0.108  0.160  0.191   0.233  0.342  0.403
    rouge1  systems   1,600  0.080   0.230  0.344  0.418   0.487  0.597  0.835

`human` is a document's last reference, compared with the others, or with itself if it is the only
one. RAND-3, LEAD-3 and TAIL-3 are sentences of the source (excerpts.py), and `document` is the
whole source. Given scores are of `systems` alone.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from evaljudge.agreement.pairs import Floats
from evaljudge.probes.excerpts import ALTERATIONS, excerpt
from evaljudge.probes.matrix import Measure, ScoreMatrix, measured_columns
from evaljudge.probes.plots import boxes
from evaljudge.probes.results import ProbeResult, table
from evaljudge.records import Candidate, Case
from evaljudge.sections.figures import correlation

HUMAN, DOCUMENT, SYSTEMS = "human", "document", "systems"
QUANTILES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.95, 1.0)


@dataclass(frozen=True, slots=True)
class RangeRow:
    """Quantiles over the `n` scored texts; None if there are none."""

    scorer: str
    input: str
    n: int
    unscored: int
    lowest: float | None
    p5: float | None
    p25: float | None
    median: float | None
    p75: float | None
    p95: float | None
    highest: float | None


def ranges(matrix: ScoreMatrix, measure: Measure, seed: int = 0) -> list[RangeRow]:
    stream = np.random.default_rng(seed)
    inputs = [_of_source(case, stream) for case in matrix.cases]
    found: dict[str, dict[str, Floats]] = defaultdict(dict)
    for cases in ([_human(case) for case in matrix.cases], inputs):
        kinds = np.array([c.system for case in cases for c in case.candidates])
        for name, column in (measured_columns(measure, cases) if kinds.size else {}).items():
            found[name] |= {kind: column[kinds == kind] for kind in dict.fromkeys(kinds.tolist())}
    for name, column in matrix.scores.items():
        found[name][SYSTEMS] = column
    return [_row(name, *found_of) for name in matrix.scores for found_of in found[name].items()]


def ranges_study(rows: Sequence[RangeRow], about: str) -> ProbeResult[RangeRow]:
    cells = [
        [row.scorer, row.input, f"{row.n:,}", *map(correlation, _quantiles(row))] for row in rows
    ]
    heads = ["scorer", "input", "n", "lowest", "5%", "25%", "median", "75%", "95%", "highest"]
    return ProbeResult(
        name="ranges",
        title="Range of values",
        about=about,
        tables=[table(heads, cells, names=2)],
        notes=[],
        rows=rows,
        draw=partial(_drawn, rows),
    )


def _human(case: Case) -> Case:
    """The last reference as a candidate, and no longer as a reference if there are others."""
    *others, last = case.document.references or ("",)
    if not last:
        return replace(case, candidates=())
    document = replace(case.document, references=tuple(others) or (last,))
    return Case(document, (Candidate(HUMAN, last),))


def _of_source(case: Case, stream: np.random.Generator) -> Case:
    source = case.document.source
    texts = {how: excerpt(source, how, stream) for how in ALTERATIONS} | {DOCUMENT: source}
    return Case(case.document, tuple(Candidate(kind, text) for kind, text in texts.items()))


def _row(scorer: str, kind: str, values: Floats) -> RangeRow:
    scored = values[np.isfinite(values)]
    lost = values.size - scored.size
    if not scored.size:
        return RangeRow(scorer, kind, 0, lost, *[None] * len(QUANTILES))
    quantiles = [float(value) for value in np.quantile(scored, QUANTILES)]
    return RangeRow(scorer, kind, scored.size, lost, *quantiles)


def _quantiles(row: RangeRow) -> list[float | None]:
    return [row.lowest, row.p5, row.p25, row.median, row.p75, row.p95, row.highest]


def _drawn(rows: Sequence[RangeRow]) -> str:
    panels: dict[str, dict[str, list[float]]] = {row.scorer: {} for row in rows}
    for row in rows:
        inner = [value for value in _quantiles(row)[1:-1] if value is not None]
        if inner:
            panels[row.scorer][row.input] = inner
    return boxes(panels, "input (whiskers: 5% and 95%)")
