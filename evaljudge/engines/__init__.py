"""Engines, which answer with a real language model; heavy imports happen when one is opened."""

from __future__ import annotations

from evaljudge.engines.opening import (
    Engine,
    Engines,
    Identity,
    LowMass,
    ModelSource,
    VllmEngines,
    identity_bound,
    identity_of,
)

__all__ = [
    "Engine", "Engines", "Identity", "LowMass", "ModelSource", "VllmEngines", "identity_bound",
    "identity_of",
]  # fmt: skip
