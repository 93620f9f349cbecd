"""The registry: the only place that names a concrete judge. A new judge is one line here."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from evaljudge.errors import UserError, unknown
from evaljudge.judges.protocol import Judge, Part
from evaljudge.tasks import Task

__all__ = ["JUDGES", "Judge", "Part", "make_judges"]

JUDGES = {
    "synthetic": "synthetic:Synthetic",
    "direct": "direct:Direct",
    "geval": "geval:Geval",
}


def make_judges(chosen: Mapping[str, Mapping[str, Any]], task: Task) -> list[Judge]:
    return [_make(name, settings, task) for name, settings in chosen.items()]


def _make(name: str, settings: Mapping[str, Any], task: Task) -> Judge:
    if name not in JUDGES:
        raise UserError(f"judges: {unknown('judge', name, JUDGES)}")
    module, _, kind = JUDGES[name].partition(":")
    made: Judge = getattr(import_module(f"evaljudge.judges.{module}"), kind)(settings, task)
    return made
