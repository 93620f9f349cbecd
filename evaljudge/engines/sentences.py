"""Sentence encoders, beside an engine: a text goes in, one unit vector comes out.

    Encoders().vectors("models/all-MiniLM-L6-v2", ["A flood.", "The river rose."])
    ->  [(0.03, …), (0.05, …)]

By default any that sentence-transformers reads, by its hub name or its folder, on the CPU: engines
take all of the GPUs' memory, and the texts here are short and few. With `vllm:` before its name an
encoder is served by vLLM, where the engine is: for large ones.
"""

from asyncio import to_thread
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import lru_cache, partial
from threading import Lock
from typing import Any, Generic, TypeVar

from evaljudge.engines.internals import CPU_BUILD, installed_build, opened, shut_down
from evaljudge.engines.source import VLLM
from evaljudge.errors import UserError, first_words, needing
from evaljudge.model.asks import Failed, ModelRating, Options, Prompt, Rating, Vector

Compiled = TypeVar("Compiled")
DIGITS = 6  # digits kept of each number: machines differ in those after them
MEMORY = 0.05
"""The part of the memory that vLLM may take; an encoder keeps no cache of what it has read."""
Encode = Callable[[list[str]], Any]  # texts to unit vectors


class Prepared(Generic[Compiled]):
    """What engines have ready before anything is asked: options, compiled once, and encoders."""

    def __init__(self, compile_: Callable[[Options], Compiled]) -> None:
        self._compiled, self._encoders = lru_cache(None)(compile_), Encoders()

    def prepare(self, options: Options) -> None:
        self._compiled(options)

    def prepare_encoder(self, encoder: str) -> None:
        self._encoders.load(encoder)

    async def embed(self, texts: Sequence[str], encoder: str) -> list[Vector]:
        return await to_thread(self._encoders.vectors, encoder, texts)

    async def rate(
        self, prompts: Sequence[Prompt], texts: Sequence[str], how: Rating
    ) -> list[ModelRating | Failed]:
        how.place(())
        return []


class Encoders:
    """The encoders that one engine's judges have named, each loaded at its first use."""

    def __init__(self) -> None:
        self._opened: dict[str, Encode] = {}
        self._one_at_a_time = Lock()
        self._ends = ExitStack()

    def load(self, source: str) -> None:
        with self._one_at_a_time:
            self._loaded(source)

    def vectors(self, source: str, texts: Sequence[str]) -> list[Vector]:
        if not texts:
            return []
        with self._one_at_a_time:
            rows = self._loaded(source)(list(texts))
        return [tuple(round(float(value), DIGITS) for value in row) for row in rows]

    def _loaded(self, source: str) -> Encode:
        if source not in self._opened:
            by_vllm = source.startswith(VLLM)
            try:
                self._opened[source] = (
                    self._served(source.removeprefix(VLLM)) if by_vllm else _in_process(source)
                )
            except UserError:
                raise
            except Exception as error:  # many kinds; each means: no encoder there
                message = f"no encoder was found for {source}: {first_words(error)}"
                raise UserError(message) from None
        return self._opened[source]

    def _served(self, source: str) -> Encode:
        """By vLLM, in the process of the engine that judges.

        It takes a small part of a GPU's memory, which the judge's engine must have left
        (`model.engine.gpu_memory_utilization: 0.8`, say). Vectors are computed in float32, so that
        roles cluster alike on any machine. What is longer than the encoder reads is cut, as
        sentence-transformers does.
        """
        from evaljudge.engines.loading import local_path, set_environment

        set_environment()
        from vllm import EngineArgs
        from vllm.pooling_params import PoolingParams

        # not `vllm.LLM`, which reads four times as many tokens in a step and needs memory for them
        arguments = EngineArgs(
            model=local_path(source),
            runner="pooling",
            dtype="float32",
            gpu_memory_utilization=MEMORY,
            enforce_eager=installed_build() == CPU_BUILD,
            disable_log_stats=True,
            distributed_executor_backend="uni",
        )
        engine = opened(arguments)
        self._ends.callback(shut_down, engine)

        def encode(texts: list[str]) -> list[list[float]]:
            cut = {"truncate_prompt_tokens": -1}
            for number, text in enumerate(texts):
                how = PoolingParams(task="embed")
                engine.add_request(str(number), text, how, tokenization_kwargs=cut)
            vectors: dict[str, list[float]] = {}
            while engine.has_unfinished_requests():
                done = [output for output in engine.step() if output.finished]
                vectors |= {output.request_id: output.outputs.data.tolist() for output in done}
            return [vectors[str(number)] for number in range(len(texts))]

        return encode

    def close(self) -> None:
        self._ends.close()


def _in_process(source: str) -> Encode:
    with needing(f"encoder {source}", "embeddings"):
        from sentence_transformers import SentenceTransformer
    model = SentenceTransformer(source, device="cpu", trust_remote_code=False)
    return partial(model.encode, normalize_embeddings=True, show_progress_bar=False, batch_size=64)
