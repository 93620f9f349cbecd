"""A question by configuration: what is asked, what an answer is worth, and what is refused."""

from math import log

import pytest

import evaljudge
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.identity import asking
from evaljudge.judges import make_judges
from evaljudge.model.asks import Options, Prompt
from evaljudge.prompts import load_task
from tests.build import refusal

TASK = load_task("summary")
ROWS = [{"doc_id": "d", "source": "Rain fell.", "system": "A", "text": "It rained."}]
YES_NO = {"question": "Is it {brief}?", "answers": {"Yes": 1, "No": 0}}
RATED = {"question": "How brief is it?", "answers": [1, 2, 10]}


def test_answers_are_worth_what_is_said_and_the_question_is_asked_as_it_stands():
    asked = dict[str, tuple[str, ...]]()

    def choose(prompt: Prompt, options: Options) -> dict[str, float]:
        asked[prompt.text] = tuple(options.names)
        return {name: log(p) for name, p in zip(options.names, (0.5, 0.25, 0.25), strict=False)}

    judges = {"brief": {"judge": "question"} | YES_NO, "rated": {"judge": "question"} | RATED}
    came = evaljudge.score(
        ROWS, model="m", judges=judges, engines=ScriptedEngines(lambda: Scripted(chooses=choose))
    )
    scores = {(s["scorer"], s["axis"]): s["value"] for s in came.scores().to_pylist()}
    assert scores == pytest.approx({("brief", "*"): 0.5 / 0.75, ("rated", "*"): 0.5 + 0.5 + 2.5})
    (brief, yes_no), (rated, numbers) = asked.items()
    assert (yes_no, numbers) == (("Yes", "No"), ("1", "2", "10"))
    assert "Is it {brief}?" in brief and "exactly one of these: 1, 2 or 10." in rated
    assert brief.index("Rain fell.") < brief.index("It rained.") < brief.index("Is it")


def test_a_question_that_names_the_axis_is_asked_on_each():
    asked = list[str]()

    def choose(prompt: Prompt, options: Options) -> dict[str, float]:
        asked.append(prompt.text)
        return dict.fromkeys(options.names, -log(5))

    question = "Its {{ axis }} ({{description}})?"
    judges = {"rated": {"judge": "question", "question": question}}
    made = ScriptedEngines(lambda: Scripted(chooses=choose))
    came = evaljudge.score(
        ROWS, model="m", judges=judges, axes=["fluency", "relevance"], engines=made
    )
    scores = {(s["scorer"], s["axis"]): s["value"] for s in came.scores().to_pylist()}
    assert scores == {("rated", "fluency"): 3, ("rated", "relevance"): 3}
    told = [f"Its {a.name} ({a.description})?" for a in TASK.axes]
    assert [sum(each in text for text in asked) for each in told] == [
        int(a.name in ("fluency", "relevance")) for a in TASK.axes
    ]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"answers": {True: 1, False: 0}}, 'YAML reads Yes as True: write "Yes", in quotes'),
        ({"answers": ["good", "bad"]}, "answers: should be a number"),
        ({"answers": 5}, "answers: should be a mapping of answers to numbers, or a list"),
        ({"answers": {"Yes": 1}}, "answers: should have 2 or more"),
        ({"answers": {"yes": 1, "Yes": 0}}, "differ by more than their case"),
        ({"question": "How {{ source }}?"}, "question: is plain text, where only {{ axis }} and"),
        ({"question": "How {{ axis } is it?"}, "question: is plain text, where only"),
        ({"question": ""}, "question: should not be empty"),
    ],
)
def test_what_is_no_question_is_refused(changes, said):
    assert said in refusal(make_judges, {"q": {"judge": "question"} | YES_NO | changes}, TASK)


def test_other_worths_make_other_scores_of_the_same_answers():
    made = [
        make_judges({"q": {"judge": "question"} | YES_NO | {"answers": answers}}, TASK)[0]
        for answers in ({"Yes": 1, "No": 0}, {"Yes": 5, "No": 1})
    ]
    first, second = made
    assert asking(first) == asking(second) and first.reading != second.reading
