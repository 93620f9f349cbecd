"""The configuration: one YAML file, `--set` over it, every key checked by name.

corpus: cases.jsonl
out: runs/first
task: summary
model: Qwen/Qwen3-8B
judges: {synthetic: {levels: 5}}
"""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache, partial
from math import inf
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, Field, field_validator, model_validator

from evaljudge.corpora.memory import CorpusFile, file_of, is_in_memory
from evaljudge.engines.endpoint.settings import Endpoint
from evaljudge.engines.source import EXACTNESS, NO_PRICE, THINKING, ModelSource, Need, Thinking
from evaljudge.engines.trust import secret_in
from evaljudge.errors import UserError, absent, config_folder, unknown
from evaljudge.judges import kind_of, plugin, plugins
from evaljudge.judges.plugin import import_edited_anew
from evaljudge.metrics import metrics_spec
from evaljudge.model.counting import LOW_MASS
from evaljudge.settings import (
    DEEPEST,
    AnyPath,
    Settings,
    as_path,
    as_plain,
    read_settings,
    read_yaml,
    refuse_unplain,
)
from evaljudge.storage import Output
from evaljudge.text import listed, one_line

LARGEST_SEED = 2**32 - 1  # NumPy, by which the engine seeds itself, takes none above


def _plain_path(path: str) -> str:
    """A variable of the shell is not replaced, so it would become the name of a folder."""
    if match := re.search(r"(?:^|/)(\$(?:\w+|\{\w+\}))(?=/|$)", path):
        raise ValueError(f"{match[1]} is not replaced in a configuration: write the path itself")
    return path


def _each_once(names: list[str]) -> list[str]:
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ValueError(f"{twice!r} is named twice")
    return names


def _no_secret(value: Any, *, read: str = "where it is read (HF_TOKEN for the hub)") -> Any:
    """Whatever a configuration holds is stored with the run, in run.json."""
    if isinstance(value, dict) and (secret := secret_in(value)):
        raise ValueError(
            f"{secret} is a secret, and would be stored in run.json: leave it out and set an "
            f"environment variable {read}"
        )
    return value


Open = Annotated[dict[str, Any], AfterValidator(_no_secret)]
Added = Annotated[dict[str, Any], AfterValidator(partial(_no_secret, read="that its code reads"))]
Name = Annotated[str, Field(min_length=1)]
Names = Annotated[list[str], AfterValidator(_each_once)]
PathName = Annotated[Name, AfterValidator(_plain_path)]
Choice = Annotated[str, Field(pattern=r"^!?([\w.-]+|in\([\w.-]+(, ?[\w.-]+)*\))$")]
Selector = Annotated[dict[Name, Choice], Field(min_length=1)]
"""Labels that a machine has, by Ray's rules: `spot`, `!spot`, `in(L4, L40S)`, `!in(T4)`."""
Amount = Annotated[float, Field(ge=0)]
Money = Annotated[str, BeforeValidator(str), Field(pattern=r"^\d+(\.\d+)?( [A-Z]{3})?$")]
Fraction = Annotated[float, Field(gt=0, le=1)]
Draws = Annotated[int, Field(ge=0, le=1_000_000)]
"""More, of resamples or of texts on a page, take days and all memory, and tell no more."""
CORPUS_ENDINGS = (".jsonl", ".jsonl.gz", ".csv", ".csv.gz", ".tsv", ".parquet")
CORPUS = "the file, folder, glob or URI of the texts to judge"


class CorpusConfig(Settings):
    shorthand = "path"
    path: PathName | Annotated[list[PathName], Field(min_length=1)] = Field(description=CORPUS)
    format: str = "generic"
    sources: PathName | None = None
    """The documents of a benchmark that publishes them apart from the texts."""
    columns: dict[str, str] = {}
    """Which of our fields each column or key of the corpus stands for."""


class TokenPrice(Settings):
    """Of a million tokens; cached prompt tokens cost as much as others unless it is said."""

    prompt: Amount = Field(description="the price of a million prompt tokens")
    generated: Amount = Field(description="the price of a million generated tokens")
    cached: Amount | None = None


