"""Judges found by looking: a folder here, a folder named by the environment, an entry point.

kinds()                 ->  {"direct": "evaljudge.judges.direct:PLUGIN", …}
folder_of("direct")     ->  Path(".../evaljudge/judges/direct")

A kind of judge is a folder in evaljudge/judges whose `__init__.py` has a `PLUGIN`, a folder of the
same form in one of the folders that the environment variable EVALJUDGE_JUDGES names, or an entry
point in the group `evaljudge.judges` of an installed package. Nothing is imported to find it.
"""

from __future__ import annotations

import os
import re
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


def is_built_in(kind: str) -> bool:
    return Path(folders()[0], kind).is_dir()


def advice(kind: str) -> str:
    """What is wrong with the folders that the environment names, if anything is."""
    for folder in map(Path, folders()[1:]):
        if not folder.is_dir():
            return f" ({FOLDERS} names {folder}, which is no folder)"
        if (folder / "__init__.py").exists():
            return f" ({FOLDERS} names the folder of a judge, {folder}: name the one that it is in)"
        if kind in (one.name for one in folder.iterdir() if one.is_dir()):
            return f" ({folder / kind} has no `__init__.py`)"
    return ""


@cache
def kinds() -> Mapping[str, str]:
    """Every kind of judge, and where its plug-in is: `package.module:NAME`."""
    found, places = dict[str, str](), dict[str, str]()
    for folder in folders():
        for one in iter_modules([folder]):
            if one.ispkg and one.name != NO_JUDGE:
                _add(one.name, str(Path(folder, one.name)), places)
                found[one.name] = f"{GROUP}.{one.name}:PLUGIN"
    for point in entry_points(group=GROUP):
        if found.get(point.name) != point.value:
            _add(point.name, point.value, places)
            found[point.name] = point.value
    return found


def _add(name: str, place: str, places: dict[str, str], group: str = GROUP) -> None:
    if places.setdefault(name, place) != place:
        raise UserError(
            f"two {group.rpartition('.')[2]} are called {name!r}: {places[name]} and {place}; "
            "rename or remove one"
        )


def module_folders(group: str, variable: str) -> list[str]:
    """Where plug-ins of one file lie: the folder of the group, and those that a variable names."""
    own = [folder for folder in os.environ.get(variable, "").split(os.pathsep) if folder]
    return [str(Path(__file__).parent / group.partition(".")[2]), *own]


def modules(group: str, variable: str) -> dict[str, str]:
    """Plug-ins of one file, and where each is: `package.module:NAME`. The NAME is that of the
    group in the singular: `evaljudge.analyses` has files with an `ANALYSIS`."""
    wanted = re.sub("es$", "is", group.rpartition(".")[2]).upper()
    found, places = dict[str, str](), dict[str, str]()
    for folder in module_folders(group, variable):
        for file in iter_modules([folder]):
            _add(file.name, str(Path(folder, f"{file.name}.py")), places, group)
            found[file.name] = f"{group}.{file.name}:{wanted}"
    for point in entry_points(group=group):
        if found.get(point.name) != point.value:
            _add(point.name, point.value, places, group)
            found[point.name] = point.value
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
