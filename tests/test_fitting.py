"""`calibrate` and target precisions in a run: reports over verdicts that lie there, without Ray."""

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from math import inf
from pathlib import Path
from random import Random
from typing import Any

import pytest
from pyarrow import parquet

import evaljudge
from evaljudge.agreement import cross_fitted
from evaljudge.analysis.calibration import NOT_FINITE, Fit
from evaljudge.commands.options import CalibrateOptions
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.records import ANY_AXIS, Score, Verdict
from evaljudge.report.summary import agreement_text
from evaljudge.runs.outcome import Outcome
from evaljudge.runs.stages import corpus_digest
from evaljudge.storage import Output
from tests import build
from tests.build import calibrate_with, jsonl, lines
from tests.frames import judged_run

Ratings = Mapping[str, Mapping[str, Mapping[str, float]]]
Values = Mapping[str, Mapping[str, float | None]]
At = tuple[str, str]

RATED: Ratings = {
    "d1": {"A": {"fluency": 1, "relevance": 5}, "B": {"fluency": 3}},
    "d2": {"A": {"fluency": 2}, "B": {"fluency": 4}},
    "d3": {"A": {}, "B": {}},
}
SCORED: Values = {"d1": {"A": 1, "B": 2}, "d2": {"A": 1, "B": 3}, "d3": {"A": 2.5, "B": None}}
LEARNT = {  # d1 from d2, d2 from d1, d3 from both
    ("d1", "A"): 2, ("d1", "B"): 3, ("d2", "A"): 1, ("d2", "B"): 3, ("d3", "A"): 3.5,
    ("d3", "B"): None,
}  # fmt: skip


def config(folder: Path, **changes: Any) -> dict[str, Any]:
    usual = {"axes": ["fluency", "relevance"], "judges": ["direct"], "metrics": ["words"]}
    return build.config(folder, **usual | {"agreement": {"resamples": 20}} | changes)


def judged(folder: Path, ratings: Ratings = RATED, scores: Values = SCORED) -> Path:
    """A run whose every case is judged and measured, a shard each; both scorers say the same."""
    rows = [
        {"doc_id": doc_id, "source": f"source {doc_id}", "candidates": [
            {"system": system, "text": f"{system} of {doc_id}", "ratings": rated}
            for system, rated in systems.items()]}
        for doc_id, systems in ratings.items()
    ]  # fmt: skip
    jsonl(folder / "cases.jsonl", rows)

    def verdicts(doc_id: str, system: str, judge: str) -> Iterator[Verdict]:
        for axis in ("fluency", "relevance"):
            at, value = (doc_id, system, judge, axis), scores[doc_id][system]
            unscored = Verdict(*at, {}, "unscored", "no rating in the reply")
            reply = {"reply": "", "rating": value}
            yield unscored if value is None else Verdict(*at, reply)

    job, output = judged_run(config(folder), verdicts)
    measured = job.metric_signatures(corpus_digest(output))
    for shard in output.shards():
        measures = [
            Score(doc_id, system, "words", ANY_AXIS, value, "" if value else "empty text")
            for doc_id, system, _ in output.texts(shard)
            for value in [scores[doc_id][system]]
        ]
        output.write_measures("words", shard, measures)
        output.commit("measure", shard, {"shard": shard.number, "measured": measured})
    return folder


def reported(folder: Path, **changes: Any) -> Outcome:
    return evaljudge.make_report(config(folder, **changes), engines=ScriptedEngines())


def rows(folder: Path, scorer: str) -> dict[At, Score]:
    """The scores on fluency, or on no axis, from the score files."""
    output = Output(str(folder / "out"))
    return {
        (score.doc_id, score.system): score
        for shard in output.shards()
        for score in output.scores(shard)
        if score.scorer == scorer and score.axis in ("fluency", ANY_AXIS)
    }


def values(folder: Path, scorer: str) -> dict[At, float | None]:
    return {at: score.value for at, score in rows(folder, scorer).items()}


def scorers(folder: Path) -> list[tuple[str, str]]:
    """Of the last shard's file."""
    output = Output(str(folder / "out"))
    return sorted({(s.scorer, s.axis) for s in output.scores(output.shards()[-1])})


def maps(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "out/report/calibration.json").read_text())


AS_JUDGED = [("direct", "fluency"), ("direct", "relevance"), ("words", "*")]


