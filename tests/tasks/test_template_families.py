"""Templates that inherit from others and include them: what is rendered, hashed and fenced."""

import hashlib
import pickle
import re

import pytest

from evaljudge.errors import UserError
from evaljudge.prompts import COMMON, Pack, built_in_pack, load_task
from evaljudge.prompts.pack import read_pack

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
    with pytest.raises(UserError, match="'truth' is undefined"):
        pack.check("asked", ["entity"])


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
