"""The models that a folder's run was made with: a report needs their names, not their weights."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from evaljudge.asks import Prompt, Spent
from evaljudge.engines.opening import Engine, Identity, ModelSource


class BoundEngines:
    """Identifies models by a run's fingerprint, so that `report` runs where no engine is installed.

    A model of another name is another model, and the fingerprints will differ in it.
    """

    def __init__(self, fingerprint: Mapping[str, Any]) -> None:
        self.version: str = fingerprint.get("engine", "")
        self._known = [fingerprint[r] for r in ("model", "writer") if fingerprint.get(r)]

    def identify(self, source: ModelSource) -> Identity:
        names = (source.source, source.source.rstrip("/").rpartition("/")[2])
        for known in self._known:
            if known.get("name") in names:
                return Identity(known["name"], known["revision"], source.chat, source.engine)
        return Identity(source.source, source.revision or "unknown", source.chat, source.engine)

    def gauge(self, source: ModelSource) -> Callable[[Prompt], Spent]:
        raise NotImplementedError("a report asks nothing")

    def open(self, source: ModelSource, seed: int) -> Engine:
        raise NotImplementedError("a report asks nothing")
