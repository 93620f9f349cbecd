"""The words of engines: which model is meant, what is known of it, what opens and answers.

`Engines` is what tests and scale runs replace: it describes a model on the driver (one that does
not exist is refused there, before anything is loaded) and opens it on a worker.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, Literal, Protocol, Self

from pydantic import Field, model_validator

from evaljudge.bundled.nano import CHECKPOINT
from evaljudge.engines.endpoint.settings import Endpoint
from evaljudge.model import Model
from evaljudge.model.asks import Options, Prompt, Spent
from evaljudge.model.imagining import TokenCounter
from evaljudge.settings import Settings

BUNDLED = "nano"
"""The model that comes with evaljudge goes by this name; see `evaljudge.bundled.nano`."""
VLLM = "vllm:"  # the prefix of an encoder's name that vLLM is to serve
EXACTNESS = 1e-4
NO_PRICE = (0.0, 0.0, 0.0)
Need = Literal["pickle", "remote-code"]
PICKLE: Need = "pickle"
REMOTE_CODE: Need = "remote-code"
CLOCK = "strftime_now"
"""What templates call for today's date; as a switch, the day that they get."""
THINKING = "enable_thinking"
RECOGNISED = (THINKING, CLOCK)
"""Switches of a template that are set where the user says nothing."""


