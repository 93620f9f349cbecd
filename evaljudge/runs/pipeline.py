"""The whole journey: a configuration in, scores, agreement and selected files out.

>>> outcome = run("cases.yaml")
>>> outcome.agreement[0]
Agreement(scorer='synthetic', axis='coherence', level='sample', coefficient='spearman', …)

The same functions stand behind the command line, `jobs/*.py` and notebooks.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from itertools import accumulate, chain
from types import MappingProxyType
from typing import Any, Self

import evaljudge
from evaljudge.agreement import Agreement
from evaljudge.agreement.rated import nearly_met
from evaljudge.analysis.calibration import calibrate_shards
from evaljudge.analysis.costs import Accounts
from evaljudge.analysis.findings import CostRow, Findings
from evaljudge.analysis.labelled import labelled_means
from evaljudge.analysis.length import measuring_length
from evaljudge.analysis.outliers import read_outliers, with_outliers
from evaljudge.analysis.people_scale import scale_warnings, with_people_scale
from evaljudge.analysis.ranking import rankings
from evaljudge.analysis.ratings import FurtherRatings, read_ratings
from evaljudge.analysis.ratings import unmet as unmet_ratings
from evaljudge.analysis.scoring import Scored, Scoring, fit
from evaljudge.analysis.selection import out_of_reach, select, targets, undecided, unmet
from evaljudge.analysis.statistics import too_few_permutations, with_statistics
from evaljudge.analysis.tables import Tables
from evaljudge.config import Config, load_config
from evaljudge.engines import Engines
from evaljudge.errors import ClaimLost, Crashed, Damaged, GivenUp, StorageLost, UserError
from evaljudge.execution.local import LocalExecutor
from evaljudge.judges import plugin
from evaljudge.judges.collector import Found, all_judges
from evaljudge.plugins import kinds
from evaljudge.reasons import DAMAGED_FILE
from evaljudge.report import page, write_report
from evaljudge.runs.binding import bind_and_cut, open_bound
from evaljudge.runs.job import Job, make_job
from evaljudge.runs.planning import BOTH, Plan, make_plan
from evaljudge.runs.references import put_references
from evaljudge.runs.repair import left_out, left_out_warning, until_whole
from evaljudge.runs.stages import Watch, corpus_digest, do_stages, measure, missing, unmeasured
from evaljudge.storage import DERIVED, Claim, Fault, Output, Shard, Stage, claimed, digests

Given = str | Mapping[str, Any] | Config
Todo = Mapping[Stage, tuple[int, int]]
"""Of each stage wanted: how many cases are left to do, of how many."""
DONE, UNDER_FLOOR = 0, 3
NOTHING: Mapping[Shard, Sequence[Fault]] = MappingProxyType({})
MOST_SCORED_HERE = 64
"""Shards that a report scores in this process, before it is worth starting Ray for them."""


class Watcher:
    """Is called as a run goes on. This one prints nothing; see progress.py for those that do."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None: ...

    def entering(self, phase: str) -> None: ...

    def warning(self, line: str) -> None: ...

    def starting(self, todo: Todo) -> None: ...

    def receipt(self, receipt: Mapping[str, Any]) -> None: ...

    def done(self) -> None: ...


@dataclass(frozen=True)
class Outcome:
    """A run's folder and findings."""

    out: str
    findings: Findings

    @property
    def coverage(self) -> float:
        return self.findings.share

    @property
    def agreement(self) -> Sequence[Agreement]:
        return self.findings.agreement

    @property
    def exit_code(self) -> int:
        return DONE if self.coverage >= self.findings.coverage_floor else UNDER_FLOOR


def run(
    given: Given, changes: Sequence[str] = (), *, extend: bool = False,
    watcher: Watcher | None = None, engines: Engines | None = None,
) -> Outcome:  # fmt: skip
    """Everything: briefs, verdicts, scores, report. A run that was cut short is resumed."""
    job = make_job(_config(given, changes), engines)
    _refuse_bad_files(job)
    with watcher or Watcher() as watching, _ready(job) as claim:
        work = partial(_run, job, extend, watching, claim)
        return until_whole(job, work, watching.warning)


