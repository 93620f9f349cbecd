"""A model that imagines: plausible replies and no engine, so that a run can be counted first."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from math import inf, log
from typing import Any, Protocol

from evaljudge.model.asks import (
    Chosen,
    Failed,
    ModelRating,
    Options,
    Prompt,
    Rating,
    Sample,
    Spent,
    Vector,
    Weighed,
    Writing,
    Written,
    some_vector,
    word_tokens,
)
from evaljudge.reasons import too_long


class TokenCounter(Protocol):
    def __call__(self, prompt: Prompt, options: Options | None = None) -> tuple[Spent, ...]:
        """What a prompt would cost, and each further request about these options."""


IMAGINED = "The text that would be written here is not known yet, so these words stand for it. "
IMAGINED_TOKENS = 80
LEAST_ROOM = 2  # tokens left in the context for an option of one token
MARK = "#" * 6
"""A placeholder as long as the part in which imagined texts differ."""


def imagined(prompt: Prompt, texts: Sequence[str] = ()) -> str:
    """A different text for every prompt, since questions about equal texts would be asked once."""
    digest = hashlib.blake2b(prompt.text.encode(), digest_size=4)
    like = texts[int.from_bytes(digest.digest()) % len(texts)] if texts else IMAGINED * 4
    return f"{like[: -len(MARK)]}{digest.hexdigest()[: len(MARK)]}"


def imagined_value(schema: Mapping[str, Any], words: str) -> Any:
    """What may be replied under a schema: lists half as long as they may be, as many letters.

    Of several answers it is the second: judges let the first say that there is nothing.
    """
    if "enum" in schema:
        return schema["enum"][1]
    match schema.get("type"):
        case "object":
            properties = schema["properties"].items()
            return {name: imagined_value(value, f"{name} {words}") for name, value in properties}
        case "array":
            count = max(schema.get("minItems", 0), (schema.get("maxItems", 2) + 1) // 2)
            return [imagined_value(schema["items"], f"{n} {words}") for n in range(count)]
        case "string":
            return words[: max(1, schema.get("maxLength", len(words)) // 2)]
    raise ValueError(f"no reply can be imagined under {schema}")


class Imagining:
    """What it writes is as long as the texts that it is given as examples, if there are any."""

    def __init__(
        self, counter: TokenCounter, texts: Sequence[str] = (), context: int | None = None,
        with_thoughts: Callable[[Sequence[Spent]], tuple[Spent, ...]] = tuple,
    ) -> None:  # fmt: skip
        """`context`: how many tokens the model holds, where that is known; `with_thoughts`: what a
        choice costs whose answer costs this much."""
        self._counter, self._texts = counter, [text for text in texts if text.strip()]
        self._context, self._with_thoughts = context, with_thoughts
        self.longest = 0
        """The tokens of the longest prompt that the model holds, and of its longest reply."""

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        return [self._write(prompt, how) for prompt in prompts]

    def _too_long(self, spent: Spent, room: int) -> Failed | None:
        if self._context is None or spent.prompt + room <= self._context:
            self.longest = max(self.longest, spent.prompt + room)
            return None
        return Failed(too_long(spent.prompt, room, self._context))

    def _write(self, prompt: Prompt, how: Writing) -> Written | Failed:
        (spent,) = self._counter(prompt)
        if failed := self._too_long(spent, how.max_tokens):
            return failed
        text = imagined(prompt, self._texts)
        mark = text[-len(MARK) :]
        if how.schema:
            text = json.dumps(imagined_value(json.loads(how.schema), f"{mark} {text}"))
        if how.example:
            text = how.example.replace("{mark}", mark)
        is_known = self._texts or how.schema or how.example
        length = self._counter(Prompt((text,)))[0].prompt if is_known else IMAGINED_TOKENS
        spent = replace(spent, generated=min(how.max_tokens, length) * how.n)
        return Written((Sample(text, "stop"),) * how.n, (spent,))

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        even = dict.fromkeys(options.names, -log(len(options.names)))
        sure = dict.fromkeys(options.names, -inf)
        undecided = Chosen(even).drawn(samples)
        chosen = {name: Chosen(sure | {name: 0.0}).drawn(samples) for name in options.names}
        return [
            self._too_long(spent[-1], LEAST_ROOM)
            or replace(chosen.get(prompt.example, undecided), spent=spent)
            for prompt in prompts
            for spent in [self._with_thoughts(self._counter(prompt, options))]
        ]

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        tokens = [word_tokens(text, [-1.0] * len(text.split())) for text in texts]
        spent = zip(tokens, map(self._of_both, prompts, texts), strict=True)
        return [self._too_long(each, 1) or Weighed(words, (each,)) for words, each in spent]

    def _of_both(self, prompt: Prompt, text: str) -> Spent:
        return self._counter(replace(prompt, parts=(*prompt.parts, text)))[0]

    async def rate(
        self, prompts: Sequence[Prompt], texts: Sequence[str], how: Rating
    ) -> list[ModelRating | Failed]:
        spent = map(self._of_both, prompts, texts)
        return [self._too_long(each, 0) or ModelRating(0.5, (each,)) for each in spent]

    async def embed(self, texts: Sequence[str], encoder: str) -> list[Vector]:
        return [some_vector(text) for text in texts]
