"""The whole journey: a configuration in, scores, agreement and selected files out.

>>> outcome = run("cases.yaml")
>>> outcome.agreement[0]
Agreement(scorer='synthetic', axis='coherence', level='sample', coefficient='spearman', …)
"""

import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeVar, cast

from evaljudge.analyses.without_outliers import read_outliers
from evaljudge.config import Config, load_config
from evaljudge.corpora import open_corpus, refuse_empty
from evaljudge.engines import Engines
from evaljudge.engines.warm import WarmEngines
from evaljudge.errors import (
    KEPT,
    NOTHING_KEPT,
    CapReached,
    ClaimLost,
    Crashed,
    Damaged,
    GivenUp,
    StorageLost,
    Unasked,
    UserError,
)
from evaljudge.execution.local import LocalExecutor
from evaljudge.execution.protocol import Event, Watch
from evaljudge.records import Candidate, Case
from evaljudge.runs import reporting
from evaljudge.runs.binding import bind_and_cut, open_bound
from evaljudge.runs.cascade import passed_on
from evaljudge.runs.job import BOTH, Job, Pass, corpus_of, make_job, required
from evaljudge.runs.outcome import Outcome
from evaljudge.runs.planning import Plan, longest_ask, make_plan
from evaljudge.runs.progress import watcher as usual_watcher
from evaljudge.runs.references import put_references
from evaljudge.runs.repair import Faulty, left_out, until_whole
from evaljudge.runs.spending import Spending
from evaljudge.runs.stages import do_pass, lacking, measure, missing, unmeasured
from evaljudge.runs.watching import Todo, Watcher
from evaljudge.settings import AnyPath
from evaljudge.storage import Claim, Output, Shard, Stage, claimed
from evaljudge.text import counted

BY_FILES = (
    "questions wait for replies of batch files: `evaljudge export {} asks --to FILE` writes them"
)
_OF_THE_TERMINAL = {
    "until": "call `prepare` or `judge`, which end there, in place of `run`",
    "full": "the Outcome has every table: `outcome.findings`, `outcome.judge_tables`",
    **dict.fromkeys(
        ("gpu", "throughput"), "an estimate that only the command `evaljudge plan` has"
    ),
}
"""Options of the commands, and what to do in their place."""
MOST_SCORED_HERE = 64
"""Shards that a report scores in this process, before it is worth starting Ray for them."""
Given = AnyPath | Mapping[str, Any] | Config
R = TypeVar("R")


def run(
    given: Given,
    changes: Sequence[str] = (),
    *,
    extend: bool = False,
    limit: int = 0,
    watcher: Watcher | None = None,
    progress: bool = True,
    engines: Engines | None = None,
    **settings: Any,
) -> Outcome:
    """Everything: briefs, verdicts, scores, report. A run that was cut short is resumed.

    `settings` take the place of those of the configuration: `run("c.yaml", seed=1, out="runs/b")`.
    `limit`: only so many documents, in a folder `…-first-N` beside `out`.

    The corpus of a mapping may be a path or in memory (a list of dicts, an Arrow table, a data
    frame). Progress is shown on stderr, unless a `watcher` is given or `progress` is False.
    """
    config = _config(given, changes, settings)
    job = make_job(limited(config, limit) if limit else config, engines)
    return run_job(job, _watcher(watcher, progress=progress), extend=extend)


def run_job(job: Job, watcher: Watcher, *, extend: bool = False) -> Outcome:
    for read in files_of_report(job).values():  # so that a mistake there shows at once
        read()

    def work(held: "ClaimedJob") -> Outcome:
        output = held.bind(BOTH, extend)
        with held.one_session(output) as begun:
            held.ask(output, BOTH)
            return held.report(output, begun=begun)

    return _done_whole(job, watcher, work)


def prepare(
    given: Given,
    changes: Sequence[str] = (),
    *,
    extend: bool = False,
    watcher: Watcher | None = None,
    progress: bool = True,
    engines: Engines | None = None,
    **settings: Any,
) -> str:
    """The briefs alone, on the writer. Gives the output folder."""
    job = make_job(_config(given, changes, settings), engines)
    return _do_until(("prepare",), job, extend, _watcher(watcher, progress=progress))


