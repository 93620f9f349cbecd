"""Metrics: scorers that ask no model. The registry; a new metric is one line here.

    metrics: [importance, rouge1, chrf]                         the metrics' own settings
    metrics: {importance: {n: 2}, rouge1: {against: source}}    yours
    metrics: {rouge1: {}, of-source: {metric: rouge1, against: source}}     one metric twice

The names are the scorers' names in every table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

from evaljudge.errors import UserError, unknown
from evaljudge.metrics.protocol import CorpusMetric, Make, Metric, Unscored, Value
from evaljudge.records import HUMAN
from evaljudge.settings import read_yaml
from evaljudge.text import one_line

__all__ = [
    "METRICS", "CorpusMetric", "Metric", "MetricsSpec", "Unscored", "Value", "cautions_of",
    "check_name", "make_metrics", "metrics_spec", "read_metrics",
]  # fmt: skip

MetricsSpec = Mapping[str, Mapping[str, Any]]
"""Settings by scorer name."""

METRICS = {
    "importance": "importance:importance",
    "rouge1": "lexical:rouge1",
    "rouge2": "lexical:rouge2",
    "rougeL": "lexical:rouge_l",
    "bleu": "lexical:bleu",
    "chrf": "lexical:chrf",
    "bertscore": "bertscore:bertscore",
    "mover": "mover:mover",
    "words": "length:words",
    "compression": "length:compression",
}
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,99}")


def metrics_spec(given: Any) -> dict[str, dict[str, Any]]:
    """A list of names, or a mapping of names to settings, as a mapping; ValueError otherwise."""
    if isinstance(given, list) and all(isinstance(name, str) for name in given):
        for name in given:
            if given.count(name) > 1:
                raise ValueError(f"{name!r} is named twice")
        return {name: {} for name in given}
    if isinstance(given, Mapping):
        for name, settings in given.items():
            if not isinstance(settings, Mapping | None):
                raise ValueError(f"{name}: should be a mapping of settings to values")
        return {str(name): dict(settings or {}) for name, settings in given.items()}
    raise ValueError("should be a list of metrics, [words], or a mapping of names to settings")


def read_metrics(text: str) -> dict[str, dict[str, Any]]:
    """`importance,rouge1`, or either form of the configuration, from a command line."""
    given = read_yaml(text, f"--metrics {one_line(text)}")
    names = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
    try:
        return metrics_spec(names)
    except ValueError as error:
        raise UserError(f"--metrics {text}: {error}") from None


def make_metrics(spec: MetricsSpec) -> Sequence[Metric]:
    return [_make(name, settings) for name, settings in spec.items()]


def check_name(name: str, where: str) -> None:
    """The name of a scorer in a configuration."""
    if not _NAME.fullmatch(name):
        raise UserError(f"{where} a name may hold letters, digits, `_`, `.`, `@` and `-`")
    if name == HUMAN:
        raise UserError(f"{where} people go by this name in reports; give another")


def cautions_of(metrics: Sequence[Metric]) -> list[str]:
    """The report's warnings of metrics that may differ from what their name says."""
    return [caution for metric in metrics for caution in getattr(metric, "cautions", ())]


def _make(name: str, settings: Mapping[str, Any]) -> Metric:
    kind = settings.get("metric", name)
    if not isinstance(kind, str) or kind not in METRICS:
        raise UserError(f"metrics: {unknown('metric', str(kind), METRICS)}")
    check_name(name, f"metrics.{name}:")
    module, _, function = METRICS[kind].partition(":")
    make: Make = getattr(import_module(f"evaljudge.metrics.{module}"), function)
    return make(name, {key: value for key, value in settings.items() if key != "metric"})