def test_scores_of_every_shard_are_calibrated_by_the_folds_they_are_not_of(tmp_path):
    outcome = reported(judged(tmp_path), calibrate=["direct"])
    assert len(Output(str(tmp_path / "out")).shards()) == 3
    assert scorers(tmp_path) == sorted([*AS_JUDGED, ("direct.calibrated", "fluency")])
    assert values(tmp_path, "direct.calibrated") == LEARNT
    unscored = rows(tmp_path, "direct.calibrated")["d3", "B"]
    assert unscored.reason == rows(tmp_path, "direct")["d3", "B"].reason == "no rating in the reply"
    line = outcome.findings.signatures["direct.calibrated"]
    assert line == unscored.signature
    assert line.startswith(
        "direct.calibrated@2 | of direct | isotonic, 2 folds by document, divisions 1, seed 0 | "
        "4 pairs of 2 documents | evaljudge "
    )


def test_the_report_sees_it_as_any_scorer(tmp_path):
    found = reported(judged(tmp_path), calibrate=["direct"]).findings
    (row,) = [c for c in found.coverage if c.scorer == "direct.calibrated"]
    assert (row.axis, row.scored, row.unscored) == ("fluency", 5, 1)
    assert row.reasons == {"no rating in the reply": 1}
    means = {
        one.system: one.mean
        for m in found["systems"]
        if m.scorer == "direct.calibrated"
        for one in m.systems
    }
    assert means == {"A": pytest.approx((2 + 1 + 3.5) / 3), "B": 3}
    sample = {a.scorer: (a.value, a.n) for a in found.agreement
              if (a.axis, a.level, a.coefficient) == ("fluency", "sample", "spearman")}  # fmt: skip
    assert sample == dict.fromkeys(["direct", "direct.calibrated", "words"], (1, 2))
    assert {a.n for a in found.agreement if a.scorer == "direct.calibrated"} == {2, 4}
    compared = {name for row in found["significance"] for name in [row.best, *row.undefined]}
    compared |= {rival.scorer for row in found["significance"] for rival in row.rivals}
    assert "direct.calibrated" not in compared  # it has the order of direct, and ties


def test_another_report_changes_it_freely_and_one_without_takes_it_all_back(tmp_path):
    reported(judged(tmp_path), calibrate=["direct"])
    first = json.loads((tmp_path / "out/run.json").read_text())["fingerprint"]
    for _ in range(2):
        reported(tmp_path, calibrate=["words"])
        assert scorers(tmp_path) == sorted([*AS_JUDGED, ("words.calibrated", "fluency")])
        assert len(rows(tmp_path, "words.calibrated")) == 6
        assert [row["scorer"] for row in maps(tmp_path)] == ["words.calibrated"]
    found = reported(tmp_path).findings
    assert not {"calibration.json", "intervals.json"} & set(os.listdir(tmp_path / "out/report"))
    assert scorers(tmp_path) == AS_JUDGED
    assert {row.scorer for row in found.coverage} == {"direct", "words"}
    assert not any("calibrated" in name for name in found.signatures)
    assert json.loads((tmp_path / "out/run.json").read_text())["fingerprint"] == first
    (file, *_) = (tmp_path / "out/scores").iterdir()
    assert "low" not in parquet.read_schema(file).names


def test_a_scorer_without_axes_is_calibrated_to_each_that_is_rated(tmp_path):
    more = RATED | {"d3": {"A": {"relevance": 2}, "B": {}}}
    found = reported(judged(tmp_path, more), calibrate=["words"]).findings
    assert [(row["axis"], row["pairs"]) for row in maps(tmp_path)] == [
        ("fluency", 4),
        ("relevance", 2),
    ]
    assert {c.axis for c in found.coverage if c.scorer == "words.calibrated"} == {
        "fluency",
        "relevance",
    }
    # d3 is rated, though not on fluency: there it takes the map of all.
    assert values(tmp_path, "words.calibrated")["d3", "A"] == 3.5
    lines = {name: line for name, line in found.signatures.items() if "calibrated" in name}
    assert lines.keys() == {"words.calibrated on fluency", "words.calibrated on relevance"}
    assert "4 pairs of 2 documents" in lines["words.calibrated on fluency"]
    assert "2 pairs of 2 documents" in lines["words.calibrated on relevance"]


FEW = "not calibrated on relevance: fewer than 2 documents have both a score and a rating"
EQUAL: Ratings = {doc_id: {system: {"fluency": 3} for system in "AB"} for doc_id in RATED}
UNRATED: Ratings = {doc_id: {"A": {}, "B": {}} for doc_id in RATED}
FALLING: Values = {
    d: {s: None if v is None else -v for s, v in of.items()} for d, of in SCORED.items()
}


