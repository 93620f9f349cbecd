"""Tasks and packs: what renders, what stays fenced, what is refused."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from evaljudge.errors import UserError
from evaljudge.judges.synthetic.judge import Synthetic
from evaljudge.prompts import BUILT_IN, HERE, Layout, Pack, load_task
from evaljudge.prompts.pack import read_pack

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
    with pytest.raises(UserError, match=re.escape(said)):
        pack.render("synthetic.compare", GIVEN, axis="a", description="b")


def test_prompts_that_are_nowhere(tmp_path):
    with pytest.raises(UserError, match="unknown template 'synthetic.compair': did you mean"):
        Pack({"synthetic.compare": ""}).hash(["synthetic.compair"])
    file = tmp_path / "notes.yaml"
    file.write_text("name: notes\naxes:\n  brevity: {description: how short}\n")
    said = f"no template 'synthetic.compare': task {file} has no `prompts`: give `prompts: summary`"
    with pytest.raises(UserError, match=re.escape(said)):
        Synthetic({}, load_task(str(file)))
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
    with pytest.raises(UserError, match=f"task: {re.escape(name)}: no such file"):
        load_task(name)


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
    with pytest.raises(UserError, match=re.escape(said)):
        load_task(str(file))


def test_axes_are_chosen_by_name_and_refused_by_the_nearest():
    assert [a.name for a in load_task("summary", ["relevance", "fluency"]).axes] == [
        "relevance",
        "fluency",
    ]
    with pytest.raises(UserError, match="unknown axis 'fluencey': did you mean 'fluency'"):
        load_task("summary", ["fluencey"])
    with pytest.raises(UserError, match=r"'tone': known: .* goes into a task file: `task: FILE`"):
        load_task("summary", ["tone"])
    with pytest.raises(UserError, match="unknown task 'sumary': did you mean 'summary'"):
        load_task("sumary")
    with pytest.raises(UserError, match="no such folder"):
        load_task("summary", prompts="/no/such/folder")
