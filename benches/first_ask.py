"""From the command to the first ask: a run in its own process beside one on a Ray started for it.

    python benches/first_ask.py [--repeats 3]

Each run is a process of its own, as `evaljudge run` is: it reads a configuration, cuts a corpus of
36 documents, gets its engine ready and asks. The clock starts with the process and stops at the
first ask, with the judge in the box on vLLM and with a scripted model, which shows the executor
alone. The two executors take turns. Prints medians, and writes benches/first_ask.json.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from figures import in_a_process, keep

DOCUMENTS = 36
EXECUTORS, MODELS = ("local", "ray"), ("scripted", "nano")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--run", nargs=3, metavar=("MODEL", "EXECUTOR", "FOLDER"))
    how = parser.parse_args()
    if how.run:
        return _run_until_the_first_ask(*how.run)
    rows = [
        _timed(model, executor) | {"model": model, "executor": executor}
        for _ in range(how.repeats)
        for model in MODELS
        for executor in EXECUTORS
    ]
    figures: dict[str, Any] = {
        "documents": DOCUMENTS,
        "medians": [_median(rows, model, executor) for model in MODELS for executor in EXECUTORS],
        "rows": rows,
    }
    for row in figures["medians"]:
        print(f"{row['model']:<9} {row['executor']:<6} first ask after {row['seconds']:6.1f} s, "
              f"{row['cpu_seconds']:6.1f} CPU s")  # fmt: skip
    keep("first_ask", figures)
    return 0


def _timed(model: str, executor: str) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        began = time.time()
        line = [sys.executable, __file__, "--run", model, executor, folder]
        cpu, _ = in_a_process(line, stderr=subprocess.DEVNULL)
        asked = float(Path(folder, "asked").read_text().splitlines()[0])
    return {"seconds": round(asked - began, 2), "cpu_seconds": cpu}


def _median(rows: list[dict[str, Any]], model: str, executor: str) -> dict[str, Any]:
    mine = [row for row in rows if (row["model"], row["executor"]) == (model, executor)]
    numbers = {
        name: statistics.median(row[name] for row in mine) for name in ("seconds", "cpu_seconds")
    }
    return {"model": model, "executor": executor} | numbers


# one run


def _run_until_the_first_ask(model: str, executor: str, folder: str) -> int:
    import evaljudge
    from evaljudge.bundled.world import as_jsonl, make_cases
    from evaljudge.engines import VllmEngines
    from evaljudge.engines.scripted import ScriptedEngines
    from evaljudge.errors import UserError

    base: Any = ScriptedEngines if model == "scripted" else VllmEngines

    class Noting(base):  # type: ignore[misc]
        """An engine whose models note when they are asked first, and refuse."""

        def open(self, source: Any, seed: int) -> Any:
            opened = super().open(source, seed)

            async def write(prompts: Any, how: Any) -> Any:
                with Path(folder, "asked").open("a") as noted:
                    noted.write(f"{time.time()}\n")
                raise UserError("asked")

            opened.write = write
            return opened

    cases = Path(folder, "cases.jsonl")
    cases.write_text(as_jsonl(make_cases(DOCUMENTS, seed=1)), encoding="utf-8")
    config = {
        "corpus": str(cases),
        "out": str(Path(folder, "out")),
        "prompts": "nano",
        "model": {"source": model, "engine": {"kv_cache_memory_bytes": 1 << 28}},
        "judges": {"synthetic": {"max_tokens": 96}},
        "workers": {"executor": executor},
    }
    try:
        evaljudge.run(config, engines=Noting())
    except UserError as error:
        return int(str(error) != "asked")
    return 1


if __name__ == "__main__":
    sys.exit(main())
