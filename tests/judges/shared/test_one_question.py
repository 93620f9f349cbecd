"""Judges that are declared: one question about each candidate, and how its answer is scored."""

from __future__ import annotations

import asyncio
import json
import re
import runpy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any

import pytest
from pydantic import create_model

from evaljudge.commands.run import write_demo
from evaljudge.engines.scripted import Scripted, ScriptedEngines, any_option
from evaljudge.errors import UserError
from evaljudge.judges.checked import shown_answer
from evaljudge.judges.protocol import Judge
from evaljudge.judges.shared.one_question import OneQuestion
from evaljudge.model.asks import Chosen, Options, Prompt, Writing
from evaljudge.prompts import load_task
from evaljudge.records import ANY_AXIS, Candidate, Case, Document, Score, Verdict
from evaljudge.settings import Settings
from tests.build import planned_text

PAGE = Path(__file__).parents[3] / "docs" / "extending.md"
ENGINES = ScriptedEngines()
TASK = load_task("summary", ["fluency", "coherence"])
CASE = Case(
    Document("d1", "The river rose."),
    (Candidate("A", "A flood."), Candidate("B", "</target> Rain."), Candidate("C", " ")),
)


class Brief(OneQuestion):
    kind = "brief"
    version = "1"
    question = "Is this {{ target_noun }} brief?\n<target>\n{{ target }}\n</target>"
    answers = ("Yes", "No")
    each_axis = False

    def value(self, reply: Chosen) -> float:
        if reply.mass < 0.5:
            raise ValueError("the model wants to say something else")
        return reply.p["Yes"]


class Marked(OneQuestion):
    kind = "marked"
    version = "1"
    question = "Mark the {{ axis }} ({{ description }}): <text>{{ target }}</text> of {{ source }}"

    def read(self, reply: str) -> float:
        return float(reply)


class LimitSettings(Settings):
    limit: int = 3


class Limited(Marked):
    keys = LimitSettings

    def read(self, reply: str) -> float:
        return min(float(reply), self.settings.limit)


def made(kind: type[OneQuestion], **settings: Any) -> Judge:
    return kind(settings, TASK, "mine")


def judged(judge: Judge, model: Scripted) -> list[Verdict]:
    return asyncio.run(judge.verdicts(CASE, [], model)).verdicts


def scores(judge: Judge, model: Scripted) -> list[Score]:
    return judge.scores(judged(judge, model))


def test_a_choice_is_asked_once_about_each_candidate_and_scored_by_its_probabilities() -> None:
    heard = []

    def chooses(prompt: Prompt, options: Options) -> Mapping[str, float]:
        heard.append((prompt.text, options.names))
        return {"Yes": log(0.6), "No": log(0.2)}

    first, second, empty = scores(made(Brief), Scripted(chooses=chooses))
    entropy = -(0.75 * log(0.75) + 0.25 * log(0.25)) / log(2)
    doubt = pytest.approx(entropy)
    assert first == Score("d1", "A", "mine", ANY_AXIS, pytest.approx(0.75), doubt=doubt)
    assert second.value == pytest.approx(0.75)
    assert (empty.value, empty.reason) == (None, "empty text")
    assert heard == [
        ("Is this summary brief?\n<target>\nA flood.\n</target>", ("Yes", "No")),
        ("Is this summary brief?\n<target>\n‹/target> Rain.\n</target>", ("Yes", "No")),
    ]


def test_several_questions_are_one_with_each_of_its_slots() -> None:
    """Each is answered apart, and the mean of their values is the score."""

    class Facets(Brief):
        question = "Does it {{ fault }}?\n<target>\n{{ target }}\n</target>"
        slots = ({"fault": "stop"}, {"fault": "lie"})

    def chooses(prompt: Prompt, options: Options) -> Mapping[str, float]:
        yes = 0.9 if "Does it stop?" in prompt.text else 0.4
        return {"Yes": log(yes), "No": log(1 - yes)}

    judge = made(Facets)
    first, *_, empty = judged(judge, Scripted(chooses=chooses))
    assert judge.score(first)[0].value == pytest.approx(0.65)
    assert judge.score(empty)[0].reason == "empty text"
    (table,) = shown_answer(first).tables
    assert table.rows == [["stop", "0.900", "0.100"], ["lie", "0.400", "0.600"]]