def judge(
    given: Given,
    changes: Sequence[str] = (),
    *,
    extend: bool = False,
    watcher: Watcher | None = None,
    progress: bool = True,
    engines: Engines | None = None,
    **settings: Any,
) -> str:
    """The verdicts, after the briefs that are lacking; no scores and no report."""
    job = make_job(_config(given, changes, settings), engines)
    return _do_until(BOTH, job, extend, _watcher(watcher, progress=progress))


def _do_until(stages: Sequence[Stage], job: Job, extend: bool, watcher: Watcher) -> str:
    def work(held: "ClaimedJob") -> str:
        output = held.bind(stages, extend)
        held.ask(output, stages)
        reporting.write_run(held.job, output, reporting.accounts_of(held.job, output))
        return output.uri

    return _done_whole(job, watcher, work)


def make_report(
    given: Given | Outcome,
    changes: Sequence[str] = (),
    *,
    watcher: Watcher | None = None,
    progress: bool = True,
    engines: Engines | None = None,
    **settings: Any,
) -> Outcome:
    """The driver's part alone: scores, agreement and selections from the verdicts there are. An
    Outcome or a run's folder will do: `make_report("runs/first", ratings=["sheet.csv"])`."""
    config = _config(given, changes, settings)
    job = make_job(config, engines, (Output(config.out).run() or {}).get("fingerprint", {}))
    output = open_bound(job)
    with _watcher(watcher, progress=progress) as watching, claimed(config.out) as claim:
        held = ClaimedJob(job, watching, claim)
        try:
            made = held.report(output)
        except Damaged as error:
            made = held.report(output, damaged=left_out(output, error, watching.warning))
    if isinstance(given, Outcome):  # its folder may be a temporary one, which goes with it
        weakref.finalize(made, id, given)
    return made


def plan(
    given: Given, changes: Sequence[str] = (), *, engines: Engines | None = None, **settings: Any
) -> Plan:
    """What a run would ask; no model is loaded and nothing is written but a corpus in memory."""
    job = make_job(_config(given, changes, settings), engines)
    planned = make_plan(job)
    planned.warnings = [*job.cautions, *planned.warnings]
    return planned


def files_of_report(job: Job) -> Mapping[str, Callable[[], object]]:
    """What reads each file that only the report needs, by how it is called."""
    outliers, output = job.config.outliers, Output(job.config.out)
    files_of: dict[str, Callable[[], object]] = {"files of judges": job.collecting}
    if outliers is not None:
        files_of["outliers"] = partial(read_outliers, outliers)
    return files_of | {"ratings": partial(reporting.further_ratings, job, output)}


def _watcher(watcher: Watcher | None, *, progress: bool) -> Watcher:
    return watcher or (usual_watcher() if progress else Watcher())


def limited(config: Config, limit: int) -> Config:
    """The configuration for the first documents that have a text; its briefs are its own, too."""
    if limit < 1:
        raise UserError(f"limit: should be 1 or more, not {limit}")
    with open_corpus(corpus_of(config), config.bad_rows) as corpus:
        refuse_empty(corpus, config.corpus_name, "judge")
        cases = list(islice((case for case in corpus if case.candidates), limit))
    if not cases:
        raise UserError(
            f"{config.corpus_name}: no document has a text, so there is nothing to judge"
        )
    out = f"{config.out.rstrip('/')}-first-{limit}"
    its_own = {"corpus": [_row(case) for case in cases], "out": out, "briefs": None}
    return load_config(config.as_given() | its_own)


def _row(case: Case) -> dict[str, Any]:
    def rated(text: Candidate) -> dict[str, Any]:
        each = {axis: [n if n == n else None for n in of] for axis, of in text.raters.items()}
        return {**text.ratings, **each}  # a rater's absent rating is NaN

    candidates = [
        {"system": text.system, "text": text.text, "ratings": rated(text)}
        for text in case.candidates
    ]
    return asdict(case.document) | {"candidates": candidates}


