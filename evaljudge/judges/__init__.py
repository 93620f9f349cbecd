"""Judges: a folder each, found by looking; a new one touches nothing else.

    judges: {synthetic: {levels: 5}}
    judges: {synthetic: {}, finer: {judge: synthetic, levels: 9}}      one judge twice
    judges: {brevity: {judge: "my_judges:Brevity"}}                    a class by its import path
    judges: {geval: {model: Qwen/Qwen3-8B}}                            a judge with its own model

plugins.py says where judges are looked for; plugin.py imports those that a path names. The name of
a judge in a run is its scorer's name in every table, and the name of its verdicts' folder.
"""

import re
import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from evaljudge.errors import UserError, unknown
from evaljudge.judges.plugin import Plugin, imported, plugin_at
from evaljudge.judges.protocol import Judge
from evaljudge.plugins import OF_ONES_OWN, advice, folders, kinds
from evaljudge.prompts import Examples, Task
from evaljudge.records import HUMAN
from evaljudge.settings import read_settings

__path__ = folders()  # one that the environment names is a part of this package
OF_ANY = "judge", "model", "examples"
"""The keys that every judge may have, whatever its own settings are."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


@cache
def plugin(kind: str) -> Plugin:
    if ":" in kind:
        return imported(kind)
    return plugin_at(kind, kinds()[kind])


@cache
def plugins() -> Mapping[str, Plugin]:
    """Every plug-in by its kind. One that is broken is left out, with a line on stderr: only a
    configuration that names it is refused."""
    plugins_of_kinds = dict[str, Plugin]()
    for kind in kinds():
        try:
            plugins_of_kinds[kind] = plugin(kind)
        except UserError as error:
            print(f"evaljudge: {error}; it is left out", file=sys.stderr)
    return plugins_of_kinds


def kind_of(name: str, settings: Mapping[str, Any]) -> str:
    """The kind that a judge is named after, unless its key `judge` names another, or a class."""
    kind = settings.get("judge", name)
    if isinstance(kind, str) and ":" in kind:
        if "judge" not in settings:
            raise UserError(f"judges: {name!r} is an import path, which goes below a name of its "
                            f'own: {{NAME: {{judge: "{name}"}}}}')  # fmt: skip
        return kind
    if not isinstance(kind, str) or kind not in kinds():
        hint = " (a class of your own is named module:Class)" if "judge" in settings else ""
        message = unknown("judge", str(kind), kinds(), OF_ONES_OWN)
        raise UserError(f"judges: {message}{hint}{advice(str(kind))}")
    return kind


def make_judges(chosen: Mapping[str, Mapping[str, Any]], task: Task) -> list[Judge]:
    return [_make(name, settings, task) for name, settings in chosen.items()]


def _make(name: str, settings: Mapping[str, Any], task: Task) -> Judge:
    kind = kind_of(name, settings)
    if not _NAME.fullmatch(name) or name == HUMAN:
        raise UserError(f"judges.{name}: a name may hold letters, digits, `_` and `-`, and not be "
                        f"`{HUMAN}`")  # fmt: skip
    if name in kinds() and kind != name:
        raise UserError(f"judges.{name}: a judge of this kind has this name; give another")
    options = {key: value for key, value in settings.items() if key not in OF_ANY}
    if (shown := settings.get("examples")) is not None:
        task = replace(task, examples=read_settings(Examples, shown, f"judges.{name}.examples"))
    judge = plugin(kind).make(options, task, name)
    if getattr(judge, "name", None) != name or not isinstance(judge.meanings, Mapping):
        said = "its `name` is set, as by `super().__init__`, and `meanings` is a dict"
        raise UserError(f"judges.{name}: of {type(judge).__name__} it is expected that {said}")
    if shown is not None and judge.examples is None:
        raise UserError(f"judges.{name}: examples: they precede questions on an axis; it asks none")
    if judge.kind != kind:  # its folder may be a copy of another judge's
        raise UserError(f"judges.{name}: its class says `kind = {judge.kind!r}`, but its folder or "
                        f"entry point has the name {kind!r}: both must be the same")  # fmt: skip
    return judge