class ModelConfig(Settings):
    shorthand = "source"
    source: PathName | None = None
    """A name on the hub, a folder or a URI; `nano` is bundled."""
    revision: str | None = None
    """Of a model on the hub."""
    chat: Annotated[dict[str, Any] | Literal["none"], AfterValidator(_no_secret)] = {}
    """Switches of its chat template; `none`: it completes plain text."""
    reply: str | None = None
    """What each of its replies begins with."""
    least_mass: Annotated[float, Field(ge=0, le=1)] = LOW_MASS
    """How much of its probability the offered answers must hold."""
    engine: Open = {}
    """Arguments of vLLM."""
    allow: list[Need] = []
    """What it is trusted with: `pickle`, `remote-code`."""
    exactness: Annotated[float, Field(ge=0, lt=1)] = EXACTNESS
    """How much spellings that are not followed may change a probability."""
    adapter: PathName | None = None
    """The folder of a LoRA adapter."""
    price_per_million: TokenPrice | None = None
    thinking: Thinking | None = None
    endpoint: Endpoint | None = None
    """The server that has it, in place of a `source` that is loaded here."""
    name: str | None = None
    """What a study calls it, needed where it has one model in two forms; and what a server does."""

    @model_validator(mode="after")
    def _is_one_kind(self) -> "ModelConfig":
        beside = ("source", "revision", "engine", "allow", "adapter")
        if self.endpoint and (both := [name for name in beside if getattr(self, name)]):
            raise ValueError(f"has `endpoint` and `{both[0]}`: a server has loaded its model")
        if not self.endpoint and not self.source:
            raise ValueError("needs a `source` (a hub name, a path or a URI) or an `endpoint`")
        if (self.source or "").startswith(("http://", "https://")):
            raise ValueError(f"a server is written as `model: {{endpoint: {self.source}}}`")
        if self.thinking and self.chat == "none":
            raise ValueError("has `thinking` and `chat: none`: a completed text holds no thoughts")
        return self

    @field_validator("engine")
    @classmethod
    def _sizes_are_numbers(cls, engine: dict[str, Any]) -> dict[str, Any]:
        for name in ("tensor_parallel_size", "pipeline_parallel_size"):
            size = engine.get(name, 1)
            if not isinstance(size, int) or isinstance(size, bool) or size < 1:
                raise ValueError(f"{name} must be a whole number, at least 1")
        if "trust_remote_code" in engine:
            raise ValueError("trust_remote_code: write `allow: [remote-code]` beside `source`")
        return engine

    @property
    def caution(self) -> str | None:
        given: dict[str, Any] = {"thinking": self.thinking, "reply": self.reply}
        given |= {f"chat.{THINKING}": THINKING in self.chat}
        first, *others = [f"`{name}`" for name, value in given.items() if value] or [""]
        unused = " and ".join(others)
        return f"model {self.source}: {first} is given, so {unused} is not used" if others else None

    def as_source(self) -> ModelSource:
        chat = None if self.chat == "none" else dict(self.chat)
        if chat and (self.reply or self.thinking):
            chat.pop(THINKING, None)
        price, each = NO_PRICE, self.price_per_million
        if each:
            price = each.prompt, each.prompt if each.cached is None else each.cached, each.generated
        return ModelSource(
            str(self.source or self.name or (self.endpoint and self.endpoint.url)),
            self.revision,
            chat,
            self.engine,
            tuple(sorted(set(self.allow))),
            exactness=self.exactness,
            adapter=self.adapter,
            reply=None if self.thinking else self.reply,
            thinking=self.thinking,
            price=price,
            least_mass=self.least_mass,
            endpoint=self.endpoint,
        )


