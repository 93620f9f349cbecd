"""A grid of settings as judges by name: every list is a dimension.

    - {judge: synthetic, predict: [probabilities, yes-no], levels: [3, 5]}
    - direct
    -> synthetic-probabilities-3  synthetic-probabilities-5  synthetic-yes-no-3  …  direct

A judge is named by its kind (one that is named by its import path, by its class) and the values of
its dimensions; `name` in an entry gives another.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from evaljudge.errors import UserError

Entry = Any
"""The name of a judge, or its settings."""
JudgesSpec = dict[str, dict[str, Any]]
"""Settings by name, as `judges` has them in a configuration."""


def expand(entries: Sequence[Entry]) -> JudgesSpec:
    found: JudgesSpec = {}
    for number, entry in enumerate(entries):
        where = f"study.judges.{number}"
        for name, settings in _judges(entry, where):
            if name in found:
                raise UserError(f"{where}: two settings are named {name!r}: give one of them a "
                                "`name`")  # fmt: skip
            found[name] = settings
    return found


def _judges(entry: Entry, where: str) -> Iterator[tuple[str, dict[str, Any]]]:
    if not isinstance(entry, str | Mapping):
        raise UserError(f"{where}: must be the name of a judge, or its settings")
    given = {"judge": entry} if isinstance(entry, str) else dict(entry)
    kind = given.pop("judge", None)
    if not isinstance(kind, str):
        raise UserError(f"{where}: needs `judge`, the kind of judge")
    name = given.pop("name", kind.rpartition(":")[2])
    if not isinstance(name, str):
        raise UserError(f"{where}.name: must be text")
    many = {key: values for key, values in given.items() if isinstance(values, list)}
    for key, values in many.items():
        if not values:
            raise UserError(f"{where}.{key}: a list without values")
        for value in values:
            if values.count(value) > 1:
                raise UserError(f"{where}.{key}: {value!r} is listed twice")
    for key in given:
        for value in many.get(key, [given[key]]):
            _refuse_inner_lists(value, f"{where}.{key}")
    for point in product(*many.values()):
        own = given | dict(zip(many, point, strict=True))
        label = "-".join([str(name), *map(_slug, point)])
        yield label, own if label == kind else {"judge": kind} | own


def _refuse_inner_lists(value: Any, where: str) -> None:
    for inner, values in value.items() if isinstance(value, Mapping) else ():
        if isinstance(values, list):
            key = where.rpartition(".")[2]
            raise UserError(f"{where}.{inner}: a list inside a setting is no dimension: list the "
                            f"settings, `{key}: [{{{inner}: …}}, {{{inner}: …}}]`")  # fmt: skip


def _slug(value: Any) -> str:
    if value is None or value == {}:  # a group of settings: left out, or with its defaults
        return "off" if value is None else "on"
    return re.sub(r"[^A-Za-z0-9_]+", "-", str(value)).strip("-") or "none"
