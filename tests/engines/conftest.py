"""Engines and oracles that share one set of tiny float32 weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.engines.vllm import VllmModel

SMALL: dict[str, Any] = {"dtype": "float32", "kv_cache_memory_bytes": 1 << 27}


@pytest.fixture(scope="package")
def engine(tiny: Callable[..., Path]) -> Iterator[Callable[..., VllmModel]]:
    opened: dict[str, Any] = {}

    def open_one(pieces: str = "bytes", chat: bool = True, caching: bool = True) -> VllmModel:
        name = f"{pieces}-{chat}-{caching}"
        if name not in opened:
            arguments = SMALL | {"enable_prefix_caching": caching}
            source = ModelSource(str(tiny(pieces, chat)), engine=arguments)
            opened[name] = VllmEngines().open(source, seed=0)
        return opened[name]  # type: ignore[no-any-return]

    yield open_one
    # All at once: the first that is closed takes what the engines of one process share.
    for one in opened.values():
        one.close()
