"""Metrics: scorers that ask no model. The registry; a new metric is one line here.

    metrics: [importance, rouge1, chrf]                         the metrics' own settings
    metrics: {importance: {n: 2}, rouge1: {against: source}}    yours
    metrics: {rouge1: {}, of-source: {metric: rouge1, against: source}}     one metric twice

The names are the scorers' names in every table.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from evaljudge.errors import UserError, unknown
from evaljudge.metrics.protocol import CorpusMetric, Make, Metric, Unscored, Value
from evaljudge.records import HUMAN
from evaljudge.settings import read_yaml
from evaljudge.text import one_line

__all__ = [
    "METRICS", "CorpusMetric", "GivenMetrics", "Metric", "MetricsSpec", "Unscored", "Value",
    "cautions_of", "check_name", "make_metrics", "metrics_spec", "read_metrics",
]  # fmt: skip

MetricsSpec = Mapping[str, Mapping[str, Any]]
"""Settings by scorer name."""
GivenMetrics = str | Sequence[str] | MetricsSpec


@dataclass(frozen=True, slots=True)
class KnownMetric:
    place: str
    """`module:function` in this folder: what makes it."""
    about: str
    """What it measures, in a sentence."""
    needs: str = "a reference, or `against: source`"
    """What it needs besides the texts, for a reader who chooses."""


_ENCODER = "a reference, or `against: source`; an encoder (`model`) and the extra `embeddings`"
METRICS = {
    "importance": KnownMetric(
        "importance:importance",
        "The share of the source's n-grams that a text has, weighted by their importance there.",
        "the source, and a corpus of several documents",
    ),
    "rouge1": KnownMetric("lexical:rouge1", "F1 of the words that a text shares."),
    "rouge2": KnownMetric("lexical:rouge2", "F1 of the pairs of words that a text shares."),
    "rougeL": KnownMetric("lexical:rouge_l", "F1 of the longest sequence of words in common."),
    "bleu": KnownMetric("lexical:bleu", "sacrebleu's BLEU of one text, from 0 to 1."),
    "chrf": KnownMetric(
        "lexical:chrf", "sacrebleu's chrF: the sequences of letters in common, from 0 to 1."
    ),
    "meteor": KnownMetric(
        "meteor:meteor",
        "The words that a text shares, also by stem and synonym, in how many chunks.",
        "a reference, or `against: source`; for synonyms, a folder with WordNet (`synonyms`)",
    ),
    "bertscore": KnownMetric(
        "bertscore:bertscore", "The cosine of every token to its nearest one.", _ENCODER
    ),
    "mover": KnownMetric(
        "mover:mover",
        "How far a text's tokens must move to become the other's.",
        f"{_ENCODER}, with POT in it",
    ),
    "bartscore": KnownMetric(
        "bartscore:bartscore",
        "How probable an encoder–decoder finds the text after the other, and the other after it.",
        "a reference, or `against: source`; an encoder–decoder (`model`) on this machine, and the "
        "extra `embeddings`",
    ),
    "estime": KnownMetric(
        "estime:estime",
        "How many words stand where the source would have others: fewer are better.",
        "the source; a masked language model (`model`) on this machine, and the extra `embeddings`",
    ),
    "gruen2of4": KnownMetric(
        "gruen:gruen",
        "GRUEN without focus, structure and coherence: grammar, and no sentence twice.",
        "a masked language model (`model`) and a classifier trained on CoLA (`acceptability`) on "
        "this machine, and the extra `embeddings`",
    ),
    "words": KnownMetric("length:words", "The number of words: a baseline.", "nothing else"),
    "compression": KnownMetric(
        "length:compression", "The source's words per word of the text: a baseline.", "the source"
    ),
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


def read_metrics(given: GivenMetrics) -> dict[str, dict[str, Any]]:
    """`importance,rouge1`, or either form of the configuration, as text or as values."""
    read = read_yaml(given, f"--metrics {one_line(given)}") if isinstance(given, str) else given
    names = [name.strip() for name in read.split(",")] if isinstance(read, str) else read
    try:
        return metrics_spec(list(names) if isinstance(names, tuple) else names)
    except ValueError as error:
        raise UserError(f"--metrics {given}: {error}") from None


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
    module, _, function = METRICS[kind].place.partition(":")
    make: Make = getattr(import_module(f"evaljudge.metrics.{module}"), function)
    return make(name, {key: value for key, value in settings.items() if key != "metric"})
