"""Methods on several axes and their average: literals by hand, and loops from the definitions."""

from collections.abc import Mapping, Sequence
from itertools import chain, product
from math import isfinite, nan
from typing import Any

import numpy as np
import pytest
from scipy import stats

from evaljudge.agreement import Averaged, averaged, holm
from evaljudge.agreement.agree import agreements
from evaljudge.agreement.significance import challengers

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


def test_values_and_documents_by_hand() -> None:
    found = found_of(METHODS)
    assert (found.axes, found.coefficient) == (("coherence", "fluency"), "spearman")
    told = values(found)
    assert told["ours"] == pytest.approx([2.5 / 3, 2 / 3, 0.75])
    assert told["direct"] == pytest.approx([0.0, 0.5 / 3, 0.25 / 3])  # one document is flat
    assert told["half"][0] == pytest.approx(2.5 / 3)
    assert told["half"][1:] == [None, None]
    counts = {method.name: [one.n for one in method.columns] for method in found.methods}
    assert counts == {"ours": [3, 3, 3], "direct": [2, 3, 3], "half": [3, 0, 3]}


def test_who_is_best_of_each_column_and_ties_share_it() -> None:
    coherence, fluency, average = found_of(METHODS).columns
    assert (coherence.axis, coherence.best) == ("coherence", ("ours", "half"))
    assert coherence.second == ("direct",)
    assert (fluency.best, fluency.second) == (("ours",), ("direct",))
    assert (average.axis, average.best, average.second) == (None, ("ours",), ("direct",))
    assert [one.name for one in coherence.challengers] == ["direct"]


def test_seconds_tie_too() -> None:
    methods = {
        "low": {"fluency": [DOWN, DOWN]},
        "one": {"fluency": [SWAPPED, UP]},
        "other": {"fluency": [UP, SWAPPED]},
        "top": {"fluency": [UP, UP]},
    }
    found = found_of(methods, ["fluency"])
    assert found.columns[0].best == ("top",)
    assert found.columns[0].second == ("one", "other")
    assert found.columns[0].challengers == found.columns[1].challengers  # one axis is the average


def test_a_challengers_difference_is_over_what_both_have() -> None:
    found = found_of(METHODS)
    coherence, fluency, average = (column.challengers[0] for column in found.columns)
    # ours - direct: coherence .5 and 1 (the flat document is out), fluency 2, 0 and -.5
    assert (coherence.difference, coherence.n) == (pytest.approx(0.75), 2)
    assert (fluency.difference, fluency.n) == (pytest.approx(0.5), 3)
    assert (average.difference, average.n) == (pytest.approx(0.625), 3)


@pytest.mark.parametrize(
    ("gap", "p"),
    [
        ([[0.3, 0.1, 0.2], [0.1, nan, 0.3]], 2 / 8),  # adds .075 .0167 .1083: all alike, or none
        ([[0.5, 0.5, -0.25]], 4 / 8),  # .75, and as much wherever the halves agree
        ([[0.0, 0.0, 0.0]], 1.0),
        ([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]], 1.0),  # a document's sign turns on both axes
        ([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], 4 / 8),  # in two documents, each by itself
    ],
)
def test_p_is_near_that_of_all_signs(gap: list[list[float]], p: float) -> None:
    assert p == pytest.approx(exhaustive_p(gap))
    found = challengers({"a": np.array(gap)}, permutations=20_000, seed=1)[0]
    assert found.p == pytest.approx(p, abs=0.015)


def exhaustive_p(gap: list[list[float]]) -> float:
    def statistic(signs: Sequence[int]) -> float:
        by_axis = [
            [sign * one for sign, one in zip(signs, axis, strict=True) if isfinite(one)]
            for axis in gap
        ]
        return abs(sum(sum(axis) / len(axis) for axis in by_axis) / len(by_axis))

    size = len(gap[0])
    seen = statistic([1] * size)
    tried = [statistic(signs) >= seen - 1e-9 for signs in product([-1, 1], repeat=size)]
    return sum(tried) / len(tried)


def test_under_two_shared_documents_there_is_no_p() -> None:
    methods = {
        "best": {"coherence": [UP, UP, UP], "fluency": [UP, UP, UP]},
        "once": {"coherence": [SWAPPED, FLAT, NONE], "fluency": [DOWN, DOWN, SWAPPED]},
        "often": {"coherence": [DOWN, DOWN, DOWN], "fluency": [DOWN, DOWN, DOWN]},
    }
    coherence, fluency, average = found_of(methods).columns
    once, often = coherence.challengers
    assert (once.p, once.p_holm, once.n) == (None, None, 1)
    assert once.difference == pytest.approx(0.5)
    assert often.p is not None and often.p_holm == often.p  # alone in its family
    ps = [one.p for one in fluency.challengers if one.p is not None]
    assert [one.p_holm for one in fluency.challengers] == pytest.approx(holm(ps))
    assert len(ps) == 2
    assert (average.challengers[0].p, average.challengers[0].n) == (None, 3)


