"""The whole journey: a configuration in, scores, agreement and selected files out.

>>> outcome = run("cases.yaml")
>>> outcome.agreement[0]
Agreement(scorer='synthetic', axis='coherence', level='sample', coefficient='spearman', …)

The same functions stand behind the command line, `jobs/*.py` and notebooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import partial
from types import MappingProxyType
from typing import Any

from evaljudge.analyses.without_outliers import read_outliers
from evaljudge.config import Config, load_config
from evaljudge.engines import Engines
from evaljudge.errors import (
    KEPT,
    NOTHING_KEPT,
    ClaimLost,
    Crashed,
    Damaged,
    GivenUp,
    StorageLost,
    UserError,
)
from evaljudge.execution.protocol import Event, Watch
from evaljudge.runs.binding import as_begun, bind_and_cut, open_bound
from evaljudge.runs.job import BOTH, Job, make_job, required
from evaljudge.runs.outcome import Outcome
from evaljudge.runs.planning import Plan, longest_ask, make_plan
from evaljudge.runs.progress import watcher as usual_watcher
from evaljudge.runs.references import put_references
from evaljudge.runs.repair import left_out, until_whole
from evaljudge.runs.reporting import (
    accounts_of,
    findings_of,
    further_ratings,
    shards_to_report,
    write_files,
    write_run,
)
from evaljudge.runs.stages import do_stages, lacking, measure, missing, unmeasured
from evaljudge.runs.watching import Todo, Watcher
from evaljudge.settings import AnyPath
from evaljudge.storage import Claim, Fault, Output, Shard, Stage, claimed

Given = AnyPath | Mapping[str, Any] | Config
NOTHING: Mapping[Shard, Sequence[Fault]] = MappingProxyType({})


def run(
    given: Given,
    changes: Sequence[str] = (),
    *,
    extend: bool = False,
    watcher: Watcher | None = None,
    progress: bool = True,
    engines: Engines | None = None,
) -> Outcome:
    """Everything: briefs, verdicts, scores, report. A run that was cut short is resumed.

    The corpus of a mapping may be a path or in memory (a list of dicts, an Arrow table, a data
    frame). Progress is shown on stderr, unless a `watcher` is given or `progress` is False.
    """
    job = make_job(_config(given, changes), engines)
    return run_job(job, _watcher(watcher, progress=progress), extend=extend)


def run_job(job: Job, watcher: Watcher, *, extend: bool = False) -> Outcome:
    for read in files_of_report(job).values():  # so that a mistake there shows at once
        read()
    with watcher as watching, _ready(job) as claim:
        job = as_begun(job)
        work = partial(_run, job, extend, watching, claim)
        return until_whole(job, work, watching.warning)


def prepare(
    given: Given,
    changes: Sequence[str] = (),
    *,
    extend: bool = False,
    watcher: Watcher | None = None,
    progress: bool = True,
    engines: Engines | None = None,
) -> str:
    """The briefs alone, on the writer. Gives the output folder."""
    job = make_job(_config(given, changes), engines)
    return _do_until(("prepare",), job, extend, _watcher(watcher, progress=progress))


def judge(
    given: Given,
    changes: Sequence[str] = (),
    *,
    extend: bool = False,
    watcher: Watcher | None = None,
    progress: bool = True,
    engines: Engines | None = None,
) -> str:
    """The verdicts, after the briefs that are lacking; no scores and no report."""
    job = make_job(_config(given, changes), engines)
    return _do_until(BOTH, job, extend, _watcher(watcher, progress=progress))


def _do_until(stages: Sequence[Stage], job: Job, extend: bool, watcher: Watcher) -> str:
    with watcher as watching, _ready(job) as claim:
        work = partial(_do_stages_alone, stages, as_begun(job), extend, watching, claim)
        return until_whole(job, work, watching.warning)


def make_report(
    given: Given,
    changes: Sequence[str] = (),
    *,
    watcher: Watcher | None = None,
    progress: bool = True,
    engines: Engines | None = None,
) -> Outcome:
    """The driver's part alone: scores, agreement and selections from the verdicts there are."""
    config = _config(given, changes)
    job = make_job(config, engines, (Output(config.out).run() or {}).get("fingerprint", {}))
    output = open_bound(job)
    with _watcher(watcher, progress=progress) as watching, claimed(config.out) as claim:
        try:
            return _report(job, output, watching, claim)
        except Damaged as error:
            damaged = left_out(output, error, watching.warning)
            return _report(job, output, watching, claim, damaged=damaged)


