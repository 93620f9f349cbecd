"""What a metric is: a scorer that asks no model. Cases in; one number per candidate out.

    metric.measure([case]) -> [[0.41, 0.38, Unscored("empty text")]]
    metric.facts               -> {"against": "first", "library": "sacrebleu 2.6.0"}

Metrics are sent to the workers that measure, so they can be pickled and are cheap to make. What is
heavy (an encoder) is loaded at the first `measure`, once per process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self, runtime_checkable

from numpy.typing import NDArray

from evaljudge.records import Case, Document


@dataclass(frozen=True, slots=True)
class Unscored:
    """A text that has no such number, and why."""

    reason: str


Value = float | Unscored
Part = Mapping[str, NDArray[Any]]
"""Counts of some of a corpus' documents, as arrays, which are cheap to send."""


class Metric(Protocol):
    @property
    def name(self) -> str:
        """The scorer's name, from the configuration."""

    @property
    def version(self) -> str:
        """Bumped when the arithmetic changes meaning."""

    @property
    def facts(self) -> Mapping[str, Any]:
        """What else the numbers depend on, for the signature: settings, libraries, models."""

    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        """For each case, a value for each candidate, in order."""


@runtime_checkable
class CorpusMetric(Metric, Protocol):
    """A metric whose numbers depend on the whole corpus. It first learns from the documents and
    counts them, in passes that workers can share in any way without changing a number."""

    @property
    def most_learnt(self) -> int:
        """The most documents it learns from; they are drawn by seed."""

    def learnt(self, documents: Iterable[Document]) -> Self:
        """A metric that can count, made from a sample of the documents."""

    def counted(self, documents: Iterable[Document]) -> Part:
        """The counts of these documents, to be added to others'. They have their references."""

    def fitted(self, counts: Iterable[Part]) -> Self:
        """A metric that can measure, made from the counts of all documents."""


Make = Callable[[str, Mapping[str, Any]], Metric]
"""Makes a metric from the scorer's name and the settings given (`metrics.NAME` in messages)."""


@dataclass(frozen=True, slots=True)
class KnownMetric:
    """An entry of a file's `METRICS`, by the metric's name."""

    make: Make
    about: str
    """What it measures, in a sentence."""
    needs: str = "a reference, or `against: source`"
    """What it needs besides the texts, for a reader who chooses."""
