"""How many cases of a worker's open shards have passed a stage, told about once a second.

    {("prepare", 3): 32, ("judge", 3): 17, ("prepare", 4): 5}

A shard's receipt comes when all its cases are done, which may take many minutes. Until then these
counts show that the work goes on, and how fast. They are not kept: a shard that is begun again
counts from 0, and its receipt replaces them.
"""

from __future__ import annotations

import asyncio

from evaljudge.execution import InHand, Tell
from evaljudge.storage import Stage

EVERY = 1.0
"""Seconds in which changes are collected."""


class CasesInHand:
    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self._counts: InHand = {}
        self._changed: InHand = {}

    def begin(self, stage: Stage, shard: int) -> None:
        self._count(stage, shard, 0)

    def add(self, stage: Stage, shard: int) -> None:
        self._count(stage, shard, self._counts[stage, shard] + 1)

    def end(self, stage: Stage, shard: int) -> None:
        del self._counts[stage, shard]

    def _count(self, stage: Stage, shard: int, cases: int) -> None:
        if not self._changed:
            asyncio.get_running_loop().call_later(EVERY, self._send)
        self._counts[stage, shard] = self._changed[stage, shard] = cases

    def _send(self) -> None:
        changed, self._changed = self._changed, {}
        self._tell(changed)
