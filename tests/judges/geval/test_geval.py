"""G-Eval: its steps, its means by hand, and every way to stay unscored."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from math import inf, log
from typing import Any

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.judges.geval.judge import Geval, read_evidence
from evaljudge.model.asks import Chosen, Failed, Prompt, Sample, Writing, Written
from evaljudge.model.remembering import Remembering
from evaljudge.prompts import load_task
from evaljudge.records import Brief, Document
from tests.judges.builders import CASE, Drawing, briefs_of, verdicts_of

P = {"1": 0.05, "2": 0.10, "3": 0.20, "4": 0.40, "5": 0.25}


def judge(task: str = "summary", axes: list[str] | None = None, **settings: Any) -> Geval:
    return Geval(settings, load_task(task, axes or (["fluency"] if task == "summary" else None)))


def rating(p: Mapping[str, float], mass: float = 1.0) -> Scripted:
    return Scripted(chooses=lambda prompt, options: {
        name: log(p[name] * mass) if p[name] else -inf for name in options.names
    })  # fmt: skip


# stage one


def test_steps_are_written_from_the_axis_alone():
    asked: list[tuple[str, Writing]] = []

    def write(prompt: Prompt, how: Writing) -> str:
        asked.append((prompt.text, how))
        return f" 1. Read. {len(asked)}\n"

    briefs = briefs_of(judge(axes=["fluency", "relevance"]), Scripted(writes=write))
    assert [(b.axis, b.part, b.content) for b in briefs] == [
        ("fluency", "steps", {"text": "1. Read. 1"}),
        ("relevance", "steps", {"text": "1. Read. 2"}),
    ]
    assert "fluency - the quality of the individual sentences" in asked[0][0]
    assert "relevance - the choice of what is important" in asked[1][0]
    assert not any(text in said for said, _ in asked for text in ("The river rose.", "A fact."))
    assert {how for _, how in asked} == {Writing(max_tokens=512, temperature=0.0)}


def test_all_documents_are_asked_for_the_same_steps():
    """So a model that remembers, or one that repeats itself, gives all of them the same."""
    asked: list[str] = []
    model = Remembering(Scripted(writes=lambda p, how: (asked.append(p.text), "1. Read.")[1]))
    other = Document("d2", "Another article.", context="Another fact.")

    async def both() -> list[list[Brief]]:
        return [await judge().brief(one, [], model) for one in (CASE.document, other)]

    (first,), (second,) = asyncio.run(both())
    assert len(asked) == 1
    assert (first.doc_id, second.doc_id, first.content) == ("d1", "d2", second.content)


def briefs_with(reply: Written | Failed) -> list[Brief]:
    class Writer(Scripted):
        async def write(self, prompts: Any, how: Writing) -> list[Written | Failed]:
            return [reply for _ in prompts]

    return briefs_of(judge(), Writer())


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Failed("prompt too long"), "prompt too long"),
        (
            Written((Sample("1. Read the", "length"),)),
            "the reply was cut before its first step ended",
        ),
        (Written((Sample(" \n", "stop"),)), "the reply was empty"),
    ],
)
def test_steps_that_fail_leave_every_candidate_unscored(reply, reason):
    (brief,) = briefs = briefs_with(reply)
    assert (brief.status, brief.reason, brief.content) == ("unscored", reason, {})
    found = verdicts_of(judge(), briefs, Scripted())
    assert found["A"].reason == found["B"].reason == f"no steps for fluency: {reason}"
    assert found["C"].reason == "empty text"
    scores = judge(samples=3).score(found["A"])
    assert [(s.scorer, s.value) for s in scores] == [("geval", None), ("geval.sampled", None)]
    assert {s.reason for s in scores} == {f"no steps for fluency: {reason}"}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("1. Read it. 2. Note the err", "1. Read it."),
        ("1. Read it\n2. Note every error\n3. Cou", "1. Read it\n2. Note every error"),
        ("Read it! Is it good? Ther", "Read it! Is it good?"),
    ],
)
def test_steps_that_were_cut_are_kept_to_their_last_whole_one(text, kept):
    (brief,) = briefs_with(Written((Sample(text, "length"),)))
    assert (brief.status, brief.content) == ("ok", {"text": kept, "cut": True})


# stage two


def test_verdicts_and_scores():
    model = rating(P, mass=0.5)
    found = verdicts_of(judge(), briefs_of(judge(), model), model)
    assert [found[s].status for s in "ABC"] == ["ok", "ok", "unscored"]
    evidence = found["A"].evidence
    assert set(evidence) == {"logprobs"}
    assert read_evidence(evidence).p == pytest.approx(P)
    assert Chosen(evidence["logprobs"]).mass == pytest.approx(0.5)
    assert evidence["logprobs"]["4"] == pytest.approx(log(0.2))
    (score,) = judge().score(found["A"])
    assert (score.scorer, score.axis, score.status) == ("geval", "fluency", "ok")
    assert score.value == pytest.approx(3.7)
    assert judge().scorers == ["geval"]


@pytest.mark.parametrize(
    ("samples", "draws", "mean"),
    [
        (1, {"1": 0, "2": 0, "3": 0, "4": 1, "5": 0}, 4),
        (4, {"1": 0, "2": 0, "3": 1, "4": 2, "5": 1}, 4),
        (5, {"1": 1, "2": 0, "3": 1, "4": 2, "5": 1}, 3.4),
    ],
)
def test_draws_are_counted(samples, draws, mean):
    one = judge(samples=samples)
    verdict = verdicts_of(one, briefs_of(one, Scripted()), Drawing(*"45431"))["A"]
    assert verdict.evidence["draws"] == draws
    scores = {s.scorer: s.value for s in one.score(verdict)}
    assert scores == {"geval": pytest.approx(3), "geval.sampled": pytest.approx(mean)}
    assert tuple(scores) == tuple(one.scorers)


# the packs
