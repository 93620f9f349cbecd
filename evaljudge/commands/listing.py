"""`evaljudge list`: the judges, metrics, corpus formats, tasks and analyses that there are.

words        The number of words: a baseline. Needs: nothing else.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from evaljudge.analyses import analyses
from evaljudge.commands.options import WHAT, ListOptions, Shown
from evaljudge.config import Config
from evaljudge.corpora import known_formats
from evaljudge.errors import UserError, unknown
from evaljudge.judges import plugin, plugins
from evaljudge.metrics import known_metrics
from evaljudge.plugins import kinds
from evaljudge.prompts import BUILT_IN, load_task
from evaljudge.settings import Settings, is_settings, leaves
from evaljudge.text import LONG, one_line

_SETTING = re.compile(r"^\| `(\w+)` \| [^|]+ \| (.+) \|$", re.MULTILINE)
"""A line on a setting in a judge's README.md."""
Row = dict[str, Any]
"""`name` and `about`; beside these `needs`, `settings` and `scorers`, or `type` and `default`."""
KINDS = {str: "text", int: "whole number", float: "number", bool: "true or false", NoneType: ""}
KINDS |= dict.fromkeys((list, Sequence), "list") | dict.fromkeys((dict, Mapping), "mapping")


@dataclass(frozen=True, repr=False)
class Listing(Shown):
    """A line for each of what is named; where nothing is, for each word that can be. Below a judge
    or a metric that is named, its settings and scorers."""

    rows: Sequence[Row]

    @property
    def text(self) -> str:
        first, *others = rows = list(self.rows)
        rows += [] if others else [*first.get("settings", ()), *first.get("scorers", ())]
        width = max(len(row["name"]) for row in rows)
        return "".join(f"{row['name']:{width}}  {_line(**row)}\n" for row in rows)

    @property
    def json(self) -> str:
        return json.dumps(self.rows, indent=1, ensure_ascii=False) + "\n"


def _line(about: str, type: str = "", default: Any = None, needs: str = "", **_: Any) -> str:
    form = type + f", default {json.dumps(default)}" * (default is not None)
    said = ": ".join(filter(None, [form, about]))
    return said + f" Needs: {needs}." * bool(needs)


def listing(wanted: ListOptions) -> Listing:
    return Listing(list(_rows(wanted.what)))


def _rows(what: str | None) -> Iterable[Row]:
    if what is None:
        return [{"name": name, "about": about} for name, about in WHAT.items()]
    if what in ("settings", "tasks"):
        return settings_of(Config, set()) if what == "settings" else _tasks()
    if what == "formats":
        formats = known_formats().items()
        return [{"name": name, "about": each.about, "needs": each.needs} for name, each in formats]
    if what == "analyses":
        homes = {name: each.rows.__module__ for name, each in analyses().items()}
        return [{"name": name, "about": _about(home)} for name, home in homes.items()]
    if what in WHAT:
        return map(_judge, plugins()) if what == "judges" else map(_metric, known_metrics())
    if ":" not in what and what not in {**plugins(), **known_metrics()}:
        return _named(what)
    return [_metric(what) if what in known_metrics() else _judge(what)]


def _named(key: str) -> list[Row]:
    """The settings that have this name or the end of it, with those below them."""
    known = list(settings_of(Config, set()))
    for home, one in ((what, one) for what in ("judges", "metrics") for one in _rows(what)):
        known += [row | {"name": f"{home}.{one['name']}.{row['name']}"} for row in one["settings"]]
    if rows := [row for row in known if f".{key}." in f".{row['name']}."]:
        return rows
    others = [row for what in ("tasks", "formats", "analyses") for row in _rows(what)]
    if rows := [row for row in others if row["name"] == key]:
        return rows
    ends = {row["name"].rpartition(".")[2] for row in known}
    names = {*WHAT, *plugins(), *known_metrics(), *(row["name"] for row in others)}
    is_end = get_close_matches(key, ends) and not get_close_matches(key, names, cutoff=0.8)
    raise UserError(unknown("list", key, ends if is_end else names))


def _judge(kind: str) -> Row:
    judge, task = plugin(kind), load_task(BUILT_IN[0])
    if is_ones_own := ":" in kind:  # what cannot be imported is refused
        try:
            judge.make({}, task, kind)
        except UserError as error:
            if not error.declared:
                raise
    home = import_module((kind if is_ones_own else kinds()[kind]).partition(":")[0])
    about, file = _about(home.__name__), Path(home.__file__ or "").with_name("README.md")
    row = _scorer(kind, about, judge.needs, lambda settings: judge.make(settings, task, kind))
    meanings = dict(_SETTING.findall(file.read_text(encoding="utf-8"))) if file.exists() else {}
    for setting in row["settings"]:
        meaning = re.sub(r"\[(.+?)\]\(.+?\)", r"\1", meanings.get(setting["name"], ""))
        setting["about"] = setting["about"] or one_line(meaning, LONG)
    return row


def _metric(name: str) -> Row:
    metric = known_metrics()[name]
    return _scorer(name, metric.about, metric.needs, partial(metric.make, name))


def _scorer(name: str, about: str, needs: str, make: Callable[[Any], Any]) -> Row:
    """A setting that there is not is refused by the class that declares the others."""
    settings, meanings = list[Row](), dict[str, str]()
    try:
        make({"": None})
    except UserError as error:
        settings += settings_of(error.declared, set()) if error.declared else ()
    with suppress(UserError):  # it may not be made without settings
        meanings = getattr(make({}), "meanings", {})
    scorers = [{"name": f"{name}{end}", "about": meaning} for end, meaning in meanings.items()]
    return {"name": name, "about": about, "needs": needs, "settings": settings, "scorers": scorers}


def settings_of(declared: type[Settings], seen: set[type], before: str = "") -> Iterator[Row]:
    """Every key, and below it those of its own settings, where these are met first."""
    for name in filter(declared.model_fields.get, declared.known_keys()):
        key = declared.model_fields[name]
        inner = [kind for kind in leaves(key.annotation) if is_settings(kind)]
        default, form = key.get_default(call_default_factory=True), _kind(key.annotation)
        if key.is_required() or isinstance(default, Settings):
            default, form = None, form + ", needed" * key.is_required()
        about = one_line(key.description or next((kind.__doc__ or "" for kind in inner), ""), LONG)
        yield {"name": f"{before}{name}", "type": form, "default": default, "about": about}
        for kind in (kind for kind in inner if kind not in seen):
            seen.add(kind)
            yield from settings_of(kind, seen, f"{before}{name}.")


def _kind(annotation: Any) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return " | ".join(map(str, parts))
    if origin in (Union, UnionType, Annotated):
        parts = parts[:1] if origin is Annotated else parts
        return " or ".join(dict.fromkeys(filter(None, map(_kind, parts))))
    return KINDS.get(origin or annotation, "mapping" if is_settings(annotation) else "any value")


def _about(module: str) -> str:
    about = import_module(module).__doc__ or ""
    return one_line(about.strip().partition("\n\n")[0])


def _tasks() -> Iterator[Row]:
    for name in BUILT_IN:
        task = load_task(name)
        texts = f"`source` (the {task.nouns['source']}) and `text` (the {task.nouns['target']})"
        of_context = ", ".join(axis.name for axis in task.axes if axis.context)
        context = f", and `context` for {of_context}" if of_context else ""
        axes = ", ".join(axis.name for axis in task.axes)
        about = f"{task.about} Axes: {axes}."
        yield {"name": name, "about": about, "needs": texts + context}
