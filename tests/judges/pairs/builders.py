"""A judge and a run's configuration that the tests of `pairs` share."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evaljudge.judges.pairs.judge import PairsJudge
from evaljudge.prompts import load_task

AXIS = ["fluency"]


def judge(prompts: str | None = None, axes: list[str] | None = None, **settings: Any) -> PairsJudge:
    return PairsJudge(settings, load_task("summary", axes or AXIS, prompts=prompts))


def config(folder: Path, candidates: Sequence[str], **changes: Any) -> dict[str, Any]:
    rows = [
        {"doc_id": f"d{n}", "source": f"The river {n} rose.", "candidates": [
            {"system": system, "text": f"text {(n + place) % len(candidates)}",
             "ratings": {"fluency": place}} for place, system in enumerate(candidates)]}
        for n in range(3)
    ]  # fmt: skip
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return {
        "corpus": str(folder / "cases.jsonl"), "out": str(folder / "out"), "model": "m",
        "axes": AXIS, "judges": {"pairs": {}}, "workers": {"executor": "local"}, "view": 1,
        "agreement": {"resamples": 0}, **changes,
    }  # fmt: skip