class Thinking(Settings):
    """A model thinks before it chooses among answers."""

    tokens: Annotated[int, Field(ge=1)] = Field(description="how many tokens a thought may have")
    samples: Annotated[int, Field(ge=1, le=1000)] = 1
    """How many thoughts there are before each answer."""
    temperature: Annotated[float, Field(ge=0)] = 0.6
    keep: bool = True
    """Whether the thoughts are part of the evidence."""

    @model_validator(mode="after")
    def _samples_differ(self) -> Self:
        if self.samples > 1 and not self.temperature:
            raise ValueError("samples: all thoughts are equal at temperature 0")
        return self

    def planned(self, spent: Sequence[Spent]) -> tuple[Spent, ...]:
        """What an ask costs with thoughts of full length, where it costs this much without."""
        after = [replace(each, prompt=each.prompt + self.tokens) for each in spent]
        thought = replace(spent[0], generated=self.samples * self.tokens)
        return thought, *after * self.samples


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model as the user names it: hub name, path or URI; template switches, vLLM arguments."""

    source: str
    revision: str | None = None
    chat: Mapping[str, Any] | None = field(default_factory=dict)
    """None: it completes a text, and its template is not used."""
    engine: Mapping[str, Any] = field(default_factory=dict)
    allow: tuple[Need, ...] = ()  # what the user trusts this model with; see trust.py
    exactness: float = EXACTNESS
    """How much a probability that is reported may be off by spellings that were not followed."""
    dtype: str | None = None  # what it computes in (`describe` finds it)
    adapter: str | None = None
    """The folder of a LoRA adapter that is laid over it; see adapter.py."""
    longest: int = field(default=0, repr=False, compare=False)
    """The tokens of the longest prompt that is known, with its reply: an engine without room for it
    is refused as it opens. It is no part of the identity."""
    reply: str | None = None
    """What stands behind the generation prompt; None: what the template asks for (template.py)."""
    price: tuple[float, float, float] = field(default=NO_PRICE, repr=False, compare=False)
    """Of a million prompt tokens, of those that were cached, and of generated ones."""
    least_mass: float = 0.0
    """A judge's options must hold this much of its probability, or nothing is judged."""
    endpoint: Endpoint | None = None
    """The server that has it; then `source` is its name there, or the URL where none was named."""
    way: str = ""  # how the server's probabilities are known, as the driver found it
    thinking: Thinking | None = None

    @property
    def is_bundled(self) -> bool:
        return self.source == BUNDLED and self.endpoint is None

    @property
    def path(self) -> str:
        """The path or name to load; of the bundled judge, where this installation has it."""
        return str(CHECKPOINT) if self.is_bundled else self.source

    @property
    def gpus_per_engine(self) -> int:
        if self.endpoint:
            return 0
        tensor = int(self.engine.get("tensor_parallel_size", 1))
        return tensor * int(self.engine.get("pipeline_parallel_size", 1))

    def shared_by(self, workers: int) -> "ModelSource":
        """As each of so many workers has it: a server is asked by all together what it allows."""
        if self.endpoint is None:
            return self
        each = {"at_once": self.endpoint.at_once // workers}
        return replace(self, endpoint=self.endpoint.model_copy(update=each))


OPERATIONAL = frozenset(
    [
        *("block_size", "mamba_block_size", "enable_prefix_caching", "prefix_caching_hash_algo"),
        *("prefix_match_unit", "prefix_cache_retention_interval", "mamba_cache_mode"),
        *("kv_cache_memory_bytes", "gpu_memory_utilization", "num_gpu_blocks_override"),
        *("max_num_seqs", "max_num_batched_tokens", "long_prefill_token_threshold"),
        *("enable_chunked_prefill", "async_scheduling", "performance_mode", "optimization_level"),
        *("scheduling_policy", "compilation_config"),
        *("cudagraph_capture_sizes", "max_cudagraph_capture_size"),
        *("enforce_eager", "attention_backend", "disable_log_stats", "download_dir"),
        *("tensor_parallel_size", "pipeline_parallel_size", "distributed_executor_backend"),
        *("disable_custom_all_reduce", "max_parallel_loading_workers", "numa_bind"),
    ]
)
"""vLLM arguments that say how it runs, not what it is asked or answers (but for rounding)."""


@dataclass(frozen=True, slots=True)
class Identity:
    """What of a model changes its answers; of a path only the last part, since folders may move.

    `commit` is the hub's commit, so that all workers load what was identified. `allow` is what the
    user trusts it with and it needs. `adapter` is NAME@DIGEST of what is laid over it.
    `by_template` names, for people, what of `chat` and `reply` the user did not set.
    """

    name: str
    revision: str
    chat: Mapping[str, Any] | None
    engine: Mapping[str, Any]
    commit: str | None = None
    allow: tuple[Need, ...] = ()
    exactness: float | None = None
    """The ModelSource's; None for models whose probabilities are not read from spellings."""
    dtype: str | None = None
    adapter: str = ""
    reply: str = ""
    by_template: tuple[str, ...] = field(default=(), compare=False)
    endpoint: str = ""
    """The URL of the server that has it; then `revision` is what the server calls the model."""
    way: str = ""
    thinking: Mapping[str, Any] = field(default_factory=dict)
    """How it thinks before it chooses, if it does; what it only writes does not depend on that."""

    def as_key(self) -> dict[str, Any]:
        engine = {name: v for name, v in self.engine.items() if name not in OPERATIONAL}
        key: dict[str, Any] = {"revision": self.revision, "chat": self.chat, "engine": engine}
        key |= {"reply": self.reply} if self.reply else {}
        key |= {"endpoint": self.endpoint} if self.endpoint else {}
        key |= {"allow": list(self.allow)} if self.allow else {}
        return key | ({"adapter": self.adapter.rpartition("@")[2]} if self.adapter else {})

    def as_fingerprint(self) -> dict[str, Any]:
        """What it writes does not depend on how exactly it is read, so briefs' keys lack that."""
        named: dict[str, Any] = {"adapter": self.adapter} if self.adapter else {}
        named |= {"way": self.way} if self.way else {}
        named |= {"thinking": self.thinking} if self.thinking else {}
        read = {"exactness": self.exactness, "dtype": self.dtype}
        named |= {name: value for name, value in read.items() if value is not None}
        return {"name": self.name} | self.as_key() | named

    def __str__(self) -> str:
        values = {**(self.chat or {}), "reply": self.reply}
        names = [*self.by_template]
        names += ["reply"] if self.reply and "reply" not in names else []
        with_ = [*self.allow] + [
            f"{name} {json.dumps(values[name], ensure_ascii=False)}"
            f"{' (by its template)' if name in self.by_template else ''}"
            for name in names
        ]
        with_ += [f"thinking {json.dumps(self.thinking)}"] if self.thinking else []
        name, _, digest = self.adapter.rpartition("@")
        adapted = f" adapted by {name}@{digest[:12]}" if self.adapter else ""
        settings = f" with {', '.join(with_)}" if with_ else ""
        if self.endpoint:
            return f"{self.name} ({self.revision}) at {self.endpoint}{settings}"
        return f"{self.name}@{self.revision[:12]}{adapted}{settings}"

    @classmethod
    def known(cls, said: Mapping[str, Any]) -> Self:
        """The identity in a run's fingerprint."""
        named = {each.name: said[each.name] for each in fields(cls) if each.name in said}
        return cls(**{"chat": None, "engine": {}, **named, "allow": tuple(said.get("allow", ()))})

    def settled_as(self, source: ModelSource, chat: Mapping[str, Any] | None, reply: str) -> Self:
        """The identity with these switches and this reply; those in the source are the user's."""
        ours = [name for name in RECOGNISED if name in {*(chat or ())} - {*(source.chat or ())}]
        ours += ["reply"] if reply and source.reply is None else []
        return replace(self, chat=chat, reply=reply, by_template=tuple(ours))


def identity_bound(known: Mapping[str, Any], source: ModelSource) -> Identity:
    """The model of an earlier run, by its fingerprint: its weights may not be on this machine.

    So what its template asks for is what it was then.
    """
    names = [source.source, source.source.rstrip("/").rpartition("/")[2]]
    url = source.endpoint.url if source.endpoint else ""
    names += [known.get("name", "")] if source.source == url else []
    if known.get("name") in names and known.get("endpoint", "") == url:
        identity = replace(Identity.known(known), engine=source.engine)
        chat, there = source.chat, known.get("chat")
        if chat is None:
            chat = {} if there == {} else None  # as a base model without a template has it
        elif there is not None:
            open_ = RECOGNISED if source.reply is None else (CLOCK,)
            chat = {name: there[name] for name in open_ if name in there} | dict(chat)
        reply = known.get("reply", "") if source.reply is None else source.reply
        return identity.settled_as(source, chat, reply)
    unknown = Identity(names[0], source.revision or "unknown", source.chat, source.engine)
    return replace(unknown, endpoint=url)


@dataclass(frozen=True, slots=True)
class LowMass:
    """How much of the model's probability the options hold, and what it begins to say instead, or
    thought before."""

    mass: float
    said: str


class Engine(Model, Protocol):
    """A model on a worker."""

    @property
    def cache_block(self) -> int | None:
        """How many tokens it shares at a time; 0 where it keeps no prefixes, None if unknown."""

    def prepare(self, options: Options) -> None:
        """Compile options, so that indistinguishable ones are refused at start-up."""

    def prepare_encoder(self, encoder: str) -> None:
        """Load it, so that one that cannot be loaded is refused before anything is asked."""

    async def low_mass(self, prompt: Prompt, options: Options, least: float) -> LowMass | None:
        """Whether the options hold less than this; not for models that have no other words."""

    def close(self) -> None: ...


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model before it is loaded."""

    identity: Identity
    context: int | None = None
    """How many tokens the model holds; None where that is known to the engine alone."""
    caution: str | None = None
    """What a token counter cannot know of how this model's prompts share what was computed."""
    lacking: str = ""
    """Which of its files are not on this machine, in words; empty where all are."""
    weighs: bool = True  # whether it gives the log-probabilities of a text after a prompt
    labels: Sequence[str] | None = ()
    """What the numbers are of that a model gives which was trained to rate texts, and does nothing
    else; none where it writes; None for a scripted one, which does both."""


class Engines(Protocol):
    @property
    def version(self) -> str:
        """The engine's name and version, as it goes into the fingerprint."""

    def describe(self, source: ModelSource) -> ModelFacts:
        """Describes a model, or refuses one that is not available; loads no weights."""

    def find_encoder(self, encoder: str) -> str:
        """Refuse one that is neither on the disk nor on the hub; gives which of its files are not
        on this machine, in words."""

    def token_counter(self, source: ModelSource) -> TokenCounter:
        """Counts a prompt's tokens, and the further requests of one with options, by the model's
        own tokenizer; loads no weights."""

    def fetch(self, source: ModelSource) -> None:
        """Have its files on this machine, so that it opens sooner."""

    def open(self, source: ModelSource, seed: int) -> Engine: ...
