"""The blocks of vLLM's prefix cache: how large they are, and how a prompt's are named.

A prompt shares with earlier ones what lies in full blocks with which both begin. A block has 16 or
32 tokens in most models, and hundreds in a hybrid one, whose other layers keep a whole state in it.
"""

from __future__ import annotations

import hashlib
from itertools import count
from sys import maxsize
from typing import Any

from evaljudge.engines.opening import CPU_BUILD, installed_build
from evaljudge.engines.tokens import LastPrompt

CUDA_BLOCK = 16
CPU_BLOCK = 32
"""Smaller than the build's own 128: prefixes are shared in finer steps, and it was faster."""
TEXT_AT = "evaljudge.text_at"
"""The argument by which a request says where its text to weigh begins."""


def usual_block() -> int:
    """The size of a block in a model whose layers are all attention."""
    return CPU_BLOCK if installed_build() == CPU_BUILD else CUDA_BLOCK


def cached_block(vllm_config: Any) -> int:
    """How many tokens an open engine shares at a time; 0 where it keeps no prefixes.

    vLLM may change both as it loads a model: it pads the blocks of hybrid models, and keeps no
    prefixes of models that it cannot share them for.
    """
    cache = vllm_config.cache_config
    if not cache.enable_prefix_caching:
        return 0
    return int(cache.cache_hit_alignment_tokens or cache.prefix_match_unit or cache.block_size)


def name_blocks(engine: Any) -> None:
    """Have the names of the cache's blocks made here, for two reasons.

    A prompt usually begins as the one before it. What they share is not hashed again, which would
    be half of what it costs to add a request.

    A text to weigh gets names that no other request has. Tokens that the cache serves have no
    log-probabilities. A text that was written just before lies in the cache, and to weigh it the
    whole prompt would be read anew; so its own blocks must not be found there, while those of its
    prompt are.

    All requests of an engine have the same adapter or none, so equal ids have equal names.
    """
    core = getattr(engine.engine_core, "engine_core", None)
    if core is None or core.request_block_hasher is None:
        return  # in another process, or without a cache of prefixes
    usual, size = core.request_block_hasher, core.scheduler.hash_block_size
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
