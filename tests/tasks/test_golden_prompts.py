"""Every prompt as a model is asked it: golden/TASK/LAYOUT/NAME.txt, and golden/nano/NAME.txt.

    UPDATE_GOLDEN=1 pytest tests/tasks/test_golden_prompts.py

writes the files anew; read what `git diff` says of them. The texts are those of examples.yaml.

The templates that serve every task (common/) are asked in up to three modes, and some without a
text that they may lack: golden/TASK/LAYOUT/NAME.choose.without-truth.txt. Those of them that others
inherit from are not asked themselves, and have no file.

golden/TASK/axes/AXIS.txt shows each axis of the task in sentences: the comparison whole, then the
lines of all other prompts that name the axis, each once.
"""

from __future__ import annotations

import os
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from difflib import unified_diff
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from evaljudge.prompts import (
    BUILT_IN,
    COMMON,
    NANO,
    Given,
    Layout,
    Pack,
    Task,
    built_in_pack,
    load_task,
)
from evaljudge.prompts.pack import read_pack
from evaljudge.records import Axis

HERE = Path(__file__).parent
GOLDEN = HERE / "golden"
EXAMPLES = yaml.safe_load((HERE / "examples.yaml").read_text(encoding="utf-8"))
FURTHER_WORDS = {
    "synthetic.extreme": {word: {"extreme": word} for word in ("worst", "best")},
    "synthetic.ladder": {
        "usual": {"number": "2", "exchanged": ""},
        "exchanged": {"number": "2", "exchanged": "yes"},
    },
    "synthetic.yes-no": {word: {"relation": word} for word in ("better", "worse")},
}
"""The templates that need further words: these, by the name of each golden file."""
MODES = ("choose", "answer", "reason")
MAY_LACK = ("truth", "definition", "heading", "example_sources")
"""Texts without which some templates of common/ are asked too."""
OF_ALL_TASKS = re.compile(
    r"/axes/|/(entities|roles|likelihood|extract)\.|/paper/pairs\.|geval\.steps\.txt$"
)
"""Prompts of all tasks alike, whose documents have no fence of the task's own."""
REMEDY = "if this is meant: UPDATE_GOLDEN=1 pytest tests/tasks/test_golden_prompts.py"


def test_every_prompt_is_the_golden_one() -> None:
    rendered = dict(prompts())
    if os.environ.get("UPDATE_GOLDEN") == "1":
        update(rendered, GOLDEN)
    complaints = compared(rendered, GOLDEN)
    assert not complaints, "\n\n".join([*complaints, REMEDY])


def prompts() -> Iterator[tuple[str, str]]:
    """Each golden file's path below golden/, and what should stand in it."""
    for task in BUILT_IN:
        for layout in get_args(Layout):
            loaded = load_task(task, layout=layout)
            common = (
                loaded.pack.templates.keys() & read_pack(built_in_pack(COMMON)).templates.keys()
            )
            yield from _prompts(f"{task}/{layout}", loaded, EXAMPLES[task], common)
            if layout == "paper":  # the other layout has the same
                yield from _common(f"{task}/{layout}", loaded, EXAMPLES[task], common)
        yield from _axes(task, common)
    nano = load_task("summary", prompts="nano")
    others = nano.pack.templates.keys() - read_pack(built_in_pack(NANO)).templates.keys()
    yield from _prompts("nano", nano, EXAMPLES["nano"], others)


def _axes(name: str, common: Set[str]) -> Iterator[tuple[str, str]]:
    layouts = {layout: load_task(name, layout=layout) for layout in get_args(Layout)}
    for axis in layouts["paper"].axes:
        texts = EXAMPLES[name] if axis.context else {**EXAMPLES[name], "context": None}
        named, unnamed = (
            {
                path: text
                for layout, task in layouts.items()
                for path, text in _prompts(layout, task, texts, common, told)
            }
            for told in (axis, replace(axis, phrase="…"))
        )
        whole = named.pop("paper/synthetic.compare.txt")
        lines = [line for path in named for line in _other_lines(named[path], unnamed[path])]
        yield f"{name}/axes/{axis.name}.txt", "\n".join([whole, *dict.fromkeys(lines), ""])


def _other_lines(text: str, other: str) -> list[str]:
    return [line for line in text.splitlines() if line not in other.splitlines()]


def _prompts(
    folder: str,
    task: Task,
    texts: Mapping[str, str | None],
    others: Set[str],
    axis: Axis | None = None,
) -> Iterator[tuple[str, str]]:
    """On this axis, or on that of the example."""
    axis_words = (axis or next(one for one in task.axes if one.name == texts["axis"])).words
    slots = ("source", "target", "reference", "worse", "better", "steps")
    given: dict[str, Given] = {slot: texts[slot] for slot in slots}
    given |= {"context": texts.get("context"), "references": several(texts)}
    given |= {"first": texts["reference"], "second": texts["target"]}
    for name in sorted(task.pack.templates.keys() - others):
        for suffix, words in FURTHER_WORDS.get(name, {"": {}}).items():
            file = ".".join(filter(None, [name, suffix, "txt"]))
            prompt = task.pack.render(name, given, **axis_words, **words)
            yield f"{folder}/{file}", f"{prompt.text}\n"


