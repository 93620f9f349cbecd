"""Checklists: the questions that are kept, their score by hand, and weights that see no document's
own ratings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import log
from random import Random
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.judges.checked import shown_answer
from evaljudge.judges.checklist.judge import Checklist, ridge
from evaljudge.model.asks import Failed, Options, Prompt, Sample, Writing, Written
from evaljudge.prompts import load_task
from evaljudge.reasons import by_kind
from evaljudge.records import Verdict
from tests import build
from tests.judges.builders import briefs_of, verdicts_of

YES = {"Is it whole?": 0.9, "Is it in one tense?": 0.8, "Does it say nothing twice?": 0.4}


def judge(**settings: Any) -> Checklist:
    return Checklist(settings, load_task("summary", ["fluency"]))


def model(*questions: str, asked: list[str] | None = None) -> Scripted:
    """Writes these questions, and answers them as YES has it."""

    def write(prompt: Prompt, how: Writing) -> str:
        if asked is not None:
            asked.append(prompt.text)
        return json.dumps({"questions": questions or [*YES]})

    def choose(prompt: Prompt, options: Options) -> dict[str, float]:
        (yes,) = (p for question, p in YES.items() if question in prompt.text)
        return {"Yes": log(yes), "No": log(1 - yes)}

    return Scripted(writes=write, chooses=choose)


def test_the_score_is_the_mean_of_yes_on_the_scale_and_its_reason_is_shown():
    briefs = briefs_of(judge(), model(*YES, " Is it whole? ", "…", ""))
    assert [brief.content for brief in briefs] == [{"questions": [*YES]}]
    verdict = verdicts_of(judge(), briefs, model())["A"]
    assert [one["question"] for one in verdict.evidence["answers"]] == [*YES]
    (score,) = judge().score(verdict)
    assert score.value == pytest.approx(1 + 4 * 0.7)
    entropies = [binom(1, p).entropy() / log(2) for p in YES.values()]
    assert score.doubt == pytest.approx(np.mean(entropies)), "so it may be a cascade's first"
    (table,) = shown_answer(verdict).tables
    assert table.heads == ["question", "Yes", "No"]
    assert table.rows == [["Is it whole?", "0.900", "0.100"],
                          ["Is it in one tense?", "0.800", "0.200"],
                          ["Does it say nothing twice?", "0.400", "0.600"]]  # fmt: skip


@pytest.mark.parametrize("once", [False, True])
def test_it_is_written_for_each_document_or_from_the_axis_alone(once):
    asked: list[str] = []
    briefs_of(judge(written_for="axis" if once else "document", most=7), model(asked=asked))
    assert ("The river rose." in asked[0]) != once
    assert "at most 7 questions" in asked[0] and "the quality of the individual" in asked[0]


@pytest.mark.parametrize(
    ("reply", "finish", "reason"),
    [
        ('{"questions": ["Is it wh', "length", "the reply was cut at its token limit"),
        ('{"questions": ["", "?!"]}', "stop", "the checklist is empty"),
        ('["Is it whole?"]', "stop", '“["Is it whole?"]” where an object was asked for'),
    ],
)
def test_without_questions_no_text_is_scored(reply, finish, reason):
    class Writer(Scripted):
        async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
            return [Written((Sample(reply, finish),)) for _ in prompts]

    briefs = briefs_of(judge(), Writer())
    assert {brief.reason for brief in briefs} == {reason}
    (score,) = judge().score(verdicts_of(judge(), briefs, Scripted())["A"])
    assert (score.value, score.reason) == (None, reason)
    assert by_kind(["the checklist is empty"]) == {"empty checklist": 1}


# weights


def verdicts(documents: int, seed: int = 0) -> list[Verdict]:
    """Of three questions: the first decides, the second says nothing, the third is wrong."""
    draw = Random(seed)
    found = []
    for number in range(documents):
        for system in "AB":
            answers = [{"question": q, "logprobs": {"Yes": log(p), "No": log(1 - p)}}
                       for q in YES for p in [draw.uniform(0.05, 0.95)]]  # fmt: skip
            at = (f"d{number}", system, "checklist", "fluency")
            found.append(Verdict(*at, {"answers": answers}))
    return found


def rated(found: Sequence[Verdict]) -> dict[tuple[str, str], dict[str, float]]:
    first, _, third = (
        [float(np.exp(v.evidence["answers"][at]["logprobs"]["Yes"])) for v in found]
        for at in range(3)
    )
    return {
        (v.doc_id, v.system): {"fluency": 1 + 4 * one - 2 * three}
        for v, one, three in zip(found, first, third, strict=True)
    }


def fitted(found: Sequence[Verdict], ratings: Mapping[Any, Any]) -> dict[tuple[str, str], float]:
    one = judge(written_for="axis", fitted=True)
    learnt = one.fit(found, lambda: ratings)
    scores = {(v.doc_id, v.system): one.score_by(learnt, v)[1] for v in found}
    return {key: score.value for key, score in scores.items() if score.value is not None}


def test_weights_are_never_negative_and_follow_the_ratings():
    found = verdicts(200)
    learnt = judge(written_for="axis", fitted=True).fit(found, lambda: rated(found))
    _, first, second, third = learnt[" | ".join(["fluency", *YES])]["whole"]
    assert first == pytest.approx(4, abs=0.3) and second < 0.3 and third == 0
    exact = ridge(np.array([[0.0], [1.0]]), np.array([1.0, 3.0]))  # w = Σxy / (Σx² + 1)
    assert exact == pytest.approx([2 - 1 / 3, 2 / 3])


def test_no_document_is_scored_by_its_own_ratings():
    """Whatever people say of a document, its own scores stay; others' change."""
    found = verdicts(20)
    ratings = rated(found)
    before = fitted(found, ratings)
    after = fitted(found, ratings | {("d3", system): {"fluency": 5.0} for system in "AB"})
    assert after["d3", "A"] == before["d3", "A"] and after["d3", "B"] == before["d3", "B"]
    assert sum(after[key] != before[key] for key in before) >= 20
    noise = {key: {"fluency": Random(repr(key)).uniform(1, 5)} for key in ratings}
    told = np.array([(value, noise[key]["fluency"]) for key, value in fitted(found, noise).items()])
    assert np.corrcoef(told.T)[0, 1] < 0.2  # in sample it would be far above


