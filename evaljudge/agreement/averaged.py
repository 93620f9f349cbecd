"""Methods x axes, and the average over axes: intervals, the best, and tests of the others.

    >>> found = averaged(documents, systems, {"ours": ours, "sampled": [first, second]}, human)
    >>> found.methods[1].columns[-1]
    AveragedValue(value=0.31, low=0.24, high=0.37, n=100, spread=0.012, common=0.33)
    >>> found.columns[-1]
    AveragedColumn(axis=None, best=('ours',), second=('sampled',), challengers=(…), common=96)

`ours`, `first` and `second` give an axis its scores. Sample level alone, by the package's policy.
Columns are the axes of `human` in its order, and then the average: the mean of the axes' values,
undefined where any of them is.

A method of several trials has the mean of its trials' values (undefined where any trial's is), an
interval of that mean, and `spread`, the sample standard deviation of the trials.

Methods may be defined on different documents. So `common` is a method's value on the documents of
an axis where all methods with a value there are defined, in every trial; the column counts these.

Intervals are Student's t over documents. Methods that are equal but for rounding share their place.

The test: Student's t of the documents' differences between the two methods' correlations, on all
axes together, each the mean of the trials that have one. The best of a column was chosen by the
data, so Holm's correction is for every two methods of the column.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .coefficients import Correlation
from .documents import EQUAL, interval, mean_parts, means, on_one_thread, p_value
from .levels import document_correlations
from .pairs import Codes, Floats, table_of
from .significance import Challenger, adjusted

FEWEST_SHARED = 2  # documents, on each axis
Trial = Mapping[str, ArrayLike]
"""axis -> scores, NaN where unscored; an axis that is not there is unscored."""


@dataclass(frozen=True, slots=True)
class AveragedValue:
    value: float | None  # None where undefined
    low: float | None  # 95% interval over documents
    high: float | None
    n: int  # documents with a correlation in any trial (of the average: on any axis)
    spread: float | None  # None with one trial
    common: float | None = None  # on the documents where all methods are defined


@dataclass(frozen=True, slots=True)
class AveragedMethod:
    name: str
    trials: int
    columns: tuple[AveragedValue, ...]  # one per axis, then the average


@dataclass(frozen=True, slots=True)
class AveragedColumn:
    axis: str | None  # None: the average
    best: tuple[str, ...]
    second: tuple[str, ...]
    challengers: tuple[Challenger, ...]  # all that have a value and are not best, in their order
    common: int = 0  # documents where all methods are defined (of the average: on any axis)


@dataclass(frozen=True, slots=True)
class Averaged:
    coefficient: Correlation
    axes: tuple[str, ...]
    methods: tuple[AveragedMethod, ...]
    columns: tuple[AveragedColumn, ...]  # one per axis, then the average


@on_one_thread
def averaged(
    documents: ArrayLike, systems: ArrayLike, methods: Mapping[str, Trial | Sequence[Trial]],
    human: Mapping[str, ArrayLike], *,
    coefficient: Correlation = "spearman",
) -> Averaged:  # fmt: skip
    """Averages from one row per candidate, in any order; `human`: by axis, NaN where unrated."""
    if not human:
        raise ValueError("there is no axis to average over")
    trials = {name: [t] if isinstance(t, Mapping) else t for name, t in methods.items()}
    table = _correlations_of(np.asarray(documents), np.asarray(systems), trials, human, coefficient)
    shared = _shared(list(table.values()))
    pooled = {name: means(np.moveaxis(cube, 0, -1)) for name, cube in table.items()}
    measured = tuple(
        AveragedMethod(name, len(cube), _values(cube, pooled[name], shared))
        for name, cube in table.items()
    )
    return Averaged(
        coefficient=coefficient,
        axes=tuple(human),
        methods=measured,
        columns=tuple(
            _column(axis, index, measured, pooled, _column_counts(shared)[index])
            for index, axis in enumerate([*human, None])
        ),
    )


def _correlations_of(
    documents: Codes, systems: Codes, methods: Mapping[str, Sequence[Trial]],
    human: Mapping[str, ArrayLike], coefficient: Correlation,
) -> dict[str, Floats]:  # fmt: skip
    """The correlations (trials, axes, documents) of each method; NaN where undefined."""
    names, codes = np.unique(documents, return_inverse=True)
    ratings = {axis: np.asarray(column, dtype=np.float64) for axis, column in human.items()}

    def by_document(trial: Trial, axis: str) -> Floats:
        values = np.full(names.size, np.nan)
        if axis in trial:
            scores = np.asarray(trial[axis], dtype=np.float64)
            present = np.unique(codes[np.isfinite(scores) & np.isfinite(ratings[axis])])
            values[present] = document_correlations(
                table_of(codes, systems, scores, ratings[axis]), coefficient
            )[0]
        return values

    return {
        name: np.array([[by_document(trial, axis) for axis in human] for trial in trials])
        for name, trials in methods.items()
    }


def _shared(cubes: Sequence[Floats]) -> NDArray[np.bool_]:
    """The places (axes, documents) where every method that has a value on the axis is defined."""
    defined = [np.isfinite(cube) for cube in cubes]
    shared: NDArray[np.bool_] = np.logical_or.reduce([values.any(axis=0) for values in defined])
    for values in defined:
        has_value = values.any(axis=2).all(axis=0)
        shared[has_value] &= np.logical_and.reduce(values, axis=0)[has_value]
    return shared


def _column_counts(defined: NDArray[np.bool_]) -> list[int]:
    """The documents that are defined on each axis; of the average: on any axis."""
    return [*defined.sum(axis=1).tolist(), int(defined.any(axis=0).sum())]


def _by_trial(cube: Floats) -> Floats:
    """The values (trials, columns) of each axis and, where all have a value, of the average."""
    averages = means(cube)
    return np.concatenate([averages, averages.mean(axis=1, keepdims=True)], axis=1)


def _values(cube: Floats, pooled: Floats, shared: NDArray[np.bool_]) -> tuple[AveragedValue, ...]:
    """`pooled`: (axes, documents), each document's mean over the trials that have a correlation."""
    by_trial = _by_trial(cube)
    common = _by_trial(np.where(shared, cube, np.nan)).mean(axis=0)
    defined = np.asarray(np.isfinite(cube).any(axis=0))
    parts = [*pooled, mean_parts(pooled)]
    columns = zip(by_trial.T, parts, _column_counts(defined), common.tolist(), strict=True)
    return tuple(_value(*column) for column in columns)


