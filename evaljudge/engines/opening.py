"""Which model is meant, which revision of it that is, and how an engine for it is opened.

`Engines` is what tests and scale runs replace: it finds a model's revision on the driver (a model
that does not exist is refused there, before anything is loaded) and opens it on a worker.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from importlib import metadata
from pathlib import Path
from typing import Any, Protocol, Self

from evaljudge.bundled.nano import CHECKPOINT
from evaljudge.engines.adapter import identify_adapter, refuse_lora_without_adapter
from evaljudge.engines.checkpoint import (
    computed_in,
    digest_of,
    lacking,
    positions,
    whole_config,
)
from evaljudge.engines.habits import RECOGNISED, find_template, settle
from evaljudge.engines.internals import engine_arguments, installed_build
from evaljudge.engines.template import CLOCK
from evaljudge.engines.trust import Need, refuse_untrusted
from evaljudge.errors import UserError, first_line
from evaljudge.model import Model
from evaljudge.model.asks import Options, Prompt
from evaljudge.model.imagining import Gauge

BUNDLED = "nano"
"""The model that comes with evaljudge goes by this name; see `evaljudge.bundled.nano`."""
BY_TEMPLATE = " (by its template)"
VLLM = "vllm:"
"""Before the name of an encoder that vLLM is to serve."""
EXACTNESS = 1e-4


@dataclass(frozen=True, slots=True)
class ModelSource:
    """A model as the user names it: hub name, path or URI; template switches, vLLM arguments."""

    source: str
    revision: str | None = None
    chat: Mapping[str, Any] | None = field(default_factory=dict)
    """None: it completes a text, and its template is not used."""
    engine: Mapping[str, Any] = field(default_factory=dict)
    allow: tuple[Need, ...] = ()
    """What the user trusts this model with; see trust.py."""
    exactness: float | None = EXACTNESS
    """How much a probability that is reported may be off by spellings that were not followed; None
    in runs of earlier versions, which had another rule (see labels.py)."""
    dtype: str | None = None
    """What it computes in (`identify` finds it); None: what vLLM chooses, as in runs of earlier
    versions."""
    adapter: str | None = None
    """The folder of a LoRA adapter that is laid over it; see adapter.py."""
    longest: int = field(default=0, repr=False, compare=False)
    """The tokens of the longest prompt that is known, with its reply: an engine without room for it
    is refused as it opens. It is no part of the identity."""
    reply: str | None = None
    """What stands behind the generation prompt; None: what the template asks for (habits.py)."""
    least_mass: float = 0.0
    """A judge's options must hold this much of its probability, or nothing is judged."""

    @property
    def is_bundled(self) -> bool:
        return self.source == BUNDLED

    @property
    def path(self) -> str:
        """The path or name to load; of the bundled judge, where this installation has it."""
        return str(CHECKPOINT) if self.is_bundled else self.source

    @property
    def gpus_per_engine(self) -> int:
        tensor = int(self.engine.get("tensor_parallel_size", 1))
        return tensor * int(self.engine.get("pipeline_parallel_size", 1))


