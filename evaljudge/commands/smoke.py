"""`evaljudge smoke`: one document of the corpus end to end, with the time of each step.

    configuration           0.1 s  model nano@8c3a…, 1 judge, 2 metrics
    corpus                  0.0 s  36 documents, 216 texts; tried with 'd0', 6 texts
    storage                 0.0 s  a file was written, read and deleted beside runs/first
    executor                3.2 s  Ray
    worker                  2.1 s  on node-3
    model files             0.0 s
    model                  11.8 s  loaded
    first ask               0.4 s
    …

The run is the pipeline's own, on a corpus of one document, in a folder beside `out`. What a watcher
cannot see from the driver is noted in that folder by the worker: its engines are wrapped
(`SmokeEngines`), and the driver looks for their notes while it waits.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from typing import Any

from evaljudge.config import Config, CorpusConfig, load_config
from evaljudge.corpora import open_corpus, refuse_empty
from evaljudge.engines import Engine, Engines, Identity, LowMass, ModelSource
from evaljudge.errors import GivenUp, UserError
from evaljudge.execution import executor_name
from evaljudge.execution.protocol import Event
from evaljudge.metrics import CorpusMetric
from evaljudge.model import ModelAround
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Weighed, Writing, Written
from evaljudge.model.imagining import Gauge
from evaljudge.records import Case
from evaljudge.report import unscored_text
from evaljudge.runs.job import Job, make_job
from evaljudge.runs.outcome import DONE, UNDER_FLOOR, Outcome
from evaljudge.runs.pipeline import run
from evaljudge.runs.references import given_references
from evaljudge.runs.watching import Todo, Watcher
from evaljudge.storage import Output, Place
from evaljudge.text import counted, one_line

PROBE, CASES, NOTES = "probe", "cases.jsonl", "notes"
VERDICTS = "verdicts"
OPENING = {
    "worker": "placed",
    "model files": "fetched",
    "model": "loaded",
    "first ask": "asked",
}
"""The steps that a worker notes, and the names of its notes."""
EVERY = 0.2
"""Seconds between two looks for notes."""
ESTIMATE = (
    "An estimate of the whole run: {time} {workers}, for {documents:,} documents with {texts:,} "
    "texts, at the pace of this one document{money}. A run asks about up to 64 documents at once, "
    "which usually takes much less. Metrics and the report are not in it."
)
LEARNING = (
    "           a metric that learns from the corpus (importance) may find nothing in one document"
)
Show = Callable[[str], None]


def smoke(
    given: str | Mapping[str, Any], changes: Sequence[str] = (), *, keep: bool = False,
    engines: Engines | None = None, show: Show = print,
) -> int:  # fmt: skip
    """Try everything that a run does, with one document; gives the exit code."""
    steps = _Steps(show)
    with steps.failing():
        steps.begin("configuration")
        config = load_config(given, changes)
        job = make_job(config, engines)
        steps.end(_about(job))
        steps.begin("corpus")
        one = _one_case(job)
        steps.end(
            f"{counted(one.documents, 'document', 'documents')}, {one.texts:,} texts; tried with "
            f"{one_line(one.case.document.doc_id)!r}, {len(one.case.candidates)} texts"
        )
        with _beside(config.out, keep, show) as place:
            steps.begin("storage")
            _try_storage(place)
            steps.end(f"a file was written, read and deleted beside {config.out}")
            outcome, seconds = _run_one(job, one, place, steps)
    return _said(job, one, outcome, seconds, show)


@dataclass(frozen=True, slots=True)
class OneCase:
    """The case that is tried, and how many documents and texts the corpus has in all."""

    case: Case
    documents: int
    texts: int


def _about(job: Job) -> str:
    models = dict.fromkeys(str(panel.model_is) for panel in job.panels)
    model = f"model {', '.join(models)}, " if models else ""
    judges = counted(len(job.judges), "judge", "judges")
    return f"{model}{judges}, {counted(len(job.metrics), 'metric', 'metrics')}"


def _one_case(job: Job) -> OneCase:
    """The first case with a text; where references are given, with some of its own."""
    with open_corpus(job.corpus, job.config.bad_rows) as corpus:
        refuse_empty(corpus, job.config.corpus_name, "judge")
        with given_references(job.references, job.judges) as given:
            for case in corpus:
                if case.candidates and (not job.references or given.has_any(case.document)):
                    return OneCase(case, corpus.cases, corpus.candidates)
    having = "a candidate and references" if job.references else "a candidate"
    raise UserError(f"{job.config.corpus_name}: no document has {having}, so none can be tried")


@contextmanager
def _beside(out: str, keep: bool, show: Show) -> Iterator[Place]:
    """A folder beside `out`, removed with all that is in it."""
    parent, _, name = out.rstrip("/").rpartition("/")
    folder = f"{name}-smoke-{uuid.uuid4().hex[:8]}"
    around = Place(parent or ".")
    try:
        yield Place(around.at(folder))
    except SystemExit as end:
        vars(end).pop("__notes__", None)  # that a rerun would resume it
        raise
    finally:
        if keep:
            show(f"kept: {around.at(folder)}")
        else:
            around.remove_folder(folder)


def _try_storage(place: Place) -> None:
    text = uuid.uuid4().bytes
    place.write(PROBE, text)
    if place.read(PROBE) != text:
        raise GivenUp(f"{place.at(PROBE)}: what was read is not what was written: do not use it")
    place.remove(PROBE)


def _run_one(
    job: Job, one: OneCase, place: Place, steps: _Steps
) -> tuple[Outcome, Mapping[str, float]]:
    """The pipeline's own run of this case; of each step, how many seconds it took."""
    config, document = job.config, asdict(one.case.document)
    candidates = [{"system": c.system, "text": c.text} for c in one.case.candidates]
    place.write(CASES, json.dumps(document | {"candidates": candidates}))
    single = {"executor": executor_name(config.workers), "min": 1, "max": 1}
    changed = {
        "corpus": CorpusConfig(path=place.at(CASES)),
        "out": place.at("run"),
        "briefs": None,
        "workers": config.workers.model_copy(update=single),
    }
    sources = tuple(job.sources)
    engines = SmokeEngines(job.engines, sources, place.at(NOTES))
    watcher = SmokeWatcher(steps, config, place, _roles(job))
    steps.begin("executor")
    with job.executor.check([source.gpus_per_engine for source in sources]):
        outcome = run(config.model_copy(update=changed), watcher=watcher, engines=engines)
    steps.end("")
    return outcome, steps.seconds


