"""Engines and oracles that share one set of tiny float32 weights."""

from functools import cache
from typing import Any

import pytest

from evaljudge.engines import ModelSource
from evaljudge.engines.vllm import VllmModel
from tests.engines.oracle import Oracle

SMALL: dict[str, Any] = {"dtype": "float32", "kv_cache_memory_bytes": 1 << 27}


@pytest.fixture
def engine(tiny, shared_engines):
    def open_one(
        pieces: str = "bytes", chat: bool = True, caching: bool = True, exactness: float = 1e-4
    ) -> VllmModel:
        arguments = SMALL | {"enable_prefix_caching": caching}
        source = ModelSource(
            str(tiny(pieces, chat)),
            chat={} if chat else None,
            engine=arguments,
            exactness=exactness,
        )
        return shared_engines.open(source, seed=0)

    return open_one


@pytest.fixture(scope="session")
def oracles(tiny):
    return cache(lambda pieces, chat: Oracle(tiny(pieces, chat)))
