"""A scorer's first call, which loads its engine, beside later ones, which find it loaded.

    python benches/warm_scorer.py [--repeats 3] [--calls 4]

The judge in the box on vLLM scores one document with its six rated texts, in every call another
one, on one axis and on all four. For each axis it first writes five references. Each repeat is a
process of its own. The clock of the first call starts when the scorer is made, so it has the import
of vLLM and not Python's own start. Prints the seconds of each call and the ratio of the second to
the first, in seconds and in CPU seconds, which a busy machine changes less. All are medians of the
repeats. Writes benches/warm_scorer.json.
"""

import argparse
import json
import statistics
import subprocess
import sys
import time
from typing import Any

from figures import keep

SHAPES = {"one axis": ["fluency"], "four axes": None}
NANO = {"source": "nano", "engine": {"kv_cache_memory_bytes": 1 << 28}}
JUDGES = {"synthetic": {"max_tokens": 96}}
Call = dict[str, float]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--calls", type=int, default=4)
    parser.add_argument("--one", metavar="SHAPE", help="a single repeat, in this process")
    how = parser.parse_args()
    if how.one:
        print(json.dumps(_calls(SHAPES[how.one], how.calls)))
        return 0
    turns = [(shape, _in_a_process(shape, how.calls)) for _ in range(how.repeats)
             for shape in SHAPES]  # fmt: skip
    figures = {
        "shapes": {
            shape: _summary([calls for name, calls in turns if name == shape]) for shape in SHAPES
        },
    }
    for shape, row in figures["shapes"].items():
        seconds = ", ".join(f"{call['seconds']:.2f}" for call in row["medians"])
        print(f"{shape:<9} {seconds} s; the second took {row['ratio']['seconds']:.1%} of the "
              f"first's time, {row['ratio']['cpu_seconds']:.1%} of its CPU time")  # fmt: skip
    keep("warm_scorer", figures)
    return 0


def _in_a_process(shape: str, calls: int) -> list[Call]:
    line = [sys.executable, __file__, "--one", shape, "--calls", str(calls)]
    done = subprocess.run(line, check=True, capture_output=True, text=True)
    spent: list[Call] = json.loads(done.stdout.splitlines()[-1])
    return spent


def _summary(repeats: list[list[Call]]) -> dict[str, Any]:
    medians = [
        {name: statistics.median(call[name] for call in same) for name in same[0]}
        for same in zip(*repeats, strict=True)
    ]
    first, second, *_ = medians
    ratio = {name: round(second[name] / first[name], 3) for name in first}
    return {"medians": medians, "ratio": ratio, "repeats": repeats}


# one repeat


def _calls(axes: list[str] | None, calls: int) -> list[Call]:
    import evaljudge
    from evaljudge.bundled.world import as_jsonl, make_cases

    texts = [[json.loads(as_jsonl(make_cases(1, seed=n)))] for n in range(calls)]
    before, spent = _now(), []
    with evaljudge.Scorer(
        model=NANO, prompts="nano", judges=JUDGES, axes=axes, progress=False
    ) as scorer:
        for cases in texts:
            scorer.score(cases)
            now = _now()
            spent.append({name: round(now[name] - before[name], 2) for name in now})
            before = now
    return spent


def _now() -> Call:
    return {"seconds": time.perf_counter(), "cpu_seconds": time.process_time()}


if __name__ == "__main__":
    sys.exit(main())
