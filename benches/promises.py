"""Do the report's intervals and guarantees hold? Simulated worlds in which the truth is known.

    python benches/promises.py [--worlds 1000] [--part systems]

Each part (promises_PART.py) draws worlds of documents, systems, scores and ratings, in which the
texts of a document are alike, and counts in how many of them a promise was kept: that an interval
holds the truth, or that a threshold has its precision. Prints a line for each promise and world,
and writes benches/promises.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from math import sqrt
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
PREFIX = "promises_"
Row = dict[str, Any]


def main() -> None:
    parts = sorted(file.stem.removeprefix(PREFIX) for file in HERE.glob(f"{PREFIX}*.py"))
    given = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    given.add_argument("--worlds", type=int, default=1000)
    given.add_argument("--part", action="append", choices=parts)
    how = given.parse_args()
    wanted = how.part or parts
    kept = HERE / "promises.json"
    found = json.loads(kept.read_text())["parts"] if kept.exists() else {}
    with ProcessPoolExecutor() as pool:
        results = pool.map(partial(rows_of, worlds=how.worlds), wanted)
        for part, (rows, seconds) in zip(wanted, results, strict=True):
            found[part] = {"seconds": seconds, "rows": rows}
            print(f"{part} ({seconds:.0f} CPU seconds)")
            print("\n".join(map(line, rows)), flush=True)
    machine = f"{os.cpu_count()} cores of {platform.machine()}"
    figures = {"machine": machine, "worlds": how.worlds, "parts": dict(sorted(found.items()))}
    kept.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")


def rows_of(part: str, worlds: int) -> tuple[list[Row], float]:
    since = time.process_time()
    rows = list(import_module(f"{PREFIX}{part}").rows(worlds))
    return rows, round(time.process_time() - since, 1)


def line(row: Row) -> str:
    """The share of worlds in which the promise was kept, with the error of that share itself."""
    share = row["kept"] / row["worlds"]
    error = 1.96 * sqrt(share * (1 - share) / row["worlds"])
    more = {k: v for k, v in row.items() if k not in ("promise", "world", "nominal", "kept")}
    others = ", ".join(f"{name} {value}" for name, value in more.items())
    nominal = f"{row['nominal']:.1%}" if row["nominal"] is not None else "none"
    held = f"{share:.1%} ± {error:.1%} (nominal {nominal})"
    return f"  {row['promise']:44} {row['world']:44} {held:32} {others}"


if __name__ == "__main__":
    main()
