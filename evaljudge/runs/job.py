"""A configuration made ready: its task, judges and models known and checked, nothing asked yet."""

import os
import re
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

from evaljudge.analysis.calibration import calibrated_name
from evaljudge.analysis.cascade import NAME, cascade_of, sides
from evaljudge.analysis.combining import Combination, combinations_of
from evaljudge.analysis.costs import Price
from evaljudge.analysis.mixes import Mix, mixes_of
from evaljudge.config import Condition, Config, ModelConfig
from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.corpora.columns import IN_MEMORY
from evaljudge.corpora.files import SHOWN
from evaljudge.corpora.memory import kind_in_memory
from evaljudge.engines import Engines, Identity, ModelSource, VllmEngines, identity_bound
from evaljudge.engines.endpoint.batch import OF_FILES, BatchEngines
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.engines.source import NO_PRICE, ModelFacts, Thinking
from evaljudge.errors import Mistakes, UserError, naming, unknown
from evaljudge.execution import make_executor
from evaljudge.execution.protocol import Executor
from evaljudge.identity import Fingerprint, fingerprint, metric_signature, score_signature, short
from evaljudge.judges import make_judges
from evaljudge.judges.collector import CollectorOptions
from evaljudge.judges.protocol import Judge
from evaljudge.judges.shared.counting import SumCollector
from evaljudge.metrics import Metric, cautions_of, known_metrics, make_metrics
from evaljudge.prompts import NANO, Examples, Task, load_task
from evaljudge.prompts.examples import choose
from evaljudge.records import ANY_AXIS
from evaljudge.runs.references import take_references
from evaljudge.settings import read_settings
from evaljudge.storage import BATCH, Output, Panel, Stage

R = TypeVar("R")
BOTH: tuple[Stage, ...] = ("prepare", "judge")
UNTAUGHT = "model nano was taught the prompts of `prompts: nano` alone: set them"
MIDDLE = 3.0  # the middle of the scale of ratings, on which `Judge.undecided` is given
_RANGE = re.compile(r"(?<![\w.])([−-]?\d[\d.]*)(?: \([^)]*\))? to ([−-]?\d+(?:\.\d+)?)\b")
"""As meanings say it: from −15 (worse than all) to 15."""


class FoundModel(NamedTuple):
    """Where a model is loaded from, and what of it changes its answers."""

    source: ModelSource
    identity: Identity
    facts: ModelFacts | None = None
    """None for the model of a finished run, which need not be here."""


