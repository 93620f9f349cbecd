"""`evaljudge check CONFIG`: all that can be known of a run before an engine is loaded.

ok       configuration  config.yaml: every key is known, and every value has the right form
error    corpus         cases.jsonl:4: no `doc_id`
warning  model          Qwen/Qwen3-8B: all its files are not on this machine: the run fetches them

It calls what a run calls: a run refuses what is an error here, in the same words. It loads no
weights, downloads none, and leaves nothing in `out`. After an error it goes on with what it can.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from heapq import nlargest
from itertools import chain, islice
from operator import attrgetter
from pathlib import Path
from typing import Literal

from evaljudge.agreement.rated import nearly_met
from evaljudge.config import Config, ModelConfig, load_config
from evaljudge.corpora import Corpus, notes_on, open_corpus, refuse_empty
from evaljudge.engines import (
    Engine,
    Engines,
    Identity,
    KnownFacts,
    ModelFacts,
    ModelSource,
    VllmEngines,
)
from evaljudge.engines.opening import encoder_source
from evaljudge.errors import GivenUp, SeveralMistakes, UserError
from evaljudge.execution import executor_name
from evaljudge.model.asks import Options, Prompt, Spent
from evaljudge.model.imagining import Gauge
from evaljudge.reasons import grouped
from evaljudge.records import Case
from evaljudge.runs.binding import as_begun, differs_from_run, refuse_lone_texts, refuse_other_run
from evaljudge.runs.job import Job, assemble_job, corpus_of, encoders_of
from evaljudge.runs.pipeline import files_of_report
from evaljudge.runs.planning import LONGEST_CASES, plan_afresh
from evaljudge.runs.references import check_references
from evaljudge.storage import Output, Place, holder
from evaljudge.studies.study import study_runs
from evaljudge.text import LONG, counted, one_line

Level = Literal["ok", "warning", "error"]
MISTAKEN = 2
NOT_HERE = "not on this machine: {}; a run fetches them first"


@dataclass(frozen=True)
class CheckLine:
    level: Level
    topic: str
    said: str

    def __str__(self) -> str:
        return f"{self.level:7}  {self.topic:13}  {one_line(self.said, LONG)}"


@dataclass
class Checklist:
    """What was found, in the order in which it was looked at."""

    lines: list[CheckLine] = field(default_factory=list)

    def add(self, level: Level, topic: str, said: str) -> None:
        line = CheckLine(level, topic, said)
        if line not in self.lines:  # the runs of a study have much in common
            self.lines.append(line)

    @contextmanager
    def looking_at(self, topic: str) -> Iterator[None]:
        """What is refused in this block is an error; the code after the block runs all the same."""
        try:
            yield
        except SeveralMistakes as error:
            for mistake in error.mistakes:
                self.add("error", topic, f"{error.place}{mistake}")
        except (UserError, GivenUp, OSError) as error:
            self.add("error", topic, str(error))

    def number_of(self, level: Level) -> int:
        return sum(line.level == level for line in self.lines)

    @property
    def exit_code(self) -> int:
        return MISTAKEN if self.number_of("error") else 0

    @property
    def text(self) -> str:
        errors = counted(self.number_of("error"), "error", "errors")
        warnings = counted(self.number_of("warning"), "warning", "warnings")
        return "".join(f"{line}\n" for line in self.lines) + f"{errors}, {warnings}\n"

    @property
    def json(self) -> str:
        return json.dumps([asdict(one) for one in self.lines], indent=1, ensure_ascii=False) + "\n"


def is_configuration(name: str) -> bool:
    """Whether `evaljudge check` is given a configuration and not a run's folder: by the name's
    ending, or because a file lies there."""
    return name.endswith((".yaml", ".yml")) or os.path.isfile(name)


def check_config(
    file: str | Path, changes: Sequence[str] = (), engines: Engines | None = None
) -> Checklist:
    found = Checklist()
    with found.looking_at("configuration"):
        config = load_config(file, changes)
        said = f"{file}: every key is known, and every value has the right form"
        found.add("ok", "configuration", said)
        _Check(config, found, engines or VllmEngines()).do_all()
    return found


class _Check:
    def __init__(self, config: Config, found: Checklist, engines: Engines) -> None:
        self._config, self._found = config, found
        self._engines = _EnginesLookedAt(engines, found)

    def do_all(self) -> None:
        found, runs = self._found, [self._config]
        if self._config.study is not None:
            with found.looking_at("study"):
                runs = [one.config for one in study_runs(self._config)]
                found.add("ok", "study", f"{counted(len(runs), 'run', 'runs')}")
        jobs = [job for job in map(self._job, runs) if job]
        if not jobs:
            self._models_alone()
        for job in jobs:
            self._encoders(job)
            self._files(job)
            self._workers(job)
        if self._config.briefs is not None:
            with found.looking_at("briefs"):
                Place(self._config.briefs).refuse_unwritable()
        sound = [out for out in dict.fromkeys(one.out for one in runs) if self._is_sound(out)]
        with found.looking_at("corpus"), open_corpus(corpus_of(self._config), "skip") as corpus:
            self._corpus(corpus, jobs)
            with found.looking_at("prompts"):
                self._prompts(_some_cases(corpus), jobs)
            for job in (job for job in jobs if job.config.out in sound):
                with found.looking_at("out"):
                    self._bound(as_begun(job), corpus)

    def _job(self, config: Config) -> Job | None:
        """Its task, judges, metrics, selections and models; None where they have a mistake."""
        if config.study is not None:
            return None
        with self._found.looking_at("settings"):
            job = assemble_job(config, self._engines)
            axes = ", ".join(axis.name for axis in job.task.axes)
            self._found.add("ok", "task", f"{job.task.name}, with {axes}")
            names = ", ".join([*(j.name for j in job.judges), *(m.name for m in job.metrics)])
            self._found.add("ok", "scorers", f"{names}: their settings fit together")
            for selection in config.select:
                said = f"{selection.name}: its scorers and axes exist"
                self._found.add("ok", "select", said)
            of_models = (model.caution for model in config.models if model.caution)
            for caution in (*of_models, *job.cautions):
                self._found.add("warning", "settings", caution)
            return job
        return None

    def _models_alone(self) -> None:
        """The models of a configuration whose other settings have mistakes."""
        study, config = self._config.study, self._config
        own = config.model, config.writer
        pairs = study.pairs_of(*own) if study else [own]
        given = [*chain(*pairs), *map(config.model_of, config.judges)]
        for place, model in enumerate(given):
            if isinstance(model, ModelConfig) and model not in given[:place]:
                self._engines.describe(model.as_source())

    def _encoders(self, job: Job) -> None:
        for look in encoders_of(job):
            with self._found.looking_at("encoders"):
                look()

    def _files(self, job: Job) -> None:
        for name, read in files_of_report(job).items():
            with self._found.looking_at(name):
                read()

    def _workers(self, job: Job) -> None:
        """On Ray: whether it answers, and has what each engine needs."""
        name = executor_name(job.config.workers)
        sizes = [source.gpus_per_engine for source in job.sources]
        with self._found.looking_at("workers"), job.executor.check(sizes):
            kind = "in this process" if name == "local" else "on Ray"
            self._found.add("ok", "workers", f"{name}: the work is done {kind}")

    def _corpus(self, corpus: Corpus, jobs: Sequence[Job]) -> None:
        found, config = self._found, self._config
        bad: Level = "error" if config.bad_rows == "fail" else "warning"
        for problem in corpus.skipped:
            found.add(bad, "corpus", problem)
        rows = counted(corpus.skipped_rows, "bad row", "bad rows")
        if corpus.skipped_rows and bad == "error":
            them = "it" if corpus.skipped_rows == 1 else "them"
            found.add(bad, "corpus", f"{rows}: correct {them}, or set `bad_rows: skip`")
        refuse_empty(corpus, config.corpus_name, "judge")
        rated = corpus.rated_on()
        by_people = ", ".join(f"{axis} {n:,}" for axis, n in rated.items()) or "nothing"
        documents = counted(corpus.cases, "document", "documents")
        said = f"{documents}, {counted(corpus.candidates, 'text', 'texts')}"
        read = f"{config.corpus_name}: all rows read: {said}; people rated {by_people}"
        found.add("ok", "corpus", read)
        judged = [axis.name for job in jobs[:1] for axis in job.task.axes if job.judges]
        skipped = corpus.skipped_rows if bad == "warning" else 0
        notes = [*corpus.unread, *nearly_met(judged, rated)]
        for note in [*notes_on(skipped, corpus.absent_ratings), *notes]:
            found.add("warning", "corpus", note)
        if not corpus.candidates:
            raise UserError(f"{config.corpus_name}: no document has a candidate to judge")
        for job in jobs:
            refuse_lone_texts(corpus, job)
            if job.references:
                check_references(job.references, job.judges, (case.document for case in corpus))

    def _prompts(self, cases: Sequence[Case], jobs: Sequence[Job]) -> None:
        """Render the prompts of some cases; their tokens are counted if the tokenizer is here."""
        for job in (job for job in jobs if job.judges and cases):
            self._engines.longest = 0
            plan = plan_afresh(job, cases)
            for name, reasons in plan.unscored.items():
                for group in grouped(reasons):
                    self._found.add("warning", "prompts", f"{name}: {group}")
            said = f"those of {counted(len(cases), 'document', 'documents')} (the first, and those "
            said += "with the longest texts) can be made"
            if longest := self._engines.longest:
                rooms = (job.engines.describe(source).context for source in job.sources)
                room = min((room for room in rooms if room), default=None)
                said += f"; the longest has {longest:,} tokens" + (f" of {room:,}" if room else "")
            self._found.add("ok", "prompts", said)

    def _bound(self, job: Job, corpus: Corpus) -> None:
        output = Output(job.config.out, job.config.briefs)
        differs = differs_from_run(job, output, corpus.digest)
        if differs is None:
            return
        refuse_other_run(output, differs)
        done, shards = len(output.committed("judge")), len(output.shards())
        said = f"{output.uri}: this run was begun; {done} of {shards} shards are judged"
        self._found.add("ok", "out", said)

    def _is_sound(self, out: str) -> bool:
        with self._found.looking_at("out"):
            if at_work := holder(out):
                self._found.add("warning", "out", f"{out}: another job works there now: {at_work}")
                return True
            Place(out).refuse_unwritable()
            self._found.add("ok", "out", f"{out}: can be written to")
            return True
        return False


def _some_cases(corpus: Corpus) -> list[Case]:
    """The first case and those with the longest texts, each once."""
    longest = nlargest(LONGEST_CASES, corpus, key=attrgetter("size"))
    cases = {case.document.doc_id: case for case in (*islice(corpus, 1), *longest)}
    return list(cases.values())


class _EnginesLookedAt:
    """A run's engines: a model that cannot be had is noted, and the check goes on without it."""

    def __init__(self, engines: Engines, found: Checklist) -> None:
        self._engines, self._found = engines, found
        self._facts: dict[str, ModelFacts] = {}
        self._absent = set[str]()
        """The models that cannot be had, or whose files are not all on this machine."""
        self.longest = 0
        """Tokens of the longest prompt that was counted."""

    @property
    def version(self) -> str:
        with self._found.looking_at("engine"):
            return self._engines.version
        return ""

    def describe(self, source: ModelSource) -> ModelFacts:
        if (key := repr(source)) not in self._facts:
            self._facts[key] = self._looked_at(source)
        return self._facts[key]

    def _looked_at(self, source: ModelSource) -> ModelFacts:
        self._absent.add(source.source)
        with self._found.looking_at("model"):
            facts = self._engines.describe(source)
            identity, lacking = facts.identity, facts.lacking
            if lacking and os.path.isdir(source.path):
                raise UserError(f"model {source.source}: the folder lacks {lacking}: get it whole")
            if lacking:
                said = f"{source.source}: {NOT_HERE.format(lacking)}"
                self._found.add("warning", "model", said)
            else:
                self._absent.remove(source.source)
            if unneeded := sorted(set(source.allow) - set(identity.allow)):
                said = f"{source.source}: `allow: [{', '.join(unneeded)}]` is not needed: remove it"
                self._found.add("warning", "model", said)
            self._found.add("ok", "model", f"{source.source} is {identity!s}")
            return facts
        return KnownFacts(Identity(source.source, "unknown", source.chat, source.engine))

    def find_encoder(self, encoder: str) -> None:
        self._engines.find_encoder(encoder)
        if lacking := self._engines.describe(encoder_source(encoder)).lacking:
            self._found.add("warning", "encoders", f"{encoder}: {NOT_HERE.format(lacking)}")
        else:
            self._found.add("ok", "encoders", f"{encoder} is on this machine")

    def gauge(self, source: ModelSource) -> Gauge:
        if source.source in self._absent:
            return lambda prompt, options=None: (Spent(len(prompt.text.split()), 0, 1),)
        counted_by = self._engines.gauge(source)

        def gauge(prompt: Prompt, options: Options | None = None) -> tuple[Spent, ...]:
            spent = counted_by(prompt, options)
            self.longest = max(self.longest, spent[0].prompt)
            return spent

        return gauge

    def fetch(self, source: ModelSource) -> None:
        self._engines.fetch(source)

    def open(self, source: ModelSource, seed: int) -> Engine:
        return self._engines.open(source, seed)
