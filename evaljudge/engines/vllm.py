"""vLLM as a model: `write`, `choose` and `weigh` over token ids, on the CPU and the CUDA build.

Prompts reach the engine as ids, sorted so that those sharing the longest prefix follow each other
and the prefix cache serves them. What content makes impossible is a Failed reply; anything else
that goes wrong in the engine raises EngineDead.
"""

from __future__ import annotations

import hashlib
import os
from asyncio import to_thread
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, count
from pathlib import Path
from sys import maxsize
from typing import Any, TypeVar

from evaljudge.engines.labels import CompiledOptions, compile_options
from evaljudge.engines.loop import Request, Steps
from evaljudge.engines.opening import CPU_BUILD, ModelSource, installed_build
from evaljudge.engines.sentences import Encoders
from evaljudge.engines.template import Template, read_template
from evaljudge.engines.tokens import REMEMBERED_PARTS, Beginning, Blocks, Ids, LastPrompt, Tokeniser
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
REMEMBERED_BEGINNINGS = 1024
CUDA_BLOCK = 16
CPU_BLOCK = 32
"""Smaller than the build's own 128: prefixes are shared in finer steps, and it was faster."""


def open_vllm(source: ModelSource, seed: int) -> VllmModel:
    """Load a model; what its checkpoint or arguments make impossible is the user's to mend."""
    set_environment()
    from vllm import EngineArgs
    from vllm.usage.usage_lib import UsageContext
    from vllm.v1.engine.llm_engine import LLMEngine

    path = local_path(source.path)
    # first: it says at once what is wrong with it
    tokeniser = _tokeniser(path, source.source, source.revision)
    try:
        arguments = EngineArgs(**_arguments(source, path, seed))
        # as `vllm.LLM`: far more tokens and sequences in a step than where somebody waits for each
        engine = LLMEngine.from_engine_args(arguments, usage_context=UsageContext.LLM_CLASS)
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
    path = local_path(source.path)
    tokeniser = _tokeniser_of_gauges(path, source.source, source.revision, _changed_at(path))
    template = read_template(tokeniser, source.chat, frozenset())
    usual = CPU_BLOCK if installed_build() == CPU_BUILD else CUDA_BLOCK
    size = int(source.engine.get("block_size", usual))

    @lru_cache(REMEMBERED_BEGINNINGS)
    def beginning(parts: tuple[str, ...]) -> Beginning:
        if not parts:
            return Beginning(size).followed_by(template.head)
        return beginning(parts[:-1]).followed_by(last_part(parts))

    def last_part(parts: tuple[str, ...]) -> Ids:
        return template.part(len(parts) - 1, parts[-1], tokeniser)

    def gauge(prompt: Prompt) -> Spent:
        parts = prompt.parts
        whole = beginning(parts[:-1]).followed_by(last_part(parts) + template.tail)
        head = beginning(parts[: prompt.head]).tokens if prompt.head else 0
        return Spent(whole.tokens, 0, 1, whole.blocks, head // size, size)

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


@lru_cache(1)
def _tokeniser_of_gauges(path: str, name: str, revision: str | None, changed_at: int) -> Tokeniser:
    """Kept, as plans of several layouts or runs with one model count the same texts."""
    return _tokeniser(path, name, revision)


def _changed_at(path: str) -> int:
    """When a file of this folder changed last: its tokenizer is then read again."""
    folder = Path(path)
    return max((file.stat().st_mtime_ns for file in folder.glob("*")), default=0)


def _tokeniser(path: str, name: str, revision: str | None) -> Tokeniser:
    from transformers import AutoTokenizer

    try:
        return Tokeniser(AutoTokenizer.from_pretrained(path, revision=revision))
    except Exception as error:  # transformers raises many kinds
        said = f"model {name}: its tokenizer cannot be read: {first_words(error)}"
        raise UserError(said) from error


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


class VllmModel:
    def __init__(self, engine: Any, tokeniser: Tokeniser, source: ModelSource, seed: int) -> None:
        from vllm.sampling_params import RequestOutputKind

        config = engine.vllm_config
        self._tokeniser, self._seed = tokeniser, seed
        self._template: Template = read_template(tokeniser, source.chat, _stops(config))
        self._context: int = config.model_config.max_model_len
        self._blocks = Blocks(config.cache_config.block_size)
        self._plainly = {
            "detokenize": False,
            "output_kind": RequestOutputKind.FINAL_ONLY,
            "skip_clone": True,  # the engine may keep them: nothing here changes them afterwards
        }
        self._compiled = lru_cache(None)(self._compile)
        self._listed = lru_cache(REMEMBERED_PARTS)(_listed)
        _name_blocks(engine)
        self._steps, self._encoders = Steps(engine), Encoders()

    def prepare(self, options: Options) -> None:
        self._compiled(options)

    def prepare_encoder(self, encoder: str) -> None:
        self._encoders.load(encoder)

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
            wanted = labels.wanted(_found(asked, outputs))
            return [(asked.ids + node.path, self._reading(node.ids)) for node in wanted]

        def reply(asked: _Asked, outputs: list[Any]) -> Chosen | Failed:
            spent = self._spent(outputs, asked)
            logprobs = labels.logprobs(_found(asked, outputs))
            chosen = sound(Chosen(logprobs, (), spent, self._key(asked)))
            return chosen.drawn(samples) if samples and isinstance(chosen, Chosen) else chosen

        first = self._reading(labels.first.ids)
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
            return [(asked.ids, self._weighing(asked, from_cache=False))]

        def reply(asked: _Asked, outputs: list[Any]) -> Weighed | Failed:
            rows = outputs[-1].prompt_logprobs[asked.text_at :]
            tokens = asked.ids[asked.text_at :]
            values = tuple(float(row[t].logprob) for row, t in zip(rows, tokens, strict=True))
            spent = self._spent(outputs, asked)
            if any(value != value for value in values):
                return Failed("the model's probabilities are not numbers", spent)
            return Weighed(self._tokeniser.placed(tokens, values), spent)

        return await self._each(rendered, self._weighing, reply, further)

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

    def _key(self, asked: _Asked) -> str:
        """What a draw depends on: not on the hour, nor on what shares the batch."""
        ids = ", ".join(self._listed(part) for part in asked.parts if part)
        return hashlib.sha256(f"{self._seed} ({ids})".encode()).hexdigest()

    def _writing(self, how: Writing, asked: _Asked) -> Any:
        from vllm import SamplingParams

        return SamplingParams(
            n=how.n,
            min_tokens=1,  # a reply says something
            max_tokens=how.max_tokens,
            temperature=how.temperature,
            top_p=how.top_p,
            seed=int(self._key(asked)[:15], 16) if how.temperature else None,
            stop_token_ids=sorted(self._template.ends),
            structured_outputs=_form(how),
            **self._plainly,
        )

    def _reading(self, ids: Ids) -> Any:
        from vllm import SamplingParams

        return SamplingParams(
            max_tokens=1, temperature=0.0, logprob_token_ids=list(ids), **self._plainly
        )

    def _weighing(self, asked: _Asked, from_cache: bool = True) -> Any:
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
        return tuple(
            Spent(
                prompt=len(output.prompt_token_ids),
                cached=output.num_cached_tokens or 0,
                generated=sum(len(one.token_ids) for one in output.outputs),
                blocks=self._blocks.of(tuple(output.prompt_token_ids)),
                head=asked.head // self._blocks.size,
                block_size=self._blocks.size,
            )
            for output in outputs
        )

    def _compile(self, options: Options) -> CompiledOptions:
        return compile_options(options, self._tokeniser, self._template)


def _name_blocks(engine: Any) -> None:
    """Have the names of the cache's blocks made here, for two reasons.

    A prompt usually begins as the one before it. What they share is not hashed again, which would
    be half of what it costs to add a request.

    A text to weigh gets names that no other request has. Tokens that the cache serves have no
    log-probabilities. A text that was written just before lies in the cache, and to weigh it the
    whole prompt would be read anew; so its own blocks must not be found there, while those of its
    prompt are.
    """
    core = getattr(engine.engine_core, "engine_core", None)
    if core is None or core.request_block_hasher is None:
        return  # in another process, or without a cache of prefixes
    usual, size = core.request_block_hasher, core.scheduler.hash_block_size
    last = LastPrompt[bytes](size)

    def names_of_blocks(request: Any) -> list[bytes]:
        text_at = (request.sampling_params.extra_args or {}).get(TEXT_AT, maxsize)
        is_new, ids = not request.block_hashes, request.all_token_ids
        if is_new:
            request.block_hashes += last.shared(ids)[: text_at // size]
        first, names = len(request.block_hashes), usual(request)
        if is_new:
            last.keep(ids[:], [*request.block_hashes, *names][: text_at // size])
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


def _found(asked: _Asked, outputs: Sequence[Any]) -> dict[Ids, Mapping[int, float]]:
    """What each request gave, by the path of ids that followed the prompt in it."""
    return {
        tuple(output.prompt_token_ids[len(asked.ids) :]): {
            token: float(row.logprob) for token, row in output.outputs[0].logprobs[0].items()
        }
        for output in outputs
    }


def _listed(ids: Ids) -> str:
    return ", ".join(map(str, ids))


def _stops(config: Any) -> frozenset[int]:
    """The end-of-turn ids that the checkpoint's own configuration names."""
    said = config.model_config.try_get_generation_config().get("eos_token_id")
    ids = said if isinstance(said, list) else [said]
    return frozenset(i for i in ids if i is not None)