@dataclass(frozen=True)
class Job:
    config: Config
    task: Task
    judges: Sequence[Judge]
    metrics: Sequence[Metric]
    engines: Engines
    model: FoundModel | None
    writer: FoundModel | None
    engine: str
    references: Mapping[str, str] = field(default_factory=dict)
    mixes: Mapping[str, Mix] = field(default_factory=dict)
    own_models: Mapping[str, FoundModel] = field(default_factory=dict)
    """The models of judges that do not use the common one."""
    panel: Panel = Panel()
    since: float = field(default_factory=time.monotonic)

    @property
    def one_model(self) -> bool:
        return required(self.model).identity == required(self.writer).identity

    @property
    def panels(self) -> "list[Job]":
        """A job for each model, with the judges that ask it.

        Unless the configuration names a writer, each model writes the briefs of its own judges.
        """
        alike: dict[str, list[Judge]] = {}
        for judge in self.judges:
            model = self.own_models.get(judge.name)
            end = short(model.identity.as_fingerprint())[:8] if model else ""
            alike.setdefault(end, []).append(judge)
        return [self._panel(end, judges) for end, judges in alike.items()]

    def _panel(self, end: str, judges: Sequence[Judge]) -> "Job":
        names = {judge.name for judge in judges}
        references = {name: path for name, path in self.references.items() if name in names}
        panel = replace(self, judges=judges, references=references, own_models={})
        if not end:
            return panel
        model = self.own_models[judges[0].name]
        if self.config.writer is not None:
            return replace(panel, model=model, panel=Panel("", end))
        return replace(panel, model=model, writer=model, panel=Panel(end, end))

    @property
    def passes(self) -> "list[Pass]":
        """Each model has one: it is loaded once, whether it writes, judges or does both. The model
        of a cascade's second judge is the last."""
        return sorted(self._passes, key=lambda part: part.is_asked_in_doubt)

    @property
    def _passes(self) -> "list[Pass]":
        panels = self.panels
        if all(panel.one_model for panel in panels):
            return [Pass(panel, BOTH, required(panel.model).source) for panel in panels]
        own = next((panel for panel in panels if panel.one_model), None)
        others = [Pass(p, ("judge",), required(p.model).source) for p in panels if p is not own]
        if own is None:
            return [Pass(self, ("prepare",), required(self.writer).source), *others]
        whole = replace(self, panel=own.panel)
        return [Pass(whole, BOTH, required(own.model).source, own.judges), *others]

    @property
    def sources(self) -> list[ModelSource]:
        return [p.source for p in self.passes]

    @property
    def panel_ends(self) -> dict[str, list[str]]:
        """Each judge's panel, for run.json; none where all judges use the common model."""
        if not self.own_models:
            return {}
        ends = {panel.panel: panel.judges for panel in self.panels}
        return {j.name: [end.prepare, end.judge] for end, judges in ends.items() for j in judges}

    @property
    def executor(self) -> Executor:
        return make_executor(self.config.workers, self.config.out)

    @property
    def price(self) -> Price:
        workers = self.config.workers
        per_million = dict[str, tuple[float, float, float]]()
        for panel in self.panels:
            models = {"prepare": panel.writer, "judge": panel.model}
            for stage, model in models.items():
                if (price := required(model).source.price) != NO_PRICE:
                    per_million |= {f"{stage} {judge.name}": price for judge in panel.judges}
        hours = workers.price_per_gpu_hour, workers.price_per_worker_hour
        return Price(*hours, workers.currency, per_million)

    @property
    def settled(self) -> dict[str, dict[str, Any]]:
        """With the examples as they are chosen."""
        settings = dict(self.config.judges)
        for name, shown in ((judge.name, judge.examples) for judge in self.judges):
            if shown:
                settings[name] = settings[name] | {"examples": shown.model_dump(mode="json")}
        return settings

    def thinking(self, judge: Judge) -> Thinking | None:
        return required(self.own_models.get(judge.name) or self.model).source.thinking

    @property
    def kinds(self) -> list[str]:
        """Judges of one kind keep their briefs together."""
        return list(dict.fromkeys(judge.kind for judge in self.judges))

    @property
    def corpus(self) -> CorpusSource:
        return corpus_of(self.config)

    @property
    def scorers(self) -> dict[str, list[str]]:
        return _with_mixes(_axes_of_scorers(self.judges, self.metrics), self.mixes)

    @property
    def combined(self) -> dict[str, Combination]:
        return {name: mix for name, mix in self.mixes.items() if isinstance(mix, Combination)}

    @property
    def weighted(self) -> dict[str, Combination]:
        """The combinations fitted to people's ratings, which are computed after all others."""
        return {name: mix for name, mix in self.combined.items() if mix.is_fitted}

    def collecting(self) -> dict[str, Callable[[], SumCollector]]:
        """What makes each judge's collectors; a file that one of them needs is read here."""
        resamples, seed = self.config.agreement.resamples, self.config.seed
        keys = {judge.name: self.config.keys_of(judge.name, judge.kind) for judge in self.judges}
        return {
            judge.name: judge.collecting(CollectorOptions(resamples, seed, keys[judge.name]))
            for judge in self.judges
        }

    def fingerprint(self, corpus: str) -> Fingerprint:
        task: dict[str, Any] = {"name": self.task.name, "axes": self.task.as_fingerprint()}
        is_named = not all(panel.one_model for panel in self.panels)
        model = self.model.identity if self.model else None
        writer = self.writer.identity if self.writer and is_named else None
        by_judge = {name: model.identity for name, model in self.own_models.items()}
        models = model, writer, self.engine
        made = fingerprint(corpus, task, self.judges, *models, self.config.seed, by_judge)
        if self.config.cascade:
            made = {**made, NAME: self.config.cascade.model_dump() | {"sides": sides(self.config)}}
        return made

    @property
    def cautions(self) -> list[str]:
        of_judges = [caution for judge in self.judges for caution in judge.cautions]
        of_metrics = cautions_of(self.metrics)
        of_uses = [*self._threshold_cautions(), *self._rank_cautions(), *self._scale_cautions()]
        of_judges += [
            f"judges.{judge.name} has no probabilities of answers read, so that its model does not "
            "think before it replies"
            for judge in self.judges
            if not judge.options and self.thinking(judge)
        ]
        return [*self.model_cautions, *of_judges, *of_metrics, *of_uses]

    @property
    def model_cautions(self) -> Iterator[str]:
        """The cautions that put every score in doubt."""
        if self.engine == ScriptedEngines.version or not any(s.is_bundled for s in self.sources):
            return
        yield (
            "model nano knows the small world of `evaljudge demo` and nothing else: of other "
            "texts its scores say nothing, so name a real model for them"
        )
        if self.config.prompts != NANO:
            yield UNTAUGHT

    def _threshold_cautions(self) -> Iterator[str]:
        """Thresholds above the middle of the scale that an undecided judge passes."""
        chosen = [(rule.name, c) for rule in self.config.select for c in rule.all]
        for undecided in (judge.undecided for judge in self.judges if judge.undecided):
            better = min(undecided, key=lambda scorer: round(undecided[scorer], 6))
            for name, c in chosen:
                least, there = c.at_least, undecided.get(c.scorer, MIDDLE)
                if least is not None and MIDDLE < least <= there:
                    yield (
                        f"select.{name}: {c.scorer} on {c.axis}: at_least {least:g} is "
                        f"passed by a judge that cannot decide, which is at {there:.2f}: use "
                        f"{better}, where it is at {undecided[better]:.2f}"
                    )

    @property
    def within_documents(self) -> list[str]:
        """The scorers that order the texts of one document, and those that are made of them."""
        inside = [s for judge in self.judges if judge.whole_documents for s in judge.scorers]
        for name, mix in self.mixes.items():
            if any(scorer in inside for scorer, _ in mix.parts):
                inside.append(name)
        return inside + [calibrated_name(s) for s in self.config.calibrate if s in inside]

    def _rank_cautions(self) -> Iterator[str]:
        """Where scores that do not compare across documents are used across documents."""
        ranking = set(self.within_documents)
        for rule in self.config.select:
            for scorer in dict.fromkeys(c.scorer for c in rule.all if c.scorer in ranking):
                yield (
                    f"select.{rule.name}: {scorer} orders the texts of one document, so this rule "
                    "takes the top of each document, whether its texts are good or bad"
                )
        for scorer in self.config.calibrate:
            if scorer in ranking:
                yield (
                    f"calibrate: {scorer} orders the texts of one document: calibrated, it is the "
                    "mean rating of texts of this rank, in documents of good and of bad texts"
                )

    def _scale_cautions(self) -> Iterator[str]:
        """Combinations of scorers with different ranges, as their meanings say them, or with none
        that is said."""
        each = {f"combine.{name}": one.of_scorers for name, one in self.combined.items()}
        if cascade := self.config.cascade:
            each["cascade"] = [cascade.first, cascade.then]
        for where, scorers in each.items():
            found = {s: _RANGE.search(self.meanings.get(s, "")) for s in scorers}
            ranges = {scorer: f"{m[1]} to {m[2]}" for scorer, m in found.items() if m}
            unsaid = dict.fromkeys(sorted(found.keys() - self.meanings), "not said by `meanings`")
            if len({*ranges.values()}) > 1 or unsaid:
                which = ", ".join(map(" ".join, [*ranges.items(), *unsaid.items()]))
                weights = ", or weights in `mixes`" if where != "cascade" else ""
                why = f"nothing is standardised, so take those of one scale{weights}"
                different = "may have different" if unsaid else "have different"
                yield f"{where}: its scorers {different} scales ({which}): {why}"

    @property
    def meanings(self) -> dict[str, str]:
        meanings = {
            judge.name + suffix: meaning
            for judge in self.judges
            for suffix, meaning in judge.meanings.items()
        }
        for name, spec in self.config.metrics.items():
            meanings[name] = known_metrics()[spec.get("metric", name)].about
            if spec.get("against") == "source":
                meanings[name] = meanings[name].replace("a reference", "the source")
        meanings |= {name: mix.meaning for name, mix in self.mixes.items()}
        return meanings | {
            calibrated_name(s): f"{s} on the scale of people's ratings, learnt from rated texts."
            for s in self.config.calibrate
        }

    def signatures(self, corpus: str) -> dict[str, str]:
        mixed = {name: mix.signature(name) for name, mix in self.mixes.items()}
        return self.judge_signatures() | self.metric_signatures(corpus) | mixed

    def metric_signatures(self, corpus: str) -> dict[str, str]:
        spec, seed = self.config.metrics, self.config.seed
        kinds = {name: settings.get("metric", name) for name, settings in spec.items()}
        return {m.name: metric_signature(m, kinds[m.name], corpus, seed) for m in self.metrics}

    def judge_signatures(self) -> dict[str, str]:
        made: dict[str, str] = {}
        for panel in self.panels:
            model, writer = required(panel.model).identity, required(panel.writer).identity
            for judge in panel.judges:
                line = score_signature(judge, model, writer, self.engine, self.config.seed)
                made |= dict.fromkeys(judge.scorers, line + (SHOWN if judge.examples else ""))
        return made