def _roles(job: Job) -> list[str]:
    """What each model is for: writing, or judging; of several that judge, for which judges."""
    several = len(job.panels) > 1
    return [
        "writer" if "judge" not in one.stages
        else ", ".join(judge.name for judge in one.job.judges) if several else "judge"
        for one in job.passes
    ]  # fmt: skip


def _said(
    job: Job, one: OneCase, outcome: Outcome, seconds: Mapping[str, float], show: Show
) -> int:
    findings = outcome.findings
    scored = sum(row.scored for row in findings.coverage)
    show(f"{scored:,} of {findings.expected:,} scores")
    if text := unscored_text(findings):
        show(text.rstrip("\n"))
        if any(isinstance(metric, CorpusMetric) for metric in job.metrics):
            show(LEARNING)
    if not scored and findings.expected:
        show("Nothing was scored: this configuration does not work for this document.")
        return UNDER_FLOOR
    show("This configuration works.")
    if job.judges:
        show(_estimate(job, one, seconds))
    return DONE


def _estimate(job: Job, one: OneCase, seconds: Mapping[str, float]) -> str:
    verdicts = sum(s for name, s in seconds.items() if name.startswith(VERDICTS))
    asking = one.documents * seconds["briefs"] + one.texts * verdicts / len(one.case.candidates)
    most, loading = job.config.workers.max, sum(seconds.get(name, 0) for name in OPENING)
    gpus = job.config.workers.gpus
    sizes = [source.gpus_per_engine for source in job.sources]
    each = max(sizes) if gpus == "auto" else gpus
    money = job.price.money(job.price.of(asking, asking * each)) if job.price else ""
    return ESTIMATE.format(
        time=_duration(loading + asking / most),
        workers=f"on {counted(most, 'worker', 'workers')}",
        documents=one.documents,
        texts=one.texts,
        money=f" ({money})" if money else "",
    )