def test_documents_apart_share_nothing() -> None:
    methods = {
        "one": {"fluency": [UP, UP, NONE, NONE]},
        "other": {"fluency": [NONE, NONE, UP, DOWN]},
    }
    column = found_of(methods, ["fluency"]).columns[0]
    (other,) = column.challengers
    assert (other.difference, other.p, other.p_holm, other.n) == (None, None, None, 0)


def test_without_permutations_there_is_no_p_and_without_resamples_no_interval() -> None:
    found = found_of(METHODS, permutations=0, resamples=0)
    assert {one.p for column in found.columns for one in column.challengers} == {None}
    assert {(one.low, one.high) for m in found.methods for one in m.columns} == {(None, None)}
    assert found.methods[0].columns[0].value == pytest.approx(2.5 / 3)


def test_trials_have_a_mean_and_a_spread() -> None:
    trials = [
        {"coherence": [UP, UP], "fluency": [UP, DOWN]},  # 1 and 0: average 0.5
        {"coherence": [SWAPPED, UP], "fluency": [SWAPPED, UP]},  # .75 and .75
        {"coherence": [SWAPPED, SWAPPED], "fluency": [UP, SWAPPED]},  # .5 and .75: .625
    ]
    found = found_of({"sampled": trials, "one": trials[0], "again": trials[:1]})
    sampled, one, again = found.methods
    assert (sampled.trials, one.trials, again.trials) == (3, 1, 1)
    assert values(found)["sampled"] == pytest.approx([0.75, 0.5, 0.625])
    # deviations: .25 0 -.25; -.5 .25 .25; -.125 .125 0
    assert [column.spread for column in sampled.columns] == pytest.approx(
        [0.25, (0.375 / 2) ** 0.5, 0.125]
    )
    assert one.columns == again.columns
    assert {column.spread for column in one.columns} == {None}


def test_a_trial_without_a_value_leaves_the_method_without_one() -> None:
    trials = [{"fluency": [UP, UP]}, {"fluency": [FLAT, FLAT]}]
    (method,) = found_of({"sampled": trials}, ["fluency"]).methods
    assert method.columns[0].value is None and method.columns[0].spread is None
    assert method.columns[0].n == 2


def test_a_challengers_documents_are_means_over_the_trials_that_have_them() -> None:
    sampled = [{"fluency": [SWAPPED, FLAT]}, {"fluency": [TURNED, SWAPPED]}]  # .5 and 0
    found = found_of({"best": {"fluency": [UP, UP]}, "sampled": sampled}, ["fluency"])
    assert values(found)["sampled"][0] == pytest.approx(0.25)
    # documents 0 and .5, so 1 and .5 less than the best
    assert found.columns[0].challengers[0].difference == pytest.approx(0.75)


def test_nothing_defined_has_no_best() -> None:
    column = found_of({"flat": {"fluency": [FLAT, FLAT]}}, ["fluency"]).columns[0]
    assert (column.best, column.second, column.challengers) == ((), (), ())


@pytest.mark.parametrize(
    ("methods", "human", "told"),
    [
        ({"a": {}}, {}, "no axis"),
        ({"a": []}, {"fluency": [1.0, 2.0]}, "method 'a' has no trial"),
    ],
)
def test_refuses(methods: dict[str, Any], human: dict[str, list[float]], told: str) -> None:
    with pytest.raises(ValueError, match=told):
        averaged([0, 0], [0, 1], methods, human)


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

    shuffled = stream.permutation(size)
    methods = {
        "good": trial(1.0),
        "poor": trial(6.0),
        "sampled": [trial(2.0), trial(2.0), trial(2.0)],
        "lacking": {axis: column for axis, column in trial(1.0).items() if axis != "fluency"},
    }
    return {
        "documents": 7 * (np.repeat(np.arange(documents), systems)[kept] + 3)[shuffled],
        "systems": np.tile(np.arange(systems), documents)[kept][shuffled],
        "methods": {
            name: (
                {axis: column[shuffled] for axis, column in given.items()}
                if isinstance(given, dict)
                else [{axis: column[shuffled] for axis, column in one.items()} for one in given]
            )
            for name, given in methods.items()
        },
        "human": {axis: column[shuffled] for axis, column in human.items()},
    }


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


def naive_columns(by_axis: Sequence[dict[int, float]], drawn: Sequence[int]) -> list[float]:
    axes = [mean([found[d] for d in drawn if d in found]) for found in by_axis]
    return [*axes, mean(axes)]


