"""vLLM as a model: `write`, `choose` and `weigh` over token ids, on the CPU and the CUDA build.

Prompts reach the engine as ids, sorted so that those sharing the longest prefix follow each other
and the prefix cache serves them. What content makes impossible is a Failed reply; anything else
that goes wrong in the engine raises EngineDead.
"""

from __future__ import annotations

import hashlib
import os
from asyncio import gather, to_thread
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import count
from math import inf
from typing import Any, TypeVar

from evaljudge.engines.labels import CompiledOptions, compile_options
from evaljudge.engines.loop import Steps
from evaljudge.engines.opening import CPU_BUILD, ModelSource, installed_build
from evaljudge.engines.sentences import Encoders
from evaljudge.engines.template import Template, read_template
from evaljudge.engines.tokens import Ids, Tokeniser, full_blocks
from evaljudge.errors import UserError, first_words
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

QUIET = {
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_LOGGING_LEVEL": "ERROR",
    "TOKENIZERS_PARALLELISM": "false",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",  # see loop.py
}
R = TypeVar("R")
TEXT_AT = "evaljudge.text_at"
"""The argument by which a request says where its text to weigh begins."""
CUDA_BLOCK = 16
CPU_BLOCK = 32
"""Smaller than the build's own 128: prefixes are shared in finer steps, and it was faster."""


def open_vllm(source: ModelSource, seed: int) -> VllmModel:
    """Load a model; what its checkpoint or arguments make impossible is the user's to mend."""
    set_environment()
    from vllm import EngineArgs
    from vllm.v1.engine.llm_engine import LLMEngine

    path = local_path(source.path)
    tokeniser = _tokeniser(path, source)  # first: it says at once what is wrong with it
    try:
        engine = LLMEngine.from_engine_args(EngineArgs(**_arguments(source, path, seed)))
    except Exception as error:  # many kinds, of many libraries; each means: not this model, or here
        said = f"model {source.source}: the engine cannot load it: {first_words(error)}"
        raise UserError(said) from error
    return VllmModel(engine, tokeniser, source, seed)


def set_environment() -> None:
    """What vLLM reads as it is imported; what the user has set stays."""
    wanted = dict(QUIET)
    if installed_build() == CPU_BUILD:
        wanted["TORCHDYNAMO_DISABLE"] = "1"  # one small gather costs 16 s and a C++ compiler
    os.environ.update({name: value for name, value in wanted.items() if name not in os.environ})


def make_gauge(source: ModelSource) -> Callable[[Prompt], Spent]:
    """Counts tokens and cache blocks as the engine would, by the tokenizer alone."""
    tokeniser = _tokeniser(local_path(source.path), source)
    template = read_template(tokeniser, source.chat, frozenset())
    usual = CPU_BLOCK if installed_build() == CPU_BUILD else CUDA_BLOCK
    size = int(source.engine.get("block_size", usual))

    def gauge(prompt: Prompt) -> Spent:
        ids, head = template.around(prompt, tokeniser)
        return Spent(len(ids), 0, 1, full_blocks(ids, size), head // size, size)

    return gauge


def _arguments(source: ModelSource, path: str, seed: int) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        "model": path,
        "revision": source.revision,
        "seed": seed,
        "enable_prefix_caching": True,
        "disable_log_stats": True,
        "distributed_executor_backend": "uni" if source.gpus_per_engine == 1 else "mp",
    }
    if installed_build() == CPU_BUILD:
        chosen |= {"enforce_eager": True, "block_size": CPU_BLOCK}
        if "VLLM_CPU_KVCACHE_SPACE" not in os.environ:
            chosen["kv_cache_memory_bytes"] = _a_share_of_memory()
    return chosen | dict(source.engine)


def _a_share_of_memory() -> int:
    """A fifth of what is free, at most 8 GiB."""
    import psutil

    return int(min(psutil.virtual_memory().available / 5, 8 << 30))


def local_path(source: str) -> str:
    if "://" not in source:
        return source
    from evaljudge.storage import fetch_folder

    return fetch_folder(source)


def _tokeniser(path: str, source: ModelSource) -> Tokeniser:
    from transformers import AutoTokenizer

    try:
        return Tokeniser(AutoTokenizer.from_pretrained(path, revision=source.revision))
    except Exception as error:  # transformers raises many kinds
        said = f"model {source.source}: its tokenizer cannot be read: {first_words(error)}"
        raise UserError(said) from error