def _value(by_trial: Floats, parts: Floats, n: int, common: float) -> AveragedValue:
    value = float(by_trial.mean())
    if np.isnan(value):
        return AveragedValue(None, None, None, n, None)
    spread = float(by_trial.std(ddof=1)) if by_trial.size > 1 else None
    low, high = interval(value, parts, "sample")
    return AveragedValue(value, low, high, n, spread, None if np.isnan(common) else common)


def _column(
    axis: str | None, index: int, methods: Sequence[AveragedMethod], pooled: Mapping[str, Floats],
    common: int,
) -> AveragedColumn:  # fmt: skip
    by_name = {method.name: method.columns[index].value for method in methods}
    values = {name: value for name, value in by_name.items() if value is not None}
    best = _highest(values)
    others = {name: value for name, value in values.items() if name not in best}
    rows = slice(None) if axis is None else slice(index, index + 1)

    def gaps(name: str, other: str) -> Floats:
        """(axes, documents): NaN where either is undefined."""
        return pooled[name][rows] - pooled[other][rows]

    def p_of(name: str, other: str) -> float | None:
        gap = gaps(name, other)
        if np.isfinite(gap).sum(axis=1).min() < FEWEST_SHARED:
            return None
        return p_value(float(means(gap).mean()), mean_parts(gap))

    ps = adjusted({frozenset(two): p_of(*two) for two in combinations(values, 2)})
    tested = []
    for name in others:
        gap = gaps(best[0], name)
        difference = float(means(gap).mean())
        tested.append(Challenger(
            name=name,
            difference=None if np.isnan(difference) else difference,
            p=p_of(best[0], name),
            p_holm=ps[frozenset((best[0], name))],
            n=int(np.isfinite(gap).any(axis=0).sum()),
        ))  # fmt: skip
    return AveragedColumn(axis, best, _highest(others), tuple(tested), common)


def _highest(values: Mapping[str, float]) -> tuple[str, ...]:
    top = max(values.values(), default=0.0)
    return tuple(name for name, value in values.items() if value > top - EQUAL)
