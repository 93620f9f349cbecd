"""An engine that is closed ends at once.

Left to the garbage collector, it took down what vLLM's engines share in one process while the
next one was loading; all who asked that one heard that its groups were not initialised.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.engine

CLOSED = """
import sys
from evaljudge.engines import ModelSource, VllmEngines
opened = VllmEngines().open(
    ModelSource(sys.argv[1], engine={"kv_cache_memory_bytes": 1 << 27}), seed=0
)
from vllm.distributed.parallel_state import model_parallel_is_initialized as shared
before = shared()
opened.close()
sys.exit(0 if (before, shared()) == (True, False) else f"{before} {shared()}")
"""


def test_what_engines_share_goes_with_the_one_that_closes(tiny: Callable[..., Path]) -> None:
    line = [sys.executable, "-c", CLOSED, str(tiny())]
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
