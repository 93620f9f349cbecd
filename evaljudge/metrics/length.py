"""Two baselines that say nothing about quality, and that a judge must beat.

`words` counts the words of a text; `compression` is the source's words per word of the text.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from evaljudge.metrics.protocol import EMPTY_SOURCE, EMPTY_TEXT, KnownMetric, Value
from evaljudge.records import Case
from evaljudge.settings import Settings, read_settings


@dataclass(frozen=True)
class Length:
    name: str
    is_of_source: bool
    version: str = "1"
    is_light: ClassVar[bool] = True
    facts: Mapping[str, Any] = field(default_factory=dict)

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        return [
            [self._value(len(c.text.split()), case.document.source) for c in case.candidates]
            for case in cases
        ]

    def _value(self, length: int, source: str) -> Value:
        if not length:
            return EMPTY_TEXT
        if not self.is_of_source:
            return float(length)
        return len(source.split()) / length if source.strip() else EMPTY_SOURCE


def _length(is_of_source: bool, name: str, given: Mapping[str, Any]) -> Length:
    read_settings(Settings, given, f"metrics.{name}")  # refuses all settings
    return Length(name, is_of_source)


METRICS = {
    "words": KnownMetric(
        partial(_length, False), "The number of words: a baseline.", "nothing else"
    ),
    "compression": KnownMetric(
        partial(_length, True), "The source's words per word of the text: a baseline.", "the source"
    ),
}
