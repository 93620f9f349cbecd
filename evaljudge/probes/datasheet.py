"""What every judge should be asked once: how it scores twins of a text that should not, or should,
move it.

    clean                the text itself
    repeated             the same again, as the document's last candidate: same text, other place
    lines                each sentence on a line of its own
    reworded             the text itself, asked about with other instructions (a second run)
    padded, twice        longer, and no better: with sentences about nothing, or said twice
    source, foreign, empty    a copy of the source, a text about another document, no text at all

The twins of a document are the candidates of one case, in a run of its own in OUT/run (and with
other instructions in OUT/reworded), which resumes as any. How far a twin moves the score is said in
spreads: standard deviations of the clean texts' scores.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from evaljudge.agreement import Measured
from evaljudge.agreement.documents import EQUAL
from evaljudge.agreement.pairs import Floats
from evaljudge.config import Config, load_config
from evaljudge.engines import Engines
from evaljudge.errors import UserError
from evaljudge.probes.injection import CLEAN, filler, judges_alone, mean_of, sampled_of, scored
from evaljudge.probes.results import Dot, ProbeResult, by_scale
from evaljudge.records import Candidate, Case
from evaljudge.runs.job import Job, make_job
from evaljudge.runs.watching import Watcher
from evaljudge.sections import Table
from evaljudge.sections.figures import bounded, count, percent
from evaljudge.settings import AnyPath, as_path
from evaljudge.storage import Place

Expected = Literal["the same", "no higher", "lower"]
REWORDED = "reworded"
TWINS: Mapping[str, Expected] = {
    "repeated": "the same", "lines": "the same", REWORDED: "the same", "padded": "no higher",
    "twice": "no higher", "source": "no higher", "foreign": "lower", "empty": "lower",
}  # fmt: skip
"""What a judge should make of each, beside the clean text."""
MOST_MOVED, MOST_VARIED, MOST_RISEN = 0.2, 0.5, 0.1
"""In spreads: from which mean change, or mean size of a change, on a score that should stay is
warned of; and from which rise on one that should not rise."""
LEAST = 6  # documents
HOLDS, UNSCORED, TOO_FEW, CONSTANT = "holds", "unscored", "too few documents", "no spread"
NOT_LOWER, RISES, MOVES, VARIES = "not lower", "rises", "moves", "varies"
WARNED = (NOT_LOWER, RISES, MOVES, VARIES, CONSTANT)
SAME = "reworded: {} would be asked the same ({}): give other prompts, `--reworded prompts=FOLDER`."
_SENTENCE = re.compile(r"(?<=[.!?])\s+")
_NOTES = [
    "n: documents whose clean text and twin are both scored. moved: the twin's score less the\n"
    "clean one's; the same in spreads (standard deviations of the clean texts' scores). varies:\n"
    "the mean size of the difference, in spreads. above: the share of documents where the twin\n"
    "scored higher. Intervals: 95%, over documents, each by itself: of twenty, one errs by chance.",
    f"Warned of: moves (its interval is beside 0, by more than {MOST_MOVED} spreads), varies (by\n"
    f"more than {MOST_VARIED} spreads), rises (its interval is above 0, by more than {MOST_RISEN}\n"
    "spreads), not lower (its interval is not below 0), no spread (all clean texts score alike).\n"
    "A judge of single texts answers the same question once, so `repeated` tells of judges that\n"
    "compare. Whether a copy of the source should score lower depends on the axis.",
]


@dataclass(frozen=True, slots=True)
class TwinRow:
    scorer: str
    axis: str
    twin: str
    expected: Expected
    n: int
    unscored: int  # twins of scored clean texts
    moved: Measured
    spreads: float | None  # the same in standard deviations of the clean texts' scores
    varies: float | None
    above: float | None
    verdict: str


def datasheet(
    config: AnyPath | Mapping[str, Any] | Config,
    changes: Sequence[str] = (),
    *,
    documents: int = 50,
    reworded: Sequence[str] = ("layout=shared",),
    resamples: int = 1000,
    seed: int = 0,
    out: AnyPath = "runs/datasheet",
    watcher: Watcher | None = None,
    engines: Engines | None = None,
) -> ProbeResult[TwinRow]:
    """How the judges of a configuration score texts that should not, or should, move them.

    `reworded`: changes of the configuration that give the same instructions in other words, such as
    `prompts=FOLDER`; empty: no second run.
    """
    config, job = judges_alone(config, changes, engines)
    place = Place(as_path(out, "out"))
    cases = _cases(job, documents, seed)
    scores, outcome = scored(config, cases, place, "run", watcher, engines)
    others = load_config(config.as_given(), reworded)
    asked = {judge.name: judge.asking for judge in make_job(others, engines).judges}
    same = [judge.name for judge in job.judges if judge.asking == asked.get(judge.name)]
    if len(same) < len(job.judges):
        by_others, _ = scored(others, cases, place, REWORDED, watcher, engines)
        for judge in (judge for judge in job.judges if judge.name not in same):
            for scorer, axis in ((s, a) for s in judge.scorers for a in judge.axes_of(s)):
                scores[scorer][axis][REWORDED] = by_others[scorer][axis][CLEAN]
    notes = [SAME.format(", ".join(same), " ".join(reworded) or "no change")] if same else []
    rows = [
        _row(scorer, axis, twin, by_twin, resamples, seed)
        for scorer, by_axis in scores.items()
        for axis, by_twin in by_axis.items()
        for twin in TWINS
        if twin in by_twin
    ]
    shown = [row for row in rows if row.scorer in [judge.scorers[0] for judge in job.judges]]
    return ProbeResult(
        name="datasheet",
        title="Datasheet of judges",
        about=f"{config.corpus_name}; {count(len(cases))} documents with a candidate each; "
        f"{outcome.findings.model}",
        tables=_tables(shown),
        notes=[*_NOTES, *notes],
        rows=rows,
        dots=[
            Dot(f"{row.scorer} {row.axis}: {row.twin}", row.moved, row.verdict in WARNED)
            for row in shown
        ],
        measure="score above that of the clean text, with 95% interval over documents",
    )


def _tables(rows: Sequence[TwinRow]) -> list[Table]:
    columns = {
        "twin": "twin",
        "n": "n",
        "unscored": "unscored",
        "moved": lambda row: bounded(row.moved),
        "in spreads": "spreads",
        "varies": "varies",
        "above": lambda row: percent(row.above),
        "should be": "expected",
        "verdict": lambda row: f"{row.verdict} !" if row.verdict in WARNED else row.verdict,
    }
    return by_scale(rows, columns, "lrrrrrrll")


def _cases(job: Job, documents: int, seed: int) -> list[Case]:
    chosen = sampled_of(job, documents, seed)
    if len(chosen) < 2:
        raise UserError(f"{job.config.corpus_name}: needs two documents with a text")
    others = [*chosen[1:], chosen[0]]
    return [_with_twins(case, other) for case, other in zip(chosen, others, strict=True)]


def _with_twins(case: Case, other: Case) -> Case:
    (clean,), (foreign,) = case.candidates, other.candidates
    text = clean.text
    twins = {
        CLEAN: text,
        "lines": "\n".join(_SENTENCE.split(text.strip())),
        "padded": f"{text} {filler(len(text))}",
        "twice": f"{text} {text}",
        "source": case.document.source,
        "foreign": foreign.text,
        "empty": "",
        "repeated": text,
    }
    return replace(case, candidates=tuple(Candidate(name, text) for name, text in twins.items()))


def _row(
    scorer: str, axis: str, twin: str, by_twin: Mapping[str, Floats], resamples: int, seed: int
) -> TwinRow:
    clean, other = by_twin[CLEAN], by_twin[twin]
    both = np.isfinite(clean) & np.isfinite(other)
    gaps = np.where(both, other - clean, np.nan)
    moved, there = mean_of(gaps, resamples, seed), gaps[both]
    known = clean[np.isfinite(clean)]
    spread = float(known.std(ddof=1)) if known.size > 1 else 0.0
    in_spreads = list[float | None]([None, None])
    if there.size and spread > EQUAL:
        in_spreads = [float(size.mean()) / spread for size in (there, np.abs(there))]
    expected = TWINS[twin]
    return TwinRow(
        scorer=scorer,
        axis=axis,
        twin=twin,
        expected=expected,
        n=there.size,
        unscored=int((np.isfinite(clean) & ~np.isfinite(other)).sum()),
        moved=moved,
        spreads=in_spreads[0],
        varies=in_spreads[1],
        above=float(np.mean(there > EQUAL)) if there.size else None,
        verdict=verdict_of(expected, moved, *in_spreads),
    )


def verdict_of(
    expected: Expected, moved: Measured, spreads: float | None, varies: float | None
) -> str:
    """A judge that gives a twin no score was not misled by it."""
    if not moved.n:
        return UNSCORED
    if moved.n < LEAST or moved.low is None or moved.high is None:
        return TOO_FEW
    if spreads is None or varies is None:
        return CONSTANT
    if expected == "lower":
        return HOLDS if moved.high < 0 else NOT_LOWER
    if expected == "no higher":
        return RISES if moved.low > 0 and spreads > MOST_RISEN else HOLDS
    if abs(spreads) > MOST_MOVED and not moved.low <= 0 <= moved.high:
        return MOVES
    return VARIES if varies > MOST_VARIED else HOLDS
