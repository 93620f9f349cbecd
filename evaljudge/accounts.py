"""What a run cost and what it must be warned of: the sums of its committed receipts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evaljudge.model.counting import Masses
from evaljudge.records import Tokens

Receipt = Mapping[str, Any]
LOW_MEAN_MASS = 0.5


class Accounts:
    """Every committed shard's asks, tokens, captured mass and seconds."""

    def __init__(self, receipts: Iterable[Receipt]) -> None:
        self._tokens: dict[tuple[str, str], Tokens] = {}
        self._masses: dict[str, Masses] = {}
        self._alive: dict[str, tuple[float, float]] = {}
        for receipt in receipts:
            self._add(receipt)

    def _add(self, receipt: Receipt) -> None:
        for judge, asked in receipt["asked"].items():
            key = (receipt["stage"], judge)
            self._tokens[key] = self._tokens.get(key, Tokens()) + Tokens(**asked["tokens"])
            masses = self._masses.get(judge, Masses()) + Masses(**asked["masses"])
            self._masses[judge] = masses
        seconds, gpus = receipt["worker_seconds"], receipt["gpus"]
        known, _ = self._alive.get(receipt["worker"], (0.0, gpus))
        self._alive[receipt["worker"]] = (max(known, seconds), gpus)

    @property
    def tokens(self) -> list[dict[str, Any]]:
        """A row per stage and judge."""
        return [
            {
                "stage": stage,
                "judge": judge,
                "asks": t.asks,
                "requests": t.requests,
                "prompt": t.prompt,
                "cached": t.cached,
                "prefilled": t.prefilled,
                "generated": t.generated,
                "floor": t.floor,
            }
            for (stage, judge), t in sorted(self._tokens.items(), key=lambda row: row[0][::-1])
        ]

    @property
    def total(self) -> dict[str, int]:
        rows = self.tokens
        names = ("asks", "requests", "prompt", "cached", "prefilled", "generated", "floor")
        return {name: sum(row[name] for row in rows) for name in names}

    @property
    def cost(self) -> dict[str, float]:
        return {
            "worker_seconds": round(sum(s for s, _ in self._alive.values()), 1),
            "gpu_hours": round(sum(s * g for s, g in self._alive.values()) / 3600, 6),
        }

    @property
    def mass(self) -> dict[str, dict[str, float]]:
        """Per judge: the mean mass that its options captured, and how often it was low."""
        return {
            judge: {"mean": m.total / m.choices, "low_share": m.low / m.choices}
            for judge, m in self._masses.items()
            if m.choices
        }

    @property
    def warnings(self) -> list[str]:
        return [
            f"{judge}: the answers offered hold only {mass['mean']:.1%} of the model's "
            "probability on average, so it mostly wants to say something else. First suspect: a "
            "model that thinks before it answers; switch that off with "
            "`model: {source: …, chat: {enable_thinking: false}}` (Qwen3 and its like)."
            for judge, mass in self.mass.items()
            if mass["mean"] < LOW_MEAN_MASS
        ]
