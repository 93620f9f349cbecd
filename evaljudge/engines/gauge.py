"""What a prompt will cost, counted by the model's tokenizer alone: for `plan`."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from sys import maxsize

from evaljudge.engines.checkpoint import layers
from evaljudge.engines.labels import compile_options
from evaljudge.engines.loading import local_path, usual_block
from evaljudge.engines.opening import ModelSource, settled
from evaljudge.engines.reading import Wanted, read_apart, read_here
from evaljudge.engines.template import Template
from evaljudge.engines.tokens import Beginning, Ids, Texts
from evaljudge.engines.trust import REMOTE_CODE
from evaljudge.errors import UserError
from evaljudge.model.asks import Options, Prompt, Spent
from evaljudge.model.imagining import Gauge

REMEMBERED_BEGINNINGS = 1024
TOKENIZER = "tokenizer_config.json"


def text_around(source: ModelSource) -> tuple[str, str] | None:
    """What the model reads before and after a prompt, by its chat template.

    None where its tokenizer is not on this machine: nothing is downloaded.
    """
    if not _is_here(source):
        return None
    template = _tokenizer_of(settled(source))[1]
    return template.head_text, template.tail_text


def _is_here(source: ModelSource) -> bool:
    from huggingface_hub import try_to_load_from_cache

    if "://" in source.path or Path(source.path).is_dir():
        return "://" not in source.path
    try:
        found = try_to_load_from_cache(source.path, TOKENIZER, revision=source.revision)
    except ValueError:  # no name that a hub could have
        return False
    return isinstance(found, str)


def make_gauge(source: ModelSource) -> Gauge:
    """Counts tokens and cache blocks as the engine would, if answers are spelt as they are asked
    for."""
    texts, template = _tokenizer_of(source)
    block = _cached_block(source)
    size = block or maxsize

    @lru_cache(REMEMBERED_BEGINNINGS)
    def beginning(parts: tuple[str, ...]) -> Beginning:
        if not parts:
            return Beginning(size).followed_by(template.head)
        return beginning(parts[:-1]).followed_by(part(parts, len(parts) - 1))

    def part(parts: tuple[str, ...], number: int) -> Ids:
        return template.part(number, parts[number], texts)

    @cache
    def spelt(options: Options) -> list[int]:
        try:
            nodes = compile_options(options, texts, template).of_one_answer
        except UserError:  # refused by the engine, unless it knows more that ends a reply
            return []
        return [len(node.path) for node in nodes]

    def gauge(prompt: Prompt, options: Options | None = None) -> tuple[Spent, ...]:
        spent = of_prompt(prompt)
        further = spelt(options) if options else ()
        return spent, *(replace(spent, prompt=spent.prompt + more) for more in further)

    def of_prompt(prompt: Prompt) -> Spent:
        parts = prompt.parts
        first, rest = max(len(parts) - 2, 0), Ids()  # few prompts share their last text
        for number in range(first, len(parts)):
            rest += part(parts, number)
        whole = beginning(parts[:first]).followed_by(rest + template.tail)
        head = beginning(parts[: prompt.head]).tokens if prompt.head else 0
        return Spent(whole.tokens, 0, 1, whole.blocks, head // size, block)

    return gauge


def caution(source: ModelSource) -> str | None:
    """Where the engine will share less than the gauge counts on, or nothing."""
    kind, block = layers(source), _cached_block(source)
    if kind == "hybrid" and block:
        return (
            f"model {source.source} has layers without attention: vLLM sets its cache blocks as it "
            "loads it, often to hundreds of tokens, and a prefix that is shorter is not shared. "
            f"`prefill at least` counts blocks of {block}"
        )
    if kind == "no attention" and not block:
        return (
            f"model {source.source} has no attention: vLLM shares no prefixes of it, so that every "
            "prompt token is prefilled"
        )
    return None


def _cached_block(source: ModelSource) -> int:
    """As `blocks.cached_block`, as far as it is known before the engine is open."""
    caches = source.engine.get("enable_prefix_caching")
    if caches is None:
        caches = layers(source) != "no attention"
    return int(source.engine.get("block_size") or usual_block()) if caches else 0


def _tokenizer_of(source: ModelSource) -> tuple[Texts, Template]:
    path, chat = local_path(source.path), json.dumps(source.chat)
    trusts, reply = REMOTE_CODE in source.allow, source.reply or ""
    wanted = Wanted(path, source.source, source.revision, chat, trusts, reply)
    return _read(wanted, _changed_at(path))


@lru_cache(2)
def _read(wanted: Wanted, changed_at: int) -> tuple[Texts, Template]:
    """Kept, as plans of several layouts or runs with these models count the same texts."""
    is_loaded = "transformers.models.auto.tokenization_auto" in sys.modules
    found = None if is_loaded else read_apart(wanted)
    tokenizer, template = found or read_here(wanted)
    return Texts(tokenizer), template


def _changed_at(path: str) -> int:
    """When a file of this folder changed last: its tokenizer is then read again."""
    folder = Path(path)
    return max((file.stat().st_mtime_ns for file in folder.glob("*")), default=0)
