"""Which revision of a model is meant, what its small files say, and how vLLM opens it; or what the
server says that has it, described on the driver and opened on a worker."""

import hashlib
import os
from dataclasses import replace
from difflib import get_close_matches
from importlib import metadata
from pathlib import Path

from evaljudge.engines.adapter import identify_adapter
from evaljudge.engines.checkpoint import (
    CONFIG,
    computed_in,
    digest_of,
    labels_of,
    lacking,
    language_config,
    layers,
    local_folder,
    read_json,
)
from evaljudge.engines.endpoint.client import Client
from evaljudge.engines.endpoint.model import EndpointModel
from evaljudge.engines.endpoint.served import Served, find_out
from evaljudge.engines.endpoint.settings import Endpoint
from evaljudge.engines.internals import engine_arguments, installed_build
from evaljudge.engines.loading import fetch_checkpoint, load_engine, usual_block
from evaljudge.engines.source import VLLM, Engine, Identity, ModelFacts, ModelSource
from evaljudge.engines.template import find_template, settled
from evaljudge.engines.thinking import thought_form
from evaljudge.engines.trust import refuse_untrusted
from evaljudge.errors import UserError, first_line, needing
from evaljudge.model.asks import Options, Prompt, Spent
from evaljudge.model.imagining import TokenCounter

LETTERS_PER_TOKEN = 4


class VllmEngines:
    @property
    def version(self) -> str:
        return f"vllm {metadata.version(installed_build())}"

    def describe(self, source: ModelSource) -> ModelFacts:
        if source.endpoint:
            return _described(source, source.endpoint)
        identity, context = identity_with_habits(source), context_known(source)
        caution, labels = caution_of(source), labels_of(source)
        return ModelFacts(identity, context, caution, lacking(source), labels=labels)

    def find_encoder(self, encoder: str) -> str:
        name = encoder.removeprefix(VLLM)
        if name == encoder:
            with needing(encoder, "embeddings"):
                metadata.version("sentence-transformers")
        if "/" not in name and name == encoder and not os.path.exists(name):
            name = f"sentence-transformers/{name}"  # as that library reads short names
        source = ModelSource(name)
        is_here = os.path.exists(source.path) or "://" in source.path
        # what lies there may have any of several layouts: loading it tells
        refuse_untrusted(source, None if is_here else _hub_commit(source), can_allow=False)
        return lacking(source)

    def token_counter(self, source: ModelSource) -> TokenCounter:
        if source.endpoint:
            return _estimated
        from evaljudge.engines.token_counter import make_token_counter

        return make_token_counter(source, expected_block(source))

    def fetch(self, source: ModelSource) -> None:
        if not source.endpoint:
            fetch_checkpoint(source)

    def open(self, source: ModelSource, seed: int) -> Engine:
        if source.endpoint:
            return _opened(source, source.endpoint, seed)
        from evaljudge.engines.vllm import VllmModel

        return VllmModel(*load_engine(source, seed), source, seed)


def identity_with_habits(source: ModelSource) -> Identity:
    """The model with what the user allows, its adapter, and what its template asks for."""
    refuse_unknown_arguments(source)
    identity, adapter = identity_of(source), identify_adapter(source)
    allow = refuse_untrusted(source, identity.commit)
    pinned = replace(source, revision=identity.commit or source.revision)
    dtype = computed_in(read_json(pinned, CONFIG) or {}, source.engine)
    exactness = source.exactness
    identity = replace(identity, allow=allow, adapter=adapter, dtype=dtype, exactness=exactness)
    template = find_template(pinned)
    if source.chat is None:  # {}: so the runs of base models are known that were begun before
        has_one = template is not None and template.text
        return replace(identity, chat=None if has_one else {}, reply=source.reply or "")
    asked = settled(source, template)
    if source.thinking and template:
        thought_form(template, asked.chat or {})  # refuses one that opens no block
    return identity.settled_as(source, asked.chat, asked.reply or "")