def prepare(
    given: Given, changes: Sequence[str] = (), *, extend: bool = False,
    watcher: Watcher | None = None, engines: Engines | None = None,
) -> str:  # fmt: skip
    """Stage one alone: the briefs, on the writer. Gives the output folder."""
    job = make_job(_config(given, changes), engines)
    with watcher or Watcher() as watching, _ready(job) as claim:
        work = partial(_prepare, job, extend, watching, claim)
        return until_whole(job, work, watching.warning)


def judge(
    given: Given, changes: Sequence[str] = (), *,
    watcher: Watcher | None = None, engines: Engines | None = None,
) -> str:  # fmt: skip
    """Stage two alone: the verdicts, from briefs that `prepare` made."""
    job = make_job(_config(given, changes), engines)
    open_bound(job)
    with watcher or Watcher() as watching, _ready(job) as claim:
        return until_whole(job, partial(_judge, job, watching, claim), watching.warning)


def make_report(
    given: Given, changes: Sequence[str] = (), *,
    watcher: Watcher | None = None, engines: Engines | None = None,
) -> Outcome:  # fmt: skip
    """The driver's part alone: scores, agreement and selections from the verdicts there are."""
    config = _config(given, changes)
    job = make_job(config, engines, (Output(config.out).run() or {}).get("fingerprint", {}))
    output = open_bound(job)
    with watcher or Watcher() as watching, claimed(config.out) as claim:
        try:
            return _report(job, output, watching, claim)
        except Damaged as error:
            damaged = left_out(output, error, watching.warning)
            return _report(job, output, watching, claim, damaged=damaged)


def plan(given: Given, changes: Sequence[str] = (), *, engines: Engines | None = None) -> Plan:
    """What a run would ask; no model is loaded and nothing is written."""
    return make_plan(make_job(_config(given, changes), engines))


def _run(job: Job, extend: bool, watching: Watcher, claim: Claim) -> Outcome:
    output = _bind(job, extend, watching, claim)
    _refuse_no_candidates(job, output)
    with _one_session(job, output) as begun:
        _ask(job, output, BOTH, watching, claim)
        _measure(job, output, output.shards(), watching, claim)
        output.tidy()  # a run that was killed after its last shard left notes, too
        return _report(job, output, watching, claim, begun)


def _prepare(job: Job, extend: bool, watching: Watcher, claim: Claim) -> str:
    output = _bind(job, extend, watching, claim, ("prepare",))
    _ask(job, output, ("prepare",), watching, claim)
    _write_run(job, output, _accounts(output))
    return output.uri


def _judge(job: Job, watching: Watcher, claim: Claim) -> str:
    output = open_bound(job)
    if unprepared := len(missing(job, output, ("prepare",))):
        raise UserError(f"{output.uri}: {unprepared} shards have no briefs: `prepare` first")
    _ask(job, output, ("judge",), watching, claim)
    _write_run(job, output, _accounts(output))
    return output.uri


def _config(given: Given, changes: Sequence[str]) -> Config:
    if isinstance(given, Config):
        return load_config(given.as_given(), changes) if changes else given
    return load_config(given, changes)


@contextmanager
def _ready(job: Job) -> Iterator[Claim]:
    """For this block the job's folder is claimed; its workers can be placed."""
    sizes = [source.gpus_per_engine for source in (job.writer, job.model) if source]
    with claimed(job.config.out) as claim, _saying_what_is_kept(job), job.executor.check(sizes):
        yield claim


