"""What a run costs besides its model: cases a second, the driver's memory, where the time goes.

    python benches/scale.py [CASES ...] [--ray] [--s3] [--smallest CASES]
                                                    (default: 10000 100000)

Does whole runs (corpus, shards, both stages, scores, report, selection) on the scripted model,
which answers at once, each in a process of its own. That process asks and scores itself, so that
its processor seconds are all there are; with --ray, two of Ray's workers do. With --s3 the folder
lies in a bucket that counts requests. --smallest adds a run of cases with one candidate and one
ask. Prints what each phase takes and the memory at its end, and writes benches/scale.json, or
scale_s3.json.
"""

import argparse
import json
import subprocess
import sys
from typing import Any

from figures import HERE, keep

SIZES = (10_000, 100_000)


def run(cases: int, *options: str) -> dict[str, Any]:
    """The figures of a run in a process of its own; printed and given back."""
    command = [sys.executable, str(HERE / "scale_run.py"), str(cases), *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    figures: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    memory = f"{figures['mb_before']} MB before, {figures['mb_peak']} MB at most"
    print(f"{cases:,} cases: {figures['cases_per_second']:,} a second; {memory}")
    requests = sum(figures["requests"].values())
    print(f"  {figures['objects']:,} objects, {figures['bytes']:,} bytes, {requests:,} requests")
    for phase in figures["phases"]:
        seconds = f"{phase['seconds']:>8} s{phase['cpu_seconds']:>8} s of a processor"
        print(f"  {phase['phase']:10}{seconds}{phase['mb']:>9} MB at its end", flush=True)
    return figures


def main(sizes: list[int], smallest: int | None, how: list[str]) -> None:
    on_ray, on_s3 = "--ray" in how, "--s3" in how
    seen: dict[str, Any] = {
        "executor": "ray" if on_ray else "local",
        "on": "s3" if on_s3 else "disk",
    }
    seen["runs"] = [run(size, *how) for size in sizes]
    if smallest:
        seen["smallest"] = run(smallest, "--smallest", *how)
    keep("scale_s3" if on_s3 else "scale", seen)


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("sizes", nargs="*", type=int, default=SIZES)
    given.add_argument("--smallest", type=int, metavar="CASES")
    for how in ("--ray", "--s3"):
        given.add_argument(how, action="append_const", dest="how", const=how, default=[])
    options = given.parse_args()
    main(options.sizes, options.smallest, options.how)