@dataclass(frozen=True, slots=True)
class _Asked:
    """A rendered prompt; `head` ids are the template's own, a text to weigh stands at `text_at`."""

    ids: Ids
    head: int
    text_at: int


class VllmModel:
    def __init__(self, engine: Any, tokeniser: Tokeniser, source: ModelSource, seed: int) -> None:
        from vllm.sampling_params import RequestOutputKind

        config = engine.vllm_config
        self._tokeniser, self._seed = tokeniser, seed
        self._template: Template = read_template(tokeniser, source.chat, _stops(config))
        self._context: int = config.model_config.max_model_len
        self._block: int = config.cache_config.block_size
        self._plainly = {"detokenize": False, "output_kind": RequestOutputKind.FINAL_ONLY}
        self._compiled = lru_cache(None)(self._compile)
        _name_weighed_blocks(engine)
        self._steps, self._encoders = Steps(engine), Encoders()

    def prepare(self, options: Options) -> None:
        self._compiled(options)

    def prepare_encoder(self, encoder: str) -> None:
        self._encoders.load(encoder)

    def close(self) -> None:
        self._encoders.close()
        self._steps.close()

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        async def reply(asked: _Asked) -> Written | Failed:
            (output,) = await self._steps.ask([asked.ids], [self._writing(how, asked.ids)])
            for one in output.outputs:
                if one.finish_reason not in ("stop", "length"):
                    return Failed(f"the engine gave the reply up: {one.finish_reason}")
            samples = tuple(
                Sample(self._tokeniser.words(tuple(one.token_ids)), one.finish_reason)
                for one in output.outputs
            )
            return Written(samples, self._spent([output], asked))

        return await self._each([self._render(p, room=how.max_tokens) for p in prompts], reply)

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        labels = self._compiled(options)
        deepest = max(len(node.path) for node in labels.nodes)

        async def reply(asked: _Asked) -> Chosen | Failed:
            found: dict[Ids, dict[int, float]] = {}
            outputs: list[Any] = []
            while nodes := labels.wanted(found):
                prompts = [asked.ids + node.path for node in nodes]
                outputs += await self._steps.ask(prompts, [self._reading(n.ids) for n in nodes])
                for node, output in zip(nodes, outputs[-len(nodes) :], strict=True):
                    found[node.path] = _first_logprobs(output)
            spent = self._spent(outputs, asked)
            chosen = sound(Chosen(labels.logprobs(found), (), spent, self._key(asked.ids)))
            return chosen.drawn(samples) if samples and isinstance(chosen, Chosen) else chosen

        return await self._each([self._render(p, room=deepest + 1) for p in prompts], reply)

    async def weigh(
        self, prompts: Sequence[Prompt], texts: Sequence[str]
    ) -> list[Weighed | Failed]:
        async def reply(asked: _Asked) -> Weighed | Failed:
            outputs = await self._steps.ask([asked.ids], [self._weighing(asked, True)])
            if (outputs[0].num_cached_tokens or 0) >= asked.text_at:
                # the cache reached into the text, and rows of cached tokens hold nothing
                outputs += await self._steps.ask([asked.ids], [self._weighing(asked, False)])
            rows = outputs[-1].prompt_logprobs[asked.text_at :]
            tokens = asked.ids[asked.text_at :]
            values = tuple(float(row[t].logprob) for row, t in zip(rows, tokens, strict=True))
            spent = self._spent(outputs, asked)
            if any(value != value for value in values):
                return Failed("the model's probabilities are not numbers", spent)
            return Weighed(self._tokeniser.placed(tokens, values), spent)

        pairs = zip(prompts, texts, strict=True)
        return await self._each([self._render_with(p, text) for p, text in pairs], reply)

    async def embed(self, texts: Sequence[str], encoder: str) -> list[Vector]:
        return await to_thread(self._encoders.vectors, encoder, texts)

    async def _each(
        self, rendered: Sequence[_Asked | Failed], reply: Callable[[_Asked], Awaitable[R]]
    ) -> list[R | Failed]:
        """Ask in the order of the ids, answer in the order of the prompts."""
        asked = {n: one for n, one in enumerate(rendered) if isinstance(one, _Asked)}
        order = sorted(asked, key=lambda n: asked[n].ids)
        replies = dict(zip(order, await gather(*(reply(asked[n]) for n in order)), strict=True))
        return [one if isinstance(one, Failed) else replies[n] for n, one in enumerate(rendered)]

    def _render(self, prompt: Prompt, room: int) -> _Asked | Failed:
        ids, head = self._template.around(prompt, self._tokeniser)
        return self._fitting(_Asked(ids, head, len(ids)), room)

    def _render_with(self, prompt: Prompt, text: str) -> _Asked | Failed:
        ids, head = self._template.around(prompt, self._tokeniser)
        said = self._tokeniser.text(text, after=self._template.tail_words)
        if not said:
            return Failed("nothing to weigh: the text is empty")
        return self._fitting(_Asked(ids + said, head, len(ids)), room=1)

    def _fitting(self, asked: _Asked, room: int) -> _Asked | Failed:
        if len(asked.ids) + room <= self._context:
            return asked
        return Failed(too_long(len(asked.ids), room, self._context))

    def _key(self, ids: Ids) -> str:
        """What a draw depends on: not on the hour, nor on what shares the batch."""
        return hashlib.sha256(f"{self._seed} {ids}".encode()).hexdigest()

    def _writing(self, how: Writing, ids: Ids) -> Any:
        from vllm import SamplingParams

        return SamplingParams(
            n=how.n,
            min_tokens=1,  # a reply says something
            max_tokens=how.max_tokens,
            temperature=how.temperature,
            top_p=how.top_p,
            seed=int(self._key(ids)[:15], 16) if how.temperature else None,
            stop_token_ids=sorted(self._template.ends),
            structured_outputs=_form(how),
            **self._plainly,
        )

    def _reading(self, ids: Ids) -> Any:
        from vllm import SamplingParams

        return SamplingParams(
            max_tokens=1, temperature=0.0, logprob_token_ids=list(ids), **self._plainly
        )

    def _weighing(self, asked: _Asked, from_cache: bool) -> Any:
        from vllm import SamplingParams

        return SamplingParams(
            max_tokens=1,
            temperature=0.0,
            prompt_logprobs=0,
            skip_reading_prefix_cache=not from_cache,
            extra_args={TEXT_AT: asked.text_at},
            **self._plainly,
        )

    def _spent(self, outputs: Sequence[Any], asked: _Asked) -> tuple[Spent, ...]:
        size = self._block
        return tuple(
            Spent(
                prompt=len(output.prompt_token_ids),
                cached=output.num_cached_tokens or 0,
                generated=sum(len(one.token_ids) for one in output.outputs),
                blocks=full_blocks(tuple(output.prompt_token_ids), size),
                head=asked.head // size,
                block_size=size,
            )
            for output in outputs
        )

    def _compile(self, options: Options) -> CompiledOptions:
        return compile_options(options, self._tokeniser, self._template)


