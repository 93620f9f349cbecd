"""What answers asks with a real language model. Nothing heavy is imported before one is opened."""

from __future__ import annotations

from evaljudge.engines.opening import (
    Engine,
    Engines,
    Identity,
    ModelSource,
    VllmEngines,
    identity_bound,
)

__all__ = [
    "Engine",
    "Engines",
    "Identity",
    "ModelSource",
    "VllmEngines",
    "identity_bound",
]