class WorkersConfig(Settings):
    executor: Literal["auto", "local", "ray"] = "auto"
    """`local`: this process; `ray`: a cluster, or this machine."""
    min: Annotated[int, Field(ge=1)] = 1
    """How many workers a run needs at least."""
    max: Annotated[int, Field(ge=1)] = 1
    gpus: Literal["auto"] | Annotated[float, Field(ge=0)] = "auto"
    """Of each worker."""
    cpus: Literal["auto"] | Annotated[float, Field(gt=0)] = "auto"
    """Of each worker."""
    memory: Annotated[float, Field(gt=0)] | None = None
    """GiB of the machine's memory that a worker asks for. It is bookkeeping of Ray's, and what a
    model needs depends on its engine: a guess could refuse machines that would do."""
    labels: Selector | list[Selector] = []
    """Which machines a worker may have, by their labels; a list is tried in order."""
    accelerator_type: Name | None = None
    """The card that a worker must have, as Ray names it."""
    price_per_gpu_hour: Amount = 0
    price_per_worker_hour: Amount = 0
    """Beside that of its GPUs: the price of a worker without GPUs, or of a GPU's machine."""
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"
    """Three capital letters."""

    @field_validator("gpus")
    @classmethod
    def _many_are_whole(cls, gpus: float | str) -> float | str:
        if isinstance(gpus, float) and gpus > 1 and not gpus.is_integer():
            raise ValueError("more than one GPU must be a whole number of them")
        return gpus

    @model_validator(mode="before")
    @classmethod
    def _max_follows_min(cls, value: Any) -> Any:
        least = value.get("min") if isinstance(value, dict) and "max" not in value else None
        if isinstance(least, int) and least > 1:
            return value | {"max": least}
        return value

    @model_validator(mode="after")
    def _can_be_met(self) -> "WorkersConfig":
        if self.min > self.max:
            raise ValueError(f"min {self.min} is more than max {self.max}")
        if self.executor == "local" and (setting := self.needs_ray):
            raise ValueError(f"`executor: local` is this process alone: {setting} needs `ray`")
        return self

    @property
    def selectors(self) -> list[Selector]:
        """`labels` as a list; empty where any machine will do."""
        return self.labels if isinstance(self.labels, list) else [self.labels]

    @property
    def needs_ray(self) -> str:
        """The first setting that only workers of Ray can meet; empty where there is none."""
        settings = {
            f"`min: {self.min}`": self.min > 1,
            f"`max: {self.max}`": self.max > 1,
            f"`gpus: {self.gpus}`": self.gpus not in ("auto", 0),
            f"`accelerator_type: {self.accelerator_type}`": self.accelerator_type is not None,
            "`labels`": bool(self.selectors),
        }
        return next((setting for setting, is_made in settings.items() if is_made), "")


class MostConfig(Settings):
    """What a run may spend, all its goes together; it stops there, and resumes with more."""

    asks: Annotated[int, Field(ge=1)] | None = None
    tokens: Annotated[int, Field(ge=1)] | None = None
    cost: Money | None = None
    """`20 USD`, or a number in the currency of `workers`."""

    @property
    def amounts(self) -> tuple[float, float, float]:
        return self.asks or inf, self.tokens or inf, float((self.cost or "inf").split()[0])


class AgreementConfig(Settings):
    """Which coefficient scorers are compared by, and how often other intervals resample."""

    coefficient: Literal["spearman", "kendall", "pearson"] = "spearman"
    resamples: Draws = 1000
    alt_test_epsilon: Annotated[float, Field(ge=0, le=1)] = 0.1
    """How much more often than the judge a rater may be the closer one, and still be replaced."""


