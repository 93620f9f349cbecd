"""Metrics: scorers that ask no model. Each file with a `METRICS` is found by looking.

    metrics: [importance, rouge1, chrf]                         the metrics' own settings
    metrics: {importance: {n: 2}, rouge1: {against: source}}    yours
    metrics: {rouge1: {}, of-source: {metric: rouge1, against: source}}     one metric twice

The names are the scorers' names in every table.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from evaljudge.errors import UserError, unknown
from evaljudge.metrics.protocol import CorpusMetric, KnownMetric, Metric, Unscored, Value
from evaljudge.plugins import folders, found_in_files
from evaljudge.records import HUMAN
from evaljudge.settings import read_yaml
from evaljudge.text import one_line

__all__ = ["CorpusMetric", "KnownMetric", "Metric", "Unscored", "Value"]  # of protocol.py
__path__ = folders("metrics")  # one that the environment names is a part of this package

MetricsSpec = Mapping[str, Mapping[str, Any]]  # settings by scorer name
GivenMetrics = str | Sequence[str] | MetricsSpec
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,99}")


@cache
def known_metrics() -> Mapping[str, KnownMetric]:
    return found_in_files("metrics", "METRICS", KnownMetric)


def metrics_spec(value: Any, what: str = "metrics, [words],") -> dict[str, dict[str, Any]]:
    """A list of names, or a mapping of names to settings, as a mapping; ValueError otherwise."""
    if isinstance(value, list) and all(isinstance(name, str) for name in value):
        for name in value:
            if value.count(name) > 1:
                raise ValueError(f"{name!r} is named twice")
        return {name: {} for name in value}
    if isinstance(value, Mapping):
        for name, settings in value.items():
            if not isinstance(settings, Mapping | None):
                raise ValueError(f"{name}: should be a mapping of settings to values")
        return {str(name): dict(settings or {}) for name, settings in value.items()}
    raise ValueError(f"should be a list of {what} or a mapping of names to settings")


def read_metrics(value: GivenMetrics) -> dict[str, dict[str, Any]]:
    """`importance,rouge1`, or either form of the configuration, as text or as values."""
    read = read_yaml(value, f"--metrics {one_line(value)}") if isinstance(value, str) else value
    names = [name.strip() for name in read.split(",")] if isinstance(read, str) else read
    try:
        return metrics_spec(list(names) if isinstance(names, tuple) else names)
    except ValueError as error:
        raise UserError(f"--metrics {value}: {error}") from None


def make_metrics(spec: MetricsSpec) -> Sequence[Metric]:
    return [_make(name, settings) for name, settings in spec.items()]


def check_name(name: str, where: str) -> None:
    if not _NAME.fullmatch(name):
        raise UserError(f"{where} a name may hold letters, digits, `_`, `.`, `@` and `-`")
    if name == HUMAN:
        raise UserError(f"{where} people go by this name in reports; give another")


def cautions_of(metrics: Sequence[Metric]) -> list[str]:
    """The report's warnings of metrics that may differ from what their name says."""
    return [caution for metric in metrics for caution in getattr(metric, "cautions", ())]


def _make(name: str, settings: Mapping[str, Any]) -> Metric:
    kind = settings.get("metric", name)
    if not isinstance(kind, str) or kind not in known_metrics():
        own = " (one of your own: EVALJUDGE_METRICS names the folder of its file)"
        raise UserError(f"metrics: {unknown('metric', str(kind), known_metrics(), own)}")
    check_name(name, f"metrics.{name}:")
    options = {key: value for key, value in settings.items() if key != "metric"}
    return known_metrics()[kind].make(name, options)
