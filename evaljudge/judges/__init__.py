"""The registry: the only place that names a concrete judge. A new judge is one line here.

    judges: {synthetic: {levels: 5}}
    judges: {synthetic: {}, finer: {judge: synthetic, levels: 9}}      one judge twice

The names are the scorers' names in every table, and the folders of their verdicts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from evaljudge.errors import UserError, unknown
from evaljudge.judges.protocol import Anchored, Judge, Part
from evaljudge.prompts import Task
from evaljudge.records import HUMAN

__all__ = ["JUDGES", "Anchored", "Judge", "Part", "make_judges"]

JUDGES = {
    "synthetic": "synthetic.judge:Synthetic",
    "direct": "direct.judge:Direct",
    "geval": "geval.judge:Geval",
    "entities": "entities.judge:Entities",
    "roles": "roles.judge:Roles",
}


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")


def make_judges(chosen: Mapping[str, Mapping[str, Any]], task: Task) -> list[Judge]:
    return [_make(name, settings, task) for name, settings in chosen.items()]


def _make(name: str, settings: Mapping[str, Any], task: Task) -> Judge:
    kind = settings.get("judge", name)
    if not isinstance(kind, str) or kind not in JUDGES:
        raise UserError(f"judges: {unknown('judge', str(kind), JUDGES)}")
    if not _NAME.fullmatch(name) or name == HUMAN:
        raise UserError(f"judges.{name}: a name may hold letters, digits, `_` and `-`, and not be "
                        f"`{HUMAN}`")  # fmt: skip
    if name in JUDGES and kind != name:
        raise UserError(f"judges.{name}: a judge of this kind goes by the name; give another")
    module, _, maker = JUDGES[kind].partition(":")
    own = {key: told for key, told in settings.items() if key != "judge"}
    made: Judge = getattr(import_module(f"evaljudge.judges.{module}"), maker)(own, task, name)
    return made