class Condition(Settings):
    scorer: str = Field(description="the name of a judge, a metric or one of their scorers")
    axis: str = Field(description="the axis of the scores, or '*' for a scorer without axes")
    at_least: float | None = None
    """The lowest score that passes."""
    at_most: float | None = None
    """The highest score that passes."""
    top_fraction: Fraction | None = None
    """The share of the texts that pass, the best ones."""
    precision: Fraction | None = None
    """The share of the passing texts that is to be good, by the ratings."""
    good: float | None = None
    """The rating from which on a text is good."""
    confidence: Annotated[float, Field(gt=0, lt=1)] | None = None
    """How sure `precision` is to be."""

    @model_validator(mode="after")
    def _asks_something(self) -> "Condition":
        if self.precision is not None and self.good is None:
            raise ValueError("`precision` needs `good`: from which rating on a text is good")
        if self.good is not None and (self.precision, self.at_least) == (None, None):
            raise ValueError("`good` needs `precision` or `at_least`")
        if self.confidence is not None and self.precision in (None, 1):
            raise ValueError("`confidence` needs a `precision` below 1: no sample certifies 1")
        asked_for = (self.at_least, self.at_most, self.top_fraction, self.precision)
        if all(value is None for value in asked_for):
            raise ValueError("needs `at_least`, `at_most`, `top_fraction` or `precision`")
        if None not in (self.at_least, self.at_most) and self.at_least > self.at_most:  # type: ignore[operator]
            raise ValueError(f"at_least {self.at_least:g} is above at_most {self.at_most:g}")
        return self


class Selection(Settings):
    name: str = Field(description="the selected texts are written to `selected/NAME.jsonl`")
    all: Annotated[list[Condition], Field(min_length=1)] = Field(
        description="a list of conditions: [{scorer: direct, axis: fluency, at_least: 4}]"
    )

    @field_validator("name")
    @classmethod
    def _is_a_file_name(cls, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}", name):
            raise ValueError("may hold letters, digits, `_`, `.` and `-` only")
        return name


Rule = Literal["mean", "median", "majority", "agreement"]


class CombineConfig(Settings):
    """A scorer made of several: see analysis/combining.py."""

    shorthand = "of"
    of: Annotated[Names, Field(min_length=2)] = Field(description="the scorers to combine")
    by: Rule = "mean"


class CascadeConfig(Settings):
    """A second judge for the texts that the first is in doubt about: see analysis/cascade.py."""

    first: Name = Field(description="the judge that judges all texts")
    then: Name = Field(description="the judge of another model that is asked about texts in doubt")
    agreement: Annotated[float, Field(gt=0, lt=1)] = 0.95
    confidence: Annotated[float, Field(gt=0, lt=1)] = 0.9
    within: Amount | None = None
    """Scores that differ by no more agree; by default those on the same side of the thresholds."""
    draw: Annotated[int, Field(ge=2)] = 500
    """How many texts both judges are asked about."""


class StudyPair(Settings):
    model: ModelConfig = Field(description="the model that judges")
    writer: ModelConfig = Field(description="the model that writes the briefs")


class StudyConfig(Settings):
    """A grid: every judge of it on every pair of a model and a writer, with each pack."""

    judges: Annotated[list[Any], Field(min_length=1)] = Field(
        description="a list of judges, each with its settings: [{synthetic: {levels: 5}}, direct]"
    )
    models: Annotated[list[ModelConfig], Field(min_length=1)] | None = None
    writers: Annotated[list[ModelConfig], Field(min_length=1)] | None = None
    pairs: Annotated[list[StudyPair], Field(min_length=1)] | None = None
    """The pairs to run, in place of every model with every writer."""
    prompts: Annotated[list[PathName | None], Field(min_length=1)] | None = None
    """Packs of prompts, each a trial of every method; null: the task's own."""
    apart: bool = False
    """Each judge in a run of its own, so that it shares no question and its cost is its own."""

    @model_validator(mode="after")
    def _pairs_stand_alone(self) -> "StudyConfig":
        if self.pairs and (self.models or self.writers):
            raise ValueError("`pairs` name both: leave out `models` and `writers`")
        return self

    def pairs_of(
        self, model: ModelConfig | None, writer: ModelConfig | None
    ) -> list[tuple[ModelConfig | None, ModelConfig | None]]:
        """All its pairs of a model and a writer, with the configuration's own where it has none."""
        if self.pairs:
            return [(pair.model, pair.writer) for pair in self.pairs]
        models: Sequence[ModelConfig | None] = self.models or [model]
        writers: Sequence[ModelConfig | None] = self.writers or [writer]
        return [(m, w) for w in writers for m in models]


def _other_names(select: list[Selection]) -> list[Selection]:
    _each_once([selection.name for selection in select])
    return select