@pytest.mark.parametrize(("seed", "coefficient"), [(0, "spearman"), (1, "kendall"), (2, "pearson")])
def test_against_loops_from_the_definitions(seed: int, coefficient: str) -> None:
    corpus = random_corpus(seed)
    how: dict[str, Any] = {"coefficient": coefficient, "resamples": 60, "permutations": 80}
    found = averaged(**corpus, **how, seed=seed)
    documents = sorted(set(corpus["documents"]))
    stream = np.random.default_rng(seed)
    resamples = [
        [d for d, times in zip(documents, row, strict=True) for _ in range(times)]
        for row in stream.multinomial(len(documents), [1 / len(documents)] * len(documents), 60)
    ]
    flips = np.random.default_rng(seed).random((80, len(documents)), np.float32) < 0.5
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
        by_trial = [naive_columns(one, documents) for one in trials]
        redrawn = [
            [
                mean(column)
                for column in zip(*(naive_columns(t, drawn) for t in trials), strict=True)
            ]
            for drawn in resamples
        ]
        for index, column in enumerate(method.columns):
            value = mean([one[index] for one in by_trial])
            if not isfinite(value):
                assert (column.value, column.low, column.high) == (None, None, None)
                continue
            low, high = np.percentile([one[index] for one in redrawn], [2.5, 97.5])
            assert (column.value, column.low, column.high) == pytest.approx((value, low, high))
            if len(trials) > 1:
                assert column.spread == pytest.approx(np.std([t[index] for t in by_trial], ddof=1))
    for index, column in enumerate(found.columns):
        axes = [index] if column.axis else [0, 1, 2]
        ps = []
        for rival in column.challengers:
            best, other = pooled[column.best[0]], pooled[rival.name]
            gaps = [{d: best[a][d] - other[a][d] for d in best[a] if d in other[a]} for a in axes]
            seen = mean([mean(list(gap.values())) for gap in gaps])
            assert rival.difference == pytest.approx(seen)
            extreme = 0
            for row in flips:
                sign = {d: -1 if turned else 1 for d, turned in zip(documents, row, strict=True)}
                by_chance = mean([mean([sign[d] * g for d, g in gap.items()]) for gap in gaps])
                extreme += abs(by_chance) >= abs(seen) - 1e-9
            ps.append((1 + extreme) / 81)
            assert rival.p == pytest.approx(ps[-1])
        assert [rival.p_holm for rival in column.challengers] == pytest.approx(holm(ps))
        assert len(ps) == (3 if index in (0, 2) else 2)  # `lacking` has no fluency, no average


def test_one_method_on_one_axis_is_what_agreements_says() -> None:
    corpus = random_corpus(5)
    scores, human = corpus["methods"]["good"]["fluency"], corpus["human"]["fluency"]
    alone = averaged(
        corpus["documents"],
        corpus["systems"],
        {"a": {"fluency": scores}},
        {"fluency": human},
        seed=9,
    )
    expected = agreements(
        corpus["documents"], corpus["systems"], scores, human, coefficients=["spearman"], seed=9
    )[0]
    for column in alone.methods[0].columns:
        assert (column.value, column.low, column.high, column.n) == pytest.approx(
            (expected.value, expected.low, expected.high, expected.n)
        )


def test_the_order_of_rows_and_of_other_methods_does_not_matter() -> None:
    corpus = random_corpus(6)
    order = np.random.default_rng(0).permutation(corpus["documents"].size)
    again = {
        "documents": corpus["documents"][order],
        "systems": corpus["systems"][order],
        "human": {axis: column[order] for axis, column in corpus["human"].items()},
        "methods": {
            name: (
                [{axis: column[order] for axis, column in trial.items()} for trial in given]
                if isinstance(given, list)
                else {axis: column[order] for axis, column in given.items()}
            )
            for name, given in reversed(corpus["methods"].items())
        },
    }
    one, other = averaged(**corpus), averaged(**again)
    assert one.methods == other.methods[::-1]
    assert [column.best for column in one.columns] == [column.best for column in other.columns]
    for here, there in zip(one.columns, other.columns, strict=True):
        ps = {rival.name: rival.p for rival in here.challengers}
        assert ps == {rival.name: rival.p for rival in there.challengers}


def test_beside_its_own_value_a_method_has_that_on_the_documents_of_all() -> None:
    """On coherence `direct` lacks the second document; `half` and its like have no fluency."""
    found = found_of(METHODS)
    assert [column.common for column in found.columns] == [2, 3, 3]
    common = {method.name: [one.common for one in method.columns] for method in found.methods}
    assert common["ours"] == pytest.approx([0.75, 2 / 3, (0.75 + 2 / 3) / 2])
    assert common["direct"] == pytest.approx([0.0, 0.5 / 3, 0.25 / 3])
    assert common["half"][0] == pytest.approx(1.0)
    assert common["half"][1:] == [None, None]


def test_a_method_without_any_value_leaves_the_others_their_documents() -> None:
    methods = {"ours": {"coherence": [UP, UP]}, "none": {"coherence": [FLAT, NONE]}}
    found = found_of(methods, ["coherence"])
    assert [column.common for column in found.columns] == [2, 2]
    assert [one.common for one in found.methods[0].columns] == [1.0, 1.0]


def test_methods_that_share_no_document_have_no_common_value() -> None:
    apart = {"a": {"coherence": [UP, NONE]}, "b": {"coherence": [NONE, DOWN]}}
    found = found_of(apart, ["coherence"])
    assert [column.common for column in found.columns] == [0, 0]
    assert [one.common for method in found.methods for one in method.columns] == [None] * 4


def test_common_documents_are_those_of_every_trial() -> None:
    trials = {"a": [{"coherence": [UP, DOWN]}, {"coherence": [UP, NONE]}]}
    found = found_of(trials, ["coherence"])
    assert (found.columns[0].common, found.methods[0].columns[0].common) == (1, 1.0)