@pytest.mark.parametrize(
    ("ratings", "scores", "said"),
    [
        (RATED, SCORED, f"direct: {FEW}"),
        (RATED, SCORED, f"words: {FEW}"),
        (RATED, FALLING, "words: ratings of fluency do not rise"),
        (EQUAL, SCORED, "words: ratings of fluency are all the same, so there is nothing to learn"),
        (UNRATED, SCORED, "words: not calibrated: no candidate has human ratings"),
        (UNRATED, SCORED, "direct: not calibrated on fluency, relevance"),
    ],
    ids=["few", "few of a metric", "falling", "equal", "none of a metric", "none"],
)
def test_what_cannot_be_calibrated_is_warned_of(tmp_path, ratings, scores, said):
    reported_ = reported(judged(tmp_path, ratings, scores), calibrate=["direct", "words"])
    assert any(warning.startswith(said) for warning in reported_.findings.warnings)
    if scores is FALLING:
        assert set(values(tmp_path, "words.calibrated").values()) == {3, 2, 2.5, None}
    if ratings is UNRATED:
        assert scorers(tmp_path) == AS_JUDGED
        assert not (tmp_path / "out/report/calibration.json").exists()


def test_an_infinite_score_is_no_number():
    fitted = cross_fitted([0, 1], [1, 2], [1, 2])
    fit = Fit("s", "*", "fluency", fitted, {}, 0, "", 0, None)
    found = fit.of(Score("d", "A", "s", "*", inf))
    assert (found.value, found.reason) == (None, NOT_FINITE)
    assert (found.scorer, found.axis) == ("s.calibrated", "fluency")


def test_is_what_the_command_finds_of_the_same_scores(tmp_path):
    """`evaljudge calibrate` of a run's scores: the same folds, maps and values."""
    random, systems = Random(3), "ABC"
    ratings: Ratings = {
        f"d{n}": {s: {"fluency": random.randint(1, 5)} if n % 4 else {} for s in systems}
        for n in range(16)
    }
    scores = {d: {s: round(random.uniform(1, 5), 1) for s in systems} for d in ratings}
    reported(judged(tmp_path, ratings, scores), calibrate=["direct"], seed=0)
    given = [
        {"doc_id": d, "system": s, "scorer": "direct", "axis": "fluency", "value": value}
        for d, of in scores.items()
        for s, value in of.items()
    ]
    scored = jsonl(tmp_path / "scores.jsonl", given)
    wanted = CalibrateOptions(str(tmp_path / "cases.jsonl"), [scored], resamples=5)
    (told,) = json.loads(calibrate_with(wanted, str(tmp_path / "command"), True))
    (mine,) = maps(tmp_path)
    assert mine["documents"] == 12
    assert mine == {key: told[key] for key in mine}
    told_of = lines(tmp_path / "command/calibrated.jsonl")
    theirs = {(row["doc_id"], row["system"]): row["value"] for row in told_of}
    assert len(theirs) == 48
    assert values(tmp_path, "direct.calibrated") == pytest.approx(theirs)


# selections


def select(scorer: str = "direct", axis: str = "fluency", **asked: float) -> dict[str, Any]:
    condition = {"scorer": scorer, "axis": axis} | asked
    return {"select": [{"name": "good", "all": [condition]}]}


def chosen(folder: Path) -> list[At]:
    return [(row["doc_id"], row["system"]) for row in lines(folder / "out/selected/good.jsonl")]


def test_a_precision_is_selected_by_and_its_worth_told(tmp_path):
    """Of the ratings 4 3 | 1 2, by score: 3 and 2 select good ones alone, 1 half of them.

    On the second document alone 3 would be chosen, which selects nothing of the first; on the first
    alone 2, which selects one of the second: a good one, of the two good ones that there are.
    """
    outcome = reported(judged(tmp_path), **select(precision=0.9, good=3))
    assert chosen(tmp_path) == [("d1", "B"), ("d2", "B"), ("d3", "A")]
    (selected,) = outcome.findings.selections
    assert (selected.considered, selected.selected, selected.unscored) == (6, 3, 1)
    (threshold,) = json.loads((tmp_path / "out/selected/good.json").read_text())["thresholds"]
    shares = threshold.pop("cross_fitted")
    assert threshold == {
        "scorer": "direct", "axis": "fluency", "precision": 0.9, "good": 3, "value": 2,
        "best": 1, "documents": 2, "kind": "estimate",
    }  # fmt: skip
    assert shares["precision"] == {"value": 1, "low": 1, "high": 1, "n": 1}
    assert shares["recall"] == {"value": 0.5, "low": 0, "high": 1, "n": 2}
    assert not any(warning.startswith("select") for warning in outcome.findings.warnings)