def _duration(seconds: float) -> str:
    """`40 seconds`, `12 minutes`, `3.5 hours`."""
    if seconds < 90:
        return counted(max(1, round(seconds)), "second", "seconds")
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:,.1f} hours"


class _Steps:
    """Prints each step when it is done; knows which one is being done."""

    def __init__(self, show: Show) -> None:
        self._show, self.now, self._since = show, "", 0.0
        self.seconds = dict[str, float]()

    def begin(self, name: str) -> None:
        self.now, self._since = name, time.monotonic()

    def end(self, about: str) -> None:
        self.done(self.now, self.so_far, about)

    @property
    def so_far(self) -> float:
        return time.monotonic() - self._since

    def done(self, name: str, seconds: float, about: str = "") -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + seconds
        self._show(f"{name:<24}{seconds:>8.1f} s  {about}".rstrip())

    @contextmanager
    def failing(self) -> Iterator[None]:
        try:
            yield
        except (UserError, GivenUp, OSError) as error:
            self._show(f"{self.now:<24}  failed")
            is_given_up = isinstance(error, GivenUp)
            cause = error.__cause__  # without the advice to resume: nothing is kept here
            said = cause if is_given_up and isinstance(cause, GivenUp) else error
            kind = GivenUp if is_given_up else UserError
            raise kind(f"smoke: the step `{self.now}` failed: {said}") from error


class SmokeWatcher(Watcher):
    """Says which steps of the run are done, by its phases, its markers and the worker's notes."""

    def __init__(self, steps: _Steps, config: Config, place: Place, roles: Sequence[str]) -> None:
        self._steps, self._notes = steps, Place(place.at(NOTES))
        self._output = Output(place.at("run"))
        self._executor = executor_name(config.workers)
        self._openings = [
            (f"{number}-{note}.json", step, f" ({role})" if len(roles) > 1 else "")
            for number, role in enumerate(roles)
            for step, note in OPENING.items()
        ]
        self._seen, self._looking = set[str](), threading.Lock()
        self._over = threading.Event()

    def __exit__(self, *_: object) -> None:
        """Where the run failed, its last notes say at which step."""
        self._over.set()
        self._look_if_possible()

    def starting(self, todo: Todo) -> None:
        if self._steps.now == "executor":
            where = "this process" if self._executor == "local" else "Ray"
            address = os.environ.get("RAY_ADDRESS")
            self._steps.end(f"{where} at {address}" if address else where)
        if "measure" in todo:
            self._steps.begin("metrics")
            return
        self._steps.begin("worker")
        threading.Thread(target=self._look_again, name="smoke", daemon=True).start()

    def event(self, event: Event) -> None:
        if event.kind == "committed":
            self._look()
            if event.stage == "measure":
                self._steps.end("")

    def done(self) -> None:
        self._over.set()

    def entering(self, phase: str) -> None:
        if phase.startswith("scoring"):
            self._steps.begin("report")

    def _look_again(self) -> None:
        while not self._over.wait(EVERY):
            self._look_if_possible()

    def _look_if_possible(self) -> None:
        with suppress(UserError, GivenUp, OSError):  # the run itself meets it too
            self._look()

    def _look(self) -> None:
        with self._looking:
            there = set(self._notes.names(""))
            for name, step, role in self._openings:
                if name in there - self._seen:
                    self._seen.add(name)
                    note = json.loads(self._notes.read(name))
                    if step == "worker":
                        note["seconds"] = self._steps.so_far
                    self._steps.done(step, note["seconds"], f"{note['about']}{role}")
                    self._steps.begin(self._next())
            for stage in ("prepare", "judge"):
                for number, receipt in enumerate(self._output.receipts(stage)):
                    if (name := f"{stage} {number}") not in self._seen:
                        self._seen |= {stage, name}
                        self._committed(receipt)
                        self._steps.begin(self._next())

    def _next(self) -> str:
        """What is waited for; a judge without briefs asks nothing before its verdicts."""
        left = [step for name, step, _ in self._openings if name not in self._seen]
        asked = not left or left[0] == "worker"
        if asked and "prepare" not in self._seen:
            return "briefs"
        return left[0] if left else VERDICTS

    def _committed(self, receipt: Mapping[str, Any]) -> None:
        asks = {judge: of["tokens"]["asks"] for judge, of in receipt["asked"].items()}
        if receipt["stage"] == "prepare":
            self._steps.done("briefs", receipt["seconds"], _asks(sum(asks.values())))
            return
        for judge, of in receipt["asked"].items():
            self._steps.done(f"{VERDICTS} of {judge}", of["seconds"], _asks(asks[judge]))


