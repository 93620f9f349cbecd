"""What analyses are made from, and their rows, without a run; and a run that is judged."""

from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from typing import Any

import numpy as np

from evaljudge.agreement.rated import Grid, Rated
from evaljudge.analyses import RunFrame, analyses, rows_of
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.scoring import Scoring
from evaljudge.analysis.tables import Tables
from evaljudge.config import load_config
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.judges.protocol import Judge
from evaljudge.prompts import Task
from evaljudge.records import Verdict
from evaljudge.runs.binding import bind_and_cut
from evaljudge.runs.job import Job, make_job
from evaljudge.sections import Section
from evaljudge.storage import Output, claimed

FACTS = {one.name for one in fields(Findings)}
NONE = np.array([], dtype=np.int64)


def frame(rated: Rated | None = None, grid: Grid | None = None, **more: Any) -> RunFrame:
    ordinary: dict[str, Any] = {
        "tables": Tables([]),
        "rated": rated or Rated(NONE, NONE, {}, {}, {}),
        "grid": grid or Grid((), (), {}, {}),
    }
    return RunFrame(**ordinary | more)


def rows(analysis: str, run: RunFrame) -> list[Any]:
    return list(analyses()[analysis].rows(run))


def warnings(analysis: str, run: RunFrame, given: dict[str, Any] | None = None) -> dict[str, str]:
    """Their texts by identifier."""
    found = analyses()[analysis].warnings(run, given or rows_of(run))
    return {warned.id: warned.text for warned in found}


def sections(analysis: str, found: Findings, in_short: bool = False) -> list[Section]:
    return list(analyses()[analysis].sections(found, in_short))


def findings(**more: Any) -> Findings:
    """Facts, and rows by the name of their analysis."""
    facts = {key: value for key, value in more.items() if key in FACTS}
    own = {key: value for key, value in more.items() if key not in FACTS}
    return Findings(**facts, rows=dict.fromkeys(analyses(), ()) | own)


def replaced(found: Findings, **more: Any) -> Findings:
    facts = {key: value for key, value in more.items() if key in FACTS}
    own = {key: value for key, value in more.items() if key not in FACTS}
    return replace(found, rows={**found.rows, **own}, **facts)


def unfitted(job: Job, output: Output) -> Scoring:
    """Scores the verdicts of the job's judges, and nothing else."""
    return Scoring(
        output=output,
        judges=job.judges,
        collecting=job.collecting(),
        metrics={},
        mixes={},
        scorers=job.scorers,
        signatures=job.judge_signatures(),
        learnt={},
    )


def judged_run(
    spec: dict[str, Any],
    verdicts: Callable[[str, str, str], Iterable[Verdict]],
    judges: Callable[[Task], list[Judge]] | None = None,
) -> tuple[Job, Output]:
    """A run whose every text is judged: `verdicts` takes document, system and judge."""
    job = make_job(load_config(spec), ScriptedEngines())
    job = replace(job, judges=judges(job.task)) if judges else job
    with claimed(job.config.out) as claim:
        output = bind_and_cut(job, claim)
    told = {"stage": "judge", "worker": "w", "worker_seconds": 1, "gpus": 0, "asked": {}}
    for shard in output.shards():
        for name in (judge.name for judge in job.judges):
            of_each = (verdicts(*text, name) for *text, _ in output.texts(shard))
            output.write_verdicts(name, shard, [v for some in of_each for v in some])
        output.commit("judge", shard, told | {"shard": shard.number})
    return job, output
