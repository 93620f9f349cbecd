"""What a run would ask: its judges over its cases with a model that only imagines its replies.

Asks are counted exactly where replies do not change them (a failed reference asks less). Prompt
tokens are counted with the model's own tokenizer; those that hold a reference not yet written are
estimates, with an imagined text of some 80 tokens in its place.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from evaljudge.cluster.shards import Asked
from evaljudge.corpora import open_corpus
from evaljudge.errors import UserError
from evaljudge.job import Job
from evaljudge.judges import Judge
from evaljudge.model.counting import Counting
from evaljudge.model.imagining import Gauge, Imagining
from evaljudge.model.remembering import Remembering
from evaljudge.records import Case, Tokens
from evaljudge.storage import Stage


@dataclass(frozen=True, slots=True)
class Plan:
    cases: int
    candidates: int
    asked: Mapping[tuple[Stage, str], Tokens]


def make_plan(job: Job) -> Plan:
    """Every brief written anew and every verdict asked: what a fresh run would cost."""
    if not job.judges or job.model is None or job.writer is None:
        raise UserError("nothing to plan: the configuration names no judge")
    gauges: dict[Stage, Gauge] = {"judge": job.engines.gauge(job.model)}
    gauges["prepare"] = gauges["judge"] if job.one_model else job.engines.gauge(job.writer)
    with ThreadPoolExecutor(1) as apart:  # a notebook's own event loop runs in this thread
        return apart.submit(lambda: asyncio.run(_planned(job, gauges))).result()


async def _planned(job: Job, gauges: Mapping[Stage, Gauge]) -> Plan:
    asked: dict[tuple[Stage, str], Asked] = {}
    heads: set[int] = set()
    with open_corpus(job.corpus, job.config.bad_rows) as corpus:
        for case in corpus:
            for judge in job.judges:
                await _imagine(judge, case, gauges, asked, heads)
        tokens = {key: of.tokens for key, of in sorted(asked.items())}
        return Plan(corpus.cases, corpus.candidates, tokens)


async def _imagine(
    judge: Judge,
    case: Case,
    gauges: Mapping[Stage, Gauge],
    asked: dict[tuple[Stage, str], Asked],
    heads: set[int],
) -> None:
    writer = Counting(Imagining(gauges["prepare"]), heads)
    briefs = await judge.brief(case.document, [], Remembering(writer))
    asked.setdefault(("prepare", judge.name), Asked()).add(writer)
    model = Counting(Imagining(gauges["judge"]), heads)
    await judge.verdicts(case, briefs, Remembering(model))
    asked.setdefault(("judge", judge.name), Asked()).add(model)