@pytest.mark.parametrize(
    ("scorer", "axis", "asked", "said", "unscored"),
    [
        ("direct", "fluency", {"precision": 0.9, "good": 4},
         "no threshold reaches 0.9; the best precision is 0.5", 1),
        ("direct", "fluency", {"precision": 0.9, "good": 5},
         "no candidate is rated 5 or higher", 1),
        ("direct", "relevance", {"precision": 0.9, "good": 4},
         "fewer than 2 documents have both a score and a rating", 1),
        ("words.calibrated", "fluencey", {"at_least": 1},
         "no scores there (calibrated on: fluency)", 6),
        ("words.calibrated", "fluencey", {"precision": 0.5, "good": 1},
         "no scores there (calibrated on: fluency)", 6),
    ],
)  # fmt: skip
def test_where_a_condition_cannot_be_met_nothing_is_selected_and_why_is_said(
    tmp_path, scorer, axis, asked, said, unscored
):
    """Scores where the two best are rated 4 and 3."""
    tied = SCORED | {"d2": {"A": 1, "B": 2}}
    rule = select(scorer, axis, **asked)
    found = reported(judged(tmp_path, scores=tied), calibrate=["words"], **rule).findings
    assert f"select.good: {scorer} on {axis}: {said}: nothing is selected" in found.warnings
    (selected,) = found.selections
    assert (selected.considered, selected.selected, selected.unscored) == (6, 0, unscored)
    assert all(row["value"] is None for row in selected.thresholds)
    assert chosen(tmp_path) == []


def many(documents: int) -> tuple[Ratings, Values]:
    """Half of the texts are rated 2 and scored 20 or 21; the others, 4, and 40 or 41."""
    names = [f"d{number:02}" for number in range(documents)]
    of = {name: {"A": 2 + 2 * (n % 2), "B": 4 - 2 * (n % 2)} for n, name in enumerate(names)}
    ratings = {name: {s: {"fluency": r} for s, r in rated.items()} for name, rated in of.items()}
    scores: Values = {
        name: {system: 10 * rating + n // 2 % 2 for system, rating in of[name].items()}
        for n, name in enumerate(names)
    }
    return ratings, scores


def test_each_calibrated_score_has_an_interval(tmp_path):
    ratings, scores = many(50)
    scores = {**scores, "d07": {"A": None, "B": 31}}
    outcome = reported(judged(tmp_path, ratings, scores), calibrate=["direct"])
    found = rows(tmp_path, "direct.calibrated")
    assert {(one.low, one.high) for one in found.values()} == {(2, 2), (4, 4), (3, 4), (None, None)}
    assert (found["d07", "A"].low, found["d07", "B"].low) == (None, 3)
    assert {one.low for one in rows(tmp_path, "direct").values()} == {None}
    (every, *_) = outcome.findings["intervals"]
    assert (every.scorer, every.axis, every.system) == ("direct.calibrated", "fluency", "")
    assert (every.documents, every.coverage, every.width) == (50, 0.98, 0.02)
    written = json.loads((tmp_path / "out/report/intervals.json").read_text())
    assert written == [asdict(row) for row in outcome.findings["intervals"]]
    assert "direct.calibrated  fluency  50         0.980" in agreement_text(outcome.findings)


def test_calibrated_scores_are_selected_by_if_certified(tmp_path):
    asked = select(precision=0.9, good=3, confidence=0.9)
    found = reported(judged(tmp_path), **asked).findings
    said = "no threshold is certified to reach 0.9 with 90% confidence; about"
    assert any(w.startswith(f"select.good: direct on fluency: {said}") for w in found.warnings)
    assert chosen(tmp_path) == []
    (threshold,) = json.loads((tmp_path / "out/selected/good.json").read_text())["thresholds"]
    assert (threshold["kind"], threshold["value"], threshold["documents"]) == ("certified", None, 2)
    asked = select("words.calibrated", at_least=3)
    reported(judged(tmp_path), calibrate=["words"], **asked)
    assert chosen(tmp_path) == [("d1", "B"), ("d2", "B"), ("d3", "A")]
    asked = select("words.calibrated", precision=1, good=3, at_least=3.1)
    reported(tmp_path, calibrate=["words"], **asked)
    assert chosen(tmp_path) == [("d3", "A")]
