"""The demo: the whole journey on a bundled corpus, on the real engine with a tiny random model.

Six invented documents, four invented systems, ratings typed by hand. The model's weights are drawn
at random on the spot, so its judgements are noise and the agreement must be about none: what the
demo shows is that everything runs, and what comes out.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from evaljudge.engines.tiny import make_tiny_model
from evaljudge.journey import Outcome, Watcher, run

CASES = Path(__file__).parent / "cases.jsonl"
SAID = "The demo's model is random: tiny weights drawn on the spot. Its scores are noise."


def run_demo(out: Path, watcher: Watcher) -> Outcome:
    print(SAID, flush=True)
    model = make_tiny_model(out / "model", CASES.read_text(encoding="utf-8").splitlines())
    return run(demo_config(out, model), watcher=watcher)


def demo_config(out: Path, model: Path) -> dict[str, Any]:
    return {
        "corpus": str(CASES),
        "out": str(out / "run"),
        "task": "summary",
        "model": {"source": str(model), "engine": {"kv_cache_memory_bytes": 1 << 28}},
        "judges": {"synthetic": {"levels": 5}},
        "metrics": ["importance", "rouge1", "words"],
        "select": [
            {
                "name": "best-fifth",
                "all": [{"scorer": "synthetic.level", "axis": "coherence", "top_fraction": 0.2}],
            }
        ],
    }