@dataclass(frozen=True)
class Pass:
    """The stages that one model does, for the judges of the job."""

    job: Job
    stages: tuple[Stage, ...]
    source: ModelSource
    own: Sequence[Judge] = ()
    """The judges that judge with this model, where it writes for others, too."""

    @property
    def judging(self) -> Sequence[Judge]:
        return self.own or self.job.judges

    @property
    def is_asked_in_doubt(self) -> bool:
        cascade = self.job.config.cascade
        named = cascade and any(judge.name == cascade.then for judge in self.judging)
        return bool(named and "judge" in self.stages)


def required(value: R | None) -> R:
    """What a job with judges has: Config has checked that models are named."""
    assert value is not None
    return value


def corpus_of(config: Config) -> CorpusSource:
    source = config.corpus
    path = source.path if isinstance(source.path, str) else tuple(source.path)
    where = CorpusSource(path, source.format, source.sources, source.columns)
    in_memory = any(map(kind_in_memory, where.inputs))
    return replace(where, advice=IN_MEMORY) if in_memory else where


def make_job(
    config: Config, engines: Engines | None = None, bound: Fingerprint | None = None
) -> Job:
    """Check all that can be checked before the corpus is read, such as whether an encoder can be
    had; `engines` is for tests. `bound`, a finished run's fingerprint, stands in for models and an
    engine that are not at hand."""
    if engines is None and bound is None and config.study is None:
        # a run by batch files goes on as it was begun, and in no other way
        there = Output(config.out)
        known = (there.run() or {}).get("fingerprint", {})
        models = known.get("model"), *(j.get("model") for j in known.get("judges", {}).values())
        if any(model and model.get("way", "").endswith(OF_FILES) for model in models):
            engines, bound = BatchEngines(there.kept(BATCH)), known
    job = assemble_job(config, engines, bound)
    for look in encoders_of(job, afresh=bound is None):
        look()
    return job


