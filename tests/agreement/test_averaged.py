"""Methods on several axes and their average: literals by hand, and loops from the definitions."""

from collections.abc import Mapping, Sequence
from itertools import chain, combinations
from math import isfinite, nan
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evaljudge.agreement import Averaged, averaged, holm
from tests.fishers import bounds

# Three candidates a document; people rank them 1 2 3 everywhere.
UP, SWAPPED, TURNED, DOWN, FLAT, NONE = (
    [1.0, 2.0, 3.0],  # Spearman 1
    [1.0, 3.0, 2.0],  # 0.5
    [2.0, 3.0, 1.0],  # -0.5
    [3.0, 2.0, 1.0],  # -1
    [2.0, 2.0, 2.0],
    [nan, nan, nan],
)


def found_of(
    methods: Mapping[str, Any], axes: Sequence[str] = ("coherence", "fluency"), **how: Any
) -> Averaged:
    """From each document's list on each axis."""
    flat = {
        name: _flat(given) if isinstance(given, Mapping) else [_flat(trial) for trial in given]
        for name, given in methods.items()
    }
    some = next(iter(flat.values()))
    size = max(map(len, (some if isinstance(some, Mapping) else some[0]).values()))
    documents = [i // 3 for i in range(size)]
    systems = [i % 3 for i in range(size)]
    human = {axis: [float(system) for system in systems] for axis in axes}
    return averaged(documents, systems, flat, human, **how)


def _flat(trial: Mapping[str, list[list[float]]]) -> dict[str, list[float]]:
    return {axis: list(chain(*lists)) for axis, lists in trial.items()}


def values(found: Averaged) -> dict[str, list[float | None]]:
    return {method.name: [one.value for one in method.columns] for method in found.methods}


METHODS = {
    "ours": {"coherence": [UP, UP, SWAPPED], "fluency": [UP, SWAPPED, SWAPPED]},
    "direct": {"coherence": [SWAPPED, FLAT, TURNED], "fluency": [DOWN, SWAPPED, UP]},
    "half": {"coherence": [UP, SWAPPED, UP]},
}


def test_values_and_documents_by_hand():
    found = found_of(METHODS)
    assert (found.axes, found.coefficient) == (("coherence", "fluency"), "spearman")
    told = values(found)
    assert told["ours"] == pytest.approx([2.5 / 3, 2 / 3, 0.75])
    assert told["direct"] == pytest.approx([0.0, 0.5 / 3, 0.25 / 3])  # one document is flat
    assert told["half"][0] == pytest.approx(2.5 / 3)
    assert told["half"][1:] == [None, None]
    counts = {method.name: [one.n for one in method.columns] for method in found.methods}
    assert counts == {"ours": [3, 3, 3], "direct": [2, 3, 3], "half": [3, 0, 3]}


def test_who_is_best_of_each_column_and_ties_share_it():
    coherence, fluency, average = found_of(METHODS).columns
    assert (coherence.axis, coherence.best) == ("coherence", ("ours", "half"))
    assert coherence.second == ("direct",)
    assert (fluency.best, fluency.second) == (("ours",), ("direct",))
    assert (average.axis, average.best, average.second) == (None, ("ours",), ("direct",))
    assert [one.name for one in coherence.challengers] == ["direct"]


def test_under_two_shared_documents_there_is_no_p():
    methods = {
        "best": {"coherence": [UP, UP, UP], "fluency": [UP, UP, UP]},
        "once": {"coherence": [SWAPPED, FLAT, NONE], "fluency": [DOWN, DOWN, SWAPPED]},
        "often": {"coherence": [DOWN, DOWN, DOWN], "fluency": [DOWN, DOWN, DOWN]},
    }
    coherence, fluency, average = found_of(methods).columns
    once, often = coherence.challengers
    assert (once.p, once.p_holm, once.n) == (None, None, 1)
    assert once.difference == pytest.approx(0.5)
    assert (often.p, often.p_holm) == (2 / 2**3, 2 / 2**3)  # alike everywhere, alone to be tested
    assert None not in {one.p_holm for one in fluency.challengers}
    assert (average.challengers[0].p, average.challengers[0].n) == (None, 3)


def test_a_trial_without_a_value_leaves_the_method_without_one_and_nothing_defined_has_no_best():
    trials = [{"fluency": [UP, UP]}, {"fluency": [FLAT, FLAT]}]
    (method,) = found_of({"sampled": trials}, ["fluency"]).methods
    assert method.columns[0].value is None and method.columns[0].spread is None
    assert method.columns[0].n == 2
    column = found_of({"flat": {"fluency": [FLAT, FLAT]}}, ["fluency"]).columns[0]
    assert (column.best, column.second, column.challengers) == ((), (), ())


def test_there_is_an_axis():
    with pytest.raises(ValueError, match="no axis"):
        averaged([0, 0], [0, 1], {"a": {}}, {})


def random_corpus(seed: int, documents: int = 14, systems: int = 6) -> dict[str, Any]:
    """Ragged, with ties, and with gaps everywhere."""
    stream = np.random.default_rng(seed)
    kept = stream.random(documents * systems) < 0.9
    size = int(kept.sum())
    axes = ("coherence", "fluency", "relevance")

    def holed(column: np.ndarray, share: float) -> np.ndarray:
        return np.where(stream.random(size) < share, np.nan, column)

    human = {axis: holed(stream.integers(1, 6, size).astype(float), 0.05) for axis in axes}

    def trial(noise: float) -> dict[str, np.ndarray]:
        return {
            axis: holed(np.round(human[axis] + noise * stream.normal(size=size), 1), 0.1)
            for axis in axes
        }

    corpus = {
        "documents": 7 * (np.repeat(np.arange(documents), systems)[kept] + 3),
        "systems": np.tile(np.arange(systems), documents)[kept],
        "human": human,
        "methods": {
            "good": trial(1.0),
            "poor": trial(6.0),
            "sampled": [trial(2.0), trial(2.0), trial(2.0)],
            "lacking": {axis: column for axis, column in trial(1.0).items() if axis != "fluency"},
        },
    }
    return reordered(corpus, stream.permutation(size))


def reordered(of: Any, order: np.ndarray) -> Any:
    """Every column, however deep."""
    if isinstance(of, dict):
        return {name: reordered(inner, order) for name, inner in of.items()}
    return [reordered(one, order) for one in of] if isinstance(of, list) else of[order]


NAIVE = {
    "spearman": lambda x, y: stats.spearmanr(x, y).statistic,
    "kendall": lambda x, y: stats.kendalltau(x, y).statistic,
    "pearson": lambda x, y: stats.pearsonr(x, y).statistic,
}


def naive_correlations(
    corpus: dict[str, Any], trial: Mapping[str, Any], axis: str, coefficient: str
) -> dict[int, float]:
    """document -> correlation, where there is one."""
    found = {}
    for document in sorted(set(corpus["documents"])):
        x, y = [], []
        for row, of in enumerate(corpus["documents"]):
            if of == document and axis in trial:
                score, rating = trial[axis][row], corpus["human"][axis][row]
                if isfinite(score) and isfinite(rating):
                    x.append(score)
                    y.append(rating)
        if len(set(x)) > 1 and len(set(y)) > 1:
            found[document] = float(NAIVE[coefficient](x, y))
    return found


def mean(numbers: Sequence[float]) -> float:
    return sum(numbers) / len(numbers) if numbers else nan


def student(by_axis: Sequence[dict[int, float]]) -> tuple[float, float, int]:
    """Of the mean of the axes' means: itself, its standard error, and how many documents there are,
    by what each document pulls it."""
    documents = sorted({d for found in by_axis for d in found})
    pulls = [
        sum((f[d] - mean([*f.values()])) / len(f) for f in by_axis if d in f) / len(by_axis)
        for d in documents
    ]
    n = len(documents)
    value = mean([mean([*found.values()]) for found in by_axis])
    return value, (n / (n - 1) * sum(pull**2 for pull in pulls)) ** 0.5, n


@pytest.mark.parametrize(("seed", "coefficient"), [(0, "spearman"), (1, "kendall"), (2, "pearson")])
def test_against_loops_from_the_definitions(seed, coefficient):
    corpus = random_corpus(seed)
    found = averaged(**corpus, coefficient=coefficient)
    documents = sorted(set(corpus["documents"]))
    pooled: dict[str, list[dict[int, float]]] = {}
    for method in found.methods:
        given = corpus["methods"][method.name]
        trials = [
            [naive_correlations(corpus, one, axis, coefficient) for axis in corpus["human"]]
            for one in (given if isinstance(given, list) else [given])
        ]
        pooled[method.name] = [
            {d: mean([t[a][d] for t in trials if d in t[a]]) for d in documents
             if any(d in t[a] for t in trials)}
            for a in range(3)
        ]  # fmt: skip
        for index, column in enumerate(method.columns):
            axes = [index] if index < 3 else [0, 1, 2]
            by_trial = [mean([mean([*trial[a].values()]) for a in axes]) for trial in trials]
            value = mean(by_trial)
            if not isfinite(value):
                assert (column.value, column.low, column.high) == (None, None, None)
                continue
            _, error, n = student([pooled[method.name][a] for a in axes])
            ends = bounds("sample", value, error, n)
            assert (column.value, column.low, column.high) == pytest.approx((value, *ends))
            if len(trials) > 1:
                assert column.spread == pytest.approx(np.std(by_trial, ddof=1))
    for index, column in enumerate(found.columns):
        axes = [index] if column.axis else [0, 1, 2]
        names = [m.name for m in found.methods if m.columns[index].value is not None]
        assert len(names) == (4 if index in (0, 2) else 3)  # `lacking` has no fluency, no average
        ps = {}
        for two in combinations(names, 2):
            one, other = (pooled[name] for name in two)
            gaps = [{d: one[a][d] - other[a][d] for d in one[a] if d in other[a]} for a in axes]
            value, error, n = student(gaps)
            ps[frozenset(two)] = float(2 * stats.t.sf(abs(value) / error, n - 1))
            for rival in column.challengers:
                if {rival.name, column.best[0]} == {*two}:
                    sign = 1 if two[0] == column.best[0] else -1
                    assert (rival.difference, rival.n) == (pytest.approx(sign * value), n)
        adjusted = dict(zip(ps, holm([*ps.values()]), strict=True))
        for rival in column.challengers:
            at = frozenset((rival.name, column.best[0]))
            assert (rival.p, rival.p_holm) == pytest.approx((ps[at], adjusted[at]))


def test_a_method_has_a_value_on_the_documents_of_all():
    """On coherence `direct` lacks the second document; `half` and its like have no fluency."""
    found = found_of(METHODS)
    assert [column.common for column in found.columns] == [2, 3, 3]
    common = {method.name: [one.common for one in method.columns] for method in found.methods}
    assert common["ours"] == pytest.approx([0.75, 2 / 3, (0.75 + 2 / 3) / 2])
    assert common["direct"] == pytest.approx([0.0, 0.5 / 3, 0.25 / 3])
    assert common["half"][0] == pytest.approx(1.0)
    assert common["half"][1:] == [None, None]
    apart = {"a": {"coherence": [UP, UP, NONE, NONE]}, "b": {"coherence": [NONE, NONE, UP, DOWN]}}
    found = found_of(apart, ["coherence"])
    assert [column.common for column in found.columns] == [0, 0]
    assert [one.common for method in found.methods for one in method.columns] == [None] * 4
    (other,) = found.columns[0].challengers
    assert (other.difference, other.p, other.p_holm, other.n) == (None, None, None, 0)
