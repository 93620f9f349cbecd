"""What every judge of the package must keep: a table in place of a test in each folder."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.judges import make_judges
from evaljudge.judges.protocol import Judge
from evaljudge.model.asks import Failed, Prompt
from evaljudge.prompts import BUILT_IN, load_task
from evaljudge.records import Brief, Candidate, Case, Document, Verdict
from tests.build import refusal
from tests.judges.builders import any_reply

KINDS = (
    "checklist direct entities extract geval grounded likelihood pairs reward roles synthetic"
).split()
WITHOUT_AXES = ("entities", "roles", "grounded", "reward")
CASE = Case(
    Document("d1", "The river rose.", ("A bridge closed.",), context="A fact."),
    (Candidate("A", "A flood came."), Candidate("B", "Rain fell."), Candidate("C", "  ")),
)


def made(kind: str, task: str = "summary", laid_out: Any = "paper", **settings: Any) -> Judge:
    """`prompts` among the settings: the pack's name or folder."""
    axes = ["fluency", "relevance"] if task == "summary" else None
    prompts = settings.pop("prompts", None)
    loaded = load_task(task, axes, prompts=prompts, layout=laid_out)
    (judge,) = make_judges({kind: settings}, loaded)
    return judge


class Asked(Scripted):
    """Any reply of the form that is asked for, or none; keeps the prompts."""

    def __init__(self, fails: bool = False) -> None:
        self.prompts: list[str] = []
        self._fails = fails
        super().__init__(
            writes=lambda prompt, how: self._heard(prompt) or any_reply(prompt, how),
            chooses=lambda prompt, options: (
                self._heard(prompt) or {name: -1.0 - len(name) for name in options.names}
            ),
            weighs=lambda prompt, text: self._heard(prompt) or [-1.0] * len(text.split()),
            rates=lambda prompt, text: self._heard(prompt) or 0.5,
        )

    def _heard(self, prompt: Prompt) -> Failed | None:
        self.prompts.append(prompt.text)
        return Failed("prompt too long") if self._fails else None


def judged(
    judge: Judge, model: Scripted, case: Case = CASE, briefs: Sequence[Brief] | None = None
) -> dict[tuple[str, str], Verdict]:
    async def ask() -> list[Verdict]:
        known = await judge.brief(case.document, [], model) if briefs is None else briefs
        return (await judge.verdicts(case, known, model)).verdicts

    return {(verdict.system, verdict.axis): verdict for verdict in asyncio.run(ask())}


def reasons(judge: Judge, found: Sequence[Verdict]) -> set[str]:
    """Why the headline has no value."""
    scores = [score for verdict in found for score in judge.score(verdict)]
    assert {score.scorer for score in scores} == set(judge.scorers)
    return {one.reason for one in scores if one.scorer == judge.name and one.value is None}


@pytest.mark.parametrize("kind", KINDS)
def test_the_order_of_candidates_changes_no_verdict(kind):
    judge, turned = made(kind), replace(CASE, candidates=CASE.candidates[::-1])
    first, second = (judged(judge, Asked(), case) for case in (CASE, turned))
    assert first == second
    assert len(first) == 3 * len(judge.axes)


@pytest.mark.parametrize("kind", KINDS)
def test_without_a_source_nothing_is_asked_and_without_a_text_not_about_it(kind):
    judge, model = made(kind), Asked()
    found = judged(judge, model, replace(CASE, document=replace(CASE.document, source=" \n")))
    assert {verdict.reason for verdict in found.values()} == {"empty source"}
    assert reasons(judge, list(found.values())) == {"empty source"}
    assert model.prompts == []
    empty = [one for (system, _), one in judged(judge, model).items() if system == "C"]
    assert reasons(judge, empty) == {"empty text"}
    assert {one.status for one in empty} == {"unscored"}


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "entities"])
def test_a_failed_ask_is_the_reason_why_there_is_no_score(kind):
    judge = made(kind)
    briefs = asyncio.run(judge.brief(CASE.document, [], Asked()))
    found = judged(judge, Asked(fails=True), briefs=briefs)
    said = reasons(judge, [one for (system, _), one in found.items() if system == "A"])
    assert said and all("prompt too long" in one or "the only text" in one for one in said)


@pytest.mark.parametrize(("axis", "is_shown"), [("naturalness", False), ("groundedness", True)])
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind not in WITHOUT_AXES])
def test_the_fact_is_shown_where_the_axis_wants_it(kind, axis, is_shown):
    (judge,), model = make_judges({kind: {}}, load_task("dialogue", [axis])), Asked()
    judged(judge, model)
    about = [prompt for prompt in model.prompts if "The river rose." in prompt]
    assert about and {"A fact." in prompt for prompt in about} == {is_shown}


WAYS: Sequence[tuple[str, dict[str, Any]]] = [
    *((kind, {}) for kind in KINDS if kind != "grounded"),  # which has no words of its own
    ("direct", {"steps": False}),
    ("entities", {"reasoning": True}),
    ("entities", {"batch": 3}),
    ("likelihood", {"reversed": True}),
    ("roles", {"exact": True, "plain": True}),
    ("synthetic", {"predict": "yes-no"}),
    ("synthetic", {"layout": "ladder"}),
]


@pytest.mark.parametrize("layout", ["paper", "shared"])
@pytest.mark.parametrize("task", BUILT_IN)
@pytest.mark.parametrize(("kind", "settings"), WAYS)
def test_every_task_has_its_prompts(kind, settings, task, layout):
    judge, model = made(kind, task, layout, **settings), Asked()
    found = judged(judge, model, replace(CASE, candidates=CASE.candidates[:2])).values()
    assert all(score.value is not None for one in found for score in judge.score(one))
    assert any(load_task(task).nouns["target"] in prompt for prompt in model.prompts)