@contextmanager
def _saying_what_is_kept(job: Job) -> Iterator[None]:
    """Where a run is given up or ended by a signal, a rerun resumes only what is committed."""
    output = Output(job.config.out)
    try:
        yield
    except SystemExit as end:
        if not output.is_untouched:
            end.add_note("what was committed is kept, run it again to resume")
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
    output, source = Output(job.config.out, job.config.briefs, bound.get("id", "")), job.writer
    is_cut = bound and output.listing()
    if source is None or (is_cut and not missing(job, output, stages)):
        return nullcontext()
    return job.executor.fetching(partial(job.engines.fetch, source), source.gpus_per_engine)


def _refuse_no_candidates(job: Job, output: Output) -> None:
    if not any(shard.candidates for shard in output.shards()):
        raise UserError(
            f"{job.config.corpus_name}: no document has a candidate, so there is nothing to judge "
            "(`evaljudge prepare` needs none)"
        )


def _ask(job: Job, output: Output, stages: Sequence[Stage], watcher: Watcher, claim: Claim) -> None:
    if not job.judges:
        return
    lacking, total = missing(job, output, stages), sum(s.cases for s in output.shards())
    unprepared = [shard for shard, wanted in lacking.items() if "prepare" in wanted]
    if job.references and job.writer_is and unprepared:
        watcher.entering("taking over the references given")
        put_references(job.references, job.judges, job.writer_is, output, unprepared)
    left = {s: sum(shard.cases for shard, ss in lacking.items() if s in ss) for s in stages}
    with _watching(watcher, claim, {stage: (left[stage], total) for stage in stages}) as seen:
        do_stages(job, output, stages, seen)
    if lacking:  # else the notes there are of measuring
        output.tidy()


def _measure(
    job: Job, output: Output, shards: Sequence[Shard], watcher: Watcher, claim: Claim
) -> None:
    lacking = unmeasured(job, output, shards)
    if not lacking:
        return
    total, left = (sum(shard.cases for shard in some) for some in (shards, lacking))
    with _watching(watcher, claim, {"measure": (left, total)}) as seen:
        measure(job, output, lacking, seen)
    output.tidy()


@contextmanager
def _watching(watcher: Watcher, claim: Claim, todo: Todo) -> Iterator[Watch]:
    """What the executor calls with each receipt."""

    def seen(receipt: Mapping[str, Any]) -> None:
        claim.check()
        watcher.receipt(receipt)

    watcher.starting(todo)
    try:
        yield seen
    finally:
        watcher.done()


def _report(
    job: Job, output: Output, watching: Watcher, claim: Claim, begun: bool = False,
    damaged: Mapping[Shard, Sequence[Fault]] = NOTHING,
) -> Outcome:  # fmt: skip
    """`begun`: a session of the executor is open already; `damaged`: shards to be left out."""
    claim.check()
    output.sweep()  # what a report that was killed has left half-written
    shards = output.shards()
    if job.judges:
        judged = output.committed("judge") | {shard.number for shard in damaged}
        shards = [shard for shard in shards if shard.number in judged]
        if not shards:
            raise UserError(f"{output.uri}: nothing is judged yet, so there is nothing to report")
    notes = list(_left_out(job, output, shards, damaged))
    shards = _whole(output, shards, damaged)
    _measure(job, output, shards, watching, claim)
    watching.entering("scoring and reporting")
    ratings = _further_ratings(job, output)
    scoring = fit(_scoring(job, output, shards, ratings), output, shards)
    scored, accounts = _scored(job, scoring, shards, begun), _accounts(output, damaged)
    scored.tables.probabilities = ratings.probabilities
    rated = ((row.doc_id, row.system) for row in scored.tables.rows)
    notes += [*ratings.warnings, *unmet_ratings(ratings.texts, rated)]
    findings = _findings(job, output, shards, scoring, scored, accounts, notes, damaged)
    files = [name for kind in kinds() for name in plugin(kind).files]
    write_report(output.place, findings, "report/", files)
    output.place.write("report/index.html", page(findings))
    claim.check()
    _write_run(job, output, accounts, findings, is_whole=not damaged)
    return Outcome(output.uri, findings)


