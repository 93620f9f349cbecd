"""Sentence encoders, beside an engine: a text goes in, one unit vector comes out.

    encoder("models/all-MiniLM-L6-v2")(["A flood.", "The river rose."])  ->  [(0.03, …), (0.05, …)]

Any that sentence-transformers reads, by its hub name or its folder. It runs on the CPU: engines
take the GPUs' memory for themselves, and what is embedded here is short and little.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from evaljudge.asks import Vector
from evaljudge.errors import UserError

DIGITS = 6
"""Kept of each number: machines differ in those after them."""


@cache
def encoder(source: str) -> Callable[[Sequence[str]], list[Vector]]:
    """Loaded once per process."""
    model = _loaded(source)

    def embedded(texts: Sequence[str]) -> list[Vector]:
        if not texts:
            return []
        rows = model.encode(
            list(texts), normalize_embeddings=True, show_progress_bar=False, batch_size=64
        )
        return [tuple(round(float(value), DIGITS) for value in row) for row in rows]

    return embedded


def _loaded(source: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError:
        raise UserError(
            f"encoder {source}: sentence-transformers is not installed: it comes with the extra "
            "`embeddings`"
        ) from None
    try:
        return SentenceTransformer(source, device="cpu", trust_remote_code=False)
    except Exception as error:  # many kinds; each means: no encoder there
        said = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"no encoder can be had of {source}: {said}") from None
