"""What is wrong with a configuration, as far as it can be known before an engine is loaded.

It calls what a run calls: a run refuses what is an error here, in the same words. It loads no
weights, downloads none, and leaves nothing in `out`. After an error it goes on with what it can.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, Literal, cast

from evaljudge.agreement.rated import unmatched
from evaljudge.analysis.ratings import FurtherRatings, unmet
from evaljudge.config import Config, ModelConfig
from evaljudge.corpora import notes_on, open_corpus, refuse_empty
from evaljudge.engines import Engines, Identity, ModelFacts, ModelSource
from evaljudge.errors import GivenUp, SeveralMistakes, UserError
from evaljudge.execution import is_on_a_cluster
from evaljudge.runs.binding import refuse_lone_texts
from evaljudge.runs.job import Job, assemble_job, corpus_of, encoders_of
from evaljudge.runs.pipeline import files_of_report
from evaljudge.runs.references import check_references
from evaljudge.storage import Place, holder
from evaljudge.text import LONG, one_line

Level = Literal["warning", "error"]
NO_CANDIDATE = (
    "no document has a text: `evaljudge run` refuses such a corpus, and with `--until "
    "prepare` it does the part of this plan that is called prepare"
)
NOT_HERE = "{}: not on this machine: {}; a run fetches them first"


@dataclass(frozen=True)
class Problem:
    level: Level
    topic: str
    said: str

    def __str__(self) -> str:
        said = self.said.removeprefix(f"{self.topic}: ")
        return f"{self.level}: {self.topic}: {one_line(said, LONG)}"


class Problems(list[Problem]):
    further = FurtherRatings()  # of the files that `ratings` names

    def add(self, level: Level, topic: str, said: str) -> None:
        if said not in [problem.said for problem in self]:  # a study's runs share much
            self.append(Problem(level, topic, said))

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

    def errors(self) -> set[str]:
        return {problem.topic for problem in self if problem.level == "error"}


def jobs_of(
    config: Config, runs: Sequence[Config], engines: Engines, problems: Problems
) -> list[Job]:
    """The jobs of the runs that `config` names, those with mistakes left out."""
    seen, jobs = cast("Engines", _EnginesLookedAt(engines, problems)), list[Job]()
    for out in dict.fromkeys(run.out for run in runs):
        with problems.looking_at("out"):
            if at_work := holder(out):
                problems.add("warning", "out", f"{out}: another job works there now: {at_work}")
            else:
                Place(out).refuse_unwritable()
    for run in runs:
        if run.study is None:  # a study that is wrong has no runs
            with problems.looking_at("settings"):
                job = assemble_job(run, seen)
                cautions = (model.caution for model in run.models)
                for caution in (*filter(None, cautions), *job.cautions):
                    problems.add("warning", "settings", caution)
                jobs.append(job)
    if not jobs:  # the models of a configuration whose other settings have mistakes
        models = config.model, config.writer
        pairs = config.study.pairs_of(*models) if config.study else [models]
        for model in (*chain(*pairs), *map(config.model_of, config.judges)):
            if isinstance(model, ModelConfig):
                seen.describe(model.as_source())
    for job in jobs:
        for look in encoders_of(job):
            with problems.looking_at("encoders"):
                look()
        with problems.looking_at("out"):
            for name, read in files_of_report(job).items():
                with problems.looking_at(name):
                    if isinstance(found := read(), FurtherRatings):
                        problems.further = found
                        for warning in found.warnings:
                            problems.add("warning", name, warning)
        with problems.looking_at("workers"):
            executor = job.executor  # refused where Ray is meant and not installed
            if is_on_a_cluster():  # without one, Ray would be started here, which says little of it
                with executor.check([source.gpus_per_engine for source in job.sources]):
                    pass
    if config.briefs is not None:
        with problems.looking_at("briefs"):
            Place(config.briefs).refuse_unwritable()
    return jobs


def look_at_corpus(config: Config, jobs: Sequence[Job], problems: Problems) -> None:
    with problems.looking_at("corpus"), open_corpus(corpus_of(config), "skip") as corpus:
        is_refused = config.bad_rows == "fail"
        for problem in corpus.skipped:
            problems.add("error" if is_refused else "warning", "corpus", problem)
        if corpus.skipped and is_refused:
            problems.add("error", "corpus", "correct these rows, or set `bad_rows: skip`")
        refuse_empty(corpus, config.corpus_name, "judge")
        judged = [axis.name for job in jobs[:1] for axis in job.task.axes if job.judges]
        near = unmatched(judged, () if config.ratings else corpus.rated_on())
        texts = ((case.document.doc_id, c.system) for case in corpus for c in case.candidates)
        lost = unmet(problems.further.texts, texts)
        skipped = 0 if is_refused else corpus.skipped_rows
        for note in (*notes_on(skipped, corpus.absent_ratings), *corpus.unread, *near, *lost):
            problems.add("warning", "corpus", note)
        if not corpus.candidates:
            problems.add("warning", "corpus", NO_CANDIDATE)
        for job in jobs:
            refuse_lone_texts(corpus, job)
            if job.references:
                check_references(job.references, job.judges, (case.document for case in corpus))


class _EnginesLookedAt:
    """A run's engines. A model that cannot be had is noted, and the rest is looked at without."""

    def __init__(self, engines: Engines, problems: Problems) -> None:
        self._engines, self._problems = engines, problems
        self._facts: dict[str, ModelFacts] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engines, name)

    @property
    def version(self) -> str:
        with self._problems.looking_at("engine"):
            return self._engines.version
        return ""

    def describe(self, source: ModelSource) -> ModelFacts:
        if (key := repr(source)) not in self._facts:
            self._facts[key] = self._described(source)
        return self._facts[key]

    def _described(self, source: ModelSource) -> ModelFacts:
        with self._problems.looking_at("model"):
            facts = self._engines.describe(source)
            identity, lacking = facts.identity, facts.lacking
            if lacking and os.path.isdir(source.path):
                raise UserError(f"model {source.source}: the folder lacks {lacking}: get it whole")
            if lacking:
                self._problems.add("warning", "model", NOT_HERE.format(source.source, lacking))
            if unneeded := sorted(set(source.allow) - set(identity.allow)):
                text = f"{source.source}: `allow: [{', '.join(unneeded)}]` is not needed: remove it"
                self._problems.add("warning", "model", text)
            if facts.caution:
                self._problems.add("warning", "model", facts.caution)
            return facts
        return ModelFacts(Identity(source.source, "unknown", source.chat, source.engine))

    def find_encoder(self, encoder: str) -> str:
        if lacking := self._engines.find_encoder(encoder):
            self._problems.add("warning", "encoders", NOT_HERE.format(encoder, lacking))
        return lacking