class Config(Settings):
    homes: ClassVar[Mapping[str, str]] = {
        "levels": "judges.synthetic.levels",
        "limit": "evaljudge run --limit",
        "until": "evaljudge run --until (in Python evaljudge.prepare or evaljudge.judge)",
        "gpu": "evaljudge plan --gpu",
        "throughput": "evaljudge plan --throughput",
    }
    corpus: CorpusConfig = Field(description=CORPUS)
    out: PathName = Field(description="the folder or URI where everything that a run makes goes")
    task: PathName = "summary"
    """What the texts are: `summary`, `dialogue`, `story`, or a file."""
    axes: Annotated[Names, Field(min_length=1)] | None = None
    """What is judged; by default every axis of the task."""
    prompts: PathName | None = None
    """A folder of prompts that take the place of built-in ones."""
    layout: Literal["paper", "shared"] = "paper"
    """The order of the parts of a prompt."""
    model: ModelConfig | None = None
    """The model that judges."""
    writer: ModelConfig | None = None
    """The model that writes references and questions; by default `model`."""
    judges: Annotated[
        dict[str, Added], BeforeValidator(partial(metrics_spec, what="judges, [synthetic],"))
    ] = {"synthetic": {}}
    """The judges, by name, with their settings."""
    metrics: Annotated[dict[str, Added], BeforeValidator(metrics_spec)] = {}
    """The metrics, by name, with their settings."""
    mixes: dict[str, str] = {}
    """Further scorers, by name: `0.2*direct + chrf`."""
    combine: dict[str, CombineConfig] = {}
    """Further scorers, by name, each a jury of others."""
    cascade: CascadeConfig | None = None
    """A further scorer, `cascade`: the second judge's where it was asked, else the first one's."""
    families: dict[str, Annotated[Names, Field(min_length=1)]] = {}
    """The systems that come from the family of each judge's model."""
    workers: WorkersConfig = WorkersConfig()
    most: MostConfig | None = None
    calibrate: Names = []
    """The scorers that are fitted to the scale of the ratings."""
    select: Annotated[list[Selection], AfterValidator(_other_names)] = []
    """Rules that select texts by their scores."""
    agreement: AgreementConfig = AgreementConfig()
    seed: Annotated[int, Field(ge=0, le=LARGEST_SEED)] = 0
    coverage_floor: Annotated[float, Field(ge=0, le=1)] = 0.95
    """The share of the texts that each scorer must score on each axis, else the exit code is 3."""
    bad_rows: Literal["fail", "skip"] = "fail"
    """What becomes of rows of the corpus that cannot be read."""
    commit_every: Annotated[float, Field(gt=0)] = 60
    """Seconds of work on a shard that a worker's death may cost, but for the cases it was at."""
    briefs: PathName | None = None
    """A folder that runs share, of what was written about documents."""
    study: StudyConfig | None = None
    view: Draws = 30
    """How many texts index.html shows with each judge's evidence."""
    of_judges: dict[str, Any] = {}
    """The values of keys that one kind of judge has of its own, by key: see `Plugin.keys`."""
    outliers: PathName | None = None
    """Ratings that further tables leave out."""
    ratings: PathName | list[PathName] = []
    """Files of further ratings: sheets of `evaljudge label` that people filled in, or rows."""
    rated_by: Name = "people"
    """What the report calls the source of the ratings."""
    title: Annotated[str, Field(pattern="^.*$")] = ""
    """The heading of the report's page, on one line."""
    _place: str = ""

    @property
    def place(self) -> str:
        """The file, as a message about it begins: `config.yaml: `; empty where there is none."""
        return self._place

    def keys_of(self, judge: str, kind: str) -> dict[str, Any]:
        keys = dict[str, Any]()
        for key, read in plugin(kind).keys.items():
            if key in self.of_judges:
                try:
                    values = read(self.of_judges[key], self._judges_of(kind))
                except ValueError as error:
                    raise UserError(f"{key}: {error}") from None
                keys |= {key: values[judge]} if judge in values else {}
        return keys

    def _judges_of(self, kind: str) -> dict[str, dict[str, Any]]:
        return {name: spec for name, spec in self.judges.items() if kind_of(name, spec) == kind}

    @property
    def models(self) -> list[ModelConfig]:
        """All that are named, the judges' own among them."""
        named = [self.model, self.writer, *map(self.model_of, self.judges)]
        return [model for model in named if model]

    def model_of(self, judge: str) -> ModelConfig | None:
        """The model that a judge names for itself, if it names one."""
        named = self.judges[judge].get("model")
        where = f"judges.{judge}.model"
        return None if named is None else read_settings(ModelConfig, named, where)

    @classmethod
    def known_keys(cls) -> list[str]:
        return sorted({*cls.model_fields, *_keys_of_judges()} - {"of_judges"})

    @model_validator(mode="before")
    @classmethod
    def _keys_of_judges_apart(cls, spec: Any) -> Any:
        if not isinstance(spec, dict):
            return spec
        if "of_judges" in spec:
            raise ValueError(unknown("key", "of_judges", cls.known_keys()))
        moved = {key: spec[key] for key in _keys_of_judges() if spec.get(key) is not None}
        rest = {key: value for key, value in spec.items() if key not in _keys_of_judges()}
        return rest | {"of_judges": moved}

    def as_given(self) -> dict[str, Any]:
        return self.model_dump(exclude={"of_judges"}) | self.of_judges

    @property
    def corpus_name(self) -> str:
        return ", ".join(listed(self.corpus.path))

    @model_validator(mode="after")
    def _names_differ(self) -> "Config":
        if self.study is not None:
            if "judges" in self.model_fields_set:
                raise ValueError("judges: a study names its own, under study.judges")
            for key in ("mixes", "combine", "cascade", "families"):
                if getattr(self, key):
                    raise ValueError(f"{key}: a study has none; name them in a run's configuration")
            settings = [
                s for entry in self.study.judges if isinstance(entry, dict) for s in entry.values()
            ]
            if any(isinstance(s, dict) and "model" in s for s in settings):
                raise ValueError("study.judges: have no `model` of their own: see study.models")
            if any(model is None for model, _ in self.study.pairs_of(self.model, self.writer)):
                raise ValueError("model: a study needs one, study.models or study.pairs")
        elif self.model is None and any(s.get("model") is None for s in self.judges.values()):
            with suppress(UserError):  # a misspelt judge is refused later, with what is near
                if all(kind_of(*judge) for judge in self.judges.items()):
                    needed = "judges need one (a hub name, a path or a URI)"
                    raise ValueError(f"model: {needed}; for metrics alone, write `judges: {{}}`")
        return self

    @model_validator(mode="after")
    def _cost_has_prices(self) -> "Config":
        workers, cost = self.workers, self.most and self.most.cost
        if not cost:
            return self
        if cost[-3:].isalpha() and not cost.endswith(workers.currency):
            raise ValueError(f"most.cost: is {cost}, and prices are in {workers.currency}: set "
                             "`workers: {currency: …}`")  # fmt: skip
        if not (workers.price_per_gpu_hour or workers.price_per_worker_hour):
            for model in (model for model in self.models if not model.price_per_million):
                raise ValueError(
                    f"most.cost: model {model.source or model.name} has no price: write "
                    "`price_per_million: {prompt: …, generated: …}` in it, or a price of `workers`"
                )
        return self

    @model_validator(mode="after")
    def _keys_fit_judges(self) -> "Config":
        """The judges of a study are known to its runs alone."""
        for key, value in self.of_judges.items() if self.study is None else ():
            kind = _keys_of_judges()[key]
            judges = self._judges_of(kind)
            try:
                for judge in plugin(kind).keys[key](value, judges):
                    if judge not in judges:
                        raise ValueError(unknown(f"judge of {kind}", judge, judges))
            except ValueError as error:
                raise ValueError(f"{key}: {error}") from None
        return self


