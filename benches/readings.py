"""Which reading of the comparisons is best for thresholds on the scale 1 to 5?

    python benches/readings.py [--documents N]      (default: 50 of the demo's world)

Judges held-out documents by the demo's judge, whose true levels are known, and by two scripted
judges (see cheaper.py): one about as noisy as real ones, and one that is hesitant as well, so that
its answers are never far from equally likely. For each reading of the same comparisons: the mean
distance from the true level; Spearman's correlation within documents; and precision and recall of
`at_least: 3.5` for texts whose level rounds to 4 or 5. Writes benches/readings.json.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from cheaper import Noisy, correlations, judged, judges, noisy_cases
from figures import keep

from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.engines import VllmEngines
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.model.asks import Options, Prompt

LEVELS = (3, 5, 9)
READINGS = ("level", "ordinal", "bradley-terry")
GOOD = 3.5
LINE = (
    "{judge:20}{levels:>2} levels  {reading:14} error {error:.3f}  Spearman {spearman:.3f}  "
    "selected {selected:.1%} (good: {good:.1%})  precision {precision:.3f}  recall {recall:.3f}"
)
SHARE_OF_OPINION = 0.3
"""The share of opinion in the hesitant judge's answers; the rest is spread evenly."""


class Hesitant(Noisy):
    def __call__(self, prompt: Prompt, options: Options) -> Mapping[str, float]:
        p = {name: np.exp(value) for name, value in super().__call__(prompt, options).items()}
        even = (1 - SHARE_OF_OPINION) / len(p)
        return {name: log(SHARE_OF_OPINION * value + even) for name, value in p.items()}


def rows(title: str, out: Path, levels: int, corpus: Path) -> Iterator[dict[str, Any]]:
    cases = [json.loads(line) for line in corpus.read_text().splitlines()]
    true = {
        (case["doc_id"], candidate["system"], axis): float(value)
        for case in cases
        for candidate in case["candidates"]
        for axis, value in candidate["ratings"].items()
    }
    agreement = correlations(out, true)
    for reading in READINGS:
        scorer = f"full.{reading}"
        by_text = values(out, scorer)
        scores = np.array([by_text[at] for at in true])
        truth = np.array(list(true.values()))
        passed, is_good = scores >= GOOD, truth >= GOOD
        both = int(np.sum(passed & is_good))
        yield {
            "judge": title,
            "levels": levels,
            "reading": reading,
            "error": round(float(np.mean(np.abs(scores - truth))), 3),
            "spearman": round(float(np.mean([*agreement[scorer].values()])), 3),
            "selected": round(float(passed.mean()), 3),
            "good": round(float(is_good.mean()), 3),
            "precision": round(both / max(1, int(passed.sum())), 3),
            "recall": round(both / int(is_good.sum()), 3),
            "texts": len(true),
        }


def values(out: Path, scorer: str) -> dict[tuple[str, str, str], float]:
    return {
        (row["doc_id"], row["system"], row["axis"]): row["value"]
        for file in sorted((out / "scores").rglob("*.parquet"))
        for row in pq.read_table(file).to_pylist()
        if row["scorer"] == scorer and row["value"] is not None
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--documents", type=int, default=50)
    options = parser.parse_args()
    all_rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="readings-") as folder:
        world, noisy = Path(folder, "world.jsonl"), Path(folder, "noisy.jsonl")
        world.write_text(as_jsonl(make_cases(options.documents, seed=777)))
        noisy.write_text("".join(f"{json.dumps(case)}\n" for case in noisy_cases()))
        nano = {"prompts": "nano", "model": {"source": "nano", "engine": {}}}
        scripted = {"model": "scripted", "axes": ["fluency"]}
        for levels in LEVELS:
            ways = judges(levels, {})
            out = judged(world, Path(folder, f"nano{levels}"), ways, nano, VllmEngines())
            all_rows += rows("the demo's judge", out, levels, world)
            for title, answers in {"noisy": Noisy, "noisy and hesitant": Hesitant}.items():
                engines = ScriptedEngines(lambda answers=answers: Scripted(chooses=answers()))
                out = judged(noisy, Path(folder, f"{title}{levels}"), ways, scripted, engines)
                all_rows += rows(title, out, levels, noisy)
    keep("readings", {"rows": all_rows})
    for row in all_rows:
        print(LINE.format(**row))


if __name__ == "__main__":
    main()