def _asks(number: int) -> str:
    return counted(number, "ask", "asks")


@dataclass(frozen=True)
class SmokeEngines:
    """Engines that note when a worker is there, has the model's files, and has loaded it."""

    inner: Engines
    sources: tuple[ModelSource, ...]
    notes: str

    @property
    def version(self) -> str:
        return self.inner.version

    def identify(self, source: ModelSource) -> Identity:
        return self.inner.identify(source)

    def find_encoder(self, encoder: str) -> None:
        self.inner.find_encoder(encoder)

    def gauge(self, source: ModelSource) -> Gauge:
        return self.inner.gauge(source)

    def context(self, source: ModelSource) -> int | None:
        return self.inner.context(source)

    def caution(self, source: ModelSource) -> str | None:
        return self.inner.caution(source)

    def lacking(self, source: ModelSource) -> str:
        return self.inner.lacking(source)

    def fetch(self, source: ModelSource) -> None:
        """Not ahead of the worker, which is timed."""

    def open(self, source: ModelSource, seed: int) -> Engine:
        note = _Note(Place(self.notes), self.sources.index(source))
        note("placed", about=f"on {os.uname().nodename}")
        since = time.monotonic()
        self.inner.fetch(source)
        note("fetched", time.monotonic() - since)
        since = time.monotonic()
        engine = self.inner.open(source, seed)
        note("loaded", time.monotonic() - since, source.source)
        return SmokeEngine(engine, note)


@dataclass(frozen=True, slots=True)
class _Note:
    place: Place
    number: int

    def __call__(self, name: str, seconds: float = 0.0, about: str = "") -> None:
        content = {"seconds": seconds, "about": about}
        self.place.write(f"{self.number}-{name}.json", json.dumps(content))


class SmokeEngine(ModelAround):
    """Notes how long its first ask took."""

    def __init__(self, engine: Engine, note: _Note) -> None:
        super().__init__(engine)
        self._engine, self._note, self._is_first = engine, note, True

    @property
    def cache_block(self) -> int | None:
        return self._engine.cache_block

    def prepare(self, options: Options) -> None:
        self._engine.prepare(options)

    def prepare_encoder(self, encoder: str) -> None:
        self._engine.prepare_encoder(encoder)

    async def low_mass(self, prompt: Prompt, options: Options, least: float) -> LowMass | None:
        return await self._engine.low_mass(prompt, options, least)

    def close(self) -> None:
        self._engine.close()

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        with self._timed():
            return await super().write(prompts, how)

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        with self._timed():
            return await super().choose(prompts, options, samples)

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        with self._timed():
            return await super().weigh(prompts, texts)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        is_first, self._is_first, since = self._is_first, False, time.monotonic()
        yield
        if is_first:
            self._note("asked", time.monotonic() - since)