def _config(given: Given, changes: Sequence[str], settings: Mapping[str, Any]) -> Config:
    for name, way in _OF_THE_TERMINAL.items():
        if name in settings:
            raise UserError(f"{name}: {way}")
    if isinstance(given, Config):
        if not (changes or settings):
            return given
        given = given.as_given()
    return load_config(given, changes, **settings)


def _done_whole(job: Job, watcher: Watcher, work: "Callable[[ClaimedJob], R]") -> R:
    """Claims the job's folder, once its workers can be placed, and does the work there."""
    sizes = [source.gpus_per_engine for source in job.sources]
    with (
        watcher as watching,
        claimed(job.config.out) as claim,
        _saying_what_is_kept(job),
        job.executor.check(sizes),
    ):
        held = ClaimedJob(job, watching, claim)
        return until_whole(held.job, partial(work, held), watching.warning)


@contextmanager
def _saying_what_is_kept(job: Job) -> Iterator[None]:
    output = Output(job.config.out)
    try:
        yield
    except SystemExit as end:
        end.add_note(NOTHING_KEPT if output.is_untouched else KEPT)
        raise
    except (StorageLost, ClaimLost, Crashed, CapReached):  # with advice of their own
        raise
    except GivenUp as error:
        if output.is_untouched:
            raise
        raise GivenUp(f"{error}; what was committed is kept, and a rerun resumes") from error


