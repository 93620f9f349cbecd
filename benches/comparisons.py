"""What a comparison costs beside the model's own work: prompts tokenised by parts or whole.

    PYTHONPATH=. python benches/comparisons.py [CASES]

Asks the real engine (a tiny random model) the same comparisons twice over in one process: with
prompts cut where texts begin and end (a document is tokenised once for all its prompts), and with
each prompt in one piece. Prints seconds and their ratio, and writes benches/comparisons.json.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from evaljudge.engines import Engine, ModelSource, VllmEngines
from evaljudge.judges.synthetic.evidence import COMPARE
from evaljudge.model.asks import Prompt
from evaljudge.model.counting import CountingModel
from evaljudge.prompts import load_task
from tests.tiny import make_tiny_model

REFERENCES, CANDIDATES, ROUNDS = 5, 16, 3
HERE = Path(__file__).parent
CASES = HERE.parent / "tests" / "prose.jsonl"


def words(count: int, source: random.Random, known: list[str]) -> str:
    return " ".join(source.choices(known, k=count))


def comparisons(cases: int, seed: int) -> list[list[Prompt]]:
    source, pack = random.Random(seed), load_task("summary").pack
    known = CASES.read_text(encoding="utf-8").split()
    told = {"axis": "fluency", "description": "the quality of the sentences"}
    asks = []
    for _ in range(cases):
        article = words(500, source, known)
        references = [words(60, source, known) for _ in range(REFERENCES)]
        targets = [words(60, source, known) for _ in range(CANDIDATES)]
        given = ({"source": article, "context": None, "reference": r, "target": t}
                 for r in references for t in targets)  # fmt: skip
        asks.append([pack.render("synthetic.compare", texts, **told) for texts in given])
    return asks


def whole(prompt: Prompt) -> Prompt:
    return Prompt((prompt.text,))


async def seconds(
    engine: Engine, asks: list[list[Prompt]], cut: Callable[[Prompt], Prompt]
) -> float:
    model, started = CountingModel(engine), time.monotonic()
    await asyncio.gather(
        *(model.choose([cut(prompt) for prompt in case], COMPARE.options) for case in asks)
    )
    return time.monotonic() - started


def main(cases: int = 24) -> None:
    engines = VllmEngines()
    with tempfile.TemporaryDirectory() as folder:
        model = make_tiny_model(folder, CASES.read_text(encoding="utf-8").splitlines())
        engine = engines.open(
            ModelSource(str(model), engine={"kv_cache_memory_bytes": 1 << 30}), seed=0
        )
        asyncio.run(seconds(engine, comparisons(1, 99), whole))  # the first requests are slow
        seen: dict[str, list[float]] = {"by parts": [], "whole": []}
        for number in range(ROUNDS):  # fresh texts every time: nothing is cached from before
            asks = comparisons(cases, 2 * number), comparisons(cases, 2 * number + 1)
            seen["by parts"].append(asyncio.run(seconds(engine, asks[0], lambda prompt: prompt)))
            seen["whole"].append(asyncio.run(seconds(engine, asks[1], whole)))
        engine.close()
    best = {name: min(times) for name, times in seen.items()}
    figures = {
        "machine": f"{os.cpu_count()} cores of {platform.machine()}, {platform.platform()}",
        "engine": engines.version,
        "comparisons": cases * REFERENCES * CANDIDATES,
        "seconds": {name: [round(t, 2) for t in times] for name, times in seen.items()},
        "whole / by parts": round(best["whole"] / best["by parts"], 2),
    }
    (HERE / "comparisons.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:2]))
