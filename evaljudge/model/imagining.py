"""A model that imagines: plausible replies and no engine, so that a run can be counted first."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import log

from evaljudge.asks import (
    Chosen,
    Failed,
    Options,
    Prompt,
    Sample,
    Spent,
    Weighed,
    Writing,
    Written,
)

Gauge = Callable[[Prompt], Spent]
"""What a prompt would cost, by the model's own tokenizer."""
IMAGINED = "The text that would be written here is not known yet, so these words stand for it. "
IMAGINED_TOKENS = 80


def imagined(prompt: Prompt) -> str:
    """Another text for every prompt, or what is asked of them would be asked once."""
    return f"{IMAGINED * 4}({hashlib.blake2b(prompt.text.encode(), digest_size=4).hexdigest()})"


class Imagining:
    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        generated = min(how.max_tokens, IMAGINED_TOKENS)
        return [
            Written(
                (Sample(imagined(p), "stop"),) * how.n,
                (replace(self._gauge(p), generated=generated * how.n),),
            )
            for p in prompts
        ]

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        even = dict.fromkeys(options.names, -log(len(options.names)))
        drawn = Chosen(even).draw(samples, "imagined")
        return [Chosen(even, drawn, (self._gauge(p),)) for p in prompts]

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        pairs = zip(prompts, texts, strict=True)
        return [Weighed((-1.0,) * len(t.split()), (self._gauge(p),)) for p, t in pairs]