@cache
def _keys_of_judges() -> dict[str, str]:
    """Every key that a kind of judge has of its own, and the kind."""
    return {key: kind for kind, p in plugins().items() for key in p.keys}


def load_config(
    given: AnyPath | Mapping[str, Any], changes: Sequence[str] = (), **settings: Any
) -> Config:
    """A YAML file, a run's folder or a mapping, and `settings` and then `changes` laid over it.

    A corpus in memory is written into the folder `out`; the configuration then has its path.
    """
    if is_in_memory(given):
        advice = "give `{'corpus': rows, 'out': …}`, or call `evaljudge.score`"
        raise UserError(f"config: these are rows: {advice}")
    file = "" if isinstance(given, Mapping) else as_path(given, "config")
    spec = {**(given if isinstance(given, Mapping) else _read_file(file)), **settings}
    refuse_unplain(changes, "changes")
    import_edited_anew()
    for change in listed(changes):
        spec = _changed(spec, change)
    spec, in_memory = _memory_as_files(spec)
    refuse_unplain(spec)
    spec = as_plain(spec)
    place = f"{file}{' with --set' if changes else ''}: " if file else ""
    config = read_settings(Config, spec, "", place)
    config._place = place
    for made in in_memory:
        made.write(config.out)
    return config


def _memory_as_files(spec: Mapping[str, Any]) -> tuple[dict[str, Any], list[CorpusFile]]:
    corpus, out = spec.get("corpus"), str(as_plain(spec.get("out", "")))
    settings = corpus if isinstance(corpus, Mapping) else {"path": corpus}
    rows = {"corpus": settings.get("path"), "ratings": spec.get("ratings")}
    made = {key: file_of(value, key) for key, value in rows.items() if is_in_memory(value)}
    paths: dict[str, Any] = {key: file.path_in(out) for key, file in made.items()}
    if "corpus" in paths:
        paths["corpus"] = {**settings, "path": paths["corpus"]}
    return {**spec, **paths}, list(made.values())


