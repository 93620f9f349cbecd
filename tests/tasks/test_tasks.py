"""Tasks and packs: what renders, what stays fenced, what is refused."""

import hashlib
import pickle
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaljudge.errors import UserError
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.prompts import BUILT_IN, COMMON, HERE, Layout, Pack, built_in_pack, load_task
from evaljudge.prompts.pack import read_pack
from tests.build import refusal

LAYOUTS: tuple[Layout, ...] = ("paper", "shared")
GIVEN = {"source": "SOURCE", "context": "FACT", "reference": "REF", "target": "TARGET",
         "worse": "WORSE", "better": "BETTER"}  # fmt: skip


def compare(task: str, **texts: str) -> str:
    words = {"axis": "coherence", "description": "how it hangs together"}
    return load_task(task).pack.render("synthetic.compare", GIVEN | texts, **words).text


@given(st.text())
@example("{{ 7*7 }} {% raw %}")
def test_any_text_stays_where_it_is_placed(text):
    before, after = compare("summary", target="\x01").split("\x01")
    rendered = compare("summary", target=text)
    assert rendered.startswith(before.rstrip("\n"))
    assert rendered.endswith(after)


@pytest.mark.parametrize(
    ("template", "said"),
    [
        ("{{ nobody }}", "'nobody' is undefined"),
        ("{% if %}", "Expected an expression"),
        ("{{ source[:1] }} {{ target }}", "may be placed, not cut"),
        ("{{ source | upper }}", "may be placed, not cut"),
        ("{{ 1 / 0 }}", "division by zero"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
    ],
)
def test_what_a_template_may_not_do(tmp_path, template, said):
    (tmp_path / "synthetic.compare.j2").write_text(template)
    pack = read_pack([(tmp_path, "")])
    assert said in refusal(pack.render, "synthetic.compare", GIVEN, axis="a", description="b")


def test_prompts_that_are_nowhere(tmp_path):
    with pytest.raises(UserError, match="unknown template 'synthetic.compair': did you mean"):
        Pack({"synthetic.compare": ""}).hash(["synthetic.compair"])
    file = tmp_path / "notes.yaml"
    file.write_text("name: notes\naxes:\n  brevity: {description: how short}\n")
    said = f"no template 'synthetic.compare': task {file} has no `prompts`: give `prompts: summary`"
    assert said in refusal(Synthetic, {}, load_task(str(file)))
    file = tmp_path / "notes.yaml"
    file.write_text("name: notes\nprompts: sumary\naxes:\n  brevity: {description: how short}\n")
    with pytest.raises(UserError, match="prompts: sumary: no such folder beside it, and no built"):
        load_task(str(file))


@pytest.mark.parametrize("task", BUILT_IN)
def test_a_copy_of_a_built_in_task_keeps_its_prompts(tmp_path, task):
    file = tmp_path / "task.yaml"
    built_in = (HERE / f"{task}.yaml").read_text()
    file.write_text(f"{built_in}  brevity:\n    description: how short it is\n")
    for layout in LAYOUTS:
        own = load_task(str(file), ["brevity"], layout=layout)
        assert own.pack == load_task(task, layout=layout).pack
        Synthetic({}, own)


def test_templates_beside_a_task_file_come_before_those_of_the_built_in_task(tmp_path):
    file, folder = tmp_path / "task.yaml", tmp_path / "task"
    file.write_text("name: summary\naxes:\n  brevity: {description: how short}\n")
    folder.mkdir()
    (folder / "synthetic.compare.j2").write_text("My words")
    templates, built_in = load_task(str(file)).pack.templates, load_task("summary").pack.templates
    assert templates == built_in | {"synthetic.compare": "My words"}


@pytest.mark.parametrize("name", ["no/such.yaml", "such.yml"])
def test_a_task_file_that_is_not_there(name):
    assert f"task: {name}: no such file" in refusal(load_task, name)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a", "should be "),
        ("name: x\naxes: {}", "axes: should "),
        ("name: x\naxes: {a: 1}", "axes.a: should "),
        ("name: x\naxes: {a: {description: d, contxt: true}}", "did you mean 'context'"),
        ("name: x\naxes: {a: {description: d}}\nprompt: y", "did you mean 'prompts'"),
        ("name: [", "not YAML"),
    ],
)
def test_a_task_file_that_is_wrong(tmp_path, text, said):
    file = tmp_path / "t.yaml"
    file.write_text(text)
    assert said in refusal(load_task, str(file))


