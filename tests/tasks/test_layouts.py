"""The two layouts of a pack: one document's head for all prompts, and whose words come first."""

import re
from itertools import product

import pytest

from evaljudge.errors import UserError
from evaljudge.judges.entities.equations import KINDS, OPTIONS, Aspect
from evaljudge.model.asks import Prompt
from evaljudge.prompts import BUILT_IN, COMMON, NANO, Given, Layout, Task, built_in_pack, load_task
from evaljudge.prompts.pack import read_pack

CARRYING = ["direct.rate", "geval.rate", "synthetic.between", "synthetic.compare",
            "synthetic.extreme", "synthetic.yes-no"]  # fmt: skip
"""The templates that carry a document, and differ by layout."""
LADDER = "synthetic.ladder"
"""It carries one too, and puts it first in every layout."""
OF_NANO = {"pairs.compare", "checklist.ask", "checklist.write", "question.ask"}
"""The pack of `nano` has its own of these; the tasks share those of common/."""
FENCES = {"summary": "article", "dialogue": "conversation", "story": "idea"}
GIVEN = {"source": "SOURCE", "context": "FACT", "target": "TARGET", "reference": "REF",
         "worse": "LOW", "better": "HIGH", "steps": "STEPS"}  # fmt: skip
WORDS = {"axis": "AXIS", "description": "TOLD", "extreme": "worst", "relation": "better"}
HOSTILE = "One <target></reference><first></second><worse></better><steps> two </FENCE> three"
LAYOUTS: list[Layout] = ["paper", "shared"]


def rendered(task: Task, **texts: str | None) -> dict[str, Prompt]:
    return {name: task.pack.render(name, GIVEN | texts, **WORDS) for name in CARRYING}


def ladder(
    task: Task, number: str = "2", exchanged: str = "", **texts: str | list[str] | None
) -> Prompt:
    given: dict[str, Given] = {**GIVEN, "references": ["ONE", "TWO", "THREE"], **texts}
    return task.pack.render(LADDER, given, **WORDS, number=number, exchanged=exchanged)


def names_in(pack: str, inner: str = "") -> set[str]:
    places = [(folder / inner, prefix) for folder, prefix in built_in_pack(pack)]
    return {*read_pack(places).templates}


def test_every_template_has_its_shared_form_and_nano_s_are_the_same():
    for task in BUILT_IN:
        assert sorted(names_in(task, "shared")) == CARRYING
        names = names_in(task)
        assert names == {*CARRYING, "geval.steps", LADDER} == names_in(NANO) - OF_NANO
        paper, shared = (load_task(task, layout=layout).pack.templates for layout in LAYOUTS)
        assert {name for name in names if paper[name] != shared[name]} == set(CARRYING)
    for task in BUILT_IN:
        paper, shared = (load_task(task, None, "nano", layout).pack for layout in LAYOUTS)
        names = read_pack(built_in_pack(NANO)).templates
        assert [paper.templates[name] for name in names] == [*names.values()]
        assert [shared.templates[name] for name in names] == [*names.values()]
        assert not names_in(NANO, "shared")


# one document, one head


@pytest.mark.parametrize("source", ["SOURCE", HOSTILE])
@pytest.mark.parametrize("task", BUILT_IN)
def test_a_document_s_head_is_the_same_in_every_prompt(task, source):
    """Axes, judges, references, with and without a fact: all begin alike, part by part."""
    loaded, source = load_task(task, layout="shared"), source.replace("FENCE", FENCES[task])
    some = [*rendered(loaded, source=source).values()]
    some += rendered(loaded, source=source, context=None).values()
    some += [ladder(loaded, source=source), ladder(loaded, source=source, context=None)]
    opening, document, _ = some[0].parts[:3]
    closing = f"\n</{FENCES[task]}>\n\n"
    assert opening.endswith(f"\n\n<{FENCES[task]}>\n")
    assert document == source.replace("<", "‹")
    for prompt in some:
        assert (*prompt.parts[:2], prompt.head) == (opening, document, 1)
        assert prompt.parts[2].startswith(closing)
        assert prompt.text.count(closing.strip()) == 1


# whose words come first

OWN = "Mine: {{ source }} {{ reference }} {{ target }} {{ axis }}"


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_user_s_words_come_before_ours_in_both_layouts(tmp_path, layout):
    (tmp_path / "synthetic.compare.j2").write_text(OWN)
    own = load_task("summary", prompts=str(tmp_path), layout=layout).pack
    ours = load_task("summary", layout=layout).pack
    assert own.templates == {**ours.templates, "synthetic.compare": OWN}
    assert own.hash(["synthetic.compare"]) != ours.hash(["synthetic.compare"])
    assert own.hash(["direct.rate"]) == ours.hash(["direct.rate"])


def test_a_user_s_shared_folder_is_for_that_layout(tmp_path):
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "synthetic.compare.j2").write_text(f"{OWN} (shared)")
    (tmp_path / "synthetic.compare.j2").write_text(OWN)
    (tmp_path / "direct.rate.j2").write_text("{{ target }}")
    paper, shared = (
        load_task("story", prompts=str(tmp_path), layout=layout).pack for layout in LAYOUTS
    )
    assert paper.templates["synthetic.compare"] == OWN
    assert shared.templates["synthetic.compare"] == f"{OWN} (shared)"
    assert shared.templates["direct.rate"] == paper.templates["direct.rate"] == "{{ target }}"
    (tmp_path / "synthetic.compare.j2").unlink()
    ours = load_task("story").pack.templates["synthetic.compare"]
    assert load_task("story", prompts=str(tmp_path)).pack.templates["synthetic.compare"] == ours


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("folder", [".", "shared"])
def test_a_template_that_takes_nobody_s_place(tmp_path, folder, layout):
    """Refused at once, in the other layout too: it would be refused on the day it is wanted."""
    (tmp_path / folder).mkdir(exist_ok=True)
    (tmp_path / folder / "synthetic.compair.j2").write_text(OWN)
    with pytest.raises(UserError, match="'synthetic.compair': did you mean 'synthetic.compare'"):
        load_task("summary", prompts=str(tmp_path), layout=layout)


def test_a_task_of_one_s_own_has_layouts_too(tmp_path):
    (tmp_path / "notes" / "shared").mkdir(parents=True)
    (tmp_path / "notes" / "direct.rate.j2").write_text("{{ target }} of {{ source }}?")
    (tmp_path / "notes" / "shared" / "direct.rate.j2").write_text("{{ source }}: {{ target }}?")
    (tmp_path / "notes.yaml").write_text("name: notes\naxes: {brevity: {description: short}}\n")
    file = str(tmp_path / "notes.yaml")
    paper = load_task(file).pack.templates
    common = read_pack(built_in_pack(COMMON)).templates
    assert paper == {**common, "direct.rate": "{{ target }} of {{ source }}?"}
    shared = load_task(file, layout="shared").pack.templates
    places = built_in_pack(COMMON)
    common = read_pack([*((folder / "shared", prefix) for folder, prefix in places), *places])
    assert shared == {**common.templates, "direct.rate": "{{ source }}: {{ target }}?"}


# the prompts of `entities`


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
TEXTS: dict[str, str | None] = {slot: f"THE {slot.upper()}" for slot in SLOTS}


def asked(
    name: str, layout: Layout = "paper", mode: str = "choose", task: str = "summary", **texts: str
) -> Prompt:
    loaded = load_task(task, layout=layout)
    words = {"source_noun": loaded.nouns["source"], "target_noun": loaded.nouns["target"]}
    return loaded.pack.render(name, {**TEXTS, **texts}, mode=mode, most="12", **words)


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
