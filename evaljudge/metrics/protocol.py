"""What a metric is: a scorer that asks no model. Cases in; one number per candidate out.

    metric.measure([case]) -> [[0.41, 0.38, Unscored("empty text")]]
    metric.facts               -> {"against": "first", "library": "sacrebleu 2.6.0"}

Metrics are sent to the workers that measure, so they can be pickled and are cheap to make. What is
heavy (an encoder) is loaded at the first `measure`, once per process. A metric with `is_light =
True`, which loads nothing and needs little memory, is measured by the worker that judges.

What a candidate is compared with is for `against` to say (docs/metrics.md), by the same rule for
every metric. An empty reference does not count. A candidate that is identical to a text it would be
compared with, even the source, is unscored (see `is_selfsame` in text.py).

Cases that are all in memory are measured here, with the same numbers as on many workers:

measure_here([importance, rouge1], cases)  ->  {"importance": [[0.031, …], …], "rouge1": …}
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from itertools import chain
from math import isfinite
from numbers import Real
from statistics import fmean
from typing import Any, Literal, Protocol, Self, TypeVar, runtime_checkable

from evaljudge.errors import needing
from evaljudge.plugins import added_code
from evaljudge.records import Case, Document
from evaljudge.settings import Settings
from evaljudge.text import IS_THE_REFERENCE, NOT_A_NUMBER, is_selfsame


@dataclass(frozen=True, slots=True)
class Unscored:
    """A text that has no such number, and why."""

    reason: str


Value = float | Unscored
Part = Any  # counts of some of a corpus' documents, which are sent to where they are added up


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
        """The values of each case's candidates, in order."""


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


def libraries(where: str, *packages: str, extra: str = "embeddings") -> str:
    """`transformers 5.19.0, torch 2.13.0`: what the numbers are made with, for the signature."""
    with needing(where, extra):
        return ", ".join(f"{package} {version(package)}" for package in packages)


Make = Callable[[str, Mapping[str, Any]], Metric]
"""Makes a metric from the scorer's name and the settings given (`metrics.NAME` in messages)."""


@dataclass(frozen=True, slots=True)
class KnownMetric:
    """An entry of a file's `METRICS`, by the metric's name."""

    make: Make
    about: str  # what it measures, in a sentence
    needs: str = "a reference, or `against: source`"
    """What it needs besides the texts, for a reader who chooses."""


Against = Literal["first", "best", "mean", "source"]
Comparison = Callable[[str], Value]  # gives a candidate's text its value against one text

EMPTY_TEXT = Unscored("empty text")
NO_REFERENCE = Unscored("no reference")
EMPTY_SOURCE = Unscored("empty source")
SELFSAME = Unscored(IS_THE_REFERENCE)


class ReferenceSettings(Settings):
    against: Against = "first"


def measured(
    cases: Sequence[Case], against: Against, comparing: Callable[[str], Comparison]
) -> list[list[Value]]:
    """Every candidate's value; `comparing` prepares each text to compare with, once per case."""
    return [_values(case, against, comparing) for case in cases]


def _values(case: Case, against: Against, comparing: Callable[[str], Comparison]) -> list[Value]:
    texts = compared_with(case.document, against)
    if isinstance(texts, Unscored):
        return [EMPTY_TEXT if is_empty(c.text) else texts for c in case.candidates]
    prepared = [(text, comparing(text)) for text in texts]
    return [_value(candidate.text, against, prepared) for candidate in case.candidates]


def _value(text: str, against: Against, prepared: Sequence[tuple[str, Comparison]]) -> Value:
    if is_empty(text):
        return EMPTY_TEXT
    if any(is_selfsame(text, other) for other, _ in prepared):
        return SELFSAME
    return combined([compare(text) for _, compare in prepared], against)


def compared_with(document: Document, against: Against) -> Sequence[str] | Unscored:
    """The texts a candidate of this document is compared with: at least one, and none empty."""
    if against == "source":
        return EMPTY_SOURCE if is_empty(document.source) else [document.source]
    references = [text for text in document.references if not is_empty(text)]
    if not references:
        return NO_REFERENCE
    return references[:1] if against == "first" else references


def combined(values: Sequence[Value], against: Against) -> Value:
    """One value from those against each text; unscored only if all of them are."""
    numbers = [value for value in values if not isinstance(value, Unscored)]
    if not numbers:
        return values[0]
    return fmean(numbers) if against == "mean" else max(numbers)


def is_empty(text: str) -> bool:
    return not text.strip()


AT_ONCE = 32  # cases measured in one go
Item = TypeVar("Item")
Fitting = TypeVar("Fitting", bound=CorpusMetric)


def measure_here(
    metrics: Sequence[Metric], cases: Sequence[Case], seed: int = 0
) -> dict[str, list[list[Value]]]:
    """Each metric's values of the candidates, case by case. The cases are the whole corpus."""
    ready = (fitted_here(m, cases, seed) if isinstance(m, CorpusMetric) else m for m in metrics)
    return {
        metric.name: [values for part in parts_of(cases) for values in values_of(metric, part)]
        for metric in ready
    }


def values_of(metric: Metric, cases: Sequence[Case]) -> list[list[Value]]:
    """What it measures, one value for each candidate; a mistake in an added metric is one line."""
    with added_code(f"metrics.{metric.name}: its `measure`", type(metric).__module__):
        measured = metric.measure(cases)
        try:
            lengths = [len(values) for values in measured]
        except TypeError:  # it gives a number, or None
            lengths = []
        if lengths != [len(case.candidates) for case in cases]:
            raise TypeError("it should give a list for each case, with a value for each candidate")
        for value in chain.from_iterable(measured):
            if not isinstance(value, Real | Unscored):
                raise TypeError(f"it gives {value!r} in place of a number or Unscored")
        return [[_finite(value) for value in values] for values in measured]


def _finite(value: Value) -> Value:
    return value if isinstance(value, Unscored) or isfinite(value) else Unscored(NOT_A_NUMBER)


def fitted_here(metric: Fitting, cases: Sequence[Case], seed: int) -> Fitting:
    """The metric, able to measure these cases, which are the whole corpus."""
    documents = [case.document for case in cases]
    ready = metric.learnt(drawn(documents, metric.most_learnt, len(documents), seed))
    return ready.fitted(ready.counted(part) for part in parts_of(documents))


def parts_of(items: Sequence[Item]) -> Iterator[Sequence[Item]]:
    return (items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE))


def drawn(documents: Iterable[Document], most: int, total: int, seed: int) -> Iterator[Document]:
    """About `most` documents, chosen by their ids, so that all workers agree."""
    limit = (1 << 64) if total <= most else (1 << 64) * most // total
    return (d for d in documents if _number(d.doc_id, seed) < limit)


def _number(doc_id: str, seed: int) -> int:
    digest = blake2b(f"{seed} {doc_id}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big")
