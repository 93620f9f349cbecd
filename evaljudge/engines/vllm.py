"""vLLM as a model: `write`, `choose` and `weigh` over token ids, on the CPU and the CUDA build.

Prompts reach the engine as ids, sorted so that those sharing the longest prefix follow each other
and the prefix cache serves them. What content makes impossible is a Failed reply; anything else
that goes wrong in the engine raises EngineDead.
"""

from __future__ import annotations

import hashlib
from asyncio import to_thread
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from sys import maxsize
from typing import Any, TypeVar

from evaljudge.engines.blocks import cached_block, name_blocks
from evaljudge.engines.labels import CompiledOptions, compile_options
from evaljudge.engines.loading import load_engine
from evaljudge.engines.loop import Request, Steps
from evaljudge.engines.opening import LowMass, ModelSource
from evaljudge.engines.sampling import Sampling
from evaljudge.engines.sentences import Encoders
from evaljudge.engines.template import Template, read_template
from evaljudge.engines.tokens import REMEMBERED_PARTS, Blocks, Ids, Tokeniser
from evaljudge.model.asks import (
    Chosen,
    Failed,
    Options,
    Prompt,
    Sample,
    Spent,
    Vector,
    Weighed,
    Writing,
    Written,
    sound,
)
from evaljudge.reasons import too_long

R = TypeVar("R")
FIRST_TOKENS = 8
"""So many of a reply are shown where a model answers otherwise than it was asked."""


def open_vllm(source: ModelSource, seed: int) -> VllmModel:
    return VllmModel(*load_engine(source, seed), source, seed)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A rendered prompt; the first `head` of its ids are the template's own."""

    ids: Ids
    parts: Sequence[Ids]
    head: int

    @property
    def text_at(self) -> int:
        """Where a text to weigh begins: it is the last part."""
        return len(self.ids) - len(self.parts[-1])


@dataclass(frozen=True, slots=True)
class _Key:
    """What a draw depends on: not on the hour, nor on what shares the batch.

    Most replies are never drawn from, so the prompt is hashed when one is.
    """

    seed: int
    parts: Sequence[Ids]

    def __str__(self) -> str:
        ids = ", ".join(_listed(part) for part in self.parts if part)
        return hashlib.sha256(f"{self.seed} ({ids})".encode()).hexdigest()