def _left_out(
    job: Job, output: Output, shards: Sequence[Shard], damaged: Mapping[Shard, Sequence[Fault]]
) -> Iterator[str]:
    """What of the run is not in the report of these shards."""
    if unjudged := len(output.shards()) - len(shards):
        yield f"{unjudged} shards are not judged yet: this report is of the others"
    if damaged:
        yield left_out_warning(damaged)
    prepared = output.committed("prepare") if job.judges else {shard.number for shard in shards}
    if lost := {shard.number for shard in shards} - prepared:
        yield f"{len(lost)} shards have lost their marker of `prepare`: its cost is not counted"


def _whole(
    output: Output, shards: Sequence[Shard], damaged: Mapping[Shard, Sequence[Fault]]
) -> list[Shard]:
    """Those that are not damaged; of the others no earlier score remains."""
    for shard in damaged:
        output.forget_scores(shard)
    whole = [shard for shard in shards if shard not in damaged]
    if damaged and not whole:
        raise UserError(f"{output.uri}: {left_out_warning(damaged)}; nothing is left to report")
    return whole


def _further_ratings(job: Job, output: Output) -> FurtherRatings:
    return read_ratings(job.config.rating_files, output, [axis.name for axis in job.task.axes])


def _scoring(job: Job, output: Output, shards: Sequence[Shard], ratings: FurtherRatings) -> Scoring:
    before = accumulate((shard.candidates for shard in shards), initial=0)
    left = {shard.number: job.config.view - n for shard, n in zip(shards, before, strict=False)}
    return Scoring(
        out=job.config.out,
        briefs=job.config.briefs,
        run=output.name,
        judges=job.judges,
        collecting=job.collecting(),
        metrics=[metric.name for metric in job.metrics],
        mixes=job.mixes,
        scorers=job.scorers,
        signatures=job.judge_signatures(),
        shown={number: candidates for number, candidates in left.items() if candidates > 0},
        fitted={},
        ratings=ratings.texts,
    )


def _scored(job: Job, scoring: Scoring, shards: Sequence[Shard], begun: bool) -> Scored:
    """Few shards are scored here, where that needs no executor to be set up."""
    few_are_here = not begun and len(shards) <= MOST_SCORED_HERE
    executor = LocalExecutor(job.config.out) if few_are_here else job.executor
    scored = scoring.nothing()
    with executor.session():
        for one in executor.in_order(scoring, shards):
            scored += one
    return scored


def _findings(
    job: Job,
    output: Output,
    shards: Sequence[Shard],
    scoring: Scoring,
    scored: Scored,
    accounts: Accounts,
    notes: Sequence[str],
    damaged: Iterable[Shard],
) -> Findings:
    listing = output.listing() or {}
    warnings = [*notes, *accounts.warnings]
    if skipped := listing.get("skipped_rows"):
        warnings.append(f"{skipped} bad rows of the corpus were skipped")
    if absent := listing.get("absent_ratings"):
        warnings.append(f"{absent} ratings were no numbers: taken as absent")
    warnings += [f"corpus: {note}" for note in listing.get("unread", [])]
    warnings += job.cautions
    wanted = {scorer: job.scorers[scorer] for scorer in job.config.calibrate}
    fitted = calibrate_shards(wanted, job.config.seed, output, shards, scored.tables)
    for shard in damaged:
        scored.tables.leave_out(shard.cases, shard.candidates, DAMAGED_FILE)
    tables, rated, grid = scored.tables, scored.tables.as_rated(), scored.tables.as_grid()
    judged = {axis.name for axis in job.task.axes if job.judges}
    warnings += [f"corpus: {note}" for note in nearly_met(judged, rated.human)]
    resamples = job.config.agreement.resamples
    aims = targets(job.config.select, tables, grid, resamples, job.config.seed)
    statistics = with_statistics(rated, job.config.agreement, job.config.seed)
    found = Found(rated, tables.documents, statistics["agreement"])
    by_judge = [scored.collected[judge.name].findings(found) for judge in job.judges]
    warnings += [warning for one in by_judge for warning in one.warnings]
    warnings += scored.addressing.warnings
    warnings += too_few_permutations(rated, job.config.agreement)
    warnings += measuring_length(statistics["lengths"], statistics["agreement"])
    scale = with_people_scale(grid, job.config.select, aims)
    warnings += scale_warnings(grid, scale)
    warnings += [*fitted.warnings, *unmet(job.config.select, rated, aims)]
    warnings += out_of_reach(job.config.select, tables.columns)
    selected = select(output, shards, job.config.select, aims)
    warnings += undecided(selected)
    return Findings(
        run=job.config.out,
        task=job.task.name,
        corpus=job.config.corpus_name,
        model=str(job.model_is or "none"),
        writer=str(job.writer_is or "none"),
        cases=tables.cases,
        candidates=tables.candidates,
        rated=tables.rated,
        coverage=tables.coverage(),
        coverage_floor=job.config.coverage_floor,
        rankings=rankings(grid, tables.systems(), job.config.seed),
        selections=selected,
        signatures=job.signatures(corpus_digest(output))
        | dict(scoring.signatures)
        | fitted.signatures,
        tokens=accounts.tokens,
        warnings=warnings,
        costs=_costs(job, tables, accounts),
        judged=all_judges(by_judge),
        intervals=[one for fit in fitted.fits for one in fit.intervals],
        people_scale=scale,
        **statistics,
        labelled=list(labelled_means(grid)),
        **with_outliers(job.config, tables),
    )


