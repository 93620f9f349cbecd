"""What a run costs besides its model: cases a second, the driver's memory, where the time goes.

    python benches/scale.py [CASES ...] [--before CHECKOUT] [--ray] [--smallest CASES]
                                                    (default: 10000 100000)

Does whole runs (corpus, shards, both stages, scores, report, selection) on the scripted model,
which answers at once, each in a process of its own. That process asks and scores itself, so that
its processor seconds are all there are; with --ray, two of Ray's workers do. With --before also by
the evaljudge of another checkout. --smallest adds a run of cases with one candidate and one ask.
Prints what each phase takes and the memory at its end, and where one worker spends its time on a
shard; writes benches/scale.json.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from scale_run import configuration, rows

from evaljudge.config import Config, load_config
from evaljudge.corpora import open_corpus
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.execution.attempts import Here
from evaljudge.execution.protocol import Assignment, Order
from evaljudge.execution.shards import ShardWork
from evaljudge.prompts.pack import Pack
from evaljudge.runs.job import make_job
from evaljudge.storage import Output, Shard, tables

HERE = Path(__file__).parent
SIZES = (10_000, 100_000)
PARTS: dict[str, list[tuple[Any, str]]] = {
    "prompts rendered": [(Pack, "render")],
    "replies scripted": [(Scripted, "_written"), (Scripted, "_chosen")],
    "files read and written": [(Output, n) for n in ("_table", "_write_table", "_write_json")],
    "records to tables and back": [(tables, name) for name in ("to_table", "from_table")],
}


def parts_of_a_shard() -> dict[str, float]:
    """Milliseconds that a worker is busy with each part of one shard, in whichever thread."""
    with tempfile.TemporaryDirectory(prefix="scale-") as name:
        folder = Path(name)
        corpus = folder / "cases.jsonl"
        corpus.write_text("".join(f"{json.dumps(row)}\n" for row in rows(32)))
        config = load_config(configuration(folder, corpus))
        asyncio.run(one_shard(config))  # the first of all imports pyarrow
        shutil.rmtree(folder / "out")
        with timed() as spent:
            spent["in all"] = asyncio.run(one_shard(config))
    return {part: round(1000 * seconds, 1) for part, seconds in spent.items()}


@contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Adds up the seconds of the parts while the block lasts."""
    spent, kept = dict.fromkeys(PARTS, 0.0), []
    for part, functions in PARTS.items():
        for owner, name in functions:
            kept.append((owner, name, getattr(owner, name)))
            setattr(owner, name, timing(kept[-1][2], part, spent))
    yield spent
    for owner, name, function in kept:
        setattr(owner, name, function)


def timing(function: Callable[..., Any], part: str, spent: dict[str, float]) -> Callable[..., Any]:
    def call(*given: Any, **named: Any) -> Any:
        since = time.perf_counter()
        try:
            return function(*given, **named)
        finally:
            spent[part] += time.perf_counter() - since

    return call


async def one_shard(config: Config) -> float:
    """The seconds that it takes, once it is cut."""
    engines = ScriptedEngines()
    job, shard = make_job(config, engines), Shard(0, 32, 64)
    assert job.model and job.writer_is
    with open_corpus(job.corpus) as corpus:
        Output(config.out, run="bench").write_cases(shard, corpus)
    known = (config.out, None, "bench", job.judges, engines, job.model, job.writer_is)
    assignment = Assignment(*known, job.judge_signatures(), 0)
    here = Here("", "", "", lambda node: True)
    since = time.perf_counter()
    await ShardWork(assignment, here).do(Order(shard, ["prepare", "judge"], {}))
    return time.perf_counter() - since


def run(checkout: Path | str, cases: int, *options: str) -> dict[str, Any]:
    """In a process of its own; printed and given back."""
    command = [sys.executable, "-P", str(HERE / "scale_run.py"), str(cases), *options]
    env = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    memory = f"{found['mb_before']} MB before, {found['mb_peak']} MB at most"
    print(f"{cases:,} cases: {found['cases_per_second']:,} a second; {memory}")
    for phase in found["phases"]:
        seconds = f"{phase['seconds']:>8} s{phase['cpu_seconds']:>8} s of a processor"
        print(f"  {phase['phase']:10}{seconds}{phase['mb']:>9} MB at its end", flush=True)
    return found


def main(sizes: list[int], before: str | None, smallest: int | None, on_ray: bool) -> None:
    machine = f"{platform.processor() or platform.machine()}, {psutil.cpu_count()} cores"
    ours, how = HERE.parent, ["--ray"] if on_ray else []
    seen: dict[str, Any] = {"machine": machine, "executor": "ray" if on_ray else "local"}
    seen["runs"] = [run(ours, size, *how) for size in sizes]
    if before:
        print("before:")
        seen["before"] = [run(before, size, *how) for size in sizes]
    if smallest:
        seen["smallest"] = run(ours, smallest, "--smallest", *how)
    seen["milliseconds_of_a_shard"] = parts_of_a_shard()
    print("a worker's milliseconds with a shard of 32 cases:", seen["milliseconds_of_a_shard"])
    (HERE / "scale.json").write_text(json.dumps(seen, indent=1) + "\n")


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("sizes", nargs="*", type=int, default=SIZES)
    given.add_argument("--before", metavar="CHECKOUT")
    given.add_argument("--smallest", type=int, metavar="CASES")
    given.add_argument("--ray", action="store_true")
    options = given.parse_args()
    main(options.sizes, options.before, options.smallest, options.ray)