def _read_file(path: str) -> dict[str, Any]:
    file = Path(path)
    if file.is_dir() or "://" in path:  # a run, wherever its folder lies now
        return {**Output(path).known_run()["config"], "out": path}
    init = f"{file}: a corpus, not a configuration: `evaljudge init --corpus {file}` writes one"
    if file.name.endswith(CORPUS_ENDINGS) and file.is_file():
        raise UserError(init)
    try:
        text = file.read_text(encoding="utf-8")
        config_folder.set(str(file.parent))
    except FileNotFoundError:
        raise absent(str(file), "no such configuration") from None
    except UnicodeDecodeError:
        raise UserError(f"{file}: not UTF-8: save it as UTF-8") from None
    except (OSError, ValueError) as error:  # ValueError: a path with a NUL
        raise UserError(f"{file}: cannot be read: {error}") from None
    spec = read_yaml(text, file)
    rows = spec if file.suffix == ".json" and isinstance(spec, list | dict) else ()
    if rows and not Config.model_fields.keys() & {*map(str, rows)}:
        raise UserError(init)
    if not isinstance(spec, dict):
        least = "at least `corpus`, `out` and, for judges, `model` (`evaljudge init`)"
        raise UserError(f"{file}: no configuration: write keys and values, {least}")
    return spec


def _changed(spec: Mapping[str, Any], change: str) -> dict[str, Any]:
    path, equals, text = change.partition("=")
    if not equals or not path:
        raise UserError(f"--set {change}: write it as key=value or key.inner=value")
    keys = path.split(".")
    if len(keys) > DEEPEST:
        raise UserError(f"--set {one_line(change)}: nested too deep")
    value = read_yaml(text, f"--set {one_line(change)}")
    if value is None and path in Config.model_fields:  # as if it were not there
        return {key: known for key, known in spec.items() if key != path}
    return _with(spec, keys, value)


def _with(spec: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    first, *rest = path
    inner = spec.get(first)
    if not rest:
        return {**spec, first: value}
    if first in ("model", "writer") and isinstance(inner, str):
        inner = {"source": inner}
    if first in ("judges", "metrics") and isinstance(inner, list):
        inner = {str(name): {} for name in inner}
    return {**spec, first: _with(inner if isinstance(inner, Mapping) else {}, rest, value)}
