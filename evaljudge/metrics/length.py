"""Length, the first thing to suspect behind any score.

`words` counts the words of a text; `compression` is how many words of the source stand against one
of its own. Neither says anything of quality: they are baselines that a judge must beat.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from evaljudge.metrics.protocol import Value
from evaljudge.metrics.references import EMPTY_SOURCE, EMPTY_TEXT
from evaljudge.records import Case
from evaljudge.settings import Settings, read_settings


@dataclass(frozen=True)
class Length:
    """A number of a text's words and its source's; a text without words has none."""

    name: str
    of: Callable[[int, int], float]
    needs_source: bool
    version: str = "1"
    told: Mapping[str, Any] = field(default_factory=dict)

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        return [self._of_case(case) for case in cases]

    def _of_case(self, case: Case) -> list[Value]:
        source = len(case.document.source.split())
        lengths = [len(candidate.text.split()) for candidate in case.candidates]
        return [self._value(length, source) for length in lengths]

    def _value(self, length: int, source: int) -> Value:
        if not length:
            return EMPTY_TEXT
        return EMPTY_SOURCE if self.needs_source and not source else self.of(length, source)


def words(name: str, given: Mapping[str, Any]) -> Length:
    return _made(name, given, _words, needs_source=False)


def compression(name: str, given: Mapping[str, Any]) -> Length:
    return _made(name, given, _compression, needs_source=True)


def _made(
    name: str, given: Mapping[str, Any], of: Callable[[int, int], float], *, needs_source: bool
) -> Length:
    read_settings(Settings, given, f"metrics.{name}")  # there are none
    return Length(name, of, needs_source)


def _words(length: int, source: int) -> float:
    return float(length)


def _compression(length: int, source: int) -> float:
    return source / length
