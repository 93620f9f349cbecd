"""`evaljudge.probe`: probes of judges as functions (see calls.py); each gives a ProbeResult."""

from __future__ import annotations

from evaljudge.errors import naming_arguments
from evaljudge.probes import calls

__all__ = ["injection", "position"]

injection = naming_arguments(calls.injection)
position = naming_arguments(calls.position)


def __dir__() -> list[str]:
    return __all__
