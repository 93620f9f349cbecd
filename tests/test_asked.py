"""The prompts that a finished run's page shows are those that the run asked."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.model.asks import Options, Prompt, Writing
from evaljudge.records import Case
from evaljudge.report.page import AskedPrompt, first_of_each
from evaljudge.runs.asked import CHANGED, KEPT, NOT_KEPT, OF_A_PATH, RunPrompts
from evaljudge.storage import Output
from tests import build
from tests.build import jsonl, refusal

AXES = ["fluency", "coherence"]


class Noting(Scripted):
    asked: list[str]

    def _written(self, prompt: Prompt, reply: Any, how: Writing) -> Any:
        self.asked.append(prompt.text)
        return super()._written(prompt, reply, how)

    def _chosen(self, prompt: Prompt, options: Options, samples: int) -> Any:
        self.asked.append(prompt.text)
        return super()._chosen(prompt, options, samples)


def made_run(folder: Path, judges: Any) -> tuple[Output, list[str]]:
    rows = [
        {"doc_id": f"d{n}", "source": f"The river {n} rose.", "references": ["A flood."],
         "candidates": [{"system": s, "text": f"Candidate {n} of {s}: <article> water."}
                        for s in "AB"]}
        for n in range(3)
    ]  # fmt: skip
    jsonl(folder / "cases.jsonl", rows)
    usual = {"axes": AXES, "judges": judges, "coverage_floor": 0, "agreement": {"resamples": 0}}
    config = build.config(folder, **usual)
    noting = type("OfThisRun", (Noting,), {"asked": []})
    out = evaljudge.run(config, engines=ScriptedEngines(noting)).out
    return Output(out), noting.asked


def about_all(output: Output, judge: str, axes: list[str]) -> Iterator[tuple[Case, AskedPrompt]]:
    prompts, kind = RunPrompts(output), (output.run() or {})["fingerprint"]["judges"][judge]
    for shard in output.shards():
        briefs = output.own_briefs(kind.get("judge", judge), shard)
        for case in output.cases(shard):
            own = [brief for brief in briefs if brief.doc_id == case.document.doc_id]
            for system in "AB":
                for axis in axes:
                    for one in prompts.about(judge, axis, case, system, own):
                        yield case, one


@pytest.mark.parametrize("settings", [
    {"synthetic": {}}, {"synthetic": {"swap": "both"}}, {"geval": {}}, {"direct": {}},
    {"synthetic": {"levels": 3}, "finer": {"judge": "synthetic", "levels": 5}},
])  # fmt: skip
def test_every_question_about_a_text_is_shown_as_it_was_asked(tmp_path, settings):
    output, asked = made_run(tmp_path, settings)
    shown = [one for judge in settings for _, one in about_all(output, judge, AXES)]
    assert not any(one.is_guessed for one in shown)
    assert {one.words for one in shown} == {words for words in asked if "Candidate " in words}
    assert len(shown) < len(asked)  # checks compare references, in the same words for any text


@pytest.mark.parametrize(("judge", "axes"), [("roles", AXES), ("entities", ["*"])])
def test_questions_that_follow_a_reply_say_so(tmp_path, judge, axes):
    output, asked = made_run(tmp_path, [judge])
    shown = [one for _, one in about_all(output, judge, axes)]
    sure = {one.words for one in shown if not one.is_guessed}
    assert sure
    assert sure <= set(asked)


def test_on_a_page_that_is_sent_around_the_first_of_each_kind_stands_for_all():
    asked = [
        AskedPrompt("a", "how", "1"),
        AskedPrompt("b", "how", "2"),
        AskedPrompt("a", "how", "3"),
    ]
    assert [(one.words, one.times) for one in first_of_each(asked)] == [("1", 2), ("2", 1)]


def test_what_is_not_shown_is_explained(tmp_path):
    output, _ = made_run(tmp_path, ["geval"])
    shard = output.shards()[0]
    case = next(iter(output.cases(shard)))
    briefs = output.own_briefs("geval", shard)

    def refused() -> str:
        return refusal(RunPrompts(output).about, "geval", "fluency", case, "A", briefs)

    kept = json.loads(output.place.read(KEPT))
    for name in kept["task"]["pack"]["templates"]:
        kept["task"]["pack"]["templates"][name] += " And be brief."
    output.place.write_json(KEPT, kept)
    assert refused() == CHANGED
    kept["judges"]["geval"] = {"judge": "os:system"}
    output.place.write_json(KEPT, kept)
    assert refused() == OF_A_PATH
    output.place.write(KEPT, b"[")
    assert "judging.json: cannot be read" in refused()
    run = output.run() or {}
    del run["derived"][KEPT]
    output.write_run(run)
    assert refused() == NOT_KEPT
