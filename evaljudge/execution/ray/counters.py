"""What workers count, at Prometheus' endpoint of each of Ray's nodes.

    ray_evaljudge_cases_total{stage="judge"} 96.0
    ray_evaljudge_asks_total{stage="judge", judge="synthetic"} 4032.0

A worker counts the shards that it has committed, when they are committed. Ray puts `ray_` before
each name and, after those of counters, `_total`; it adds the labels of the node and the worker.
`jobs/grafana.json` is a dashboard of these. Ray's counters take no 0, so a series is not there
before its first count, and the dashboard takes it for 0 then.
"""

from collections.abc import Mapping
from typing import Any

COUNTERS = {
    "evaljudge_cases": ("Cases done.", ("stage",)),
    "evaljudge_asks": ("Questions put to a model.", ("stage", "judge")),
    "evaljudge_prompt_tokens": ("Prompt tokens of all requests.", ("stage", "judge")),
    "evaljudge_cached_tokens": ("Those from the prefix cache.", ("stage", "judge")),
    "evaljudge_generated_tokens": ("Tokens that came out.", ("stage", "judge")),
    "evaljudge_judge_seconds": (
        "Seconds of cases with a judge, waiting for the engine included; cases overlap.",
        ("stage", "judge"),
    ),
    "evaljudge_unscored": ("Texts and briefs without a score.", ("stage", "reason")),
}
WORKER_SECONDS = "evaljudge_worker_seconds"
"""How long a worker has been there, loading its model included."""
TOKENS = {
    "evaljudge_asks": "asks",
    "evaljudge_prompt_tokens": "prompt",
    "evaljudge_cached_tokens": "cached",
    "evaljudge_generated_tokens": "generated",
}


class Counters:
    def __init__(self) -> None:
        from ray.util.metrics import Counter, Gauge

        self._counters = {
            name: Counter(name, description, tag_keys=labels)
            for name, (description, labels) in COUNTERS.items()
        }
        self._seconds = Gauge(WORKER_SECONDS, "Seconds since it began to load its model.")

    def add(self, receipt: Mapping[str, Any]) -> None:
        stage = receipt["stage"]
        self._add("evaljudge_cases", receipt["cases"], stage=stage)
        for judge, asked in receipt.get("asked", {}).items():
            labels = {"stage": stage, "judge": judge}
            for name, counted in TOKENS.items():
                self._add(name, asked["tokens"][counted], **labels)
            self._add("evaljudge_judge_seconds", asked["seconds"], **labels)
        for reason, times in receipt["reasons"].items():
            self._add("evaljudge_unscored", times, stage=stage, reason=reason)
        self._seconds.set(receipt["worker_seconds"])

    def _add(self, name: str, amount: float, **labels: str) -> None:
        if amount > 0:
            self._counters[name].inc(amount, tags=labels)