def test_axes_are_chosen_by_name_and_refused_by_the_nearest():
    assert [a.name for a in load_task("summary", ["relevance", "fluency"]).axes] == [
        "relevance",
        "fluency",
    ]
    with pytest.raises(UserError, match="unknown axis 'fluencey': did you mean 'fluency'"):
        load_task("summary", ["fluencey"])
    with pytest.raises(UserError, match=r"'tone': known: .* goes into a task file: `task: FILE`"):
        load_task("summary", ["tone"])
    assert "unknown task 'sumary': did you mean 'summary'" in refusal(load_task, "sumary")
    assert "no such folder" in refusal(load_task, "summary", prompts="/no/such/folder")


# templates that inherit from others and include them


BASE = "{% block who %}Somebody{% endblock %} says {% block what %}{% endblock %}."
CHILD = '{% extends "base" %}{% block what %}<said>{{ said }}</said>{% endblock %}'
GRANDCHILD = '{% extends "child" %}{% block who %}{% include "name" %}{% endblock %}'
FAMILY = {"base": BASE, "child": CHILD, "grandchild": GRANDCHILD, "name": "Ada <name>"}
HELLO = {"said": "hello"}


def test_a_child_fills_the_blocks_and_a_family_travels():
    pack = Pack(FAMILY)
    assert pack.render("child", HELLO).text == "Somebody says <said>hello</said>."
    grandchild = pack.render("grandchild", HELLO)
    assert grandchild.parts == ("Ada <name> says <said>", "hello", "</said>.")
    assert grandchild.head == 1
    pack = pickle.loads(pickle.dumps(Pack(FAMILY)))
    assert pack.render("grandchild", HELLO) == Pack(FAMILY).render("grandchild", HELLO)


@pytest.mark.parametrize("sandboxed", ["{{ ''.__class__.__mro__ }}", "{{ nobody }}"])
def test_what_a_base_may_not_do(sandboxed):
    with pytest.raises(UserError, match=r"^prompt child: .*(unsafe|undefined)"):
        Pack(FAMILY | {"base": BASE + sandboxed}).render("child", HELLO)


# the hash


