"""One run on the scripted model, by the evaljudge that is on this process' path: for scale.py.

    python benches/scale_run.py CASES [--smallest] [--ray] [--s3]

Prints the seconds, processor seconds and memory of each phase, and what lies in the run's folder in
the end, as JSON. The model answers at once, so what is measured is everything else. With --s3 the
folder is in a bucket of the tests' S3, in a process of its own, which counts the requests.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil

SERVE = Path(__file__).parents[1] / "tests" / "s3" / "serve.py"
KEY = {"AWS_ACCESS_KEY_ID": "loopback-key", "AWS_SECRET_ACCESS_KEY": "loopback-secret"}
SYSTEMS, RATED, WORKERS = ("north", "south"), 1_000, 2
SAMPLES = 40
"""The samples of the memory over a run; beyond that, every second one is dropped."""


def rows(cases: int, systems: tuple[str, ...] = SYSTEMS) -> Iterator[dict[str, Any]]:
    """Flat rows, a document's not next to each other; the first documents have ratings."""
    words = ("river", "council", "bridge", "boats", "weather", "city", "money", "vote", "night")
    for system in systems:
        for number in range(cases):
            draw = random.Random(f"{system} {number}")
            row = {"doc_id": f"d{number}", "system": system}
            row |= {"text": " ".join(draw.choices(words, k=20))}
            source = " ".join(random.Random(number).choices(words, k=80))
            rated = {"ratings": {"fluency": draw.randint(1, 5)}} if number < RATED else {}
            yield row | {"source": f"Document {number}. {source}"} | rated


