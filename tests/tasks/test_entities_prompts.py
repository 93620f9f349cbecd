"""The prompts of `entities`: the order of their parts, their options, what they have in common."""

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


def asked(
    name: str, layout: Layout = "paper", mode: str = "choose", task: str = "summary", **texts: str
) -> Prompt:
    loaded = load_task(task, layout=layout)
    words = {"source_noun": loaded.nouns["source"], "target_noun": loaded.nouns["target"]}
    return loaded.pack.render(name, {**GIVEN, **texts}, mode=mode, most="12", **words)


def test_these_are_all():
    bases = {"entities.ask", *(f"entities.{aspect}" for aspect in ANGLES)}
    ours = {
        name for name in read_pack(built_in_pack(COMMON)).templates if name.startswith("entities.")
    }
    assert ours == {*bases, *CHOICES, *LISTING}


@pytest.mark.parametrize("name", [*CHOICES, *LISTING])
def test_both_layouts_ask_the_same(name):
    """In both layouts: with the text first, each question would repeat its instructions for it."""
    paper, shared = (asked(name, layout, "answer").text for layout in LAYOUTS)
    assert paper == shared


# the answers


@pytest.mark.parametrize("name", CHOICES)
def test_the_options_are_those_that_are_counted(name):
    *others, last = (f'"{choice}"' for choice in CHOICES[name])
    for form in FORMS:
        text = asked(name, *form).text
        assert f"with exactly one of these words: {', '.join(others)} or {last}." in text, form
        defined = text.partition("Possible answers:\n")[2].partition("\n\n")[0]
        assert re.findall(r'^"(\w+)": ', defined, re.MULTILINE) == CHOICES[name], form
        assert set(re.findall(r'": "(\w+)"', text)) == set(CHOICES[name]), form