def assemble_job(
    config: Config, engines: Engines | None = None, bound: Fingerprint | None = None
) -> Job:
    """Does what `make_job` does, but looks for no encoder."""
    if config.study is not None:
        raise UserError("this configuration is a study: `evaljudge study` runs it")
    engines = engines or VllmEngines()
    _refuse_fleeting(config.out)
    mistakes = Mistakes()
    task = _task_of(config, mistakes)
    settings, references = take_references(config.judges, [axis.name for axis in task.axes])
    judges, metrics = list[Judge](), list[Metric]()
    for name, options in settings.items():
        with mistakes.noted():
            options = _with_examples(config, task, bound, name, options)
            judges += make_judges({name: options}, task)
    for name, options in config.metrics.items():
        with mistakes.noted():
            metrics += make_metrics({name: options})
    given_models = dict[str, ModelConfig | None]()
    for name in config.judges:
        with mistakes.noted():
            given_models[name] = config.model_of(name)
    single = _axes_of_scorers(judges, metrics)
    # a scorer that is not known may be one of a judge that could not be made
    mixes = {} if mistakes else _mixes_of(config, single, mistakes)
    with mistakes.noted():
        mixes |= {} if mistakes else cascade_of(config, {j.name: j for j in judges}, mixes)
    with mistakes.noted():
        for judge in config.families:
            if judge not in config.judges:
                raise UserError(f"families: {unknown('judge', judge, config.judges)}")
    for name in {scorer for judge in judges for scorer in judge.scorers} & {*config.metrics}:
        with mistakes.noted():
            raise UserError(f"metrics.{name}: a judge's scorer has this name; give another")
    to_people = {s for j in judges for s in (j.scorers if j.examples else j.fitted_to_people)}
    for name, mix in mixes.items():
        to_people |= {name} if to_people & {*dict(mix.parts)} else set()
    _check_selections(config, _with_mixes(single, mixes), to_people, not mistakes, mistakes)
    mistakes.refuse(config.place)
    if not judges and not metrics:
        raise UserError("nothing to do: the configuration names no judge and no metric")
    stored, asked = (bound or {}).get("model") or {}, (bound or {}).get("judges", {})

    def settled(given: ModelConfig, known: Mapping[str, Any] | None) -> FoundModel:
        source = given.as_source()
        if bound is None:
            facts = engines.describe(source)
            return _pinned(source, facts.identity)._replace(facts=facts)
        return _pinned(source, identity_bound(known or stored, source))

    own = {
        judge.name: settled(given, asked.get(judge.name, {}).get("model"))
        for judge in judges
        if (given := given_models.get(judge.name))
    }
    is_for_any = any(judge.name not in own for judge in judges)
    model = settled(config.model, None) if config.model and is_for_any else None
    is_other = config.writer is not None and config.writer != config.model
    writer = model
    if config.writer and judges and (is_other or model is None):
        writer = settled(config.writer, (bound or {}).get("writer"))
    for_all = model.identity.as_fingerprint() if model else None
    engine, found = str((bound or {}).get("engine", "")), [model, writer, *own.values()]
    if bound is None and any(one and not one.source.endpoint for one in found) and judges:
        engine = engines.version
    for each in judges:
        _refuse_unable(each, own.get(each.name, model))
    if config.writer and writer and writer.facts and writer.facts.labels:
        raise UserError(f"writer: {writer.identity} rates texts, and writes none")
    is_judge = config.writer in (config.model, *given_models.values())
    thinks = not is_judge and writer and writer.source.thinking
    if thinks and not any(part.chooses for judge in judges for part in judge.parts()):
        raise UserError("writer.thinking: a writer writes without a thought: leave it out")
    own_models = {n: m for n, m in own.items() if m.identity.as_fingerprint() != for_all}
    made = (config, task, judges, metrics, engines, model, writer, engine, references, mixes)
    job = Job(*made, own_models)
    _refuse_one_model(job)
    return job


