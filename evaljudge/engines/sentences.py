"""Sentence encoders, beside an engine: a text goes in, one unit vector comes out.

    Encoders().vectors("models/all-MiniLM-L6-v2", ["A flood.", "The river rose."])
    ->  [(0.03, …), (0.05, …)]

By default any that sentence-transformers reads, by its hub name or its folder, on the CPU: engines
take all of the GPUs' memory, and the texts here are short and few. With `vllm:` before its name an
encoder is served by vLLM, where the engine is: for large ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any, Protocol

from evaljudge.engines.internals import CPU_BUILD, installed_build, shut_down
from evaljudge.engines.source import VLLM
from evaljudge.errors import UserError, first_words
from evaljudge.model.asks import Vector

DIGITS = 6
"""Digits kept of each number: machines differ in those after them."""
MEMORY = 0.05
"""The part of the memory that vLLM may take; an encoder keeps no cache of what it has read."""


class SentenceEncoder(Protocol):
    def unit_vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]]: ...

    def close(self) -> None: ...


class Encoders:
    """The encoders that one engine's judges have named, each loaded at its first use."""

    def __init__(self) -> None:
        self._opened: dict[str, SentenceEncoder] = {}
        self._one_at_a_time = Lock()

    def load(self, source: str) -> None:
        with self._one_at_a_time:
            self._loaded(source)

    def vectors(self, source: str, texts: Sequence[str]) -> list[Vector]:
        if not texts:
            return []
        with self._one_at_a_time:
            rows = self._loaded(source).unit_vectors(texts)
        return [tuple(round(float(value), DIGITS) for value in row) for row in rows]

    def _loaded(self, source: str) -> SentenceEncoder:
        if source not in self._opened:
            kind = Pooling if source.startswith(VLLM) else SentenceTransformers
            try:
                self._opened[source] = kind(source.removeprefix(VLLM))
            except UserError:
                raise
            except Exception as error:  # many kinds; each means: no encoder there
                message = f"no encoder was found for {source}: {first_words(error)}"
                raise UserError(message) from None
        return self._opened[source]

    def close(self) -> None:
        for encoder in self._opened.values():
            encoder.close()


class SentenceTransformers:
    def __init__(self, source: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise UserError(
                f"encoder {source}: sentence-transformers is not installed: it comes with the "
                "extra `embeddings`"
            ) from None
        self._model = SentenceTransformer(source, device="cpu", trust_remote_code=False)

    def unit_vectors(self, texts: Sequence[str]) -> Any:
        return self._model.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False, batch_size=64
        )

    def close(self) -> None:
        """Nothing is held that the process's end does not free."""


class Pooling:
    """An encoder that vLLM serves in the process of the engine that judges.

    It takes a small part of a GPU's memory, which the judge's engine must have left
    (`model.engine.gpu_memory_utilization: 0.8`, say). Vectors are computed in float32, so that
    roles cluster alike on any machine.
    """

    def __init__(self, source: str) -> None:
        from evaljudge.engines.loading import local_path, set_environment

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
        vectors: dict[str, Any] = {}
        while self._engine.has_unfinished_requests():
            done = [output for output in self._engine.step() if output.finished]
            vectors |= {output.request_id: output.outputs.data.tolist() for output in done}
        return [vectors[str(number)] for number in range(len(texts))]

    def close(self) -> None:
        shut_down(self._engine)