def test_in_a_run_it_is_fitted_said_so_and_certifies_nothing(tmp_path):
    rows = [
        {"doc_id": f"d{n}", "source": f"source {n}", "candidates": [
            {"system": s, "text": f"{s} {n}", "ratings": {"fluency": 1 + (n * 7 + ord(s)) % 5}}
            for s in "ABC"]}
        for n in range(8)
    ]  # fmt: skip
    build.jsonl(tmp_path / "cases.jsonl", rows)
    own = {"written_for": "axis", "fitted": True}
    config = build.config(tmp_path, axes=["fluency"], judges={"checklist": own}, metrics=[])
    outcome = evaljudge.run(config, engines=ScriptedEngines(model))
    scores = evaljudge.open_run(outcome.out).scores().to_pylist()
    signatures = {row["scorer"]: row["signature"] for row in scores if row["value"] is not None}
    assert [" | fitted to people " in signatures[f"checklist{s}"] for s in ("", ".fitted")] == [
        False, True
    ]  # fmt: skip
    rule = {"name": "best", "all": [{"scorer": "checklist.fitted", "axis": "fluency",
                                     "good": 4, "precision": 0.8, "confidence": 0.9}]}  # fmt: skip
    with pytest.raises(UserError, match="fitted to these ratings, so they cannot certify"):
        evaljudge.plan(config | {"select": [rule], "out": str(tmp_path / "other")})
    bare = [{**row, "candidates": [{"system": "A", "text": "A"}]} for row in rows]
    build.jsonl(tmp_path / "cases.jsonl", bare)
    out = evaljudge.run(
        config | {"out": str(tmp_path / "bare")}, engines=ScriptedEngines(model)
    ).out
    reasons = {r["reason"] for r in evaljudge.open_run(out).scores().to_pylist() if r["reason"]}
    assert reasons == {"too few rated documents to fit the questions' weights"}
