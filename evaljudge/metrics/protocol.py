"""What a metric is: a scorer that asks no model. Cases in; one number per candidate out.

    metric.measure([case]) -> [[0.41, 0.38, Unscored("empty text")]]
    metric.facts               -> {"against": "first", "library": "sacrebleu 2.6.0"}

Metrics travel to the workers that measure: they can be pickled and are cheap to make; what is heavy
(an encoder) is loaded at the first `measure`, once per process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from evaljudge.records import Case


@dataclass(frozen=True, slots=True)
class Unscored:
    """A text that has no such number, and why."""

    reason: str


Value = float | Unscored
Part = Mapping[str, NDArray[Any]]
"""What was counted in some of a corpus' documents: arrays, which travel well."""


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
    """One whose numbers depend on the whole corpus: what is learnt and counted of all documents
    comes first, in passes that can be shared out; the same numbers however they were."""

    @property
    def most_learnt(self) -> int:
        """From how many documents it learns at most; they are drawn by seed."""

    def learnt(self, documents: Iterable[str]) -> CorpusMetric:
        """Made ready to count, by a sample of the documents' texts."""

    def counted(self, documents: Iterable[str]) -> Part:
        """What these documents add to the corpus' counts."""

    def fitted(self, counts: Iterable[Part]) -> Metric:
        """Made ready to measure, by the counts of all documents."""


Make = Callable[[str, Mapping[str, Any]], Metric]
"""From the scorer's name and its settings as they were given (`metrics.NAME` in messages)."""
