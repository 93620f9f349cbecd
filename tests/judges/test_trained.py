"""Judges of trained models, by hand: the request of `reward`; the windows, sentences and evidence
of `grounded`; and every way to stay unscored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.judges.grounded.judge import (
    NO_SENTENCE,
    Grounded,
    GroundedEvidence,
    shown_evidence,
    windows_of,
)
from evaljudge.judges.plugin import JudgedCandidate
from evaljudge.judges.protocol import Judge
from evaljudge.judges.reward.judge import Reward
from evaljudge.model.asks import Failed, ModelRating, Prompt, Rating, rated
from evaljudge.prompts import load_task
from evaljudge.reasons import by_kind
from evaljudge.records import Case, Verdict
from tests.build import case, refusal

SOURCE = "News:\n\nThe river rose. It rained for two days. A bridge closed."
RIVER, RAIN, HURT = "The river rose.", "Rain fell.", "Nobody was hurt."
P = {("River", RIVER): 0.98, ("bridge", RIVER): 0.1, ("River", RAIN): 0.2, ("bridge", RAIN): 0.7,
     ("River", HURT): 0.05, ("bridge", HURT): 0.21}  # fmt: skip


def by_window(prompt: Prompt, text: str) -> float:
    return P["bridge" if "bridge" in prompt.text else "River", text]


class Noting(Scripted):
    """Notes what it rates."""

    def __init__(self, rates: Any = by_window) -> None:
        super().__init__(rates=rates)
        self.asked: list[tuple[str, str]] = []

    async def rate(self, prompts: Any, texts: Any, how: Rating) -> list[ModelRating | Failed]:
        self.asked += zip([prompt.text for prompt in prompts], texts, strict=True)
        return await super().rate(prompts, texts, how)


def verdicts_of(judge: Judge, model: Scripted, asked: Case) -> dict[str, Verdict]:
    return {v.system: v for v in asyncio.run(judge.verdicts(asked, [], model)).verdicts}


def grounded(**settings: Any) -> Grounded:
    return Grounded(settings, load_task("summary"))


def test_windows_hold_whole_sentences_and_all_of_the_source():
    assert windows_of(SOURCE, 8) == [
        "News:\n\nThe river rose. It rained for two days.",
        "A bridge closed.",
    ]
    assert len(windows_of(SOURCE, 1)) == 3
    assert windows_of(SOURCE, 99) == [SOURCE]
    assert windows_of("- - -", 99) == ["- - -"]


def test_each_sentence_is_as_supported_as_by_its_best_window():
    model, judge = Noting(), grounded(window=8)
    texts = case(f"{RIVER} {HURT}", f"{HURT} {RAIN}\n{RIVER}", " ", "…", source=SOURCE)
    found = verdicts_of(judge, model, texts)
    evidence = {"p": [0.98, 0.21], "worst": HURT, "window": 2, "windows": 2}
    assert found["s0"].evidence == evidence
    assert evidence.keys() == GroundedEvidence.__annotations__.keys()
    assert found["s1"].evidence == evidence | {"p": [0.21, 0.7, 0.98]}
    scores = {s.scorer: s.value for s in judge.score(found["s0"])}
    assert scores == pytest.approx({"grounded": 0.595, "grounded.min": 0.21})
    assert [found[name].reason for name in ("s2", "s3")] == ["empty text", NO_SENTENCE]
    assert by_kind([NO_SENTENCE]) == {"no sentence": 1}
    assert [text for _, text in model.asked] == [RIVER, RIVER, HURT, HURT] + [
        claim for claim in (HURT, RAIN, RIVER) for _ in range(2)
    ]
    shown = shown_evidence(JudgedCandidate(texts.candidates[0], found["s0"]))
    assert shown.about[0] == (
        "The least supported of 2 sentences, with a probability of 0.210 (by part 2 of 2 of the "
        "source): “Nobody was hurt.”"
    )


def test_one_sentence_that_cannot_be_rated_leaves_the_text_unscored():
    failing = Noting(lambda p, t: Failed("prompt too long") if t == HURT else 0.9)
    found = verdicts_of(grounded(), failing, case(f"{RIVER} {HURT}", RIVER, source=SOURCE))
    assert [s.reason for s in grounded().score(found["s0"])] == ["prompt too long"] * 2
    assert found["s1"].status == "ok"


def test_the_text_is_the_reply_to_a_request_about_the_source():
    judge, model = Reward({}, load_task("summary")), Noting(lambda p, t: -1.5)
    found = verdicts_of(judge, model, case(" A flood. ", source=SOURCE))
    ((prompt, text),) = model.asked
    assert text == "A flood." and "A flood." not in prompt
    assert prompt.startswith("Write the summary for the article below.") and SOURCE in prompt
    (score,) = judge.score(found["s0"])
    assert (score.value, score.axis) == (-1.5, "*")


def test_which_number_is_read():
    assert Rating().read([-1.5], 0) == -1.5
    assert Rating(("yes",)).read([0.0], 0) == 0.5
    assert Rating(("b",)).read([1.0, 1.0], 1) == pytest.approx(0.5)
    assert Rating(("B", "c")).place(["a", "b"]) == 1
    assert "labels: b, c" in refusal(Rating(("b", "c")).place, ["b", "c"])
    lost = rated(float("nan"), ())
    assert isinstance(lost, Failed) and "other" not in by_kind([lost.reason])
