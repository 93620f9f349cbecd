"""Which texts of a run a page shows, and what they say.

first_shards([Shard(0, 32, 512), Shard(1, 32, 512)], candidates=600)  ->  {0, 1}
texts_of(output, shard)  ->  {("d1", "A"): "The river rose.", …}
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from evaljudge.storage import Output, Shard


def first_shards(shards: Sequence[Shard], candidates: int) -> set[int]:
    """The numbers of the first that hold so many."""
    before = accumulate((shard.candidates for shard in shards), initial=0)
    return {
        shard.number for shard, known in zip(shards, before, strict=False) if known < candidates
    }


def texts_of(output: Output, shard: Shard) -> dict[tuple[str, str], str]:
    """By document and system."""
    return {
        (case.document.doc_id, candidate.system): candidate.text
        for case in output.cases(shard)
        for candidate in case.candidates
    }
