"""Do the report's intervals and guarantees hold? Simulated worlds in which the truth is known.

    python benches/promises.py [--worlds 1000] [--part systems]

Each part (promises_PART.py) draws worlds of documents, systems, scores and ratings, in which the
texts of a document are alike, and counts in how many of them a promise was kept: that an interval
holds the truth, or that a threshold has its precision. Prints a line for each promise and world,
and writes benches/promises.json.

A row's `bound` says what is promised: that it is kept in `about` the nominal share of the worlds
(within 2 points), in `at least` that share, or nothing (`none`: rows that show where a method ends,
or another method beside ours). Rows beyond their bound are marked and counted; of 1,000 worlds,
about one row in two hundred is beyond it by chance.
"""

import argparse
import json
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from importlib import import_module
from math import sqrt
from typing import Any

from figures import HERE, keep

PREFIX = "promises_"
WITHIN = 0.02
Row = dict[str, Any]


def main() -> None:
    parts = sorted(file.stem.removeprefix(PREFIX) for file in HERE.glob(f"{PREFIX}*.py"))
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--worlds", type=int, default=1000)
    parser.add_argument("--part", action="append", choices=parts)
    how = parser.parse_args()
    wanted = how.part or parts
    kept = HERE / "promises.json"
    by_part = json.loads(kept.read_text())["parts"] if kept.exists() else {}
    outside = 0
    with ProcessPoolExecutor() as pool:
        results = pool.map(partial(rows_of, worlds=how.worlds), wanted)
        for part, (rows, seconds) in zip(wanted, results, strict=True):
            by_part[part] = {"seconds": seconds, "rows": rows}
            print(f"{part} ({seconds:.0f} CPU seconds)")
            print("\n".join(map(line, rows)), flush=True)
            outside += sum(map(is_outside, rows))
    print(f"{outside} rows are beyond what is promised")
    keep("promises", {"worlds": how.worlds, "parts": dict(sorted(by_part.items()))})


def row(
    promise: str,
    world: str,
    kept: int,
    worlds: int,
    nominal: float = 0.95,
    bound: str = "about",
    **more: Any,
) -> Row:
    """How often a promise was kept, as the parts say it."""
    common = {"promise": promise, "world": world, "nominal": nominal, "bound": bound}
    return common | {"kept": int(kept), "worlds": worlds} | more


def rows_of(part: str, worlds: int) -> tuple[list[Row], float]:
    since = time.process_time()
    rows = list(import_module(f"{PREFIX}{part}").rows(worlds))
    return rows, round(time.process_time() - since, 1)


def is_outside(row: Row) -> bool:
    share, nominal = row["kept"] / row["worlds"], row["nominal"]
    match row.get("bound", "about"):
        case "about":
            return bool(round(abs(share - nominal), 6) > WITHIN)
        case "at least":
            return bool(round(nominal - share, 6) > WITHIN)
    return False


def line(row: Row) -> str:
    """The share of worlds in which the promise was kept, with the error of that share itself."""
    share = row["kept"] / row["worlds"]
    error = 1.96 * sqrt(share * (1 - share) / row["worlds"])
    shown = ("promise", "world", "nominal", "kept", "worlds", "bound")
    others = ", ".join(f"{name} {value}" for name, value in row.items() if name not in shown)
    held = f"{share:.1%} ± {error:.1%} (promised: {row.get('bound', 'about')} {row['nominal']:.1%})"
    mark = "!" if is_outside(row) else " "
    return f"{mark} {row['promise']:44} {row['world']:44} {held:42} {others}"


if __name__ == "__main__":
    main()
