"""What a prompt will cost, counted by the model's tokenizer alone: for `plan`."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from evaljudge.engines.blocks import usual_block
from evaljudge.engines.loading import load_tokeniser, local_path
from evaljudge.engines.opening import ModelSource
from evaljudge.engines.template import read_template
from evaljudge.engines.tokens import Beginning, Ids, Tokeniser
from evaljudge.model.asks import Prompt, Spent

REMEMBERED_BEGINNINGS = 1024


def make_gauge(source: ModelSource) -> Callable[[Prompt], Spent]:
    """Counts tokens and cache blocks as the engine would."""
    path = local_path(source.path)
    tokeniser = _tokeniser_of_gauges(path, source.source, source.revision, _changed_at(path))
    template = read_template(tokeniser, source.chat, frozenset())
    size = int(source.engine.get("block_size", usual_block()))

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


@lru_cache(1)
def _tokeniser_of_gauges(path: str, name: str, revision: str | None, changed_at: int) -> Tokeniser:
    """Kept, as plans of several layouts or runs with one model count the same texts."""
    return load_tokeniser(path, name, revision)


def _changed_at(path: str) -> int:
    """When a file of this folder changed last: its tokenizer is then read again."""
    folder = Path(path)
    return max((file.stat().st_mtime_ns for file in folder.glob("*")), default=0)
