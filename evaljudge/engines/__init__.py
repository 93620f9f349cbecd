"""Engines, which answer with a real language model; heavy imports happen when one is opened."""

from evaljudge.engines.opening import VllmEngines, identity_of
from evaljudge.engines.source import (
    Engine,
    Engines,
    Identity,
    ModelFacts,
    ModelSource,
    identity_bound,
)

__all__ = ["Engine", "Engines", "Identity", "ModelFacts", "ModelSource"]
__all__ += ["VllmEngines", "identity_bound", "identity_of"]
