"""Which texts a cascade passes on to its second judge, once the first has judged all.

Texts are drawn, and the second judge judges them in a run of its own, in OUT/cascade, whose
receipts are counted in the whole run. Its briefs lie with those of the whole run, and what it said
of drawn texts that are passed on is taken over, so nothing is asked twice.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import accumulate
from typing import Any, cast

import numpy as np

from evaljudge.analysis.cascade import (
    FILE,
    NAME,
    AnsweredTexts,
    Cascade,
    agrees,
    axes_of,
    no_doubt,
    sides,
)
from evaljudge.config import Config, CorpusConfig
from evaljudge.decisions.certified import kept
from evaljudge.engines import Engines
from evaljudge.execution.protocol import PassedOn
from evaljudge.judges.protocol import Judge, Judged
from evaljudge.runs.job import BOTH, Job, required
from evaljudge.runs.outcome import Outcome
from evaljudge.storage import Output, Shard

UNASKED: dict[str, Any] = {
    "metrics": {}, "mixes": {}, "combine": {}, "families": {}, "of_judges": {}, "outliers": None,
    "calibrate": [], "select": [], "ratings": [], "cascade": None, "view": 0, "coverage_floor": 0.0,
}  # fmt: skip
"""What the run of the drawn texts does without."""


def passed_on(job: Job, output: Output, run: Callable[[Config, Engines], Outcome]) -> PassedOn:
    """The texts that the second judge is asked about, with what it has said of drawn ones."""
    wanted, cascade = required(job.config.cascade), cast(Cascade, job.mixes[NAME])
    first, then = (next(j for j in job.judges if j.name == n) for n in (wanted.first, wanted.then))
    ends = sides(job.config)
    axes = axes_of(cascade, job.scorers, ends)
    panel = next(panel.panel for panel in job.panels if first in panel.judges)
    shards, read = output.shards(), partial(_answers, output.of(panel), first, axes)
    answers = list(job.executor.in_order(read, shards))
    doubts = np.concatenate([found.doubts for found in answers])
    mine = np.concatenate([found.values for found in answers])
    if np.isfinite(mine).any() and not np.isfinite(doubts).any():
        raise no_doubt(first)
    stream = np.random.default_rng(job.config.seed)
    drawn = np.sort(stream.choice(doubts.size, min(wanted.draw, doubts.size), replace=False))
    place = output.place.at(NAME)
    rows = "".join(_rows(output, shards, answers, drawn.tolist()))
    output.place.write(f"{NAME}/cases.jsonl", rows)
    briefs, out = job.config.briefs or output.place.at("briefs"), f"{place}/run"
    where = {"corpus": CorpusConfig(path=f"{place}/cases.jsonl"), "out": out, "briefs": briefs}
    judges = {then.name: job.settled[then.name]}
    came = run(job.config.model_copy(update=UNASKED | where | {"judges": judges}), job.engines)
    of_drawn = Output(out, briefs)
    scores = [score for shard in of_drawn.shards() for score in of_drawn.scores(shard)]
    other = AnsweredTexts.of(scores, then.scorers[0], axes)
    texts = [text for found in answers for text in found.texts]
    at = {text: place for place, text in enumerate(texts)}
    places = [at[text] for text in other.texts]
    seen = np.full(doubts.size, np.nan)
    seen[places] = agrees(mine[places], other.values, axes, ends, wanted.within)
    asked = {"agreement": wanted.agreement, "confidence": wanted.confidence}
    found = kept(doubts, seen, **asked)
    bound = -np.inf if found is None or found.threshold is None else -found.threshold
    is_above = ~(doubts <= bound)
    above = {texts[n] for n in np.flatnonzero(is_above)}
    asks = sum(row["asks"] for row in came.findings.tokens if row["stage"] == "judge")
    counts = {"asks": asks, "texts": doubts.size, "drawn": len(places), "passed_on": len(above)}
    counts["taken_over"] = int(is_above[places].sum())
    receipts = [each for stage in BOTH for each in of_drawn.receipts(stage)]  # for the totals
    certain = None if np.isinf(bound) else float(bound)
    known = {"bound": certain, "axes": axes, "receipts": receipts}
    output.keep(FILE, counts | known | ({"found": asdict(found)} if found else {}))
    keys = frozenset(PassedOn.key(*text) for text in above)
    return PassedOn(then.name, keys, _said(of_drawn, then, above))


def _said(of_drawn: Output, judge: Judge, above: Collection[tuple[str, str]]) -> dict[str, Judged]:
    """By document."""
    said = defaultdict[str, Judged](lambda: Judged([], []))
    for shard in of_drawn.shards():
        for verdict in of_drawn.verdicts(judge.name, shard, with_tokens=False):
            if (verdict.doc_id, verdict.system) in above:
                said[verdict.doc_id].verdicts.append(verdict)
        checks = of_drawn.checks(judge.name, shard) if judge.has_checks else ()
        for check in checks:
            if check.doc_id in said:
                said[check.doc_id].checks.append(check)
    return dict(said)


def _answers(output: Output, judge: Judge, axes: Sequence[str], shard: Shard) -> AnsweredTexts:
    verdicts = list(output.verdicts(judge.name, shard, with_tokens=False))
    return AnsweredTexts.of(judge.scores(verdicts), judge.scorers[0], axes)


def _rows(
    output: Output, shards: Sequence[Shard], answers: Sequence[AnsweredTexts], drawn: Sequence[int]
) -> Iterator[str]:
    """The documents of the drawn texts, each with these alone."""
    ends = list(accumulate(len(found.texts) for found in answers))
    for shard, found, end in zip(shards, answers, ends, strict=True):
        begin = end - len(found.texts)
        mine = {found.texts[n - begin] for n in drawn if begin <= n < end}
        for case in output.cases(shard) if mine else ():
            doc_id = case.document.doc_id
            texts = [c for c in case.candidates if (doc_id, c.system) in mine]
            if texts:
                row = asdict(case.document)
                row["candidates"] = [{"system": c.system, "text": c.text} for c in texts]
                yield f"{json.dumps(row)}\n"
