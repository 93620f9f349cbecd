"""Loading a checkpoint: vLLM's environment and arguments, the engine, the tokenizer."""

import logging
import os
import warnings
from dataclasses import replace
from typing import Any

from evaljudge.engines.adapter import adapter_arguments, load_adapter
from evaljudge.engines.checkpoint import OTHER_PARTS, whole_config
from evaljudge.engines.internals import (
    AS_FITS,
    CPU_BUILD,
    IN_ITS_OWN_PROCESS,
    context_of,
    installed_build,
    known_context,
    opened,
)
from evaljudge.engines.source import PICKLE, REMOTE_CODE, ModelSource
from evaljudge.engines.tokens import Tokeniser
from evaljudge.errors import UserError, first_words, needing

QUIET = {
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "TOKENIZERS_PARALLELISM": "false",
    IN_ITS_OWN_PROCESS: "0",  # see loop.py
}
CUDA_BLOCK = 16
CPU_BLOCK = 32
"""Smaller than the build's own 128: prefixes are shared in finer steps, and it was faster."""

CHECKPOINT_FILES = ["*.safetensors", "*.json", "*.model", "*.txt", "*.jinja"]
NEEDED = {PICKLE: ["*.bin", "*.pt"], REMOTE_CODE: ["*.py"]}
OTHER_FORMS = ["original/*", "consolidated*"]
"""The same weights once more, as their makers' own programs read them."""


def load_engine(source: ModelSource, seed: int) -> tuple[Any, Tokeniser]:
    set_environment()
    from vllm import EngineArgs
    from vllm.usage.usage_lib import UsageContext

    path = local_path(source.path)
    tokeniser = load_tokeniser(source)  # first: it says at once what is wrong with it
    try:
        arguments = EngineArgs(**_arguments(source, path, seed))
        # as `vllm.LLM`: far more tokens and sequences in a step than where somebody waits for each
        engine = opened(arguments, usage_context=UsageContext.LLM_CLASS)
        load_adapter(engine, source)
    except UserError:
        raise
    except Exception as error:  # many kinds, of many libraries; each means: not this model, or here
        reason = f"the engine cannot load it: {first_words(error)}"
        if "compute capability" in f"{error}" and source.dtype == "bfloat16":
            give = "`model: {engine: {dtype: float16}}`"
            reason = f"this GPU cannot compute in bfloat16: give {give}"
        raise UserError(f"model {source.source}: {reason}") from error
    refuse_short(source, context_of(engine), known_context(engine))
    return engine, tokeniser


def refuse_short(source: ModelSource, context: int, known: int) -> None:
    """`context`: how many tokens the open engine takes; `known`: how many its model knows.

    Prompts that are too long for the model itself are unscored, and end no run.
    """
    if min(source.longest, known) > context and "max_model_len" not in source.engine:
        raise UserError(
            f"model {source.source}: the longest prompt and its reply take {source.longest:,} "
            f"tokens, and beside the weights there is room for {context:,}: give the engine more "
            "GPUs (`model: {engine: {tensor_parallel_size: 2}}`) or larger ones, or take a smaller "
            "model; `evaljudge plan --gpu` says what fits"
        )


def usual_block() -> int:
    """The size of a block in a model whose layers are all attention."""
    return CPU_BLOCK if installed_build() == CPU_BUILD else CUDA_BLOCK


def set_environment() -> None:
    """What vLLM reads as it is imported; what the user has set stays."""
    wanted = dict(QUIET)
    if installed_build() == CPU_BUILD:
        wanted["TORCHDYNAMO_DISABLE"] = "1"  # one small gather costs 16 s and a C++ compiler
    os.environ.update({name: value for name, value in wanted.items() if name not in os.environ})
    if os.environ["VLLM_LOGGING_LEVEL"] == QUIET["VLLM_LOGGING_LEVEL"]:
        # of use to vLLM's developers alone, but not under its own setting
        logging.getLogger("torch._library.triton").setLevel(logging.ERROR)
        warnings.filterwarnings("ignore", category=FutureWarning, module=r"vllm\.")


def local_path(source: str) -> str:
    if "://" not in source:
        return source
    from evaljudge.storage import fetch_folder

    return fetch_folder(source)


def fetch_checkpoint(source: ModelSource) -> None:
    """The files that vLLM reads of a checkpoint in the usual form; none if it is here already."""
    path = local_path(source.path)
    if not os.path.isdir(path):
        from huggingface_hub import snapshot_download

        snapshot_download(
            path,
            revision=source.revision,
            cache_dir=source.engine.get("download_dir"),
            allow_patterns=[*CHECKPOINT_FILES, *(p for n in source.allow for p in NEEDED[n])],
            ignore_patterns=OTHER_FORMS,
        )


def load_tokeniser(source: ModelSource) -> Tokeniser:
    with needing(f"the tokenizer of {source.source}", "cpu", "gpu"):
        from transformers import AutoTokenizer

    path, revision, trusts = local_path(source.path), source.revision, REMOTE_CODE in source.allow
    try:
        return Tokeniser(
            AutoTokenizer.from_pretrained(path, revision=revision, trust_remote_code=trusts)
        )
    except Exception as error:  # transformers raises many kinds
        message = f"its tokenizer cannot be read: {first_words(error)}"
        raise UserError(f"model {source.source}: {message}") from error


def _arguments(source: ModelSource, path: str, seed: int) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "model": path,
        "revision": source.revision,
        "seed": seed,
        "disable_log_stats": True,
        "use_tqdm_on_load": False,
        "max_model_len": AS_FITS,
        "scheduling_policy": "priority",  # see loop.py
        "distributed_executor_backend": "uni" if source.gpus_per_engine == 1 else "mp",
    }
    if installed_build() == CPU_BUILD:
        chosen |= {"enforce_eager": True, "block_size": CPU_BLOCK}
        if "VLLM_CPU_KVCACHE_SPACE" not in os.environ:
            import psutil

            free = psutil.virtual_memory().available
            chosen["kv_cache_memory_bytes"] = int(min(free / 5, 8 << 30))
    config = whole_config(replace(source, source=path))
    has_other_parts = any(name.startswith(OTHER_PARTS) for name in config)
    reads_images = source.engine.keys() & {"limit_mm_per_prompt", "language_model_only"}
    if not reads_images and has_other_parts:
        chosen["language_model_only"] = True  # else memory is kept for images
    if REMOTE_CODE in source.allow:
        chosen["trust_remote_code"] = True
    computing = {"dtype": source.dtype} if source.dtype else {}
    return chosen | adapter_arguments(source) | dict(source.engine) | computing