def _refuse_one_model(job: Job) -> None:
    """Of a cascade, whose second judge's model is asked last."""
    if not (cascade := job.config.cascade):
        return
    panels = job.panels
    first, then = (
        next(p for p in panels if any(judge.name == name for judge in p.judges))
        for name in (cascade.first, cascade.then)
    )
    if first is then or (job.config.writer and then.one_model):
        also = "writes the briefs, too" if first is not then else f"is that of {cascade.first}"
        raise UserError(
            f"cascade.then: the model of {cascade.then} {also}: the first judge's answers must be "
            "there before it is asked, so give it a model of its own"
        )


def _with_examples(
    config: Config, task: Task, bound: Fingerprint | None, name: str, options: Mapping[str, Any]
) -> Mapping[str, Any]:
    """A judge's `examples` are those chosen when a model first answered for the run, else chosen
    now."""
    if options.get("examples") is None:
        return options
    where = f"judges.{name}.examples"
    given = read_settings(Examples, options["examples"], where)
    if given.chosen:  # by the run that this one is a part of: its texts bear no ratings
        return options
    there = Output(config.out)
    begun = {} if there.holds_no_answer else (there.run() or {}).get("fingerprint", {})
    known = (bound or begun).get("judges", {}).get(name, {}).get("examples", {})
    if known.get("n") == given.n:
        return {**options, "examples": known}
    with open_corpus(corpus_of(config), config.bad_rows) as corpus:
        chosen = choose(corpus, given.n, [axis.name for axis in task.axes], where)
    return {**options, "examples": chosen.model_dump(mode="json")}


