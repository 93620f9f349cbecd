"""Measures cases that are all in memory, with the same numbers as on many workers.

measure_here([importance, rouge1], cases)  ->  {"importance": [[0.031, …], …], "rouge1": …}
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import chain
from numbers import Real
from typing import TypeVar

from evaljudge.metrics.protocol import CorpusMetric, Metric, Unscored, Value
from evaljudge.plugins import added_code
from evaljudge.records import Case, Document

AT_ONCE = 32
"""Cases measured in one go."""
Item = TypeVar("Item")
Fitting = TypeVar("Fitting", bound=CorpusMetric)


def measure_here(
    metrics: Sequence[Metric], cases: Sequence[Case], seed: int = 0
) -> dict[str, list[list[Value]]]:
    """Each metric's values of the candidates, case by case. The cases are the whole corpus."""
    return {metric.name: _measured(metric, cases, seed) for metric in metrics}


def _measured(metric: Metric, cases: Sequence[Case], seed: int) -> list[list[Value]]:
    if isinstance(metric, CorpusMetric):
        metric = fitted_here(metric, cases, seed)
    return [values for part in parts_of(cases) for values in values_of(metric, part)]


def values_of(metric: Metric, cases: Sequence[Case]) -> list[list[Value]]:
    """What it measures, one value for each candidate; a mistake in an added metric is one line."""
    with added_code(f"metrics.{metric.name}: its `measure`", type(metric).__module__):
        measured = metric.measure(cases)
        if [len(values) for values in measured] != [len(case.candidates) for case in cases]:
            raise TypeError("it should give a list for each case, with a value for each candidate")
        for value in chain.from_iterable(measured):
            if not isinstance(value, Real | Unscored):
                raise TypeError(f"it gives {value!r} in place of a number or Unscored")
    return measured


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
