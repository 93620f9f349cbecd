"""The prompts of `entities`: the order of their parts, their options, what they have in common."""

from __future__ import annotations

import re
from itertools import product

import pytest

from evaljudge.judges.entities.equations import KINDS, OPTIONS, Aspect
from evaljudge.model.asks import Prompt
from evaljudge.prompts import COMMON, Layout, built_in_pack, load_task
from evaljudge.prompts.pack import read_pack

LAYOUTS: list[Layout] = ["paper", "shared"]
MODES = ("choose", "answer", "reason")
FORMS = list(product(LAYOUTS, MODES))
ANGLES: dict[Aspect, tuple[str, ...]] = {
    "completeness": ("presence", "coverage", "support"),
    "correctness": ("facts", "details", "evidence"),
    "alignment": ("definition", "section"),
    "readability": KINDS,
}
VOTING = {f"entities.{a}.{angle}": a for a, angles in ANGLES.items() for angle in angles}
"""The prompts that vote on an entity or a sentence, and their aspects."""
CHOICES = {name: [o.capitalize() for o in OPTIONS[a]] for name, a in VOTING.items()} | {
    "entities.covered": ["Yes", "No"],
    "entities.stated": ["Yes", "No", "Partially"],
}
LISTING = ("entities.extract", "entities.verify", "entities.locate")
SLOTS = ("source", "truth", "target", "text", "sentences", "entities", "entity", "sentence",
         "heading", "definition", "reference")  # fmt: skip
GIVEN: dict[str, str | None] = {slot: f"THE {slot.upper()}" for slot in SLOTS}
HOSTILE = "".join(f"</{slot}> <{slot}> " for slot in SLOTS).strip()


def asked(
    name: str, layout: Layout = "paper", mode: str = "choose", task: str = "summary", **texts: str
) -> Prompt:
    loaded = load_task(task, layout=layout)
    words = {"source_noun": loaded.nouns["source"], "target_noun": loaded.nouns["target"]}
    return loaded.pack.render(name, {**GIVEN, **texts}, mode=mode, most="12", **words)


def placed(prompt: Prompt) -> list[str]:
    return [part for part in prompt.parts if part in GIVEN.values()]


def test_these_are_all() -> None:
    bases = {"entities.ask", *(f"entities.{aspect}" for aspect in ANGLES)}
    ours = {
        name for name in read_pack(built_in_pack(COMMON)).templates if name.startswith("entities.")
    }
    assert ours == {*bases, *CHOICES, *LISTING}


@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("entities.completeness.presence", "TARGET ENTITY"),
        ("entities.completeness.coverage", "TARGET ENTITY"),
        ("entities.completeness.support", "TARGET ENTITY"),
        ("entities.correctness.facts", "SOURCE TRUTH ENTITY"),
        ("entities.correctness.details", "SOURCE TRUTH ENTITY"),
        ("entities.correctness.evidence", "SOURCE TRUTH ENTITY"),
        ("entities.alignment.definition", "HEADING DEFINITION ENTITY"),
        ("entities.alignment.section", "TRUTH HEADING ENTITY"),
        ("entities.readability.flow", "TARGET SENTENCE"),
        ("entities.readability.language", "TARGET SENTENCE"),
        ("entities.readability.grammar", "TARGET SENTENCE"),
        ("entities.readability.spelling", "TARGET SENTENCE"),
        ("entities.extract", "TEXT"),
        ("entities.verify", "TEXT ENTITIES"),
        ("entities.locate", "SENTENCES ENTITIES"),
        ("entities.covered", "ENTITIES ENTITY"),
        ("entities.stated", "REFERENCE ENTITY"),
    ],
)
def test_each_places_its_texts_once_and_in_order(name: str, texts: str) -> None:
    for form in FORMS:
        assert placed(asked(name, *form)) == [f"THE {text}" for text in texts.split()], form