def several(texts: Mapping[str, str | None]) -> list[str]:
    """The references of a ladder, in no order of quality."""
    return [texts[slot] or "" for slot in ("better", "worse", "reference")]


def _common(
    folder: str, task: Task, texts: Mapping[str, str], common: Set[str]
) -> Iterator[tuple[str, str]]:
    for name in sorted(common - inherited(task.pack)):
        modes = {mode: asked(task, name, texts, mode) for mode in MODES}
        if len(set(modes.values())) == 1:
            yield f"{folder}/{name}.txt", modes["choose"]
        else:
            yield from ((f"{folder}/{name}.{mode}.txt", text) for mode, text in modes.items())
        for slot in may_lack(task.pack, name):
            text = asked(task, name, {**texts, slot: ""}, "choose")
            yield f"{folder}/{name}.choose.without-{slot}.txt", text


def asked(task: Task, name: str, texts: Mapping[str, str], mode: str) -> str:
    """One entity or sentence is asked about, or all that are numbered."""
    given: dict[str, Any] = {"context": None}
    given |= {slot: text for slot, text in texts.items() if slot != "axis"}
    given |= {"text": given["target"], "first": given["reference"], "second": given["target"]}
    given["roles"] = "\n".join(f"{who}: {what}" for who, what in task.roles.items())
    given = {"example_sources": [given["source"]], "example_targets": [given["reference"]]} | given
    if mode != "choose":
        given |= {"entity": given["entities"], "sentence": given["sentences"]}
    noun = task.nouns["target"]
    words = next(axis.words for axis in task.axes if axis.name == texts["axis"])
    words |= {"source_noun": task.nouns["source"], "target_noun": noun}
    words |= {"first_name": f"{noun.capitalize()} 1", "second_name": f"{noun.capitalize()} 2"}
    words |= next(one for one in task.axes if one.name == texts["axis"]).words | {"number": "1"}
    given["instruction"] = None
    return f"{task.pack.render(name, given, mode=mode, most='12', **words).text}\n"


def inherited(pack: Pack) -> set[str]:
    """The templates that others inherit from, whoever these are."""
    return {base for text in pack.templates.values() for base in _parents(text)}


def _parents(text: str) -> list[str]:
    return re.findall(r'{%-? extends "([^"]+)" -?%}', text)


def may_lack(pack: Pack, name: str) -> list[str]:
    """The texts that this template, or what it inherits from, asks for before it places them."""
    line = [name]
    for heir in line:
        line += _parents(pack.templates[heir])
    told = " ".join(pack.templates[heir] for heir in line)
    return [slot for slot in MAY_LACK if re.search(rf"{{%-? if {slot}\b", told)]


def compared(rendered: Mapping[str, str], golden: Path) -> list[str]:
    """What is missing, superfluous or different, each in words of its own."""
    there = files(golden)
    missing = [f"missing: golden/{path}" for path in sorted(rendered.keys() - there)]
    superfluous = [f"superfluous: golden/{path}" for path in sorted(there - rendered.keys())]
    pairs = {path: (_read(golden / path), rendered[path]) for path in sorted(there & set(rendered))}
    different = [_difference(path, *pair) for path, pair in pairs.items() if pair[0] != pair[1]]
    return [*missing, *superfluous, *different]


def files(golden: Path) -> set[str]:
    return {file.relative_to(golden).as_posix() for file in golden.rglob("*") if file.is_file()}


def _difference(path: str, was: str, now: str) -> str:
    lines = unified_diff(was.splitlines(), now.splitlines(), "golden", "rendered", lineterm="")
    return "\n".join([f"different: golden/{path}", *lines])


def _read(file: Path) -> str:
    return file.read_bytes().decode("utf-8")


def update(rendered: Mapping[str, str], golden: Path) -> None:
    for path in files(golden) - rendered.keys():
        (golden / path).unlink()
    for path, text in rendered.items():
        (golden / path).parent.mkdir(parents=True, exist_ok=True)
        (golden / path).write_bytes(text.encode("utf-8"))


# the comparison itself