def plan(given: Given, changes: Sequence[str] = (), *, engines: Engines | None = None) -> Plan:
    """What a run would ask; no model is loaded and nothing is written but a corpus in memory."""
    return make_plan(as_begun(make_job(_config(given, changes), engines)))


def _run(job: Job, extend: bool, watching: Watcher, claim: Claim) -> Outcome:
    output = _bind(job, extend, watching, claim)
    _refuse_no_candidates(job, output)
    with _one_session(job, output) as begun:
        _ask(job, output, BOTH, watching, claim)
        _measure(job, output, output.shards(), watching, claim)
        output.tidy()  # a run that was killed after its last shard left notes, too
        return _report(job, output, watching, claim, begun)


def _do_stages_alone(
    stages: Sequence[Stage], job: Job, extend: bool, watching: Watcher, claim: Claim
) -> str:
    output = _bind(job, extend, watching, claim, stages)
    if "judge" in stages:
        _refuse_no_candidates(job, output)
    _ask(job, output, stages, watching, claim)
    write_run(job, output, accounts_of(job, output))
    return output.uri


def _watcher(watcher: Watcher | None, *, progress: bool) -> Watcher:
    return watcher or (usual_watcher() if progress else Watcher())


def _config(given: Given, changes: Sequence[str]) -> Config:
    if isinstance(given, Config):
        return load_config(given.as_given(), changes) if changes else given
    return load_config(given, changes)


@contextmanager
def _ready(job: Job) -> Iterator[Claim]:
    """Claims the job's folder for this block, once its workers can be placed."""
    sizes = [source.gpus_per_engine for source in job.sources]
    with claimed(job.config.out) as claim, _saying_what_is_kept(job), job.executor.check(sizes):
        yield claim


@contextmanager
def _saying_what_is_kept(job: Job) -> Iterator[None]:
    """Where a run is given up or ended by a signal, a rerun resumes only what is committed."""
    output = Output(job.config.out)
    try:
        yield
    except SystemExit as end:
        end.add_note(NOTHING_KEPT if output.is_untouched else KEPT)
        raise
    except (StorageLost, ClaimLost, Crashed):  # out of reach, another job's, or with its own advice
        raise
    except GivenUp as error:
        if output.is_untouched:
            raise
        raise GivenUp(f"{error}; what was committed is kept, and a rerun resumes") from error


@contextmanager
def _one_session(job: Job, output: Output) -> Iterator[bool]:
    """One session of the executor for asking, measuring and scoring; gives whether it was begun.

    Where nothing is left to ask or to measure, none is begun.
    """
    asks = job.judges and missing(job, output, ("prepare", "judge"))
    is_needed = bool(asks or unmeasured(job, output, output.shards()))
    with job.executor.session() if is_needed else nullcontext():
        yield is_needed


def _bind(
    job: Job, extend: bool, watching: Watcher, claim: Claim, stages: Sequence[Stage] = BOTH
) -> Output:
    watching.entering(f"reading {job.config.corpus_name}")
    with _fetching(job, stages):
        output = bind_and_cut(job, claim, extend=extend)
    for note in (output.listing() or {}).get("unread", []):
        watching.warning(f"corpus: {note}")
    return output


