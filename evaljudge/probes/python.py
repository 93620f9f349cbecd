"""`evaljudge.probe`: studies of scorers as functions (see calls.py); each gives a ProbeResult."""

from __future__ import annotations

from evaljudge.errors import naming_arguments
from evaljudge.probes import calls

__all__ = [
    "complementarity",
    "injection",
    "mixes",
    "position",
    "ranges",
    "robustness",
    "settings",
    "sizes",
    "spurious",
]

complementarity = naming_arguments(calls.complementarity)
injection = naming_arguments(calls.injection)
mixes = naming_arguments(calls.mixes)
position = naming_arguments(calls.position)
ranges = naming_arguments(calls.ranges)
robustness = naming_arguments(calls.robustness)
settings = naming_arguments(calls.settings)
sizes = naming_arguments(calls.sizes)
spurious = naming_arguments(calls.spurious)


def __dir__() -> list[str]:
    return __all__
