"""Ten million documents on 800 workers, on paper: the table of docs/performance.md.

    python benches/ten_million.py

Computed from what each further shard took of a bucket (`scale.py 2000 20000 --s3`), from what the
driver took to read (`scale.py`) and to report (docs/performance.md, "On a cluster"), and from the
prompt tokens that one H200 computed a second for a model of 8B (`gpu.py`). Prices are assumptions.
"""

import json
from collections.abc import Iterator
from typing import Any

from figures import HERE

from evaljudge.runs.binding import MOST_TOKENS

DOCUMENTS, WORKERS = 10_000_000, 800
IN_A_SHARD = {"`direct`": 80, "`synthetic`": 18}
"""Documents of 400 words with 16 texts each: docs/performance.md, "Shards"."""
WRITES, READS, CARD_HOUR = 5e-6, 4e-7, 3.0
"""Dollars: of a request that writes or lists, of one that reads, of an hour of a card."""
REPORTING = 48e-6 * 32
"""Processor seconds of the driver for each shard; those measured had 32 documents."""
BY_TIME = ("PUT /scale/out", "GET /scale/out")
"""Nearly all of these renew the run's claim, every five seconds."""


def read(bench: str) -> Any:
    return json.loads((HERE / bench).with_suffix(".json").read_text())


def of_store(run: dict[str, Any]) -> tuple[float, ...]:
    """Shards, requests, their price, and objects."""
    asked = {key: times for key, times in run["requests"].items() if key not in BY_TIME}
    writes = sum(n for key, n in asked.items() if key.startswith(("PUT", "GET listing")))
    price = writes * WRITES + (sum(asked.values()) - writes) * READS
    return asked["PUT /scale/out/cases"], sum(asked.values()), price, run["objects"]


def columns() -> Iterator[list[str]]:
    few, many = map(of_store, read("scale_s3")["runs"])
    more, *rest = (b - a for a, b in zip(few, many, strict=True))
    requests, price, objects = (each / more for each in rest)
    large, card = read("scale")["runs"][-1], read("gpu")["rows"][2]
    (reading,) = (p["cpu_seconds"] for p in large["phases"] if p["phase"] == "reading")
    seconds = MOST_TOKENS * sum(card["seconds"]) / len(card["seconds"]) / card["prefilled"]
    for judge, documents in IN_A_SHARD.items():
        shards = DOCUMENTS / documents
        hours = shards * seconds / 3600
        yield [
            *(judge, f"{shards:,.0f}", f"{shards * requests:,.0f}", f"{shards * objects:,.0f}"),
            *(f"{hours:,.0f}", f"{hours / WORKERS:.1f}"),
            f"{shards * requests / (hours / WORKERS * 3600):,.0f}",
            f"{DOCUMENTS * reading / large['cases'] / 60:.0f}",
            *(f"{shards * REPORTING / 60:.0f}", f"{shards * price:,.0f}"),
            f"{hours * CARD_HOUR:,.0f}",
        ]


def table() -> Iterator[str]:
    """The table as Markdown."""
    names = [
        *("", "shards", "requests", "objects", "hours of cards", f"hours on {WORKERS} workers"),
        *("requests a second", "driver: reading, minutes", "driver: report, minutes"),
        *("dollars for requests", "dollars for cards"),
    ]
    for number, cells in enumerate(zip(names, *columns(), strict=True)):
        yield f"| {' | '.join(cells)} |"
        if not number:
            yield "|---|" + "---|" * len(IN_A_SHARD)


if __name__ == "__main__":
    print("\n".join(table()))