def _refuse_unable(judge: Judge, model: FoundModel | None) -> None:
    if model is None or model.facts is None:
        return
    if judge.weighs and not model.facts.weighs:
        raise UserError(
            f"judges.{judge.name} reads the log-probabilities of texts that are given, and "
            f"{model.identity} shows none: take another judge, or an engine"
        )
    labels = model.facts.labels
    if labels and judge.rates is None:
        raise UserError(
            f"judges.{judge.name}: {model.identity} was trained to rate texts, and neither writes "
            "nor chooses answers: take a chat model"
        )
    if judge.rates and labels is not None:
        with naming(f"judges.{judge.name}: {model.identity}"):
            judge.rates.place(labels)


def _task_of(config: Config, mistakes: Mistakes) -> Task:
    """The task with the wanted axes, or with all axes where one of those is a mistake."""
    with mistakes.noted():
        return load_task(config.task, config.axes, config.prompts, config.layout)
    return load_task(config.task, None, config.prompts, config.layout)


def _axes_of_scorers(judges: Sequence[Judge], metrics: Sequence[Metric]) -> dict[str, list[str]]:
    judged = {s: list(judge.axes_of(s)) for judge in judges for s in judge.scorers}
    return judged | {metric.name: [ANY_AXIS] for metric in metrics}


def encoders_of(job: Job, *, afresh: bool = True) -> Iterator[Callable[[], object]]:
    """What refuses an unavailable encoder, for each metric and each judge's encoder."""

    def find(judge: Judge, encoder: str) -> None:
        with naming(f"judges.{judge.name}.encoder"):
            job.engines.find_encoder(encoder)

    for metric in job.metrics:
        yield partial(getattr, metric, "facts")  # names the commit of its encoder, if it has one
    for judge in job.judges if afresh else ():
        yield from (partial(find, judge, encoder) for encoder in judge.encoders)


def _refuse_fleeting(out: str) -> None:
    """`ray job submit` runs a job in a copy of the folder that it is given, and clears it away."""
    kept = "://" in out or os.path.isabs(os.path.expanduser(out))
    if "RAY_JOB_CONFIG_JSON_ENV_VAR" in os.environ and not kept:
        raise UserError(
            f"out: {out} lies in the job's own folder, which is gone when the job ends: name a "
            "URI, or an absolute path"
        )