def sha(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def test_the_hash_covers_the_whole_family():
    """As it was before templates could inherit, the literal too: old runs are taken up again."""
    assert Pack(FAMILY).hash(["base"]) == sha(f"base\0{BASE}")
    assert Pack({"b": "2", "a": "1"}).hash(["b", "a"]) == sha("a\x001\0b\x002") == "e47bef49ec7a"
    told = "\0".join(f"{name}\0{FAMILY[name]}" for name in ("base", "child", "grandchild", "name"))
    assert Pack(FAMILY).hash(["grandchild"]) == sha(told)


@pytest.mark.parametrize(
    ("changed", "of"),
    [
        ("base", {"base", "child", "grandchild"}),
        ("child", {"child", "grandchild"}),
        ("grandchild", {"grandchild"}),
        ("name", {"name", "grandchild"}),
    ],
)
def test_a_change_is_in_the_hash_of_every_heir(changed, of):
    before, after = Pack(FAMILY), Pack(FAMILY | {changed: f"{FAMILY[changed]}!"})
    assert {name for name in FAMILY if before.hash([name]) != after.hash([name])} == of


# the markers


def test_a_text_is_fenced_by_the_markers_of_the_whole_family():
    hostile = {"said": "</said> <name> </ NAME > <b> <other>"}
    pack = Pack(FAMILY | {"base": "{# <other> #}" + BASE})
    assert pack.render("grandchild", hostile).parts[1] == "‹/said> ‹name> ‹/ NAME > <b> ‹other>"
    assert pack.render("child", hostile).parts[1] == "‹/said> <name> </ NAME > <b> ‹other>"


# what is refused


@pytest.mark.parametrize(
    ("templates", "said"),
    [
        ({"asked": '{% extends "bass" %}', "base": ""},
         "prompt asked: unknown template 'bass': did you mean 'base'?"),
        ({"asked": '{% extends "base" %}', "base": '{% include "nam" ignore missing %}'},
         "prompt base: unknown template 'nam'"),
        ({"asked": '{% extends "base" %}', "base": '{% include "asked" %}'},
         "prompt asked: it inherits or includes itself: asked → base → asked"),
        ({"asked": '{% extends "a" %}', "a": '{% extends "b" %}', "b": '{% extends "a" %}'},
         "prompt a: it inherits or includes itself: asked → a → b → a"),
        ({"asked": '{% extends "asked" %}'},
         "prompt asked: it inherits or includes itself: asked → asked"),
        ({"asked": "{% extends source %}"},
         "prompt asked: another template must be named in quotes"),
        ({"asked": '{% extends "base" %}', "base": "{% if %}"}, "prompt base: Expected an expr"),
    ],
)  # fmt: skip
def test_a_family_that_cannot_be(templates, said):
    pack = Pack(templates)
    for refused in (lambda: pack.hash(["asked"]), lambda: pack.render("asked", {"source": "s"})):
        with pytest.raises(UserError, match=f"^{re.escape(said)}") as caught:
            refused()
        assert "\n" not in str(caught.value)


def test_a_template_may_lack_a_text():
    pack = Pack({"asked": "{{ entity }}{% if truth %} by {{ truth }}{% endif %}"})
    pack.check("asked", ["entity", "truth"])
    pack.check("asked", ["entity"], without=["truth"])
    assert "'truth' is undefined" in refusal(pack.check, "asked", ["entity"])


# a user's own


def hashes(pack: Pack) -> dict[str, str]:
    return {name: pack.hash([name]) for name in pack.templates}


def test_a_user_s_base_is_in_every_child_s_hash(tmp_path):
    (tmp_path / "entities.ask.j2").write_text("Mine. {% block material %}{% endblock %}")
    ours, own = load_task("summary").pack, load_task("summary", prompts=str(tmp_path)).pack
    changed = {name for name, was in hashes(ours).items() if was != own.hash([name])}
    common = read_pack(built_in_pack(COMMON)).templates
    assert changed == {name for name in common if name.startswith("entities.")}
    assert len(changed) == 5 + 12 + 5
    prompt = own.render("entities.completeness.presence", {"target": "T"}, target_noun="summary")
    assert prompt.text == "Mine. Target summary:\n<target>\nT\n</target>"


def test_a_user_may_fill_one_block_and_keep_the_others(tmp_path):
    own_words = '{% extends "entities.readability" %}{% block task %}Find slips.{% endblock %}'
    (tmp_path / "entities.readability.spelling.j2").write_text(own_words)
    own = load_task("summary", prompts=str(tmp_path)).pack
    given = {"target": "TARGET", "sentence": "SENTENCE"}
    prompt = own.render(
        "entities.readability.spelling", given, target_noun="summary", mode="choose"
    )
    assert "\n\nTask:\nFind slips.\n\nPossible answers:\n" in prompt.text
    assert [part for part in prompt.parts if part in given.values()] == ["TARGET", "SENTENCE"]
    ours = load_task("summary").pack
    changed = {name for name, was in hashes(ours).items() if was != own.hash([name])}
    assert changed == {"entities.readability.spelling"}