def _fetching(job: Job, stages: Sequence[Stage]) -> AbstractContextManager[None]:
    """Meanwhile the model that is asked first is fetched, if there is anything to ask."""
    bound = Output(job.config.out).run() or {}
    output = Output(job.config.out, job.config.briefs, bound.get("id", ""))
    is_cut = bound and output.listing()
    left = (p for p in job.passes if not is_cut or lacking(p, output, stages))
    if (first := next(left, None)) is None:
        return nullcontext()
    fetch, size = partial(job.engines.fetch, first.source), first.source.gpus_per_engine
    return job.executor.fetching(fetch, size)


def _refuse_no_candidates(job: Job, output: Output) -> None:
    if not any(shard.candidates for shard in output.shards()):
        raise UserError(
            f"{job.config.corpus_name}: no document has a candidate, so there is nothing to judge "
            "(`evaljudge run --until prepare` needs none)"
        )


def _ask(job: Job, output: Output, stages: Sequence[Stage], watcher: Watcher, claim: Claim) -> None:
    if not job.judges:
        return
    total = sum(shard.cases for shard in output.shards())
    left, n = dict.fromkeys(stages, 0), dict.fromkeys(stages, 0)
    for part in job.passes:
        todo = lacking(part, output, stages)
        _take_references(part.job, output, todo, watcher)
        for stage in (stage for stage in part.stages if stage in n):
            n[stage] += total
            left[stage] += sum(shard.cases for shard, wanted in todo.items() if stage in wanted)
    with _watching(watcher, claim, {stage: (left[stage], n[stage]) for stage in stages}) as watch:
        do_stages(job, output, stages, watch, lambda p: longest_ask(p, output, stages))
    if any(left.values()):  # else the notes there are of measuring
        output.tidy()


def _take_references(
    job: Job, output: Output, todo: Mapping[Shard, Sequence[Stage]], watcher: Watcher
) -> None:
    unprepared = [shard for shard, wanted in todo.items() if "prepare" in wanted]
    if job.references and unprepared:
        watcher.entering("taking over the references given")
        writer, mine = required(job.writer_is), output.of(job.panel)
        put_references(job.references, job.judges, writer, mine, unprepared)


def _measure(
    job: Job, output: Output, shards: Sequence[Shard], watcher: Watcher, claim: Claim
) -> None:
    todo = unmeasured(job, output, shards)
    if not todo:
        return
    total, left = (sum(shard.cases for shard in some) for some in (shards, todo))
    with _watching(watcher, claim, {"measure": (left, total)}) as watch:
        measure(job, output, todo, watch)
    output.tidy()


@contextmanager
def _watching(watcher: Watcher, claim: Claim, todo: Todo) -> Iterator[Watch]:
    def watch(event: Event) -> None:
        if event.kind == "committed":
            claim.check()
        watcher.event(event)

    watcher.starting(todo)
    try:
        yield watch
    finally:
        watcher.done()


def _report(
    job: Job,
    output: Output,
    watching: Watcher,
    claim: Claim,
    begun: bool = False,
    damaged: Mapping[Shard, Sequence[Fault]] = NOTHING,
) -> Outcome:
    """`begun`: a session of the executor is open already; `damaged`: shards to be left out."""
    claim.check()
    output.sweep()  # what a report that was killed has left half-written
    shards, notes = shards_to_report(job, output, damaged)
    _measure(job, output, shards, watching, claim)
    watching.entering("scoring and reporting")
    accounts = accounts_of(job, output, damaged)
    findings = findings_of(job, output, shards, accounts, notes, damaged, begun=begun)
    write_files(job, output, shards, findings)
    claim.check()
    write_run(job, output, accounts, findings, is_whole=not damaged)
    return Outcome(output.uri, findings)


def files_of_report(job: Job) -> Mapping[str, Callable[[], object]]:
    """What reads each file that only the report needs, by how it is called."""
    outliers, output = job.config.outliers, Output(job.config.out)
    files_of: dict[str, Callable[[], object]] = {"files of judges": job.collecting}
    if outliers is not None:
        files_of["outliers"] = partial(read_outliers, outliers)
    return files_of | {"ratings": partial(further_ratings, job, output)}
