"""What an axis is called in prompts: its phrase, which every judge uses in every question."""

import asyncio

import pytest

from evaljudge.engines.scripted import Scripted
from evaljudge.judges import make_judges
from evaljudge.model.asks import Prompt
from evaljudge.prompts import load_task
from evaljudge.records import Candidate, Case, Document
from tests.build import refusal

CASE = Case(
    Document("d1", "A: Which animal?", context="Three hearts.", references=("The octopus.",)),
    (Candidate("A", "An octopus."),),
)
OWN = """
name: talk
prompts: dialogue
nouns: {source: conversation, target: response}
roles: {Critic: the wording alone}
axes:
  zzz: {description: what it is, phrase: use of sources}
  on_topic: {description: keeps to it}
"""
JUDGES = {
    "synthetic": {},
    "asked": {"judge": "synthetic", "predict": "yes-no"},
    "geval": {},
    "direct": {},
    "short": {"judge": "direct", "steps": False},
    "roles": {"reference": "level", "dynamic": 0, "clustering": False},
}


def asked(task: str, axis: str, name: str) -> list[str]:
    """All that a judge asks about the case on this axis."""
    heard: list[str] = []

    def hears(prompt: Prompt) -> None:
        heard.append(prompt.text)

    model = Scripted(
        writes=lambda p, how: (hears(p), f"reply {len(heard)}")[1],
        chooses=lambda p, options: (hears(p), dict.fromkeys(options.names, -1.0))[1],
    )
    (judge,) = make_judges({name: JUDGES[name]}, load_task(task, [axis]))

    async def both() -> None:
        await judge.verdicts(CASE, await judge.brief(CASE.document, [], model), model)

    asyncio.run(both())
    return heard


@pytest.fixture
def own(tmp_path):
    (tmp_path / "talk.yaml").write_text(OWN)
    return str(tmp_path / "talk.yaml")


@pytest.mark.parametrize("judge", JUDGES)
def test_every_judge_uses_the_phrase_and_not_the_name(own, judge):
    prompts = asked(own, "zzz", judge)
    about_axis = [text for text in prompts if "what it is" in text]
    assert about_axis
    assert all("use of sources" in text for text in about_axis)
    assert not any("zzz" in text for text in prompts)


@pytest.mark.parametrize("judge", JUDGES)
def test_without_a_phrase_the_name_is_said_in_words(own, judge):
    about_axis = [text for text in asked(own, "on_topic", judge) if "keeps to it" in text]
    assert about_axis
    assert all("on topic" in text and "on_topic" not in text for text in about_axis)


def test_a_phrase_is_part_of_what_binds_a_run_and_a_brief(own, tmp_path):
    (tmp_path / "other.yaml").write_text(OWN.replace("use of sources", "good use of sources"))
    here, there = load_task(own), load_task(str(tmp_path / "other.yaml"))
    assert here.as_fingerprint() != there.as_fingerprint()
    for name in ("synthetic", "geval", "direct"):
        (mine,), (theirs,) = (make_judges({name: {}}, task) for task in (here, there))
        assert mine.parts()[0].inputs != theirs.parts()[0].inputs
        assert mine.parts()[-1].inputs == theirs.parts()[-1].inputs


@pytest.mark.parametrize("phrase", ["[]", "' '", "3"])
def test_a_phrase_must_be_words(tmp_path, phrase):
    (tmp_path / "talk.yaml").write_text(OWN.replace("use of sources", phrase))
    assert "axes.zzz.phrase: should " in refusal(load_task, str(tmp_path / "talk.yaml"))
