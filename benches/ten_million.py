"""Ten million documents on 800 workers, on paper: the figures of docs/performance.md.

    python benches/ten_million.py

Computed from what shards took of a bucket, and the driver to read (`scale.py 20000 200000 --s3
--ray`) and to report (`reporting.py`), and from the prompt tokens that one
H200 computed for a model of 8B (`gpu.py`). Prices are assumptions.
"""

import json
from collections.abc import Iterator
from typing import Any

from figures import HERE

from evaljudge.runs.binding import MOST_TOKENS

DOCUMENTS, WORKERS = 10_000_000, 800
IN_A_SHARD = {"`direct`": 80, "`synthetic`": 18}
"""Documents of 400 words with 16 texts each, on four axes: docs/performance.md, "Shards"."""
WRITES, READS, CARD_HOUR = 5e-6, 4e-7, 3.0
"""Dollars: of a request that writes, of one that reads, of an hour of a card."""
REPORTING = 48e-6 * 32
"""Processor seconds of the driver for each shard; those measured had 32 documents."""
OF_SHARDS = ("cases", "briefs", "commits", "scores")


def read(bench: str) -> Any:
    return json.loads((HERE / bench).with_suffix(".json").read_text())


def reading(run: dict[str, Any]) -> float:
    return sum(each["cpu_seconds"] for each in run["phases"] if each["phase"] == "reading")


def columns() -> Iterator[list[str]]:
    few, many = read("scale_s3")["runs"]
    asked, counted = many["requests"], many["requests"]["PUT /scale/out/cases"]

    def of_a_shard(verb: str) -> float:
        starts = tuple(f"{verb} /scale/out/{folder}" for folder in OF_SHARDS)
        return sum(n for key, n in asked.items() if key.startswith(starts)) / counted

    writes, reads = of_a_shard("PUT"), of_a_shard("GET")
    a_document = (reading(many) - reading(few)) / (many["cases"] - few["cases"])
    card = read("gpu")["rows"][2]
    seconds = MOST_TOKENS * sum(card["seconds"]) / len(card["seconds"]) / card["prefilled"]
    for judge, documents in IN_A_SHARD.items():
        shards = DOCUMENTS / documents
        hours, requests = shards * seconds / 3600, shards * (writes + reads)
        yield [
            *(judge, f"{shards:,.0f}", f"{requests:,.0f}", f"{shards * writes:,.0f}"),
            *(f"{hours:,.0f}", f"{hours / WORKERS:.1f}"),
            f"{requests / (hours / WORKERS * 3600):,.0f}",
            f"{DOCUMENTS * a_document / 60:.0f}",
            f"{shards * REPORTING / 60:.0f}",
            f"{shards * (writes * WRITES + reads * READS):,.0f}",
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
