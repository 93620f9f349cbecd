"""What a run costs besides its model: cases a second, the driver's memory, where the time goes.

    python benches/scale.py [CASES ...]        (default: 10000 100000)

Runs the whole journey (corpus, shards, both stages through Ray, scores, report, selection) on the
scripted model, which answers at once, each number of cases in a process of its own that is the
driver. Prints each phase's seconds and the driver's memory at its end, and where one worker spends
its time on a shard; writes benches/scale.json.
"""

from __future__ import annotations

import asyncio
import json
import platform
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

import evaljudge
from evaljudge.config import Config, load_config
from evaljudge.corpora import open_corpus
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.execution.attempts import Here
from evaljudge.execution.orders import Assignment, Order
from evaljudge.execution.shards import ShardWork
from evaljudge.prompts.pack import Pack
from evaljudge.runs.job import make_job
from evaljudge.runs.pipeline import Todo, Watcher
from evaljudge.storage import Output, Place, Shard, tables

HERE = Path(__file__).parent
SIZES = (10_000, 100_000)
SYSTEMS, RATED = ("north", "south"), 1_000
WORKERS = 2
PARTS: dict[str, list[tuple[Any, str]]] = {
    "prompts rendered": [(Pack, "render")],
    "replies scripted": [(Scripted, "_written"), (Scripted, "_chosen")],
    "files read and written": [(Place, n) for n in ("read", "write", "write_table")],
    "records to tables and back": [(tables, name) for name in ("to_table", "from_table")],
}


def rows(cases: int) -> Iterator[dict[str, Any]]:
    """Flat rows, a document's not next to each other; the first documents have ratings."""
    words = ("river", "council", "bridge", "boats", "weather", "city", "money", "vote", "night")
    for system in SYSTEMS:
        for number in range(cases):
            draw = random.Random(f"{system} {number}")
            row = {"doc_id": f"d{number}", "system": system}
            row |= {"text": " ".join(draw.choices(words, k=20))}
            source = " ".join(random.Random(number).choices(words, k=80))
            rated = {"ratings": {"fluency": draw.randint(1, 5)}} if number < RATED else {}
            yield row | {"source": f"Document {number}. {source}"} | rated


class Phases(Watcher):
    """Seconds and the driver's memory at the end of each phase, and all along the asking."""

    def __init__(self) -> None:
        self.phases: list[dict[str, Any]] = []
        self.along: list[tuple[float, float]] = []
        self._name, self._since = "", time.monotonic()
        self._done, self._of = 0, 1
        self.peak, self._end = 0.0, threading.Event()
        threading.Thread(target=self._sample, daemon=True).start()

    def entering(self, phase: str) -> None:
        self._close()
        self._name = phase.partition(" ")[0]

    def starting(self, todo: Todo) -> None:
        self._close()
        self._name, self._of = "asking", sum(left for left, _ in todo.values())

    def receipt(self, receipt: Mapping[str, Any]) -> None:
        self._done += receipt["cases"]
        share = self._done / self._of
        if share >= (len(self.along) + 1) / 10:
            self.along.append((round(share, 2), memory()))

    def finish(self) -> None:
        self._close()
        self._end.set()

    def _close(self) -> None:
        now = time.monotonic()
        if self._name:
            seconds = round(now - self._since, 1)
            self.phases.append({"phase": self._name, "seconds": seconds, "driver_mb": memory()})
        self._since = now

    def _sample(self) -> None:
        while not self._end.wait(0.2):
            self.peak = max(self.peak, memory())


def memory() -> float:
    return round(psutil.Process().memory_info().rss / 2**20, 1)


def configuration(folder: Path, corpus: Path) -> dict[str, Any]:
    best = {"scorer": "synthetic.level", "axis": "fluency", "top_fraction": 0.1}
    return {
        "corpus": str(corpus),
        "out": str(folder / "out"),
        "axes": ["fluency"],
        "model": "scripted",
        "judges": {"synthetic": {"levels": 2}},
        "metrics": ["words"],
        "workers": {"min": WORKERS, "cpus": 1},
        "select": [{"name": "best", "all": [best]}],
    }


def drive(cases: int) -> dict[str, Any]:
    """One size, in this process."""
    with tempfile.TemporaryDirectory(prefix="scale-") as name:
        folder = Path(name)
        corpus = folder / "cases.jsonl"
        with corpus.open("w") as lines:
            lines.writelines(f"{json.dumps(row)}\n" for row in rows(cases))
        before, phases, since = memory(), Phases(), time.monotonic()
        config = configuration(folder, corpus)
        outcome = evaljudge.run(config, watcher=phases, engines=ScriptedEngines())
        phases.finish()
        seconds = time.monotonic() - since
        assert outcome.findings.candidates == cases * len(SYSTEMS)
        assert outcome.coverage == 1.0
        return {
            "cases": cases,
            "cases_per_second": round(cases / seconds, 1),
            "seconds": round(seconds, 1),
            "driver_mb_before": before,
            "driver_mb_peak": phases.peak,
            "driver_mb_along_the_asking": phases.along,
            "phases": phases.phases,
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
        Output(config.out).write_cases(shard, corpus)
    known = (config.out, None, "bench", job.judges, engines, job.model, job.writer_is)
    assignment = Assignment(*known, job.judge_signatures(), 0)
    here = Here("", "", "", lambda node: True)
    since = time.perf_counter()
    await ShardWork(assignment, here).do(Order(shard, ["prepare", "judge"], {}))
    return time.perf_counter() - since


def tell(found: Mapping[str, Any]) -> None:
    memory = f"driver {found['driver_mb_before']} MB before, {found['driver_mb_peak']} MB at most"
    print(f"{found['cases']:,} cases: {found['cases_per_second']:,} a second; {memory}")
    for phase in found["phases"]:
        print(f"  {phase['phase']:10}{phase['seconds']:>8} s{phase['driver_mb']:>9} MB at its end")


def main(sizes: list[int]) -> None:
    machine = f"{platform.processor() or platform.machine()}, {psutil.cpu_count()} cores"
    seen: dict[str, Any] = {"machine": machine, "workers": WORKERS, "runs": []}
    for size in sizes:
        command = [sys.executable, __file__, "--drive", str(size)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        seen["runs"].append(json.loads(done.stdout.splitlines()[-1]))
        tell(seen["runs"][-1])
    seen["milliseconds_of_a_shard"] = parts_of_a_shard()
    print("a worker's milliseconds with a shard of 32 cases:", seen["milliseconds_of_a_shard"])
    (HERE / "scale.json").write_text(json.dumps(seen, indent=1) + "\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--drive"]:
        print(json.dumps(drive(int(sys.argv[2]))))
    else:
        main([int(size) for size in sys.argv[1:]] or list(SIZES))