MISTAKES: Sequence[tuple[str, dict[str, Any], str]] = [
    ("direct", {"max_token": 5}, "unknown key 'max_token': did you mean 'max_tokens'?"),
    ("entities", {"match": "embedding"},
     "judges.entities: match: embedding needs an encoder: a hub name or a folder"),
    ("entities", {"encoder": "x"},
     "judges.entities: encoder and similar need `match: embedding`"),
    ("entities", {"reasons": True},
     "judges.entities: unknown key 'reasons': did you mean 'reasoning'?"),
    ("geval", {"sample": 5}, "unknown key 'sample': did you mean 'samples'?"),
    ("grounded", {"window": 0}, "judges.grounded.window"),
    ("likelihood", {"demonstrations": [{"source": "a"}]},
     "judges.likelihood.demonstrations.0.target"),
    ("likelihood", {"demonstrations": [{"source": "a", "target": "b", "axis": "tone"}]},
     "judges.likelihood.demonstrations: unknown axis"),
    ("pairs", {"paraphrases": 3}, "paraphrases goes with"),
    ("pairs", {"swap": "fairness"}, "`swap: fairness` goes with `optimise: fairness`"),
    ("pairs", {"optimise": "fairness", "instruction": 1}, "leave `instruction` out"),
    ("pairs", {"prompts": "nano", "optimise": "fairness"},
     "prompt pairs.compare: has no place for {{ instruction }}"),
    ("roles", {"dynamic": 0, "static": False},
     "judges.roles: nobody votes: dynamic is 0 and static false"),
    ("roles", {"level": 3}, "judges.roles: level and axis need `reference: level`"),
    ("roles", {"reference": "level", "level": 2.3},
     "judges.roles: level is a whole or a half number from 1 to 5"),
    ("roles", {"reference": "level", "axis": "tone"}, "judges.roles.axis: unknown axis 'tone'"),
    ("roles", {"batches": True}, "judges.roles: unknown key 'batches': did you mean 'batch'?"),
    ("synthetic", {"predict": "sampled", "swap": "both"}, "predict: sampled and swap: both do not"),
    ("synthetic", {"samples": 10}, "samples and trials need `predict: sampled`"),
    ("synthetic", {"trials": 2, "predict": "yes-no"},
     "samples and trials need `predict: sampled`"),
    ("synthetic", {"checks": {"exchanged": 1.5}}, "judges.synthetic.checks.exchanged"),
    ("synthetic", {"levels": 4}, "judges.synthetic.levels"),
    ("synthetic", {"layout": "ladder", "predict": "yes-no"}, "layout: ladder has no questions for"),
    ("synthetic", {"adaptive": {}, "predict": "sampled"}, "adaptive needs probabilities"),
    ("synthetic", {"adaptive": {"certainty": 1}}, "certainty"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "settings", "said"), MISTAKES)
def test_mistakes_in_settings_are_refused(kind, settings, said):
    assert said in refusal(made, kind, **settings)


@pytest.mark.parametrize(
    ("kind", "settings", "template", "words", "said"),
    [
        ("direct", {"steps": False}, "direct.rate", "{{ source }}", "no place for {{ target }}"),
        ("extract", {}, "extract.rate", "{{ target }} {{ axis }}", "no place for {{ source }}"),
        ("geval", {}, "geval.steps", "{{ axis }} {{ description }} {{ source }}",
         "'source' is undefined"),
        ("geval", {}, "geval.steps", "Write steps for {{ axis }}.", "needs a place for"),
        ("geval", {}, "geval.steps", "Write steps: {{ description }}", "needs a place for"),
        ("geval", {}, "geval.rate", "{{ source }} {{ target }}", "no place for {{ steps }}"),
        ("geval", {}, "geval.rate", "{{ source }} {{ steps }}", "no place for {{ target }}"),
        ("likelihood", {}, "likelihood.write", "{{ axis }} {{ target_noun }}",
         "no place for {{ source }}"),
        ("likelihood", {}, "likelihood.write", "{{ source }} {{ axis }}",
         "no place for {{ example_sources }}"),
        ("likelihood", {"reversed": True}, "likelihood.back", "{{ source_noun }}",
         "no place for {{ target }}"),
        ("pairs", {}, "pairs.compare", "{{ first }} {{ second }} {{ source }} Which, A or B?",
         "it should name its answers: First and Second"),
        ("pairs", {}, "pairs.compare", "{{ first }}: First or Second? {{ source }}",
         "no place for {{ second }}"),
        ("synthetic", {"layout": "ladder"}, "synthetic.ladder",
         "{{ source }}{{ target }}{{ number }}", "no place for {{ references }}"),
        ("synthetic", {"layout": "ladder"}, "synthetic.ladder",
         "{{ source }}{% for one in references %}{{ one }}{% endfor %}{{ target }}"
         "{% if exchanged %}turned{% endif %}", "needs a place for {{ number }}"),
        ("synthetic", {"predict": "yes-no"}, "synthetic.yes-no",
         "{{ source }} {{ target }} {{ reference }} better in {{ axis }}?",
         "prompt synthetic.yes-no: needs a place for {{ relation }}"),
        ("synthetic", {}, "synthetic.extreme", "{{ source }}: write the best in {{ axis }}.",
         "prompt synthetic.extreme: needs a place for {{ extreme }}"),
        ("synthetic", {}, "synthetic.compare", "{{ source }} {{ target }}",
         "no place for {{ reference }}"),
    ],
)  # fmt: skip
def test_templates_without_a_place_are_refused(tmp_path, kind, settings, template, words, said):
    (tmp_path / f"{template}.j2").write_text(words)
    assert said in refusal(made, kind, **settings, prompts=str(tmp_path))