class VllmModel:
    def __init__(self, engine: Any, tokeniser: Tokeniser, source: ModelSource, seed: int) -> None:
        config = engine.vllm_config
        self._tokeniser, self._seed = tokeniser, seed
        self._template: Template = read_template(
            tokeniser, source.chat, _stops(config), source.reply or ""
        )
        self._context: int = config.model_config.max_model_len
        self.cache_block = cached_block(config)
        self._blocks = Blocks(self.cache_block or maxsize)
        self._sampling = Sampling(self._template.ends)
        self._compiled = lru_cache(None)(self._compile)
        name_blocks(engine)
        self._steps, self._encoders = Steps(engine), Encoders()

    def prepare(self, options: Options) -> None:
        self._compiled(options)

    def prepare_encoder(self, encoder: str) -> None:
        self._encoders.load(encoder)

    async def low_mass(self, prompt: Prompt, options: Options, least: float) -> LowMass | None:
        (chosen,) = await self.choose([prompt], options)
        if isinstance(chosen, Failed) or chosen.mass >= least:
            return None
        asked = self._render(prompt, room=FIRST_TOKENS)
        if isinstance(asked, Failed):
            return LowMass(chosen.mass, "")
        how = self._sampling.writing(Writing(FIRST_TOKENS), None)
        ((output,),) = await self._steps.ask([(asked.ids, how)])
        said = self._tokeniser.backend.decode(
            output.outputs[0].token_ids, skip_special_tokens=False
        )
        return LowMass(chosen.mass, said)

    def close(self) -> None:
        self._encoders.close()
        self._steps.close()

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        rendered = [self._render(prompt, room=how.max_tokens) for prompt in prompts]

        def reply(asked: _Asked, outputs: list[Any]) -> Written | Failed:
            replies = outputs[0].outputs
            for one in replies:
                if one.finish_reason not in ("stop", "length"):
                    return Failed(f"the engine gave the reply up: {one.finish_reason}")
            samples = tuple(
                Sample(self._tokeniser.words(tuple(one.token_ids)), one.finish_reason)
                for one in replies
            )
            return Written(samples, self._spent(outputs, asked))

        return await self._each(rendered, lambda asked: self._writing(how, asked), reply)

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        labels = self._compiled(options)
        rendered = [self._render(prompt, room=labels.deepest + 1) for prompt in prompts]

        def further(asked: _Asked, outputs: list[Any]) -> list[Request]:
            if len(outputs) == len(labels.nodes):
                return []
            wanted = labels.wanted(_found(asked, outputs))
            return [(asked.ids + node.path, self._sampling.reading(node.ids)) for node in wanted]

        def reply(asked: _Asked, outputs: list[Any]) -> Chosen | Failed:
            spent = self._spent(outputs, asked)
            logprobs = labels.logprobs(_found(asked, outputs))
            chosen = sound(Chosen(logprobs, (), spent, _Key(self._seed, asked.parts)))
            return chosen.drawn(samples) if samples and isinstance(chosen, Chosen) else chosen

        first = self._sampling.reading(labels.first.ids)
        return await self._each(rendered, lambda _: first, reply, further)

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        rendered = [self._render_with(p, text) for p, text in zip(prompts, texts, strict=True)]

        def further(asked: _Asked, outputs: list[Any]) -> list[Request]:
            reaches_text = (outputs[0].num_cached_tokens or 0) >= asked.text_at
            if len(outputs) > 1 or not reaches_text:
                return []
            # rows of tokens that the cache served hold nothing
            return [(asked.ids, self._sampling.weighing(asked.text_at, from_cache=False))]

        def reply(asked: _Asked, outputs: list[Any]) -> Weighed | Failed:
            rows = outputs[-1].prompt_logprobs[asked.text_at :]
            tokens = asked.ids[asked.text_at :]
            values = tuple(float(row[t].logprob) for row, t in zip(rows, tokens, strict=True))
            spent = self._spent(outputs, asked)
            if any(value != value for value in values):
                return Failed("the model's probabilities are not numbers", spent)
            return Weighed(self._tokeniser.placed(tokens, values), spent)

        def first(asked: _Asked) -> Any:
            return self._sampling.weighing(asked.text_at, from_cache=True)

        return await self._each(rendered, first, reply, further)

    async def embed(self, texts: Sequence[str], encoder: str) -> list[Vector]:
        return await to_thread(self._encoders.vectors, encoder, texts)

    async def _each(
        self,
        rendered: Sequence[_Asked | Failed],
        request: Callable[[_Asked], Any],
        reply: Callable[[_Asked, list[Any]], R],
        further: Callable[[_Asked, list[Any]], list[Request]] | None = None,
    ) -> list[R | Failed]:
        """Ask in the order of the ids, answer in the order of the prompts."""
        asked = {n: one for n, one in enumerate(rendered) if isinstance(one, _Asked)}
        order = sorted(asked, key=lambda n: asked[n].ids)
        requests = [(asked[n].ids, request(asked[n])) for n in order]

        def further_of(place: int, outputs: list[Any]) -> list[Request]:
            return further(asked[order[place]], outputs) if further else []

        outputs = await self._steps.ask(requests, further_of)
        found = {n: reply(asked[n], mine) for n, mine in zip(order, outputs, strict=True)}
        return [one if isinstance(one, Failed) else found[n] for n, one in enumerate(rendered)]

    def _render(self, prompt: Prompt, room: int) -> _Asked | Failed:
        parts, head = self._template.parts_around(prompt, self._tokeniser)
        return self._fitting(parts, head, room)

    def _render_with(self, prompt: Prompt, text: str) -> _Asked | Failed:
        parts, head = self._template.parts_around(prompt, self._tokeniser)
        said = self._tokeniser.text(text, after=self._template.tail_words)
        if not said:
            return Failed("nothing to weigh: the text is empty")
        return self._fitting([*parts, said], head, room=1)

    def _fitting(self, parts: Sequence[Ids], head: int, room: int) -> _Asked | Failed:
        ids = tuple(chain.from_iterable(parts))
        if len(ids) + room <= self._context:
            return _Asked(ids, parts, head)
        return Failed(too_long(len(ids), room, self._context))

    def _writing(self, how: Writing, asked: _Asked) -> Any:
        seed = int(str(_Key(self._seed, asked.parts))[:15], 16) if how.temperature else None
        return self._sampling.writing(how, seed)

    def _spent(self, outputs: Sequence[Any], asked: _Asked) -> tuple[Spent, ...]:
        return tuple(
            Spent(
                prompt=len(output.prompt_token_ids),
                cached=output.num_cached_tokens or 0,
                generated=sum(len(one.token_ids) for one in output.outputs),
                blocks=self._blocks.of(tuple(output.prompt_token_ids)),
                head=asked.head // self._blocks.size,
                block_size=self.cache_block,
            )
            for output in outputs
        )

    def _compile(self, options: Options) -> CompiledOptions:
        return compile_options(options, self._tokeniser, self._template)


def _found(asked: _Asked, outputs: Sequence[Any]) -> dict[Ids, Mapping[int, float]]:
    """What each request gave, by the path of ids that followed the prompt in it."""
    return {
        tuple(output.prompt_token_ids[len(asked.ids) :]): {
            token: float(row.logprob) for token, row in output.outputs[0].logprobs[0].items()
        }
        for output in outputs
    }


@lru_cache(REMEMBERED_PARTS)
def _listed(ids: Ids) -> str:
    return ", ".join(map(str, ids))


def _stops(config: Any) -> frozenset[int]:
    """The end-of-turn ids that the checkpoint's own configuration names."""
    said = config.model_config.try_get_generation_config().get("eos_token_id")
    ids = said if isinstance(said, list) else [said]
    return frozenset(i for i in ids if i is not None)