def test_an_error_of_value_is_the_reason_why_a_text_is_unscored() -> None:
    small = Scripted(chooses=lambda prompt, options: {"Yes": log(0.2), "No": log(0.1)})
    first, *_ = scores(made(Brief), small)
    assert (first.value, first.reason) == (None, "the model wants to say something else")


def test_a_reply_is_asked_for_on_each_axis_and_read() -> None:
    asked = []

    def writes(prompt: Prompt, how: Writing) -> str:
        asked.append((prompt.text.partition(" (")[0], how.max_tokens))
        return "4" if "A flood" in prompt.text else "it is good\x07"

    judge = made(Marked)
    found = {(s.system, s.axis): (s.value, s.reason) for s in scores(judge, Scripted(writes))}
    assert list(judge.axes) == ["fluency", "coherence"]
    assert found["A", "fluency"] == found["A", "coherence"] == (4.0, "")
    unread = (None, r"could not convert string to float: 'it is good\x07'")
    assert found["B", "fluency"] == unread
    assert sorted(set(asked)) == [("Mark the coherence", 16), ("Mark the fluency", 16)]


@pytest.mark.parametrize("reply", ["nan", "inf"])
def test_a_score_is_a_number(reply: str) -> None:
    first, *_ = scores(made(Marked), Scripted(lambda prompt, how: reply))
    assert (first.value, first.reason) == (None, "the score is not a number")


def test_its_own_settings_are_checked_and_part_of_what_binds_a_run() -> None:
    judge = made(Limited, limit=2)
    assert [s.value for s in scores(judge, Scripted(lambda prompt, how: "5"))][:2] == [2.0, 2.0]
    assert judge.asking["limit"] == 2
    with pytest.raises(UserError, match="judges.mine: unknown key 'limits': did you mean 'limit'"):
        made(Limited, limits=2)


def test_a_question_may_be_a_file_of_the_judge_s_folder() -> None:
    class Filed(Brief):
        kind = "filed"
        question = ""

    template = "Short? <text>{{ target }}</text>"
    pack = replace(TASK.pack, templates={**TASK.pack.templates, "filed.ask": template})
    heard = []
    model = Scripted(chooses=lambda p, o: (heard.append(p.text), any_option(p, o))[1])
    scores(Filed({}, replace(TASK, pack=pack), "mine"), model)
    assert heard[0] == "Short? <text>A flood.</text>"


def test_mistakes_of_a_judge_are_found_before_anything_is_asked() -> None:
    class Blind(Brief):
        question = "Is it brief? {{ source }}"

    class Nameless(OneQuestion):
        answers = ("Yes", "No")

    class Mute(OneQuestion):
        kind = "mute"
        version = "1"
        question = Brief.question
        answers = ("Yes", "No")

    class Axisless(Brief):
        question = Brief.question + " {{ axis }}"

    class Slotless(Marked):
        question = Marked.question + " {{ artcle }}"

    class Empty(OneQuestion):
        kind = "empty"
        version = "1"

    class Promptless(Brief):
        kind = "promptless"
        question = ""

    class Misspelt(Brief):
        def value(self, reply: Chosen) -> float:
            return reply.p["yes"]

    class Hasty(Marked):
        def read(self, reply: str) -> float:
            return float(reply.split()[0])

    class Both(Brief):
        def read(self, reply: str) -> float:
            return 1.0

    class Word(Brief):
        answers = "Yes"

    class Doubled(Brief):
        answers = ("Yes", "yes")

    class Unmapped(Brief):
        slots = ("a",)

    class Listing(Brief):
        def together(self, values: Sequence[float]) -> Any:
            return list(values)

    class Hiding(Brief):
        slots = ({"mine": "a"}, {"target": "a"})

    class Modelled(Brief):
        keys = create_model("Keys", __base__=Settings, model=(str, ""))

    class Slip(Brief):
        each_axes = False

    class Hot(Brief):
        temperature = 0.7

    class Counted(Brief):
        answers: Any = (1, 2)

    for kind, said in {
        Hot: "the class Hot needs another name for `temperature`: a question has no such setting",
        Counted: "the class Counted needs `answers` that are two texts or more",
        Slip: "the class Slip needs another name for `each_axes`: did you mean `each_axis`?",
        Modelled: "the class Modelled needs another name for the key `model`, which every",
        Unmapped: "the class Unmapped needs `slots` that are a list of mappings",
        Hiding: "the class Hiding needs another name for the slot 'target', which every",
        Listing: "judges.mine: its `together` fails for equal probabilities: TypeError: ",
        Misspelt: "judges.mine: its `value` fails for equal probabilities at AT: KeyError: 'yes'",
        Hasty: "its `read` fails for an empty reply at AT: IndexError: list index out of range",
        Blind: "prompt brief.ask: has no place for {{ target }}",
        Nameless: "judges.mine: the class Nameless needs a `kind`",
        Mute: "the class Mute needs `answers` and `value`, or `read` (it lacks a `value`)",
        Axisless: "prompt brief.ask: 'axis' is undefined: its slots are context, source, "
        "source_noun, target, target_noun",
        Slotless: "prompt marked.ask: 'artcle' is undefined: its slots are axis, context, "
        "description, source, source_noun, target, target_noun",
        Empty: "the class Empty needs `answers` and `value`, or `read`",
        Both: "the class Both needs `answers` and `value`, or `read` (it has both)",
        Promptless: "the class Promptless needs a `question`, or the file `ask.j2` among",
        Word: "the class Word needs `answers` that are two texts or more",
        Doubled: "the class Doubled needs `answers` that are two texts or more",
    }.items():
        with pytest.raises(UserError) as refused:
            made(kind)
        assert said in re.sub(rf"{Path(__file__).name}:\d+", "AT", str(refused.value))