def context_known(source: ModelSource) -> int | None:
    limit, config = source.engine.get("max_model_len"), language_config(source)
    if not (isinstance(limit, int) and limit > 0):  # RoPE scaling stretches what is said there
        limit = None if config.get("rope_scaling") else config.get("max_position_embeddings")
    return limit if isinstance(limit, int) else None


def expected_block(source: ModelSource) -> int:
    caches = source.engine.get("enable_prefix_caching")
    if caches is None:
        caches = layers(source) != "no attention"
    return int(source.engine.get("block_size") or usual_block()) if caches else 0


def caution_of(source: ModelSource) -> str | None:
    block = expected_block(source)
    if not block or layers(source) != "hybrid":
        return None
    return (
        f"model {source.source} has layers without attention: vLLM sets its cache blocks as it "
        "loads it, often to hundreds of tokens, and a prefix that is shorter is not shared. "
        f"`prefill at least` counts blocks of {block}"
    )


def identity_of(source: ModelSource) -> Identity:
    """Which model this is, whether it may be loaded or not."""
    name, last = source.source, source.source.rstrip("/").rpartition("/")[2]
    rest = (source.chat, dict(source.engine))
    if source.is_bundled:
        return Identity(name, _folder_revision(Path(source.path)), *rest)
    if "://" in name:
        return Identity(last, source.revision or _uri_revision(name), *rest)
    if os.path.exists(name):
        return Identity(last, _folder_revision(Path(name)), *rest)
    commit = _hub_commit(source)
    return Identity(name, commit, *rest, commit)


def refuse_unknown_arguments(source: ModelSource) -> None:
    """The engine would refuse them, too, but only after minutes of loading on a worker."""
    arguments = engine_arguments() if source.engine else ()
    for name in source.engine:
        if name not in arguments:
            near = get_close_matches(name.replace("-", "_"), arguments, n=1)
            hint = f"did you mean {near[0]!r}?" if near else "see `vllm serve --help=all`"
            raise UserError(f"model {source.source}: engine: unknown argument {name!r}: {hint}")


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
    from huggingface_hub import HfApi, constants

    name, why = source.source, "not in the local hub cache (HF_HUB_OFFLINE is set)"
    try:
        if not constants.HF_HUB_OFFLINE:
            return str(HfApi().model_info(name, revision=source.revision, timeout=10).sha)
    except Exception as error:  # the hub's client raises many kinds; each means: not from there
        why = f"the hub says: {first_line(error)}"
    if (cached := local_folder(source)) is not None:
        return cached.name
    hint = f" (a model behind a URL is `{{endpoint: URL, name: {name}}}`)"
    raise UserError(f"model {name}: no such folder, and {why}{hint}")


def _described(source: ModelSource, endpoint: Endpoint) -> ModelFacts:
    client = Client(endpoint)
    try:
        served = find_out(client, source)
    finally:
        client.close()
    identity = _identity_served(served, source, endpoint)
    return ModelFacts(identity, served.context, weighs=served.template is not None)


def _identity_served(served: Served, source: ModelSource, endpoint: Endpoint) -> Identity:
    model, exactness = served.model or served.name, source.exactness if served.template else None
    return Identity(
        *(served.name, model, source.chat, {}),
        commit=model,
        exactness=exactness,
        endpoint=endpoint.url,
        way=served.way,
    ).settled_as(source, served.chat, served.reply)


def _opened(source: ModelSource, endpoint: Endpoint, seed: int) -> EndpointModel:
    """Refused where it is not what the driver saw, by another server behind the same name, say."""
    client = Client(endpoint)
    try:
        served = find_out(client, source)
        now = _identity_served(served, source, endpoint)
        if source.way and (now.way, now.revision) != (source.way, source.revision):
            raise UserError(
                f"endpoint {endpoint.url}: it was {source.revision} ({source.way}), and is "
                f"{now.revision} ({now.way}) now"
            )
        return EndpointModel(client, served, source, seed)
    except BaseException:
        client.close()
        raise


def _estimated(prompt: Prompt, options: Options | None = None) -> tuple[Spent, ...]:
    return (Spent(len(prompt.text) // LETTERS_PER_TOKEN + 1, 0, 1),)