def _name_weighed_blocks(engine: Any) -> None:
    """Give the cache's blocks of a text to weigh names that no other request has.

    Tokens that the cache serves have no log-probabilities. A text that was written just before lies
    in the cache, and to weigh it the whole prompt would be read anew; so its own blocks must not be
    found there, while those of its prompt are.
    """
    core = getattr(engine.engine_core, "engine_core", None)
    if core is None or core.request_block_hasher is None:
        return  # in another process, or without a cache of prefixes
    usual, size = core.request_block_hasher, core.scheduler.hash_block_size

    def names_of_blocks(request: Any) -> list[bytes]:
        first, names = len(request.block_hashes), usual(request)
        text_at = (request.sampling_params.extra_args or {}).get(TEXT_AT, inf)
        own = request.request_id.encode()
        return [
            name if end < text_at else hashlib.sha256(name + own).digest()
            for end, name in zip(count((first + 1) * size, size), names, strict=False)
        ]

    core.request_block_hasher = names_of_blocks


def _form(how: Writing) -> Any:
    from vllm.sampling_params import StructuredOutputsParams

    if how.schema:
        # without this a model may fill its limit with white space between two brackets
        return StructuredOutputsParams(json=how.schema, disable_any_whitespace=True)
    return StructuredOutputsParams(regex=how.regex) if how.regex else None


def _first_logprobs(output: Any) -> dict[int, float]:
    return {token: float(row.logprob) for token, row in output.outputs[0].logprobs[0].items()}


def _stops(config: Any) -> frozenset[int]:
    """The end-of-turn ids that the checkpoint's own configuration names."""
    said = config.model_config.try_get_generation_config().get("eos_token_id")
    ids = said if isinstance(said, list) else [said]
    return frozenset(i for i in ids if i is not None)
