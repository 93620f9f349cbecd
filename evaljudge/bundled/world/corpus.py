"""A corpus of the world, in the shape of any other: six systems of different strength.

Each system has its own weakness: of its sentences, the share that is at fault on each axis. A
candidate's `ratings` are its true levels.
"""

import json
from collections.abc import Iterator, Mapping
from random import Random
from typing import Any

from evaljudge.bundled.world.texts import (
    AXES,
    HIGHEST,
    SENTENCES,
    Axis,
    make_report,
    make_text,
    perfect,
    spelt,
)
from evaljudge.bundled.world.words import Half


def _weak(usual: float, **at: float) -> dict[Axis, float]:
    return {axis: at.get(axis, usual) for axis in AXES}


SYSTEMS: Mapping[str, Mapping[Axis, float]] = {
    "steady": _weak(0.1),
    "novice": _weak(0.5),
    "mumbler": _weak(0.2, fluency=0.7),
    "muddler": _weak(0.2, coherence=0.7),
    "inventor": _weak(0.2, consistency=0.7),
    "wanderer": _weak(0.2, relevance=0.7),
}


def make_cases(documents: int, seed: int, half: Half = "test") -> Iterator[dict[str, Any]]:
    for number in range(documents):
        random = Random(f"{half} {seed} {number}")
        report = make_report(random, half)
        candidates = []
        for system, shares in SYSTEMS.items():
            levels = {axis: _drawn(random, share) for axis, share in shares.items()}
            text = spelt(make_text(random, report, levels))
            candidates.append({"system": system, "text": text, "ratings": levels})
        yield {
            "doc_id": f"{half}-{seed}-{number:04d}",
            "source": report.text,
            "references": [spelt(perfect(report))],
            "candidates": candidates,
        }


def _drawn(random: Random, share: float) -> int:
    return HIGHEST - sum(random.random() < share for _ in range(SENTENCES))


def as_jsonl(cases: Iterator[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(case)}\n" for case in cases)
