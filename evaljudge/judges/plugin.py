"""How a judge is registered: `PLUGIN` in its folder, or in a package of the user's own.

All plug-ins are imported whenever a configuration is read, so they import nothing heavy: a judge's
class is imported only when it is called, inside a function or by `made_by`.

A judge that is registered nowhere is named by its class' import path (`imported`). Python must find
the module by itself: no folder is added to those that it searches. So a configuration from
elsewhere can name code that this installation has, and can bring none along.
"""

import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from types import FunctionType
from typing import Any

from evaljudge.errors import UserError, first_line, naming, unknown
from evaljudge.judges.protocol import Judge
from evaljudge.plugins import added_code
from evaljudge.prompts import Task
from evaljudge.records import Brief, Candidate, Verdict
from evaljudge.sections import Section, View

Settings = Mapping[str, Any]
ReadKey = Callable[[Any, Mapping[str, Settings]], Mapping[str, Any]]
"""Turns a key's value, and the settings of the run's judges of this kind by name, into what the key
gives each judge. A wrong value raises a ValueError."""


@dataclass(frozen=True, slots=True)
class JudgedCandidate:
    """A candidate with one judge's verdict on it, and the briefs of this judge's kind."""

    candidate: Candidate
    verdict: Verdict
    briefs: Sequence[Brief] = ()


Show = Callable[[JudgedCandidate], Section]
"""The evidence behind a verdict that is scored, for people to read in a terminal."""
Picture = Callable[[JudgedCandidate], View]  # the same for the page
Export = Callable[[str, str, str | None], str]
"""Writes from a run's folder to a file, of the judge that is named; gives a line on it."""


@dataclass(frozen=True)
class Plugin:
    """One kind of judge; its name is that of its folder, or of its entry point."""

    make: Callable[[Settings, Task, str], Judge]
    """Makes a judge from its settings, the task, and its name in the run."""
    keys: Mapping[str, ReadKey] = field(default_factory=dict)
    """The configuration keys of its own, beside the judges' settings."""
    files: Sequence[str] = ()
    """The names of its files in a report; an old file that is no longer written is removed."""
    needs: str = "a model"
    """What it needs besides the texts; what it does is the first sentence of its module."""
    without_references: Settings = field(default_factory=dict)
    """The settings with which it needs no reference; `evaljudge init` writes them."""
    exports: Mapping[str, Export] = field(default_factory=dict)
    """What `evaljudge export` writes of a run, by name."""
    show: Show | None = None
    """What `evaljudge show` prints; without it, the evidence is printed as it is stored."""
    verdict_columns: str = ""
    """The columns of its verdicts in `Outcome.verdicts`: `module:TypedDict`, whose fields are keys
    of the evidence; or, where columns follow from it, `module:function`, whose annotation says what
    it returns: a dataclass for one verdict's evidence, or a list of a TypedDict for that of many.
    A key that is missing is null, and one that the TypedDict does not name is left out. Without
    either, the column `detail` has the evidence as JSON text."""
    brief_columns: str = ""  # the same for the content of its briefs, and `Outcome.briefs`
    picture: Picture | None = None
    """How the page shows the evidence; without it, as `show` does."""


def made_by(place: str) -> Callable[[Settings, Task, str], Judge]:
    """Makes the judge with the class at `module:Class`, which is imported when it is needed."""

    def make(settings: Settings, task: Task, name: str) -> Judge:
        with naming(f"judges.{name}"):
            loaded = _judge_at(place, "kind", "version")
        with _making(name, place):
            judge: Judge = loaded(settings, task, name)
        return judge

    return make


def shown_by(place: str) -> Callable[..., Any]:
    """Shows evidence, in a terminal or on the page, or exports it, with the function at
    `module:function`, which is imported when needed."""

    def call(*given: Any) -> Any:
        return _imported(place, FunctionType)(*given)

    return call


pictured_by = exported_by = shown_by


