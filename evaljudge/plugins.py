"""Judges found by looking: a folder here, a folder named by the environment, an entry point.

kinds()                 ->  {"direct": "evaljudge.judges.direct:PLUGIN", …}
folder_of("direct")     ->  Path(".../evaljudge/judges/direct")

A kind of judge is a folder in evaljudge/judges whose `__init__.py` has a `PLUGIN`, a folder of the
same form in one of the folders that the environment variable EVALJUDGE_JUDGES names, or an entry
point in the group `evaljudge.judges` of an installed package. Nothing is imported to find it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules

from evaljudge.errors import UserError

GROUP = "evaljudge.judges"
FOLDERS = "EVALJUDGE_JUDGES"
NO_JUDGE = "shared"
"""The one folder among those of the judges that is no judge."""


def folders() -> list[str]:
    """Where judges' folders lie, beside those of installed packages."""
    own = [folder for folder in os.environ.get(FOLDERS, "").split(os.pathsep) if folder]
    return [str(Path(__file__).parent / "judges"), *own]


@cache
def kinds() -> Mapping[str, str]:
    """Every kind of judge, and where its plug-in is: `package.module:NAME`."""
    here = {one.name for one in iter_modules(folders()) if one.ispkg and one.name != NO_JUDGE}
    found = {name: f"{GROUP}.{name}:PLUGIN" for name in sorted(here)}
    for point in entry_points(group=GROUP):
        if found.setdefault(point.name, point.value) != point.value:
            raise UserError(
                f"two judges are called {point.name!r}: {found[point.name]} and {point.value}; "
                "remove the package of one"
            )
    return found


@cache
def folder_of(kind: str) -> Path:
    """The folder with its prompts and its view."""
    module = kinds()[kind].partition(":")[0]
    if module == f"{GROUP}.{kind}":  # found without importing the judges' package
        places = (Path(folder, kind) for folder in folders())
        return next(place for place in places if place.is_dir())
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise UserError(f"the judge {kind!r}: there is no module {module}")
    return Path(spec.origin).parent