OPERATIONAL = frozenset(
    [
        *("block_size", "mamba_block_size", "enable_prefix_caching", "prefix_caching_hash_algo"),
        *("prefix_match_unit", "prefix_cache_retention_interval", "mamba_cache_mode"),
        *("kv_cache_memory_bytes", "gpu_memory_utilization", "num_gpu_blocks_override"),
        *("max_num_seqs", "max_num_batched_tokens", "long_prefill_token_threshold"),
        *("enable_chunked_prefill", "async_scheduling", "performance_mode", "optimization_level"),
        *("compilation_config", "cudagraph_capture_sizes", "max_cudagraph_capture_size"),
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
    """As of a ModelSource; None of models whose probabilities are not read from spellings."""
    dtype: str | None = None
    """Likewise what it computes in."""
    adapter: str = ""
    reply: str = ""
    by_template: tuple[str, ...] = field(default=(), compare=False)

    def as_key(self) -> dict[str, Any]:
        engine = {name: v for name, v in self.engine.items() if name not in OPERATIONAL}
        key: dict[str, Any] = {"revision": self.revision, "chat": self.chat, "engine": engine}
        key |= {"reply": self.reply} if self.reply else {}
        key |= {"allow": list(self.allow)} if self.allow else {}
        return key | ({"adapter": self.adapter.rpartition("@")[2]} if self.adapter else {})

    def as_fingerprint(self) -> dict[str, Any]:
        """What it writes does not depend on how exactly it is read, so briefs' keys lack that."""
        named: dict[str, Any] = {"adapter": self.adapter} if self.adapter else {}
        read = {"exactness": self.exactness, "dtype": self.dtype}
        named |= {name: value for name, value in read.items() if value is not None}
        return {"name": self.name} | self.as_key() | named

    def __str__(self) -> str:
        said = {**(self.chat or {}), "reply": self.reply}
        told = [*self.by_template]
        told += ["reply"] if self.reply and "reply" not in told else []
        with_ = [*self.allow] + [
            f"{name} {json.dumps(said[name], ensure_ascii=False)}"
            f"{BY_TEMPLATE if name in self.by_template else ''}"
            for name in told
        ]
        name, _, digest = self.adapter.rpartition("@")
        adapted = f" adapted by {name}@{digest[:12]}" if self.adapter else ""
        settings = f" with {', '.join(with_)}" if with_ else ""
        return f"{self.name}@{self.revision[:12]}{adapted}{settings}"

    def settled_as(self, source: ModelSource, chat: Mapping[str, Any] | None, reply: str) -> Self:
        """With these switches and this reply, of which the user set those that the source has."""
        ours = [name for name in RECOGNISED if name in {*(chat or ())} - {*(source.chat or ())}]
        ours += ["reply"] if reply and source.reply is None else []
        return replace(self, chat=chat, reply=reply, by_template=tuple(ours))


def identity_bound(known: Mapping[str, Any], source: ModelSource) -> Identity:
    """The model of an earlier run, by its fingerprint: its weights may not be on this machine.

    So what its template asks for is what it was then.
    """
    names = (source.source, source.source.rstrip("/").rpartition("/")[2])
    if known.get("name") in names:
        made = (known["name"], known["revision"], source.chat, source.engine)
        more: dict[str, Any] = {name: known.get(name) for name in ("exactness", "dtype")}
        more |= {"allow": tuple(known.get("allow", ())), "adapter": known.get("adapter", "")}
        identity = Identity(*made, **more)
        chat, there = source.chat, known.get("chat")
        if chat is None:
            chat = {} if there == {} else None  # as a base model without a template has it
        elif there is not None:
            open_ = RECOGNISED if source.reply is None else (CLOCK,)
            chat = {name: there[name] for name in open_ if name in there} | dict(chat)
        reply = known.get("reply", "") if source.reply is None else source.reply
        return identity.settled_as(source, chat, reply)
    return Identity(names[0], source.revision or "unknown", source.chat, source.engine)


@dataclass(frozen=True, slots=True)
class LowMass:
    """How much of the model's probability the options hold, and what it begins to say instead."""

    mass: float
    said: str


class Engine(Model, Protocol):
    """A model on a worker."""

    @property
    def cache_block(self) -> int | None:
        """How many tokens it shares at a time; 0 where it keeps no prefixes, None if unknown."""

    def prepare(self, options: Options) -> None:
        """Compile options, so that those that cannot be told apart are refused at start-up."""

    def prepare_encoder(self, encoder: str) -> None:
        """Load it, so that one that cannot be loaded is refused before anything is asked."""

    async def low_mass(self, prompt: Prompt, options: Options, least: float) -> LowMass | None:
        """Whether the options hold less than this; not for models that have no other words."""

    def close(self) -> None: ...


class Engines(Protocol):
    @property
    def version(self) -> str:
        """The engine's name and version, as it goes into the fingerprint."""

    def identify(self, source: ModelSource) -> Identity: ...

    def find_encoder(self, encoder: str) -> None:
        """Refuse one that is neither on the disk nor on the hub; loads nothing."""

    def gauge(self, source: ModelSource) -> Gauge:
        """Counts a prompt's tokens, and the further requests of one with options, by the model's
        own tokenizer; loads no weights."""

    def context(self, source: ModelSource) -> int | None:
        """How many tokens the model holds; None where that is known to the engine alone."""

    def caution(self, source: ModelSource) -> str | None:
        """What a gauge cannot know of how this model's prompts share what was computed."""

    def lacking(self, source: ModelSource) -> str:
        """Which of its files are not on this machine, in words; empty where all are."""

    def fetch(self, source: ModelSource) -> None:
        """Have its files on this machine, so that it opens sooner."""

    def open(self, source: ModelSource, seed: int) -> Engine: ...


class VllmEngines:
    """vLLM, in whichever build is installed."""

    @property
    def version(self) -> str:
        return f"vllm {metadata.version(installed_build())}"

    def identify(self, source: ModelSource) -> Identity:
        refuse_lora_without_adapter(source)
        refuse_unknown_arguments(source)
        identity, adapter = identity_of(source), identify_adapter(source)
        allow = refuse_untrusted(source, identity.commit)
        dtype = computed_in(_config_of(source, identity.commit), source.engine)
        identity = replace(identity, allow=allow, adapter=adapter, dtype=dtype)
        identity = replace(identity, exactness=source.exactness)
        template = find_template(source.path, identity.commit or source.revision)
        if source.chat is None:  # {}: so the runs of base models are known that were begun before
            has_one = template is not None and template.text
            return replace(identity, chat=None if has_one else {}, reply=source.reply or "")
        chat, reply = settle(source.source, template, source.chat, source.reply)
        return identity.settled_as(source, chat, reply)

    def find_encoder(self, encoder: str) -> None:
        source = encoder_source(encoder)
        is_here = os.path.exists(source.path) or "://" in source.path
        # what lies there may have any of several layouts: loading it tells
        refuse_untrusted(source, None if is_here else _hub_commit(source), can_allow=False)

    def gauge(self, source: ModelSource) -> Gauge:
        from evaljudge.engines.gauge import make_gauge

        return make_gauge(source)

    def context(self, source: ModelSource) -> int | None:
        limit = source.engine.get("max_model_len")
        return limit if isinstance(limit, int) and limit > 0 else positions(source)

    def caution(self, source: ModelSource) -> str | None:
        from evaljudge.engines.gauge import caution

        return caution(source)

    def lacking(self, source: ModelSource) -> str:
        return lacking(source)

    def fetch(self, source: ModelSource) -> None:
        from evaljudge.engines.loading import fetch_checkpoint

        fetch_checkpoint(source)

    def open(self, source: ModelSource, seed: int) -> Engine:
        from evaljudge.engines.vllm import open_vllm

        return open_vllm(source, seed)


def encoder_source(encoder: str) -> ModelSource:
    """The checkpoint that an encoder's name stands for."""
    name = encoder.removeprefix(VLLM)
    if "/" not in name and name == encoder and not os.path.exists(name):
        name = f"sentence-transformers/{name}"  # as that library reads short names
    return ModelSource(name)


def settled(source: ModelSource) -> ModelSource:
    """With what its chat template asks for, where the user leaves that open."""
    if source.chat is None:
        return source
    template = find_template(source.path, source.revision)
    chat, reply = settle(source.source, template, source.chat, source.reply)
    return replace(source, chat=chat, reply=reply)


def identity_of(source: ModelSource) -> Identity:
    """Which model this is, whether it may be loaded or not."""
    name, last = source.source, source.source.rstrip("/").rpartition("/")[2]
    rest = (source.chat, dict(source.engine))
    if source.is_bundled:
        _refuse_ambiguous(name)
        return Identity(name, _folder_revision(Path(source.path)), *rest)
    if "://" in name:
        return Identity(last, source.revision or _uri_revision(name), *rest)
    if os.path.exists(name):
        return Identity(last, _folder_revision(Path(name)), *rest)
    commit = _hub_commit(source)
    return Identity(name, commit, *rest, commit)


def _config_of(source: ModelSource, commit: str | None) -> Mapping[str, Any]:
    if "://" not in source.path:
        return whole_config(replace(source, revision=commit or source.revision))
    from evaljudge.storage import Place

    said: Mapping[str, Any] = json.loads(Place(source.path).read("config.json"))
    return said


def refuse_unknown_arguments(source: ModelSource) -> None:
    """The engine would refuse them, too, but only after minutes of loading on a worker."""
    known = engine_arguments() if source.engine else ()
    for name in source.engine:
        if name not in known:
            near = get_close_matches(name.replace("-", "_"), known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "see `vllm serve --help=all`"
            raise UserError(f"model {source.source}: engine: unknown argument {name!r}: {hint}")


def _refuse_ambiguous(name: str) -> None:
    if os.path.exists(name):
        raise UserError(
            f"model {name}: the bundled judge goes by this name, and so does what lies here: "
            f"write ./{name} for the latter, or run elsewhere"
        )


def _folder_revision(folder: Path) -> str:
    if not (folder / "config.json").is_file():
        raise UserError(f"model {folder}: no config.json there, so no checkpoint")
    return digest_of(sorted(p for p in folder.iterdir() if p.is_file() and p.name[0] != "."))


def _uri_revision(uri: str) -> str:
    from evaljudge.storage import listing

    files = listing(uri)
    if not any(name == "config.json" for name, _ in files):
        raise UserError(f"model {uri}: no config.json there, so no checkpoint")
    return hashlib.sha256(repr(files).encode()).hexdigest()


def _hub_commit(source: ModelSource) -> str:
    """The commit that a hub name stands for: asked of the hub, or read from the local cache."""
    import huggingface_hub
    from huggingface_hub.errors import HFValidationError

    name, revision = source.source, source.revision
    try:
        cached = huggingface_hub.try_to_load_from_cache(name, "config.json", revision=revision)
        if not huggingface_hub.constants.HF_HUB_OFFLINE:
            sha = huggingface_hub.HfApi().model_info(name, revision=revision, timeout=10).sha
            return str(sha)
    except HFValidationError:
        raise _absent(name, "no name that a hub could have") from None
    except Exception as error:  # the hub's client raises many kinds; each means: not from there
        if not isinstance(cached, str):
            raise _absent(name, f"the hub says: {first_line(error)}") from None
    if not isinstance(cached, str):
        raise _absent(name, "not in the local hub cache (HF_HUB_OFFLINE is set)")
    return Path(cached).parent.name


def _absent(name: str, why: str) -> UserError:
    near = get_close_matches(name.lower(), [BUNDLED])
    hint = f": did you mean {BUNDLED!r}, the bundled one?" if near else ""
    return UserError(f"model {name}: no such folder, and {why}{hint}")