@dataclass(frozen=True)
class ClaimedJob:
    job: Job
    watcher: Watcher
    claim: Claim
    measured: set[int] = field(default_factory=set)
    """The shards whose metrics are all committed with their verdicts, as far as it was heard."""

    def bind(self, stages: Sequence[Stage], extend: bool) -> Output:
        job = self.job
        if extend and job.config.cascade:
            raise UserError("--extend: a cascade draws from all texts at once: take another `out`")
        self.watcher.entering(f"reading {job.config.corpus_name}")
        with self._fetching(stages):
            output = bind_and_cut(job, self.claim, extend=extend)
        judged = [] if job.config.ratings else [axis.name for axis in job.task.axes if job.judges]
        for note in reporting.corpus_notes(output, judged):
            self.watcher.warning(note)
        if "judge" in stages and not any(shard.candidates for shard in output.shards()):
            raise UserError(
                f"{job.config.corpus_name}: no document has a text, so there is nothing to "
                "judge (`evaljudge run --until prepare` needs none)"
            )
        return output

    def _fetching(self, stages: Sequence[Stage]) -> AbstractContextManager[None]:
        """Meanwhile the model that is asked first is fetched, if there is anything to ask."""
        job = self.job
        output = Output(job.config.out, job.config.briefs)
        is_cut = output.name and output.listing()
        left = (p for p in job.passes if not is_cut or lacking(p, output, stages))
        if (first := next(left, None)) is None:
            return nullcontext()
        fetch, size = partial(job.engines.fetch, first.source), first.source.gpus_per_engine
        return job.executor.fetching(fetch, size)

    @contextmanager
    def one_session(self, output: Output) -> Iterator[bool]:
        """One session of the executor for all that is left to do; gives whether any was begun."""
        asks = self.job.judges and missing(self.job, output, BOTH)
        is_needed = bool(asks or unmeasured(self.job, output, output.shards()))
        with self.job.executor.session() if is_needed else nullcontext():
            yield is_needed

    def ask(self, output: Output, stages: Sequence[Stage]) -> None:
        if not self.job.judges:
            return
        job, total = self.job, sum(shard.cases for shard in output.shards())
        left, n = dict.fromkeys(stages, 0), dict.fromkeys(stages, 0)
        passes = [(part, lacking(part, output, stages)) for part in self.job.passes]
        for part, todo in passes:
            self.take_references(part, output, todo)
            for stage in (stage for stage in part.stages if stage in n):
                n[stage] += total
                left[stage] += sum(shard.cases for shard, wanted in todo.items() if stage in wanted)
        is_capped = job.config.most and any(left.values())
        spending = Spending(job, output, self.claim) if is_capped else None
        budget = spending.budget if spending else None
        try:
            with self._watching({s: (left[s], n[s]) for s in stages}, spending) as watch:
                for part, todo in passes:
                    longest = longest_ask(part, output, todo) if todo else 0
                    if todo and "judge" in stages and part.is_asked_in_doubt:
                        self._ask_in_doubt(part, output, todo, watch, longest)
                    elif todo:
                        do_pass(part, output, todo, watch, longest, budget)
        except Unasked:
            raise UserError(f"{output.uri}: {BY_FILES.format(output.uri)}") from None
        if "judge" in stages:
            output.forget_saved()

    def _ask_in_doubt(
        self,
        part: Pass,
        output: Output,
        todo: Mapping[Shard, list[Stage]],
        watch: Watch,
        longest: int,
    ) -> None:
        """The second judge of a cascade: about the drawn texts first, in a run of their own, with
        an engine that stays open; on Ray each run has workers of its own."""
        kept = replace(part.source, longest=longest)
        with WarmEngines(part.job.engines, kept) as warm:
            job = replace(self.job, engines=cast(Engines, warm))
            some = passed_on(job, output, lambda *of_drawn: run_job(make_job(*of_drawn), Watcher()))
            warm.begin_run()
            part = replace(part, job=replace(part.job, engines=job.engines))
            do_pass(part, output, todo, watch, longest, passed_on=some)

    def take_references(
        self, part: Pass, output: Output, todo: Mapping[Shard, Sequence[Stage]]
    ) -> None:
        unprepared = [shard for shard, wanted in todo.items() if "prepare" in wanted]
        if part.job.references and unprepared:
            self.watcher.entering("taking over the references given")
            given, judges = part.job.references, part.job.judges
            writer, mine = required(part.job.writer).identity, output.of(part.job.panel)
            put_references(given, judges, writer, mine, unprepared)

    def measure(self, output: Output, shards: Sequence[Shard]) -> None:
        rest = [shard for shard in shards if shard.number not in self.measured]
        if todo := unmeasured(self.job, output, rest):
            total, left = (sum(shard.cases for shard in some) for some in (shards, todo))
            with self._watching({"measure": (left, total)}) as watch:
                measure(self.job, output, todo, watch)

    @contextmanager
    def _watching(self, todo: Todo, spending: Spending | None = None) -> Iterator[Watch]:
        def watch(event: Event) -> None:
            if event.kind == "measured":
                if event.n == len(self.job.metrics):
                    self.measured.add(event.shard)
                return
            if event.kind == "died":
                self.watcher.worker_died(event)
                return
            if event.kind == "committed":
                self.claim.check()
            self.watcher.event(event)

        self.watcher.price = self.job.price
        self.watcher.starting(todo)
        try:
            with spending.noted() if spending else nullcontext():
                yield watch
        finally:
            self.watcher.done()

    def report(
        self, output: Output, *, begun: bool = False, damaged: Faulty = MappingProxyType({})
    ) -> Outcome:
        """`begun`: a session of the executor is open already; `damaged`: shards to be left out."""
        job = self.job
        self.claim.check()
        output.sweep()  # what a report that was killed has left half-written
        output.reread()
        shards, notes = reporting.shards_to_report(job, output, damaged)
        self.measure(output, shards)
        texts = counted(sum(shard.candidates for shard in shards), "text", "texts")
        self.watcher.entering(f"scoring and reporting {texts}")
        few_are_here = not begun and len(shards) <= MOST_SCORED_HERE
        executor = LocalExecutor(job.config.out) if few_are_here else job.executor
        with executor.session():
            given = output, shards, notes, damaged, executor
            findings, accounts, shown = reporting.findings_of(job, *given)
        reporting.write_files(job, output, shown, findings)
        self.claim.check()
        reporting.write_run(job, output, accounts, findings, is_whole=not damaged)
        return Outcome(output.uri, findings)
