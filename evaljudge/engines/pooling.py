"""A sentence encoder served by vLLM, in the process of the engine that judges.

It takes a small part of a GPU's memory: the judge's engine must have left it (`model.engine.
gpu_memory_utilization: 0.8`, say). Vectors are computed in float32, so that roles cluster alike on
any machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaljudge.engines.opening import CPU_BUILD, installed_build
from evaljudge.engines.vllm import local_path, set_environment

MEMORY = 0.05
"""The part of the memory that vLLM may take; an encoder keeps no cache of what it has read."""


class Pooling:
    def __init__(self, source: str) -> None:
        set_environment()
        from vllm import EngineArgs
        from vllm.v1.engine.llm_engine import LLMEngine

        self._engine = LLMEngine.from_engine_args(
            EngineArgs(
                model=local_path(source),
                runner="pooling",
                dtype="float32",
                gpu_memory_utilization=MEMORY,
                enforce_eager=installed_build() == CPU_BUILD,
                disable_log_stats=True,
                distributed_executor_backend="uni",
            )
        )

    def unit_vectors(self, texts: Sequence[str]) -> list[Sequence[float]]:
        """What is longer than the encoder reads is cut, as sentence-transformers does."""
        from vllm.pooling_params import PoolingParams

        for number, text in enumerate(texts):
            cut = {"truncate_prompt_tokens": -1}
            self._engine.add_request(
                str(number), text, PoolingParams(task="embed"), tokenization_kwargs=cut
            )
        found: dict[str, Any] = {}
        while self._engine.has_unfinished_requests():
            done = [output for output in self._engine.step() if output.finished]
            found |= {output.request_id: output.outputs.data.tolist() for output in done}
        return [found[str(number)] for number in range(len(texts))]

    def close(self) -> None:
        self._engine.engine_core.shutdown()
