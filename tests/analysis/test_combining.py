"""`combine`: scorers made of several, by rules worked by hand and in a run on a scripted model."""

import json
from math import isnan, nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

import evaljudge
from evaljudge.agreement.rated import Rated
from evaljudge.analyses.among_judges import AMONG
from evaljudge.analyses.families import FAMILIES
from evaljudge.analyses.jury import LEFT_OUT
from evaljudge.analysis.combining import Combination, Weights, on_rated, weights_of
from evaljudge.config import Rule
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from tests import build


def combined(by: Rule, *scorers: str) -> Combination:
    return Combination(tuple((scorer, 1.0) for scorer in scorers), by)


@pytest.mark.parametrize(
    ("by", "values", "expected"),
    [
        ("mean", [4, 4, 1], 3),
        ("median", [4, 4, 1], 4),
        ("median", [4, 1], 2.5),
        ("majority", [4, 4, 1], 4),
        ("majority", [3.6, 4.4, 1], 4),
        ("majority", [5, 4, 1], 10 / 3),
        ("majority", [1, 1, 5, 5, 3], 3),
        ("majority", [1.2, 2.1, 2.6], 2),  # a vote for each of three whole numbers
        ("majority", [2.5, 2.5, 3.5], 3),  # halves are rounded up
    ],
)
def test_the_rules_by_hand(by, values, expected):
    names = [str(n) for n in range(len(values))]
    rule = combined(by, *names)
    assert rule.of_values(values) == pytest.approx(expected)
    columns = {name: np.array([value, nan]) for name, value in zip(names, values, strict=True)}
    first, second = rule.of(columns)
    assert first == pytest.approx(expected)
    assert isnan(second), "one that a scorer left unscored is unscored"


# weights by agreement

DOCUMENTS = np.array([f"d{n}" for n in range(10) for _ in range(4)], dtype=object)
DRAW = np.random.default_rng(0)
HUMAN = DRAW.integers(1, 6, 40).astype(float)
COLUMNS = {
    "good": HUMAN + DRAW.normal(0, 0.5, 40),
    "fair": HUMAN + DRAW.normal(0, 2, 40),
    "contrary": -HUMAN,
}


def rated(human: Any = HUMAN, columns: Any = COLUMNS) -> Rated:
    codes = np.unique(DOCUMENTS, return_inverse=True)[1]
    scores = {(name, "fluency"): column for name, column in columns.items()}
    return Rated(
        codes,
        np.arange(40) % 4,
        scores,
        {"fluency": human},
        {},
        texts=[(name, "") for name in DOCUMENTS],
    )


def weights(of: Rated | None = None, *scorers: str) -> Weights:
    names = scorers or tuple(COLUMNS)
    rule = combined("agreement", *names)
    return weights_of("jury", rule, "fluency", of or rated(), 0)


def by_definition(rows: np.ndarray[Any, Any]) -> list[float]:
    found = [max(0.0, float(spearmanr(c[rows], HUMAN[rows])[0])) for c in COLUMNS.values()]
    return [one / sum(found) for one in found]


def test_weights_are_correlations_on_the_other_folds_documents():
    found = weights()
    assert found.whole == pytest.approx(by_definition(np.ones(40, dtype=bool)))
    assert found.whole[2] == 0, "who disagrees with people counts for nothing"
    assert len(found.folds) == 5
    for fold, own in enumerate(found.folds):
        inside = np.array([found.fold_of[doc] == fold for doc in DOCUMENTS])
        assert inside.sum() == 8
        assert own == pytest.approx(by_definition(~inside))
    assert found.doubt == ""


def test_weights_are_those_of_the_fold_and_one_again_of_what_is_left():
    rule, found = combined("agreement", *COLUMNS), weights()
    scores = on_rated(rule, found, "fluency", rated())
    own = found.folds[found.fold_of["d3"]]
    expected = sum(w * column[13] for w, column in zip(own, COLUMNS.values(), strict=True))
    assert scores[13] == pytest.approx(expected)
    names, others = zip(*found.mix("nobody rated it").parts, strict=True)
    assert (list(names), list(others)) == (list(COLUMNS), pytest.approx(found.whole))
    left = weights().mix("d0", left_out="fair")
    assert [name for name, _ in left.parts] == ["good", "contrary"]
    assert [weight for _, weight in left.parts] == [1.0, 0.0]
    alone = weights().mix("d0", left_out="good")
    assert sum(weight for _, weight in alone.parts) == pytest.approx(1)


@pytest.mark.parametrize(
    ("of", "said"),
    [
        (rated(np.full(40, nan)), "fewer than 2 documents have all scores and a rating"),
        (rated(-COLUMNS["good"], {"good": COLUMNS["good"], "fair": COLUMNS["good"] + 1}),
         "none agrees with people"),
        (rated(np.full(40, 3.0)), "none agrees with people"),
        (rated(HUMAN, {name: np.full(40, 1.0) for name in COLUMNS}), "none agrees with people"),
    ],
)  # fmt: skip
def test_where_nothing_can_be_learnt_all_count_alike(of, said):
    scorers = [name for name, _ in of.scores]
    found = weights(of, *scorers)
    assert said in found.doubt
    assert found.whole == pytest.approx([1 / len(scorers)] * len(scorers))
    alike = on_rated(combined("agreement", *scorers), found, "fluency", of)
    mean = on_rated(combined("mean", *scorers), None, "fluency", of)
    np.testing.assert_allclose(alike, mean)


# in a run