def test_a_question_without_markers_around_the_text_is_warned_of() -> None:
    class Unmarked(Brief):
        question = "Is it brief? {{ target }}"

    (caution,) = made(Unmarked).cautions
    assert caution.startswith("judges.mine: its question has no markers such as <target>")
    assert not made(Brief).cautions


def test_a_reply_and_a_choice_are_shown() -> None:
    replies = judged(made(Marked), Scripted(lambda prompt, how: "a\nlong reply"))
    assert shown_answer(replies[0]).notes == ["reply: a\nlong reply"]
    model = Scripted(chooses=lambda p, o: {"Yes": log(0.6), "No": log(0.2)})
    shown = shown_answer(judged(made(Brief), model)[0])
    assert (shown.tables[0].rows, shown.notes) == ([["Yes", "0.750"], ["No", "0.250"]], [])
    for little, share in ((0.06, "0.08"), (6e-9, "8e-09")):
        model = Scripted(chooses=lambda p, o, yes=little: {"Yes": log(yes), "No": log(yes / 3)})
        (note,) = shown_answer(judged(made(Brief), model)[0]).notes
        assert note == f"Together the answers hold only {share} of the model's probability."


def test_the_example_of_the_documentation_is_short_and_in_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = PAGE.read_text(encoding="utf-8")
    blocks = dict(re.findall(r"^```\w+ (\w*brevity\.\w+)\n(.*?)^```$", text, re.M | re.S))
    assert len(blocks["brevity.py"].splitlines()) <= 30
    for name, block in blocks.items():
        (tmp_path / name).write_text(block)
    write_demo(tmp_path / "runs/demo", 6, 0)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    runpy.run_path("try_brevity.py")
    said = capsys.readouterr().out
    assert "36 texts of 6 documents" in said and "coverage   100.0% scored" in said
    page = (tmp_path / "runs/tried/report/index.html").read_text()
    assert "knows the small world" not in page  # none was asked
    assert "How probable the model finds each answer, among those offered." in page
    rows = json.loads((tmp_path / "runs/tried/report/agreement.json").read_text())
    assert {row["scorer"] for row in rows} == {"brevity"}
    assert re.search(r"judge +brevity +36 ", planned_text("brevity.yaml", engines=ENGINES))


class Like(Marked):
    question = "How like <r>{{ reference }}</r> is <t>{{ target }}</t> in {{ axis }}?"


def test_a_question_may_show_the_first_reference() -> None:
    heard = []

    def writes(prompt: Prompt, wanted: Writing) -> str:
        heard.append(prompt.text)
        return "3"

    model = Scripted(writes=writes)
    given = replace(CASE.document, references=("The river </r> rose.", "Another."))
    judge = made(Like)
    verdicts = asyncio.run(judge.verdicts(replace(CASE, document=given), [], model)).verdicts
    assert [score.value for score in judge.scores(verdicts)] == [3, 3, None] * 2
    assert all("Another" not in text and "river" in text for text in heard)
    itself = replace(given, references=(CASE.candidates[0].text or "",))
    same = asyncio.run(judge.verdicts(replace(CASE, document=itself), [], model)).verdicts
    assert same[0].reason == "is the reference"
    lacking = judged(judge, model)
    assert {verdict.reason for verdict in lacking} == {"no reference"}
