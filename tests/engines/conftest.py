"""Engines and oracles that share one set of tiny float32 weights."""

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from evaljudge.engines import ModelSource
from evaljudge.engines.vllm import VllmModel
from tests.engines.oracle import Oracle

SMALL: dict[str, Any] = {"dtype": "float32", "kv_cache_memory_bytes": 1 << 27}


@pytest.fixture
def engine(tiny: Callable[..., Path], shared_engines: Any) -> Callable[..., VllmModel]:
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
        return shared_engines.open(source, seed=0)  # type: ignore[no-any-return]

    return open_one


@pytest.fixture(scope="session")
def oracles(tiny: Callable[..., Path]) -> Callable[..., Oracle]:
    return cache(lambda pieces, chat: Oracle(tiny(pieces, chat)))