def plugin_at(kind: str, place: str) -> Plugin:
    """The plug-in at `module:NAME`, of a judge in a folder or a package."""
    with naming(f"the judge {kind!r}"):
        loaded = _imported(place, Plugin)
        if not isinstance(loaded, Plugin):
            raise UserError(f"{place} is not a Plugin")
        return loaded


def imported(place: str) -> Plugin:
    """A judge by the import path of its class, which is checked when the judge is made.

    Its kind is the path. To its version belongs a digest of its module's source: an edit makes it
    another judge, whose numbers and stored answers are not mixed with those from before. Where it
    only reads, the digest is a part of what reads, and an edit has the stored answers read anew.
    """

    def make(settings: Settings, task: Task, name: str) -> Judge:
        with naming(f"judges.{name}"):
            judge_class, digest = _class_at(place)
        judge: Judge = judge_class.__new__(judge_class)  # its own __init__ may need its kind
        judge.kind = place
        judge.version = str(getattr(judge_class, "version", ""))
        if judge_class.only_reads():
            judge.code = digest
        else:
            judge.version = "+".join(filter(None, [judge.version, digest]))
        with _making(name, place):
            judge_class.__init__(judge, settings, task, name)
        return judge

    return Plugin(make)


def _making(name: str, place: str) -> AbstractContextManager[None]:
    made = "its `__init__`, which is given the settings, the task and the name,"
    return added_code(f"judges.{name}: {made}", place.partition(":")[0], of_disks=True)


@cache
def _class_at(place: str) -> tuple[Any, str]:
    """The class, and the digest of its module's source as it was imported."""
    if not re.fullmatch(r"\w+(\.\w+)*:\w+", place):
        raise UserError(f"{place!r} is not an import path: write it as package.module:Class")
    loaded, module = _judge_at(place), place.partition(":")[0]
    _sources[module] = source = _source_of(module)
    if source is None:
        remedy = "; write it to a file, as `%%writefile my_judges.py` does in a notebook"
        raise UserError(f"{place}: the source of its module cannot be read{remedy}")
    return loaded, hashlib.sha256(source.encode()).hexdigest()[:12]


_sources = dict[str, str | None]()
"""The modules of classes of one's own, as they were imported."""


def _source_of(module: str) -> str | None:
    try:
        return inspect.getsource(sys.modules[module])
    except (OSError, TypeError, KeyError):
        return None


def import_edited_anew() -> None:
    """For a notebook, in which a judge's file is edited between two calls."""
    for module, source in _sources.items():
        if module != "__main__" and _source_of(module) != source:
            sys.modules.pop(module, None)
            _class_at.cache_clear()


def _judge_at(place: str, *needed: str) -> Any:
    loaded = _imported(place, type)
    if not (inspect.isclass(loaded) and issubclass(loaded, Judge)):
        raise UserError(f"{place} is not a judge: it must be a class that inherits from "
                        "evaljudge.judges.protocol.Judge")  # fmt: skip
    missing = [*sorted(loaded.__abstractmethods__), *(n for n in needed if not hasattr(loaded, n))]
    if missing:
        raise UserError(f"{place} lacks what every judge has: {', '.join(missing)}")
    return loaded


_WORDS = {type: "class", FunctionType: "function", Plugin: "plug-in"}


def _imported(place: str, kind: type) -> Any:
    """What is at `module:name`, which is the user's own: a mistake there is said in one line."""
    name, _, wanted = place.partition(":")
    try:
        module = import_module(name)
    except ModuleNotFoundError as error:
        if error.name and f"{name}.".startswith(f"{error.name}."):
            raise UserError(f"there is no module {error.name}: install its package, or put the "
                            "folder that it is in into PYTHONPATH") from None  # fmt: skip
        raise UserError(f"{name} cannot be imported: {first_line(error)}") from error
    except Exception as error:  # a module's own code may raise anything
        message = f"{type(error).__name__}: {first_line(error)}"
        raise UserError(f"{name} cannot be imported: {message}") from error
    if not hasattr(module, wanted):
        names = [name for name, value in vars(module).items() if isinstance(value, kind)]
        raise UserError(f"{name}: {unknown(_WORDS[kind], wanted, names)}")
    return getattr(module, wanted)
