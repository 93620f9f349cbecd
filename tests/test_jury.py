"""What a jury's judges add, how far they agree, and whom they favour; by hand and in a run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evaljudge
from evaljudge.agreement.agree import agreements
from evaljudge.agreement.rated import Floats, Rated
from evaljudge.analysis.combining import Combination, weights_of
from evaljudge.analysis.jury import among_judges, family_rows, family_warnings, left_out
from evaljudge.config import Rule
from evaljudge.decisions.grid import Grid
from evaljudge.engines import Identity, ModelSource
from evaljudge.engines.scripted import Scripted, ScriptedEngines, noise
from evaljudge.model.asks import Options, Prompt

DOCUMENTS, SYSTEMS = 40, 5
DRAW = np.random.default_rng(1)
HUMAN = DRAW.normal(0, 1, (DOCUMENTS, SYSTEMS))
TABLES = {
    "good": HUMAN + DRAW.normal(0, 0.7, HUMAN.shape),
    "fair": HUMAN + DRAW.normal(0, 0.9, HUMAN.shape),
    "random": DRAW.normal(0, 2, HUMAN.shape),
}
NAMES = np.repeat([f"d{n:02}" for n in range(DOCUMENTS)], SYSTEMS).astype(object)


def rated(tables: Mapping[str, Floats]) -> Rated:
    codes = np.repeat(np.arange(DOCUMENTS), SYSTEMS)
    scores = {(name, "fluency"): table.ravel() for name, table in tables.items()}
    return Rated(codes, np.tile(np.arange(SYSTEMS), DOCUMENTS), scores,
                 {"fluency": HUMAN.ravel()}, {})  # fmt: skip


def combination(by: Rule, tables: Mapping[str, Floats] = TABLES) -> Combination:
    return Combination(tuple((name, 1.0) for name in tables), by)


@pytest.mark.parametrize("by", ["mean", "median", "agreement"])
def test_one_that_answers_at_random_is_left_out_at_a_gain(by: Rule) -> None:
    one = combination(by)
    fitted = {}
    if by == "agreement":
        fitted["jury", "fluency"] = weights_of("jury", one, "fluency", rated(TABLES), NAMES, 0)
    of = rated(TABLES | {"jury": np.mean(list(TABLES.values()), axis=0)})
    rows = list(left_out({"jury": one}, fitted, of, NAMES, 200, 0))
    found = {(row.scorer, row.level): row for row in rows}
    assert set(found) == {(s, level) for s in TABLES for level in ("sample", "system", "summary")}
    gains = {scorer: found[scorer, "sample"] for scorer in TABLES}
    random, good = gains["random"], gains["good"]
    assert good.gain is not None and good.gain < 0
    if by == "agreement":
        assert random.gain == pytest.approx(0, abs=0.05), "its weight is small already"
    else:
        assert random.low is not None and random.low > 0
        assert good.high is not None and good.high < 0


def test_the_gain_is_the_difference_of_the_agreements() -> None:
    of = rated(TABLES | {"jury": HUMAN})
    (row,) = [
        row for row in left_out({"jury": combination("mean")}, {}, of, NAMES, 0, 0)
        if (row.scorer, row.level) == ("random", "sample")
    ]  # fmt: skip

    def agreed(*tables: Floats) -> float:
        (one,) = [
            a for a in agreements(of.documents, of.systems, np.mean(tables, axis=0).ravel(),
                                  HUMAN.ravel(), coefficients=["spearman"], resamples=0)
            if a.level == "sample"
        ]  # fmt: skip
        assert one.value is not None
        return one.value

    assert row.with_all == pytest.approx(agreed(*TABLES.values()))
    assert row.without == pytest.approx(agreed(TABLES["good"], TABLES["fair"]))
    assert row.gain == pytest.approx((row.without or 0) - (row.with_all or 0))


def grid(tables: Mapping[str, Any], human: Any = None) -> Grid:
    shape = next(iter(tables.values())).shape
    return Grid(
        documents=[f"d{n}" for n in range(shape[0])],
        systems=["own", "kin", "x", "y", "z"][: shape[1]],
        scores={(name, "fluency"): table for name, table in tables.items()},
        human={} if human is None else {"fluency": human},
    )


def test_judges_are_compared_on_texts_that_nobody_rated() -> None:
    rows = list(among_judges(list(TABLES), grid(TABLES), 100, 0))
    spearman = {(r.one, r.other): r for r in rows
                if (r.level, r.coefficient) == ("sample", "spearman")}  # fmt: skip
    assert set(spearman) == {("good", "fair"), ("good", "random"), ("fair", "random")}
    alike, apart = spearman["good", "fair"], spearman["good", "random"]
    assert alike.low is not None and apart.high is not None
    assert alike.low > apart.high
    assert (alike.n, alike.axis) == (DOCUMENTS, "fluency")


# families


def test_a_preference_for_the_own_family_by_hand() -> None:
    """Document 1: own 3, kin 1, x 2 -> 1 of own's pairs, 0 of kin's; document 2: a tie, and none
    for what is unscored."""
    nan = np.nan
    mine = np.array([[3.0, 1.0, 2.0], [2.0, nan, 2.0]])
    others = {"b": np.array([[1.0, 1.0, 2.0], [1.0, 1.0, 3.0]]),
              "c": np.array([[9.0, 1.0, 5.0], [4.0, 1.0, 3.0]])}  # fmt: skip
    people = np.array([[1.0, 2.0, 2.0], [nan, nan, nan]])
    scorers = {name: name for name in "abc"}
    of = grid({"a": mine} | others, people)
    (row,) = family_rows({"a": ["own", "kin"]}, scorers, of, 0, 0)
    assert row.share == pytest.approx((1 + 0 + 0.5) / 3)
    assert row.others == pytest.approx(((0 + 1) / 2 + (0 + 0) / 2 + (0 + 1) / 2) / 3)
    assert row.excess == pytest.approx(1.5 / 3 - 1 / 3)
    assert row.people == pytest.approx((0 + 0.5) / 2)
    assert row.over_people == pytest.approx((1 + 0) / 2 - 0.25)
    assert (row.documents, row.axis, row.systems) == (2, "fluency", ["own", "kin"])


def test_a_judge_that_favours_its_own_is_found_and_one_that_does_not_is_not() -> None:
    biased = HUMAN + DRAW.normal(0, 0.5, HUMAN.shape)
    biased[:, 0] += 1.5
    of = grid({"biased": biased, **TABLES}, HUMAN)
    scorers = {name: name for name in ("biased", *TABLES)}
    families = {"biased": ["own"], "good": ["x"]}
    one, fair = family_rows(families, scorers, of, 500, 0)
    assert one.low is not None and one.low > 0.1
    assert one.people_low is not None and one.people_low > 0.1
    assert fair.low is not None and fair.high is not None
    assert fair.low < 0 < fair.high


def test_judges_of_one_family_are_not_each_others_measure() -> None:
    favours = np.array([[2.0, 1.0, 1.0]] * 9)
    fair = np.array([[1.0, 1.0, 1.0]] * 9)
    scorers = {"a": "a", "twin": "twin", "b": "b"}
    of = grid({"a": favours, "twin": favours, "b": fair})
    rows = list(family_rows({"a": ["own"], "twin": ["own"]}, scorers, of, 0, 0))
    assert [row.excess for row in rows] == [0.5, 0.5]
    alone = grid({"a": favours})
    (row,) = family_rows({"a": ["own"]}, {"a": "a"}, alone, 0, 0)
    assert (row.share, row.others, row.excess, row.people) == (1.0, None, None, None)


def test_a_family_without_texts_is_said() -> None:
    of = grid({"a": np.ones((2, 3))})
    assert list(family_warnings({"a": ["own", "gpt"]}, of)) == ["families.a: no text is by gpt"]
    (row,) = family_rows({"a": ["gpt"]}, {"a": "a"}, of, 10, 0)
    assert (row.share, row.documents) == (None, 0)


# in a run


class Jury(ScriptedEngines):
    """Models that rate by a text's words `good`, with an error of their own, or at random."""

    def identify(self, source: ModelSource) -> Identity:
        return Identity(source.source, "1", source.chat, source.engine)

    def open(self, source: ModelSource, seed: int) -> Scripted:
        def chooses(prompt: Prompt, options: Options) -> Mapping[str, float]:
            error = 3 * (noise(source.source, prompt.text) - 0.5)
            level = 1 + prompt.text.count("good") + error
            if source.source == "random":
                level = 5 * (noise(prompt.text) > 0.5)
            weights = {n: -((level - at - 1) ** 2) for at, n in enumerate(options.names)}
            total = np.log(sum(map(np.exp, weights.values())))
            return {name: weight - total for name, weight in weights.items()}

        return Scripted(chooses=chooses)


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    rows = [
        {
            "doc_id": f"d{n:02}",
            "source": f"source {n}",
            "candidates": [
                {"system": s, "text": f"{s} {n} " + "good " * level, "ratings": {"fluency": level}}
                for s in "ABCD"
                for level in [1 + int(4 * noise(s, str(n)))]
            ],
        }
        for n in range(24)
    ]
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return {
        "corpus": str(tmp_path / "cases.jsonl"),
        "out": str(tmp_path / "out"),
        "axes": ["fluency"],
        "model": "m",
        "judges": {
            "geval": {},
            "second": {"judge": "geval", "model": "n"},
            "chance": {"judge": "geval", "model": "random"},
        },
        "combine": {
            "mean": ["geval", "second", "chance"],
            "weighted": {"of": ["geval", "second", "chance"], "by": "agreement"},
        },
        "families": {"chance": ["A"]},
        "agreement": {"resamples": 100, "permutations": 0},
        "view": 2,
    }


