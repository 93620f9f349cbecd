"""Sentence encoders, beside an engine: a text goes in, one unit vector comes out.

    Encoders().vectors("models/all-MiniLM-L6-v2", ["A flood.", "The river rose."])
    ->  [(0.03, …), (0.05, …)]

By default any that sentence-transformers reads, by its hub name or its folder, on the CPU: engines
take the GPUs' memory for themselves, and what is embedded here is short and little. A large one may
be served by vLLM instead, where the engine is: `vllm:` before its name (pooling.py).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Protocol, TypeVar

from evaljudge.engines.opening import VLLM
from evaljudge.errors import UserError, first_words
from evaljudge.model.asks import Vector

DIGITS = 6
"""Kept of each number: machines differ in those after them."""
T = TypeVar("T")


class Encoder(Protocol):
    def unit_vectors(self, texts: Sequence[str]) -> Sequence[Sequence[float]]: ...

    def close(self) -> None: ...


class Encoders:
    """Those that one engine's judges have named, each loaded when it is first wanted."""

    def __init__(self) -> None:
        self._opened: dict[str, Encoder] = {}
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

    def _loaded(self, source: str) -> Encoder:
        if source not in self._opened:
            self._opened[source] = _open(source)
        return self._opened[source]

    def close(self) -> None:
        for encoder in self._opened.values():
            encoder.close()


def _open(source: str) -> Encoder:
    if not source.startswith(VLLM):
        return SentenceTransformers(source)
    from evaljudge.engines.pooling import Pooling

    return _had(source, lambda: Pooling(source.removeprefix(VLLM)))


class SentenceTransformers:
    def __init__(self, source: str) -> None:
        try:
            from sentence_transformers import SentenceTransformer
        except ImportError:
            raise UserError(
                f"encoder {source}: sentence-transformers is not installed: it comes with the "
                "extra `embeddings`"
            ) from None
        self._model = _had(
            source, lambda: SentenceTransformer(source, device="cpu", trust_remote_code=False)
        )

    def unit_vectors(self, texts: Sequence[str]) -> Any:
        return self._model.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False, batch_size=64
        )

    def close(self) -> None:
        """Nothing is held that the process's end does not free."""


def _had(source: str, load: Callable[[], T]) -> T:
    try:
        return load()
    except Exception as error:  # many kinds; each means: no encoder there
        said = f"no encoder can be had of {source}: {first_words(error)}"
        raise UserError(said) from None
