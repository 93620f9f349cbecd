"""Metrics: scorers that ask no model. The registry; a new metric is one line here.

A metric takes a document and a candidate's text and gives one number, or None with a reason where
the text has none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from evaljudge.errors import UserError, unknown
from evaljudge.records import Document

__all__ = ["METRICS", "Metric", "make_metrics"]

Measure = Callable[[Document, str], float | None]
"""None: this text has no such number."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    version: str
    measure: Measure


METRICS = {
    "words": "length:WORDS",
    "compression": "length:COMPRESSION",
}


def make_metrics(names: list[str]) -> list[Metric]:
    return [_make(name) for name in dict.fromkeys(names)]


def _make(name: str) -> Metric:
    if name not in METRICS:
        raise UserError(f"metrics: {unknown('metric', name, METRICS)}")
    module, _, kind = METRICS[name].partition(":")
    made: Metric = getattr(import_module(f"evaljudge.metrics.{module}"), kind)
    return made