def _pinned(source: ModelSource, identity: Identity) -> FoundModel:
    """The commit that the driver saw is the one that every worker loads, and what the driver found
    in its chat template is what every worker asks with."""
    chat = None if source.chat is None else identity.chat
    reply, revision = identity.reply or source.reply, identity.commit or source.revision
    pinned = replace(source, revision=revision, chat=chat, reply=reply, dtype=identity.dtype)
    pinned = replace(pinned, way=identity.way)
    thinks = source.thinking
    # a judge's own model that drops its thoughts is another model
    thinking = thinks.model_dump(exclude={"keep"} if thinks.keep else None) if thinks else {}
    return FoundModel(pinned, replace(identity, thinking=thinking))


def _mixes_of(
    config: Config, axes: Mapping[str, Sequence[str]], mistakes: Mistakes
) -> dict[str, Mix]:
    made = dict[str, Mix]()
    for name, text in config.mixes.items():
        with mistakes.noted():
            made |= mixes_of({name: text}, axes)
    axes_of = _with_mixes({name: list(on) for name, on in axes.items()}, made)
    for name, combined in config.combine.items():
        with mistakes.noted():
            made |= combinations_of({name: combined}, axes_of)
    return made


def _with_mixes(axes: Mapping[str, list[str]], mixes: Mapping[str, Mix]) -> dict[str, list[str]]:
    axes_of = dict(axes)
    for name, mix in mixes.items():
        axes_of[name] = mix.axes(axes_of)
    return axes_of


def _check_selections(
    config: Config, scorers: Mapping[str, list[str]], to_people: Collection[str], is_whole: bool,
    mistakes: Mistakes,
) -> None:  # fmt: skip
    """`to_people`: the scorers that judges fitted to people's ratings, and mixes of them."""
    plain = [scorer for scorer in scorers if "#" not in scorer]
    for scorer in config.calibrate if is_whole else ():
        with mistakes.noted():
            if scorer not in plain:
                raise UserError(f"calibrate: {unknown('scorer', scorer, plain)}")
            if calibrated_name(scorer) in plain:
                raise UserError(
                    f"calibrate: {calibrated_name(scorer)!r} is a scorer's name already"
                )
    calibrated = {calibrated_name(s): scorers[s] for s in config.calibrate if s in scorers}
    fitted = {*to_people, *calibrated}
    fitted |= {name for name, combined in config.combine.items() if combined.by == "agreement"}
    for selection in config.select:
        for condition in selection.all:
            if is_whole or condition.scorer in {*scorers, *calibrated}:
                with mistakes.noted():
                    _check_condition(
                        condition, scorers, calibrated, fitted, f"select.{selection.name}"
                    )


def _check_condition(
    condition: Condition,
    scorers: Mapping[str, list[str]],
    calibrated: Mapping[str, list[str]],
    fitted: Collection[str],
    where: str,
) -> None:
    scorer, axis = condition.scorer, condition.axis
    selectable = {**scorers, **calibrated}
    if scorer not in selectable:
        raise UserError(f"{where}: {unknown('scorer', scorer, selectable)}")
    axes = selectable[scorer]
    if axes == [ANY_AXIS] and scorer not in scorers:
        if axis == ANY_AXIS:
            raise UserError(f"{where}: {scorer} has an axis for each that people rated: name one")
    elif axes == [ANY_AXIS] and axis != ANY_AXIS:
        raise UserError(f"{where}: {scorer} has one score for all axes: write `axis: '*'`")
    elif axis not in axes:
        raise UserError(f"{where}: {unknown('axis', axis, axes)}")
    elif axis == ANY_AXIS and condition.precision is not None:
        advice = f"calibrate {scorer}, and name {calibrated_name(scorer)} on an axis"
        if condition.confidence is not None:
            advice = "use `evaljudge calibrate --confidence`"
        raise UserError(f"{where}: {scorer} has no axis, so `precision` has no ratings: {advice}")
    elif scorer in fitted and condition.confidence is not None:
        raise UserError(
            f"{where}: {scorer} was fitted to these ratings, so they cannot certify it: name what "
            "it is made of, or, for a scorer without axes, use `evaljudge calibrate --confidence`"
        )