def test_a_jury_of_three_models_in_one_run(config: dict[str, Any]) -> None:
    came = evaljudge.run(config, engines=Jury(), progress=False)
    found = came.findings
    gains = {row.scorer: row for row in found.jury
             if (row.combination, row.level) == ("mean", "sample")}  # fmt: skip
    assert (gains["chance"].low or 0) > 0
    assert all((gains[name].gain or 0) < 0 for name in ("geval", "second"))
    sample = {(r.scorer, r.axis): r.value for r in found.agreement
              if (r.level, r.coefficient) == ("sample", "spearman")}  # fmt: skip
    assert (sample["weighted", "fluency"] or 0) > (sample["mean", "fluency"] or 0)
    names = {(row.one, row.other) for row in found.among_judges}
    assert names == {("geval", "second"), ("geval", "chance"), ("second", "chance")}
    (family,) = found.families
    assert (family.judge, family.axis, family.documents) == ("chance", "fluency", 24)
    text = (Path(config["out"]) / "report/agreement.md").read_text()
    for title in ("Juries with each scorer left out", "Judges among themselves",
                  "Judges and their own families"):  # fmt: skip
        assert title in text
    again = evaljudge.open_run(config["out"]).findings
    assert (again.jury, again.among_judges) == (found.jury, found.among_judges)
    assert list(again.families) == list(found.families)
    page = (Path(config["out"]) / "report/index.html").read_text()
    assert "Juries with each scorer left out" in page


def test_a_run_without_a_jury_says_nothing_of_one(config: dict[str, Any]) -> None:
    for key in ("combine", "families"):
        del config[key]
    config["judges"] = {"geval": {}}
    came = evaljudge.run(config, engines=Jury(), progress=False)
    assert not (came.findings.jury or came.findings.among_judges or came.findings.families)
    text = (Path(config["out"]) / "report/agreement.md").read_text()
    assert "Jur" not in text and "themselves" not in text