def _refuse_bad_files(job: Job) -> None:
    """Read what only the report needs before anything is asked, so that mistakes show at once."""
    job.collecting()
    if job.config.outliers is not None:
        read_outliers(job.config.outliers)
    _further_ratings(job, Output(job.config.out))


def _costs(job: Job, tables: Tables, accounts: Accounts) -> list[CostRow]:
    scored = {(row.scorer, row.axis): row.scored for row in tables.coverage()}
    scores = {
        (judge.name, axis): max(scored.get((scorer, axis), 0) for scorer in judge.scorers)
        for judge in job.judges
        for axis in judge.axes
    }
    return accounts.costs(tables.cases, scores)


def _accounts(output: Output, damaged: Iterable[Shard] = ()) -> Accounts:
    but = {shard.number for shard in damaged}
    return Accounts(chain(output.receipts("prepare", but), output.receipts("judge", but)))


def _write_run(
    job: Job, output: Output, accounts: Accounts, findings: Findings | None = None, *,
    is_whole: bool = True,
) -> None:  # fmt: skip
    """Write run.json: what was bound, and what was done since."""
    bound, listing = output.run() or {}, output.listing() or {}
    is_done = findings and is_whole and not (job.judges and missing(job, output, BOTH))
    shards, engine = output.shards(), {"engine": job.engine} if job.judges else {}
    bound["fingerprint"] = job.fingerprint(listing["corpus"])
    bound |= {
        "briefs": job.config.briefs,
        "state": "done" if is_done else "begun",
        "ended": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "versions": {"evaljudge": evaljudge.__version__, **engine}
        | {name: metadata.version(name) for name in ("ray", "pyarrow", "numpy", "scipy")},
        "counts": {
            "cases": sum(shard.cases for shard in shards),
            "candidates": sum(shard.candidates for shard in shards),
            "shards": len(shards),
            "prepared": len(output.committed("prepare")),
            "judged": len(output.committed("judge")),
            **{name: listing[name] for name in ("skipped_rows", "absent_ratings")},
        },
        "asked": accounts.tokens,
        "total": accounts.total,
        "mass": accounts.mass,
        "seconds": round(bound.get("seconds", 0.0) + time.monotonic() - job.since, 1),
        "cost": accounts.cost,
    }
    if findings:
        bound |= {"coverage": findings.share, "warnings": list(findings.warnings)}
        bound |= {DERIVED: digests(output, [rule.name for rule in job.config.select])}
    output.write_run(bound)
