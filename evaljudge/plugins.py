"""What can be added, found by looking: in a folder here, in folders that the environment names, in
installed packages (docs/extending.md).

kinds()                 ->  {"direct": "evaljudge.judges.direct:PLUGIN", …}
folder_of("direct")     ->  Path(".../evaljudge/judges/direct")
found_in_files("metrics", "METRICS", KnownMetric)  ->  {"words": KnownMetric(…), …}

Nothing is imported to find a kind of judge; of all else, the files are imported.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from sysconfig import get_paths
from traceback import extract_tb
from typing import TypeVar

from evaljudge.errors import EngineDead, GivenUp, UserError, first_line

GROUP = "evaljudge.judges"
FOLDERS = "EVALJUDGE_JUDGES"
OF_ONES_OWN = f" (one of your own: {FOLDERS} names the folder that its folder is in)"
NO_JUDGE = "shared"  # the one folder among those of the judges that is no judge
T = TypeVar("T")


@contextmanager
def added_code(
    what: str, module: str, *passing: type[Exception], of_disks: bool = False
) -> Iterator[None]:
    """An error in code that was added is one line: `what` fails, in which file and line, and why.

    What comes with evaljudge keeps its traceback; errors of engines and, but for `of_disks`, of
    disks pass, too.
    """
    try:
        yield
    except Exception as error:
        home = _home(module)
        passing += (UserError, GivenUp, EngineDead, *(() if of_disks else (OSError,)))
        if isinstance(error, passing) or home.is_relative_to(Path(__file__).parent):
            raise
        cause = f"{type(error).__name__}: {first_line(error)}"
        raise UserError(f"{what} fails{own_place(error, module)}: {cause}") from error


def own_place(error: Exception, module: str) -> str:
    """` at brevity.py:25`, the last line of added code that the error passed."""
    home, away = _home(module), (str(Path(__file__).parent), *get_paths().values(), "<")
    frames = extract_tb(error.__traceback__)
    own = [f for f in frames if Path(f.filename).parent == home or not f.filename.startswith(away)]
    return f" at {Path(own[-1].filename).name}:{own[-1].lineno}" if own else ""


def _home(module: str) -> Path:
    return Path(getattr(sys.modules.get(module), "__file__", None) or "").parent


def folders(what: str = "judges") -> list[str]:
    """Where judges, metrics or formats of corpora lie, beside those of installed packages."""
    named = os.environ.get(f"EVALJUDGE_{what.upper()}", "").split(os.pathsep)
    return [str(Path(__file__).parent / what), *filter(None, named)]


def found_in_files(what: str, attribute: str, kind: type[T]) -> dict[str, T]:
    """What files and entry points have under this name: a table of entries, or one entry, which has
    the name of its file. A file that is broken is left out, with a line on stderr. Files whose name
    begins with `_` are not looked at."""
    loaded, homes = dict[str, T](), dict[str, str]()
    own, *named = folders(what)
    for folder in named:
        if not Path(folder).is_dir():
            message = f"EVALJUDGE_{what.upper()} names {folder}, which is no folder"
            print(f"evaljudge: {message}: name the one that the files are in", file=sys.stderr)
    for name, place, module, wanted in _modules(what, attribute):
        try:
            value = getattr(import_module(module), wanted, {} if place.startswith(own) else None)
            if value is None:
                raise AttributeError(f"it has no `{wanted}`")
            entries: Mapping[str, T] = value if isinstance(value, Mapping) else {name: value}
            if odd := [name for name, entry in entries.items() if not isinstance(entry, kind)]:
                raise TypeError(f"{odd[0]!r} must be of the class {kind.__name__}")
            if what == "cli" and (odd := [name for name in entries if name.split() != [name]]):
                raise ValueError(f"{odd[0]!r}: a command's name is one word")
        except (Exception, SystemExit) as error:  # a module may raise anything
            reason = f"{type(error).__name__}: {first_line(error)}"
            print(f"evaljudge: {place}: {reason}; it is left out", file=sys.stderr)
            continue
        for entry_name, entry in entries.items():
            if _add(f"entries of {what}", entry_name, place, homes):
                loaded[entry_name] = entry
    return dict(sorted(loaded.items()))


def _modules(what: str, attribute: str) -> Iterator[tuple[str, str, str, str]]:
    """The name of each file or entry point, where it is, its module, and what to look for in it."""
    places = dict[str, str]()
    for folder in folders(what):
        for module in iter_modules([folder]):
            place = str(Path(folder, f"{module.name}.py"))
            if module.name[0] != "_" and _add(f"files of {what}", module.name, place, places):
                yield module.name, place, f"evaljudge.{what}.{module.name}", attribute
    for point in entry_points(group=f"evaljudge.{what}"):
        yield point.name, point.value, point.module, point.attr or attribute


def advice(kind: str) -> str:
    """What is wrong with the folders that the environment names, if anything is."""
    for folder in map(Path, folders()[1:]):
        if not folder.is_dir():
            return f" ({FOLDERS} names {folder}, which is no folder)"
        if (folder / "__init__.py").exists():
            return f" ({FOLDERS} names the folder of a judge, {folder}: name the one that it is in)"
        if kind in (entry.name for entry in folder.iterdir() if entry.is_dir()):
            return f" ({folder / kind} has no `__init__.py`)"
    return ""


@cache
def kinds() -> Mapping[str, str]:
    """Every kind of judge, and where its plug-in is: `package.module:NAME`."""
    kinds, places = dict[str, str](), dict[str, str]()
    for folder in folders():
        for module in iter_modules([folder]):
            if module.ispkg and module.name != NO_JUDGE:
                _add("judges", module.name, str(Path(folder, module.name)), places)
                kinds[module.name] = f"{GROUP}.{module.name}:PLUGIN"
    for point in entry_points(group=GROUP):
        if kinds.get(point.name) != point.value:
            _add("judges", point.name, point.value, places)
            kinds[point.name] = point.value
    return kinds


def _add(what: str, name: str, place: str, places: dict[str, str]) -> bool:
    """Whether no other has its name. Two judges are refused; of two entries of files the first is
    taken, so that all others go on."""
    if places.setdefault(name, place) == place:
        return True
    said = f"two {what} are called {name!r}: {places[name]} and {place}; rename or remove one"
    if what == "judges":
        raise UserError(said)
    print(f"evaljudge: {said}; the second is left out", file=sys.stderr)
    return False


@cache
def folder_of(kind: str) -> Path:
    module = kinds()[kind].partition(":")[0]
    if module == f"{GROUP}.{kind}":  # found without importing the judges' package
        places = (Path(folder, kind) for folder in folders())
        return next(place for place in places if place.is_dir())
    spec = find_spec(module)
    if spec is None or spec.origin is None:
        raise UserError(f"the judge {kind!r}: there is no module {module}")
    return Path(spec.origin).parent
