"""Few ratings among many scores: from cases to rows, warnings, the report and its file."""

import importlib
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evaljudge
from evaljudge.agreement.rated import Grid
from evaljudge.config import Config, Selection
from evaljudge.decisions.people import PeopleScale
from tests.build import SHARED, jsonl, needs_shared
from tests.frames import frame, rows, warnings

NAN = np.nan
BENCHES = Path(__file__).parents[1] / "benches"
SYSTEMS = "A", "B"


def grid(rated: Any = slice(0, 40, 4), systems: int = 2, **more: Any) -> Grid:
    """Of 40 documents; people rate what the judge sees, in part."""
    rng = np.random.default_rng(1)
    scores = rng.normal(0, 1, (40, systems)) + rng.normal(0, 1, (40, 1))
    human = np.full_like(scores, NAN)
    human[rated] = 3 + scores[rated] + rng.normal(0, 0.5, human[rated].shape)
    names = [f"d{n:02}" for n in range(40)]
    columns = {("judge", "tone"): scores, ("judge#2", "tone"): scores, ("words", "*"): -scores}
    return Grid(names, list("ABCDEFGH"[:systems]), columns, {"tone": human}, **more)


def rule(**condition: Any) -> Selection:
    given = {"scorer": "judge", "axis": "tone"} | condition
    return Selection.model_validate({"name": "good", "all": [given]})


def with_people_scale(
    table: Grid, select: Sequence[Selection] = (), thresholds: Any = None
) -> list[PeopleScale]:
    asked = Config.model_construct(select=list(select), families={}, outliers=None)
    return rows("people_scale", frame(grid=table, config=asked, thresholds=thresholds or {}))


def scale_warnings(table: Grid, found: Sequence[PeopleScale]) -> dict[str, str]:
    return warnings("people_scale", frame(grid=table), {"people_scale": found})


def test_a_row_for_each_scorer_that_meets_the_axis():
    rows = with_people_scale(grid(is_sample=True))
    assert [(row.scorer, row.axis, row.sampled) for row in rows] == [
        ("judge", "tone", True), ("words", "tone", True)
    ]  # fmt: skip
    assert rows[0].effective > 1.5 * rows[0].labels  # type: ignore[operator]
    assert rows[1].slope == pytest.approx(-rows[0].slope)  # type: ignore[operator]
    assert scale_warnings(grid(), rows) == {}
    assert with_people_scale(grid().on(["mood"])) == []
    assert with_people_scale(grid(rated=slice(0, 40))) == []


def test_a_pass_rate_for_each_condition_that_says_what_is_good():
    asked = [rule(at_least=0.5, good=4), rule(at_least=0.5), rule(at_least=0.2, good=4)]
    judge, words = with_people_scale(grid(), asked)
    assert [(rate.threshold, rate.good) for rate in judge.pass_rates] == [(0.2, 4), (0.5, 4)]
    assert words.pass_rates == []
    target = ("judge", "tone"), 0.9, 4.0
    (row, _) = with_people_scale(grid(), [rule(precision=0.9, good=4)], {target: None})
    assert row.pass_rates == []


def test_probabilities_of_being_drawn_are_used():
    known = np.full((40, 2), NAN)
    known[4:40:4, 0], known[0, 0] = 0.5, 0.01
    tables = grid(probabilities={"tone": known})
    row, _ = with_people_scale(tables)
    first = tables.human["tone"][0, 0]
    assert row.systems[0].by_labels.value == pytest.approx(first, abs=0.7)
    assert row.systems[1].labels == 0  # rated, but not drawn
    tables = replace(tables, is_sample=True)
    assert with_people_scale(tables) == []
    (said,) = scale_warnings(tables, []).values()
    assert said.startswith("tone: too many texts to correct people's means by the scores")


def test_what_speaks_against_the_means_is_said():
    best = np.argsort(-grid().scores["judge", "tone"].sum(axis=1))[:10]
    (said,) = scale_warnings(grid(), with_people_scale(grid(rated=best))).values()
    assert said.startswith("tone: the rated texts differ in score from the others by more than")
    tables = grid(systems=8)
    tables.human["tone"][:30, 1:6] = NAN
    (said,) = scale_warnings(tables, with_people_scale(tables)).values()
    assert (
        said == "tone: no mean on people's scale for B, C, D and 2 more: fewer than 6 rated texts"
    )
    tables = replace(tables, probabilities={"tone": np.ones_like(tables.human["tone"])})
    (said,) = scale_warnings(tables, with_people_scale(tables)).values()
    assert said.endswith(" more: fewer than 6 texts rated on sheets")
    few = with_people_scale(grid(rated=slice(0, 35, 5)))
    (said,) = scale_warnings(grid(), few).values()
    assert said == "tone: means on people's scale rest on 7 rated documents: rate 10 or more"


@pytest.fixture
def cases(tmp_path):
    tables = grid()
    rows = [
        {"doc_id": document, "source": "s", "candidates": [
            {"system": s, "text": "word " * (3 + n % 7 + place)}
            | ({} if np.isnan(value) else {"ratings": {"tone": float(value)}})
            for place, (s, value) in enumerate(zip(SYSTEMS, tables.human["tone"][n], strict=True))]}
        for n, document in enumerate(tables.documents)
    ]  # fmt: skip
    return jsonl(tmp_path / "cases.jsonl", rows)


def test_a_run_writes_them_with_the_pass_rates_of_its_selections(cases, tmp_path):
    condition = {"scorer": "words", "axis": "*", "at_least": 6, "good": 3}
    config = {"corpus": cases, "out": str(tmp_path / "out"), "judges": {}, "metrics": ["words"],
              "select": [{"name": "good", "all": [condition]}]}  # fmt: skip
    found = evaljudge.run(config).findings
    ((rate,),) = (row.pass_rates for row in found["people_scale"])
    assert (rate.threshold, rate.good, rate.labels) == (6, 3, 20)
    text = (tmp_path / "out/report/agreement.md").read_text()
    assert "What share of the texts is good" in text and "20 of 80" in text
    (row,) = json.loads((tmp_path / "out/report/people_scale.json").read_text())
    assert (row["scorer"], row["axis"], row["documents"]) == ("words", "tone", 40)
    assert row["systems"][0]["corrected"].keys() == {"value", "low", "high"}


@needs_shared
def test_summeval_with_a_tenth_of_its_documents_rated(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHES))
    bench = importlib.import_module("few_labels")
    corpus = bench.read(SHARED / "summeval.jsonl", SHARED / "summeval_metrics.jsonl")
    scores, ratings = corpus.scores["METEOR", "relevance"], corpus.ratings["relevance"]
    found = bench.few_labels(corpus.systems, scores, ratings, 0.1, 25)
    assert 0.92 < found["kept"] <= 1 and 0.92 < found["differences"]["kept"] <= 1
    assert found["width"] == pytest.approx(1, abs=0.05)  # METEOR adds next to nothing
    # a judge that people agree with: their own ratings, less exact
    noisy = ratings + np.random.default_rng(0).normal(0, 0.2, ratings.shape)
    exact = bench.few_labels(corpus.systems, noisy, ratings, 0.1, 25)
    assert 0.92 < exact["kept"] <= 1
    assert exact["width"] < 0.6 and exact["a_label_counts_as"] > 3
