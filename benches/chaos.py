"""Runs that many things befall at once, by seed: do they come to what an undisturbed run comes to?

    python benches/chaos.py --seeds 100 [--first 0] [--executor local] [--only 17]

Each seed draws a world (corpus, judges, workers, executor, storage) and one to four faults: kills
and signals, errors of the disk, failures of S3, lost workers and nodes. The run is started again
until it ends, and its tables are compared with those of the same run that nobody harmed. A line for
each seed, a table by fault at the end, and benches/chaos.json.
"""

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from chaos_run import Outcome, run_seed
from chaos_stage import staged

KEPT = Path(__file__).with_suffix(".json")
SUMS = ("unequal", "needless", "processes", "hidden", "tracebacks")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--only", type=int, help="this seed alone; its folder is kept")
    parser.add_argument("--executor", choices=("local", "ray", "second node"))
    parser.add_argument("--minutes", type=float, default=1e9, help="no seed begins after them")
    how = parser.parse_args()
    seeds = range(how.first, how.first + how.seeds) if how.only is None else [how.only]
    until = time.monotonic() + 60 * how.minutes
    outcomes = list[Outcome]()
    memory = "/dev/shm" if os.path.isdir("/dev/shm") else None  # where nothing waits for a disk
    folder = Path(tempfile.mkdtemp(prefix="chaos-", dir=memory))
    with staged(folder) as stage:
        for seed in seeds:
            if time.monotonic() > until:
                break
            outcomes.append(run_seed(stage, seed, how.executor))
            print(line(outcomes[-1], how.executor), flush=True)
    figures = summary(outcomes)
    print(text(figures))
    if how.only is None:
        shutil.rmtree(folder)
        KEPT.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    return int(not all(outcome.is_well for outcome in outcomes))


def line(outcome: Outcome, executor: str | None) -> str:
    faults = "; ".join(
        f["at"] if f["struck"] else f"({f['at']}: not reached)" for f in outcome.faults
    )
    bad = [f"{name} {value}" for name in SUMS if (value := getattr(outcome, name))]
    how = "well" if outcome.is_well else f"BAD {', '.join(bad)} {outcome.problems}"
    command = f"python benches/chaos.py --only {outcome.seed}"
    command += f" --executor {executor!r}" if executor else ""
    again = "" if outcome.is_well else f" (again: {command})"
    story = f"{outcome.world}; {faults}: {how}, {outcome.repeated} asked again"
    return f"{outcome.seed:4d} {outcome.seconds:5.1f} s  {story}{again}"


def summary(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    return {
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "date": time.strftime("%Y-%m-%d"),
        "seeds": len(outcomes),
        "well": sum(outcome.is_well for outcome in outcomes),
        "seconds": round(sum(outcome.seconds for outcome in outcomes)),
        "faults": by_fault(outcomes),
        "bad": [asdict(outcome) for outcome in outcomes if not outcome.is_well],
    }


def by_fault(outcomes: Sequence[Outcome]) -> dict[str, dict[str, int]]:
    """How often each fault struck, and the sums over the seeds in which it did."""
    rows: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(
        ("struck", "not_reached", "seeds", *SUMS, "most_repeated"), 0))  # fmt: skip
    for outcome in outcomes:
        for fault in outcome.faults:
            rows[fault["fault"]]["struck" if fault["struck"] else "not_reached"] += 1
        for fault in {fault["fault"] for fault in outcome.faults if fault["struck"]}:
            row = rows[fault]
            row["seeds"] += 1
            row["most_repeated"] = max(row["most_repeated"], outcome.repeated)
            for name in SUMS:
                row[name] += getattr(outcome, name)
    return dict(sorted(rows.items()))


def text(figures: dict[str, Any]) -> str:
    names = ("struck", "not_reached", *SUMS, "most_repeated")
    lines = [f"{'fault':16s}" + "".join(f"{name:>14s}" for name in names)]
    for fault, row in figures["faults"].items():
        lines.append(f"{fault:16s}" + "".join(f"{row[name]:14d}" for name in names))
    lines.append(f"{figures['well']} of {figures['seeds']} seeds well, {figures['seconds']} s")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
