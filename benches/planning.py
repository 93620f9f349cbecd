"""Processor seconds of `evaljudge plan`: `synthetic` on all axes of a summary, five levels.

    PYTHONPATH=. python benches/planning.py CASES.jsonl [--before CHECKOUT] [--rounds 3]

The model is a tiny one with random weights, of which only the tokenizer is read. Each plan is made
by the command, in a process of its own; with --before, this code and that of another checkout take
turns. `loading` is what a process takes that only loads the library of tokenizers, without torch as
`plan` does. Prints medians and whether the plans are equal, and writes benches/planning.json.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median

from tests.tiny import make_tiny_model

HERE = Path(__file__).parent
WORDS = HERE.parent / "tests" / "prose.jsonl"
LOAD = "import sys; sys.modules['torch'] = None; import transformers.models.auto.tokenization_auto"
PLAN = "import sys; from evaljudge.cli import main; sys.argv[0] = 'evaljudge'; main()"


def seconds(checkout: Path, code: str, *arguments: str) -> tuple[float, str]:
    """The processor seconds of a process with this checkout's code, and what it printed."""
    quiet = {"TRANSFORMERS_NO_ADVISORY_WARNINGS": "1"}
    environment = os.environ | quiet | {"PYTHONPATH": str(checkout.resolve())}
    command = [sys.executable, "-c", code, *arguments]
    before = getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(
        command, env=environment, cwd=checkout, stdout=subprocess.PIPE, check=True, text=True
    )
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, done.stdout


def table(plan: str) -> list[str]:
    """The lines that hold numbers of asks and tokens."""
    heads = ("prepare", "judge", "total", "paper")
    return [line for line in plan.splitlines() if line.startswith(heads)]


def compare(cases: Path, before: Path | None, rounds: int) -> None:
    checkouts = {"before": before} if before else {}
    checkouts["now"] = HERE.parent
    seen: dict[str, list[float]] = {name: [] for name in (*checkouts, "loading")}
    tables: dict[str, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder:
        model = make_tiny_model(Path(folder, "tiny"), WORDS.read_text("utf-8").splitlines())
        config = {"corpus": str(cases.resolve()), "judges": {"synthetic": {}},
                  "model": str(model), "out": f"{folder}/out"}  # fmt: skip
        file = Path(folder, "config.yaml")
        file.write_text(json.dumps(config))
        for _ in range(rounds):
            for name, checkout in checkouts.items():
                taken, text = seconds(checkout, PLAN, "plan", str(file))
                seen[name].append(taken)
                tables[name] = table(text)
            seen["loading"].append(seconds(HERE.parent, LOAD)[0])
    figures = {name: round(median(each), 2) for name, each in seen.items()}
    machine = f"{os.cpu_count()} cores of {platform.machine()}"
    rest = {"machine": machine, "cases": cases.name, "rounds": rounds}
    found = rest | {"seconds": figures, "tables": tables}
    (HERE / "planning.json").write_text(json.dumps(found, indent=1) + "\n")
    print(*tables["now"], sep="\n")
    if before:
        print("equal tables:", tables["before"] == tables["now"])
    print(*(f"{name:8} {value:6.2f} s" for name, value in figures.items()), sep="\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--before", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    compare(given.cases, given.before, given.rounds)


if __name__ == "__main__":
    main()