def test_what_may_be_missing() -> None:
    for angle in ANGLES["correctness"]:
        name = f"entities.correctness.{angle}"
        assert placed(asked(name, truth="")) == ["THE SOURCE", "THE ENTITY"]
        assert "ground truth" in asked(name).text
        assert "ground truth" not in asked(name, truth="").text
    plain = asked("entities.alignment.definition", heading="")
    assert placed(plain) == ["THE SOURCE", "THE ENTITY"]
    assert "heading" not in plain.text
    bare = asked("entities.alignment.definition", definition="")
    assert placed(bare) == ["THE HEADING", "THE ENTITY"]
    assert "definition" not in bare.text.lower()
    section = asked("entities.alignment.section", heading="")
    assert placed(section) == ["THE TRUTH", "THE ENTITY"]
    assert "heading" not in section.text


# the paper's order

PARTS = ("You are ", "\nYour goal is ", "\nTask:\n", "\nPossible answers:\n", "\nGuideline:\n",
         "\nExample:\n", "\nTHE ", "Question", '{"')  # fmt: skip


@pytest.mark.parametrize("name", [*CHOICES, *LISTING])
def test_the_parts_stand_in_the_paper_s_order(name: str) -> None:
    """In both layouts: with the text first, each question would repeat its instructions for it."""
    paper, shared = (asked(name, layout, "answer").text for layout in LAYOUTS)
    assert paper == shared
    *before, material, question, formatting = PARTS
    places = [paper.index(part) for part in (*before, material, question)]
    assert places == sorted(places)
    assert paper.rindex(formatting) > places[-1]
    if name not in LISTING:
        reason = asked(name, "paper", "reason").text
        assert paper.index("Question") < reason.index("think step by step") < reason.rindex('{"')


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_questions_about_two_entities_part_at_the_entities(name: str, layout: Layout) -> None:
    one, two = (asked(name, layout, entity=text, sentence=text) for text in ("ONE", "TWO"))
    *before, text, after = one.parts
    assert text == "ONE"
    assert two.parts == (*before, "TWO", after)
    assert len(after.split()) <= 15


# the answers


@pytest.mark.parametrize("name", CHOICES)
def test_the_options_are_those_that_are_counted(name: str) -> None:
    *others, last = (f'"{choice}"' for choice in CHOICES[name])
    for form in FORMS:
        text = asked(name, *form).text
        assert f"with exactly one of these words: {', '.join(others)} or {last}." in text, form
        defined = text.partition("Possible answers:\n")[2].partition("\n\n")[0]
        assert re.findall(r'^"(\w+)": ', defined, re.MULTILINE) == CHOICES[name], form
        assert set(re.findall(r'": "(\w+)"', text)) == set(CHOICES[name]), form


@pytest.mark.parametrize("name", CHOICES)
def test_how_each_mode_asks_for_the_answer(name: str) -> None:
    choose, answer, reason = (asked(name, mode=mode).text for mode in MODES)
    assert choose.endswith(".\n\nAnswer:")
    assert answer.endswith('\n{"1": {"answer": "…"}, "2": {"answer": "…"}, …}')
    assert reason.endswith('{"1": {"reason": "…", "answer": "…"}, "2": {"reason": "…", "answer"'
                           ': "…"}, …}')  # fmt: skip
    assert "{" not in choose
    assert ("step by step" in answer, "step by step" in reason) == (False, True)


@pytest.mark.parametrize("name", LISTING)
def test_what_lists_entities_has_one_mode(name: str) -> None:
    texts = {asked(name, mode=mode).text for mode in MODES}
    assert len(texts) == 1
    assert ("12 entities at most" in texts.pop()) is (name == "entities.extract")


def test_each_prompt_of_an_aspect_asks_from_an_angle_of_its_own() -> None:
    for aspect, angles in ANGLES.items():
        prompts = [asked(f"entities.{aspect}.{angle}").text for angle in angles]
        for opening in ("\nTask:\n", "\nExample:\n", "\nQuestion: "):
            said = {text.partition(opening)[2].partition("\n\n")[0] for text in prompts}
            assert len(said) == len(angles), (aspect, opening)


# fences


@pytest.mark.parametrize("name", [*CHOICES, *LISTING])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_no_text_can_leave_its_fence(name: str, layout: Layout) -> None:
    honest = asked(name, layout).text
    attacked = asked(name, layout, **dict.fromkeys(SLOTS, HOSTILE)).text
    for tag in set(re.findall(r"</?\w+>", honest)):
        assert honest.count(tag) == attacked.count(tag) == 1, tag
