"""Every prompt as a model is asked it: golden/TASK/LAYOUT/NAME.txt, and golden/nano/NAME.txt.

    pytest -n0 --renew tests/tasks/test_golden_prompts.py

writes the files anew; read what `git diff` says of them. The texts are those of examples.yaml.

The templates that serve every task (common/) are asked in up to three modes, and some without a
text that they may lack: golden/TASK/LAYOUT/NAME.choose.without-truth.txt. Those of them that others
inherit from are not asked themselves, and have no file.

golden/TASK/axes/AXIS.txt shows each axis of the task in sentences: the comparison whole, then the
lines of all other prompts that name the axis, each once.
"""

import re
import shutil
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

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
    "question.ask": {"": {"answers": "Yes or No"}},
    "synthetic.extreme": {word: {"extreme": word} for word in ("worst", "best")},
    "synthetic.ladder": {
        "usual": {"number": "2", "exchanged": ""},
        "exchanged": {"number": "2", "exchanged": "yes"},
    },
    "synthetic.yes-no": {word: {"relation": word} for word in ("better", "worse")},
}
"""The templates that need further words: these, by the name of each golden file."""
MODES = ("choose", "answer", "reason")
MAY_LACK = ("truth", "definition", "heading", "example_sources", "source")
"""Texts without which some templates of common/ are asked too."""


def test_every_prompt_is_the_golden_one(pytestconfig):
    rendered = dict(prompts())
    if pytestconfig.getoption("--renew"):
        shutil.rmtree(GOLDEN)
        for path, text in rendered.items():
            (GOLDEN / path).parent.mkdir(parents=True, exist_ok=True)
            (GOLDEN / path).write_bytes(text.encode())
    files = [file for file in GOLDEN.rglob("*") if file.is_file()]
    golden = {file.relative_to(GOLDEN).as_posix(): file.read_bytes().decode() for file in files}
    assert rendered == golden, "if this is meant, pytest --renew, and read `git diff`"


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
    slots = ("source", "target", "reference", "worse", "better", "steps", "question")
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
    given["example_ratings"] = ["4.5"]
    if mode != "choose":
        given |= {"entity": given["entities"], "sentence": given["sentences"]}
    noun = task.nouns["target"]
    words = next(axis.words for axis in task.axes if axis.name == texts["axis"])
    words |= {"source_noun": task.nouns["source"], "target_noun": noun}
    words |= {"first_name": f"{noun.capitalize()} 1", "second_name": f"{noun.capitalize()} 2"}
    words |= next(one for one in task.axes if one.name == texts["axis"]).words | {"number": "1"}
    words |= FURTHER_WORDS["question.ask"][""]
    words |= {"score": "2.25", "meaning": "1 is the worst, 5 the best."}
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


EVASIONS = ("<{}>", "</{}>", "< / {} >", "</{} x>", "<{} id='1'>", "<\u200b/\U000e0041{}\u2060>",
            "＜／{}＞", "<{}/>")  # fmt: skip


def test_no_text_opens_or_closes_a_fence_in_any_prompt(monkeypatch):
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