@contextmanager
def bucket(counts: dict[str, int]) -> Iterator[str]:
    """A bucket's URI; what it was asked is added to `counts` at the end."""
    import boto3

    pipe, command = subprocess.PIPE, [sys.executable, str(SERVE)]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as server:
        assert server.stdout
        os.environ |= {
            **KEY,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        os.environ["AWS_ENDPOINT_URL"] = server.stdout.readline().strip()
        boto3.client("s3").create_bucket(Bucket="scale")
        yield "s3://scale"
        counts |= json.loads(server.communicate("end\n")[0])


def left(uri: str) -> dict[str, int]:
    """How many objects, or files, a folder holds, and their bytes."""
    from pyarrow.fs import FileSelector, FileSystem

    system, path = FileSystem.from_uri(uri)
    found = system.get_file_info(FileSelector(path, recursive=True))
    sizes = [file.size for file in found if file.is_file]
    return {"objects": len(sizes), "bytes": sum(sizes)}


def configuration(out: str, corpus: Path) -> dict[str, Any]:
    """Two candidates for each case, six asks, a metric and a selection."""
    best = {"scorer": "synthetic.level", "axis": "fluency", "top_fraction": 0.1}
    return {
        "corpus": str(corpus),
        "out": out,
        "axes": ["fluency"],
        "model": "scripted",
        "judges": {"synthetic": {"levels": 2}},
        "metrics": ["words"],
        "workers": {"executor": "local"},
        "select": [{"name": "best", "all": [best]}],
    }


def smallest(config: dict[str, Any]) -> dict[str, Any]:
    """One candidate and one ask for each case, and nothing else."""
    return config | {"judges": {"geval": {}}, "metrics": [], "select": []}


class Phases:
    """What each phase of a run took, and the memory all along; a `Watcher` of the run."""

    def __init__(self) -> None:
        self.phases: list[dict[str, Any]] = []
        self.memory: list[tuple[int, float]] = []
        self.peak, self._every = 0.0, 1
        self._name, self._begun, self._since = "", time.monotonic(), (0.0, 0.0)
        self._end = threading.Event()
        threading.Thread(target=self._sample, daemon=True).start()

    def __enter__(self) -> Phases:
        return self

    def __exit__(self, *_: object) -> None: ...

    def entering(self, phase: str) -> None:
        if phase.startswith("loading"):  # a part of asking
            return
        self.enter({"scoring and reporting": "reporting"}.get(phase, phase.partition(" ")[0]))

    def starting(self, todo: Mapping[str, Any]) -> None:
        self.enter("measuring" if "measure" in todo else "asking")

    def warning(self, line: str) -> None: ...

    def event(self, event: Any) -> None: ...

    def done(self) -> None: ...

    def enter(self, name: str) -> str:
        """The phase before."""
        now, before = (time.monotonic(), time.process_time()), self._name
        if before:
            seconds, busy = (round(a - b, 1) for a, b in zip(now, self._since, strict=True))
            took = {"phase": before, "seconds": seconds, "cpu_seconds": busy, "mb": memory()}
            self.phases.append(took)
        self._name, self._since = name, now
        return before

    def finish(self) -> None:
        self.enter("")
        self._end.set()

    def _sample(self) -> None:
        while not self._end.wait(0.2):
            self.peak = max(self.peak, memory())
            seconds = round(time.monotonic() - self._begun)
            if seconds >= len(self.memory) * self._every:
                self.memory.append((seconds, memory()))
            if len(self.memory) > SAMPLES:
                self.memory, self._every = self.memory[::2], 2 * self._every


def memory() -> float:
    return round(psutil.Process().memory_info().rss / 2**20, 1)


def run(cases: int, is_smallest: bool, on_ray: bool, on_s3: bool) -> dict[str, Any]:
    os.environ["HF_HUB_OFFLINE"] = "1"  # there is no model of the name
    import evaljudge
    from evaljudge.engines.scripted import ScriptedEngines
    from evaljudge.runs import reporting

    phases, score = Phases(), reporting.added_up

    def scored(*arguments: Any, **named: Any) -> Any:
        before = phases.enter("scoring")
        score_rows = score(*arguments, **named)
        phases.enter(before)
        return score_rows

    reporting.added_up = scored
    requests = dict[str, int]()
    with tempfile.TemporaryDirectory(prefix="scale-") as made, ExitStack() as stack:
        folder = Path(made)
        out = f"{stack.enter_context(bucket(requests))}/out" if on_s3 else f"{folder / 'out'}"
        corpus = folder / "cases.jsonl"
        systems = SYSTEMS[:1] if is_smallest else SYSTEMS
        with corpus.open("w") as lines:
            lines.writelines(f"{json.dumps(row)}\n" for row in rows(cases, systems))
        config = configuration(out, corpus)
        config = smallest(config) if is_smallest else config
        if on_ray:
            config |= {"workers": {"executor": "ray", "min": WORKERS, "cpus": 1}}
        before, since = memory(), (time.monotonic(), time.process_time())
        outcome = evaljudge.run(config, watcher=phases, engines=ScriptedEngines())  # type: ignore[arg-type]
        phases.finish()
        seconds, busy = time.monotonic() - since[0], time.process_time() - since[1]
        assert outcome.findings.candidates == cases * len(systems)
        assert outcome.coverage == 1.0
        asks = sum(row["asks"] for row in outcome.findings.tokens)
        lies_there = left(out)
    return {
        "cases": cases,
        "asks": asks,
        "cases_per_second": round(cases / seconds, 1),
        "seconds": round(seconds, 1),
        "cpu_seconds": round(busy, 1),
        "mb_before": before,
        "mb_peak": phases.peak,
        "phases": added_up(phases.phases),
        "mb_along": phases.memory,
        **lies_there,
        "requests": requests,
    }


def added_up(phases: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A phase that was entered several times as one."""
    totals: dict[str, dict[str, Any]] = {}
    for phase in phases:
        total = totals.setdefault(phase["phase"], {"phase": phase["phase"]})
        for key in ("seconds", "cpu_seconds"):
            total[key] = round(total.get(key, 0.0) + phase[key], 1)
        total["mb"] = phase["mb"]
    return list(totals.values())


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("cases", type=int)
    given.add_argument("--smallest", action="store_true")
    given.add_argument("--ray", action="store_true")
    given.add_argument("--s3", action="store_true")
    options = given.parse_args()
    print(json.dumps(run(options.cases, options.smallest, options.ray, options.s3)))
