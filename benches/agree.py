"""What `evaljudge agree` takes, here and in another checkout.

    python benches/agree.py [--before CHECKOUT]

Ten scorers against four axes, 100 documents by 16 systems, as the command is used: files read,
intervals, tests, tables. The commands take turns, three times. Prints the processor seconds of each
and writes benches/agree.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

DOCUMENTS, SYSTEMS, SCORERS, AXES, ROUNDS = 100, 16, 10, 4, 3
HERE = Path(__file__).parent


def rows() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """A rated case, and a row of scores, for every document and system."""
    stream = np.random.default_rng(0)
    quality = stream.normal(size=(DOCUMENTS, SYSTEMS)) + stream.normal(size=SYSTEMS)
    rated = 3 + quality + stream.normal(size=(AXES, DOCUMENTS, SYSTEMS))
    rated = np.clip(np.round(3 * rated) / 3, 1, 5)
    scores = quality + stream.normal(size=(SCORERS, DOCUMENTS, SYSTEMS))
    for document, system in np.ndindex(DOCUMENTS, SYSTEMS):
        known = {"doc_id": f"d{document}", "system": f"s{system}"}
        ratings = {f"axis{n}": float(rated[n, document, system]) for n in range(AXES)}
        case = known | {"source": f"Source {document}.", "text": "A text.", "ratings": ratings}
        numbers = {f"scorer{n}": float(scores[n, document, system]) for n in range(SCORERS)}
        yield case, known | {"scores": numbers}


def agree(folder: Path, checkout: str) -> float:
    """Processor seconds."""
    command = [sys.executable, "-P", "-m", "evaljudge", "agree"]
    command += ["--cases", str(folder / "cases.jsonl"), "--scores", str(folder / "scores.jsonl")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    env = os.environ | {"PYTHONPATH": checkout}
    subprocess.run(command, env=env, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return round(used, 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--before", metavar="CHECKOUT")
    checkouts = {"here": str(HERE.parent)}
    if before := parser.parse_args().before:
        checkouts["before"] = before
    seconds: dict[str, list[float]] = {name: [] for name in checkouts}
    with tempfile.TemporaryDirectory(prefix="agree-") as name:
        folder = Path(name)
        with (folder / "cases.jsonl").open("w") as cases, (folder / "scores.jsonl").open("w") as s:
            for case, row in rows():
                cases.write(f"{json.dumps(case)}\n")
                s.write(f"{json.dumps(row)}\n")
        for _ in range(ROUNDS):
            for way, checkout in checkouts.items():
                seconds[way].append(agree(folder, checkout))
    machine = f"{os.cpu_count()} cores of {platform.machine()}"
    figures = {"machine": machine, "processor_seconds": seconds}
    (HERE / "agree.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
