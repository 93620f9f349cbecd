"""A Ray actor with one engine; its rows are shards to do, what it gives back are receipts."""

from __future__ import annotations

import json
import os
import sys
from typing import Any

from evaljudge.cluster.shards import Assignment, Order, ShardWork
from evaljudge.errors import EngineDead, UserError
from evaljudge.storage import Shard

DEAD_ENGINE = 70


class Worker:
    def __init__(self, assignment: Assignment, gpus: float) -> None:
        self._refusal = ""
        try:
            self._work = ShardWork(assignment, gpus=gpus)
        except UserError as error:  # said by the driver, in one line; a retry would not mend it
            self._refusal = str(error)

    async def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        if self._refusal:
            return {"receipt": [json.dumps({"refused": self._refusal})]}
        receipts = []
        for order in map(read_order, batch["order"]):
            try:
                receipts += await self._work.do(order)
            except EngineDead as error:  # a worker without its engine is of no use: be replaced
                print(f"engine died: {error}", file=sys.stderr, flush=True)
                os._exit(DEAD_ENGINE)
            except UserError as error:
                receipts.append({"refused": str(error)})
        return {"receipt": [json.dumps(receipt) for receipt in receipts]}


def write_order(order: Order) -> str:
    shard = order.shard
    return json.dumps(
        {
            "shard": [shard.number, shard.cases, shard.candidates],
            "stages": list(order.stages),
            "brief_files": {judge: list(files) for judge, files in order.brief_files.items()},
        }
    )


def read_order(text: str) -> Order:
    spec = json.loads(text)
    return Order(Shard(*spec["shard"]), spec["stages"], spec["brief_files"])
