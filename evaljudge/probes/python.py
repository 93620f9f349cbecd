"""`evaljudge.probe`: probes of judges as functions; each gives a ProbeResult."""

from evaljudge.errors import naming_arguments
from evaljudge.probes import datasheet as datasheets
from evaljudge.probes import injection as injections
from evaljudge.probes import position as positions

__all__ = ["datasheet", "injection", "position"]

datasheet = naming_arguments(datasheets.datasheet)
injection = naming_arguments(injections.injection)
position = naming_arguments(positions.position)


def __dir__() -> list[str]:
    return __all__