@pytest.fixture
def config(tmp_path):
    rows = [
        build.document(n) | {"candidates": [
            {"system": s, "text": s * n + len(s) * " word",
             "ratings": {"fluency": len(s)} if n < 5 else {}}
            for s in ("A", "BB", "CCC")]}
        for n in range(6)
    ]  # fmt: skip
    build.jsonl(tmp_path / "cases.jsonl", rows)
    judges = {"a": {"judge": "geval"}, "b": {"judge": "geval", "model": "n"}}
    how = {"metrics": ["words"], "agreement": {"resamples": 20}, "view": 2}
    return build.config(tmp_path, axes=["fluency", "relevance"], judges=judges, **how)


def ran(config: dict[str, Any]) -> tuple[Any, dict[tuple[str, ...], float]]:
    came = evaljudge.run(config, engines=ScriptedEngines(), progress=False)
    names = ("doc_id", "system", "axis", "scorer")
    rows = came.scores([*names, "value"]).to_pylist()
    return came, {tuple(row[name] for name in names): row["value"] for row in rows}


def test_combinations_are_scorers_like_others(config):
    config["mixes"] = {"twice": "a + a"}
    config["combine"] = {
        "mean": ["a", "b"],
        "votes": {"of": ["a", "b", "twice"], "by": "majority"},
        "weighted": {"of": ["a", "b", "words"], "by": "agreement"},
    }
    config |= {"calibrate": ["weighted"], "families": {"b": ["A"]}}
    best = {"scorer": "weighted", "axis": "fluency", "top_fraction": 0.5}
    config["select"] = [{"name": "best", "all": [best]}]
    came, found = ran(config)
    for (*at, axis, scorer), value in found.items():
        if scorer == "mean":
            mean = (found[*at, axis, "a"] + found[*at, axis, "b"]) / 2
            assert value == pytest.approx(mean)
    (weights,) = [
        one for one in json.loads((Path(config["out"]) / "report/combined.json").read_text())
        if one["axis"] == "fluency"
    ]  # fmt: skip
    of_d1 = weights["folds"][weights["fold_of"]["d1"]]
    for doc_id, own in (("d5", weights["whole"]), ("d1", of_d1)):
        parts = [(doc_id, "A", "fluency", "a"), (doc_id, "A", "fluency", "b"),
                 (doc_id, "A", "*", "words")]  # fmt: skip
        expected = sum(w * found[at] for w, at in zip(own, parts, strict=True))
        assert found[doc_id, "A", "fluency", "weighted"] == pytest.approx(expected)
    assert "d5" not in weights["fold_of"]
    scorers = {row.scorer for row in came.agreement}
    assert scorers >= {"mean", "votes", "weighted", "weighted.calibrated"}
    (chosen,) = came.selections
    least = chosen.thresholds[0]["value"]
    own = [value for at, value in found.items() if at[2:] == ("fluency", "weighted")]
    assert chosen.selected == sum(value >= least for value in own) > 0
    assert came.coverage == 1.0
    assert came.findings.signatures["votes"].startswith("votes@1 | majority of a, b, twice | ")
    assert "weighted by agreement" in came.findings.signatures["weighted on fluency"]
    with pytest.raises(UserError, match=r"^confidence: weighted was fitted to ratings"):
        evaljudge.calibrate(
            config["corpus"], came, scorer="weighted", good=2, precision=0.5, confidence=0.9
        )
    warned = [one for one in came.warnings if "count alike" in one]
    assert warned == ["weighted on relevance: all scorers count alike: nobody rated this axis"]
    rows = came.findings
    left_out = {(row.combination, row.scorer) for row in rows["jury"]}
    assert left_out >= {("mean", "a"), ("votes", "twice"), ("weighted", "words")}
    pairs = {(row.one, row.other) for row in rows["among_judges"]}
    assert pairs == {("a", "b"), ("a", "twice"), ("b", "twice")}
    beside_judges, beside_people, _ = rows["families"]
    assert (beside_judges.others, beside_people.others) == (["a"], ["people"])
    assert [(row.judge, row.documents, row.pairs) for row in rows["families"]] == [
        ("b", 6, 12), ("b", 5, 10), ("b", 6, 12)
    ]  # fmt: skip
    text = (Path(config["out"]) / "report/agreement.md").read_text()
    for title in (LEFT_OUT, AMONG, FAMILIES):
        assert title in text
    again = evaljudge.open_run(config["out"]).findings
    for name in ("jury", "among_judges", "families"):
        assert list(again[name]) == list(rows[name])
    assert ran(config)[1] == found
    del config["calibrate"], config["select"], config["families"]
    came, _ = ran(config | {"combine": {}})
    assert not (Path(config["out"]) / "report/combined.json").exists()
    assert not (came.findings["jury"] or came.findings["families"])
    assert came.findings["among_judges"], "judges of several models are compared"


def test_ratings_cannot_certify_what_is_made_of_them(config):
    rule = {"scorer": "jury", "axis": "fluency", "precision": 0.9, "good": 3, "confidence": 0.95}
    config |= {
        "combine": {"jury": {"of": ["a", "b"], "by": "agreement"}}, "calibrate": [],
        "select": [{"name": "sure", "all": [rule]}],
    }  # fmt: skip
    with pytest.raises(UserError, match="select.sure: jury was fitted to these ratings"):
        evaljudge.plan(config, engines=ScriptedEngines())
    config["combine"]["jury"]["by"] = "mean"
    assert evaljudge.plan(config, engines=ScriptedEngines()).total.asks


def test_families_are_of_judges_that_there_are(config):
    with pytest.raises(UserError, match="families.a: 'A' is named twice"):
        evaljudge.plan(config | {"families": {"a": ["A", "B", "A"]}}, engines=ScriptedEngines())
    with pytest.raises(UserError, match="families: unknown judge 'c'"):
        evaljudge.plan(config | {"families": {"c": ["A"]}}, engines=ScriptedEngines())