def test_what_differs_is_said(tmp_path: Path) -> None:
    update({"story/paper/a.txt": "one\ntwo\n", "story/paper/b.txt": "b\n"}, tmp_path)
    assert compared({"story/paper/a.txt": "one\ntwo\n", "story/paper/b.txt": "b\n"}, tmp_path) == []
    assert compared({"story/paper/a.txt": "one\n2\n", "nano/c.txt": "c\n"}, tmp_path) == [
        "missing: golden/nano/c.txt",
        "superfluous: golden/story/paper/b.txt",
        "different: golden/story/paper/a.txt\n"
        "--- golden\n+++ rendered\n@@ -1,2 +1,2 @@\n one\n-two\n+2",
    ]


def test_an_update_leaves_nothing_to_say(tmp_path: Path) -> None:
    update({"old.txt": "old\n"}, tmp_path)
    update({"nano/new.txt": "new\r\n"}, tmp_path)
    assert files(tmp_path) == {"nano/new.txt"}
    assert compared({"nano/new.txt": "new\r\n"}, tmp_path) == []
    assert len(compared({"nano/new.txt": "new\n"}, tmp_path)) == 1


def test_only_what_others_inherit_from_is_never_asked() -> None:
    pack = load_task("summary").pack
    aspects = ("completeness", "correctness", "alignment", "readability")
    bases = {"entities.ask", *(f"entities.{aspect}" for aspect in aspects)}
    assert inherited(pack) == bases | {"roles.ask", "roles.readers"}
    asked_for = {path.split("/")[-1] for path, _ in prompts() if path.startswith("summary/paper/")}
    for name in pack.templates.keys() - inherited(pack):
        assert any(file.startswith(f"{name}.") for file in asked_for), name


def test_what_each_may_lack() -> None:
    pack = load_task("summary").pack
    lacking = {name: may_lack(pack, name) for name in pack.templates}
    assert {name: slots for name, slots in lacking.items() if slots} == {
        "entities.correctness": ["truth"],
        "entities.correctness.details": ["truth"],
        "entities.correctness.evidence": ["truth"],
        "entities.correctness.facts": ["truth"],
        "entities.alignment.definition": ["definition", "heading"],
        "entities.alignment.section": ["heading"],
        "likelihood.back": ["example_sources"],
        "likelihood.write": ["example_sources"],
    }


def test_each_prompt_carries_its_texts_in_their_fences() -> None:
    """The hostile bits of the examples: each document's fence is closed once, at its end."""
    tags = {"summary": "article", "dialogue": "conversation", "story": "idea", "nano": "report"}
    carrying = [(path, text) for path, text in prompts() if not OF_ALL_TASKS.search(path)]
    assert len(carrying) == 10 * (3 * 2 + 1) + 1  # of `pairs`, what nano is asked
    for path, text in carrying:
        tag = tags[path.split("/")[0]]
        assert (text.count(f"</{tag}>"), text.count(f"‹/{tag}>")) == (1, 1), path
        if "/shared/" in path:
            assert (text.count("‹target>"), "\0" in text) == (1, False), path


EVASIONS = ("<{}>", "</{}>", "< / {} >", "</{} x>", "<{} id='1'>", "<\u200b/\U000e0041{}\u2060>",
            "＜／{}＞", "<{}/>")  # fmt: skip


def test_no_text_opens_or_closes_a_fence_in_any_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every text of every template says every marker, in every form in which it may be hidden."""
    names = {name for _, text in prompts() for name in re.findall(r"</?(\w+)>", text)}
    hostile = " ".join(form.format(name) for name in names for form in EVASIONS)
    rendered = {}
    for said in ("Calm.", hostile):
        texts = {task: dict.fromkeys(own, said) | {"axis": own["axis"]}
                 for task, own in EXAMPLES.items()}  # fmt: skip
        monkeypatch.setattr(sys.modules[__name__], "EXAMPLES", texts)
        rendered[said] = dict(prompts())
    for path, calm in rendered["Calm."].items():
        fences = Counter(fences_of(calm))
        marks = {name for _, name in fences}
        found = [fence for fence in fences_of(rendered[hostile][path]) if fence[1] in marks]
        assert Counter(found) == fences, path


def fences_of(text: str) -> list[tuple[str, str]]:
    """As a tokenizer may read them that drops what is invisible; `/` and the name of each."""
    plain = re.sub("[\u200b\u2060\U000e0041]", "", unicodedata.normalize("NFKC", text))
    return re.findall(r"<\s*(/?)\s*(\w+)\b[^<>]*>", plain)


def test_the_ground_truth_s_fence_is_closed_once() -> None:
    carrying = [(path, text) for path, text in prompts() if "<truth>" in text]
    assert len(carrying) == (3 * 3 + 3 + 1) * 3  # correctness; section with and without heading
    for path, text in carrying:
        assert (text.count("</truth>"), text.count("‹/truth>"), text.count("‹entity>")) == (
            1,
            1,
            1,
        ), path
        assert text.count("<entity>") == text.count("</entity>") == 1, path
