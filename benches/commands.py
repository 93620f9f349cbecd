"""Processor seconds of `evaljudge agree` and `evaljudge plan`, as the commands are used.

    PYTHONPATH=. python benches/commands.py CASES.jsonl [--rounds 3]

`agree` compares ten invented scorers with four axes, 100 documents by 16 systems. `plan` counts
what `synthetic` with five levels asks about CASES; its model is a tiny one, of which only the
tokenizer is read. Prints the medians and writes benches/commands.json.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from figures import HERE, in_a_process, keep

from tests.tiny import make_tiny_model

DOCUMENTS, SYSTEMS, SCORERS, AXES = 100, 16, 10, 4
WORDS = HERE.parent / "tests" / "prose.jsonl"


def rows() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """A rated case, and a row of scores, for every document and system."""
    stream = np.random.default_rng(0)
    quality = stream.normal(size=(DOCUMENTS, SYSTEMS)) + stream.normal(size=SYSTEMS)
    rated = 3 + quality + stream.normal(size=(AXES, DOCUMENTS, SYSTEMS))
    rated = np.clip(np.round(3 * rated) / 3, 1, 5)
    scores = quality + stream.normal(size=(SCORERS, DOCUMENTS, SYSTEMS))
    for document, system in np.ndindex(DOCUMENTS, SYSTEMS):
        name = {"doc_id": f"d{document}", "system": f"s{system}"}
        ratings = {f"axis{n}": float(rated[n, document, system]) for n in range(AXES)}
        case = name | {"source": f"Source {document}.", "text": "A text.", "ratings": ratings}
        numbers = {f"scorer{n}": float(scores[n, document, system]) for n in range(SCORERS)}
        yield case, name | {"scores": numbers}


def commands(folder: Path, cases: Path) -> dict[str, list[str]]:
    for name, lines in zip(("cases", "scores"), zip(*rows(), strict=True), strict=True):
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    model = make_tiny_model(folder / "tiny", WORDS.read_text("utf-8").splitlines())
    config = {"corpus": str(cases.resolve()), "judges": {"synthetic": {}}, "model": str(model)}
    (folder / "config.yaml").write_text(json.dumps(config | {"out": f"{folder}/out"}))
    agree = ["--cases", f"{folder}/cases.jsonl", "--scores", f"{folder}/scores.jsonl"]
    return {"agree": agree, "plan": [f"{folder}/config.yaml"]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("cases", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    evaljudge = [sys.executable, "-P", "-m", "evaljudge"]
    with tempfile.TemporaryDirectory(prefix="commands-") as folder:
        seconds = {
            name: [in_a_process([*evaljudge, name, *words])[0] for _ in range(options.rounds)]
            for name, words in commands(Path(folder), options.cases).items()
        }
    keep("commands", {"cases": options.cases.name, "processor_seconds": seconds})
    print(*(f"{name:6}{median(each):6.1f} s" for name, each in seconds.items()), sep="\n")


if __name__ == "__main__":
    main()
