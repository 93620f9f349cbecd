"""A judge by the import path of its class: made, bound to its source, refused in one line."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.bundled.world.corpus import as_jsonl, make_cases
from evaljudge.config import load_config
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.judges import make_judges
from evaljudge.judges.plugin import _class_at
from evaljudge.prompts import load_task
from evaljudge.runs.job import make_job
from evaljudge.studies.study import expand

TASK = load_task("summary", ["fluency"])
WHOLE = '''
from evaljudge.judges.geval.judge import Geval
from evaljudge.judges.protocol import Judge
from evaljudge.judges.shared.one_question import OneQuestion

class Brief(OneQuestion):
    version = "2"
    question = "Is this brief? {{ target }}"
    answers = ("Yes", "No")

    def value(self, reply):
        return reply.p["Yes"]

class Stepped(Geval):
    """With briefs of its own kind."""

class Half(Judge):
    version = "1"

other = 3
'''
Write = Callable[..., None]


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Write:
    """Writes a module and has it imported anew."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(text: str, name: str = "my_own_judges") -> None:
        (tmp_path / f"{name}.py").write_text(text)
        monkeypatch.delitem(sys.modules, name, raising=False)
        _class_at.cache_clear()

    return write


def made(place: str) -> Any:
    (judge,) = make_judges({"mine": {"judge": place}}, TASK)
    return judge


def test_its_kind_is_its_path_and_its_version_has_a_digest_of_its_source(write: Write) -> None:
    write(WHOLE)
    first = made("my_own_judges:Brief")
    assert (first.name, first.kind) == ("mine", "my_own_judges:Brief")
    assert re.fullmatch(r"2\+[0-9a-f]{12}", first.version)
    write(WHOLE.replace('p["Yes"]', 'p["No"]'))
    assert made("my_own_judges:Brief").version != first.version
    write(WHOLE)
    assert made("my_own_judges:Brief").version == first.version


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("my_own:Brief", "there is no module my_own: install its package, or put the folder that"),
        ("my_own_judges.more:Brief", "there is no module my_own_judges.more: install its package"),
        ("broken_judges:Brief", "broken_judges cannot be imported: SyntaxError: "),
        ("failing_judges:Brief", "failing_judges cannot be imported: RuntimeError: no key"),
        ("needy_judges:Brief", "needy_judges cannot be imported: No module named 'no_such_package"),
        ("my_own_judges:Breif", "my_own_judges: unknown class 'Breif': did you mean 'Brief'?"),
        ("my_own_judges:other", "my_own_judges:other is not a judge: it must be a class that inh"),
        ("os:system", "os:system is not a judge"),
        ("my_own_judges:Half", "my_own_judges:Half lacks what every judge has: asking, axes, sco"),
        ("my_own_judges:", "'my_own_judges:' is not an import path: write it as package.module:C"),
        ("a/b.py:Brief", "'a/b.py:Brief' is not an import path"),
    ],
)
def test_what_cannot_be_a_judge_is_refused_in_one_line(write: Write, place: str, said: str) -> None:
    write(WHOLE)
    write("class Brief(:", "broken_judges")
    write("raise RuntimeError('no key')", "failing_judges")
    write("import no_such_package", "needy_judges")
    with pytest.raises(UserError) as refused:
        made(place)
    assert str(refused.value).startswith(f"judges.mine: {said}")
    assert "\n" not in str(refused.value)


def test_a_name_cannot_be_a_path() -> None:
    with pytest.raises(UserError) as refused:
        make_judges({"my_own_judges:Brief": {}}, TASK)
    assert 'below a name of its own: {NAME: {judge: "my_own_judges:Brief"}}' in str(refused.value)


def test_a_study_names_it_by_its_class() -> None:
    judges = expand([{"judge": "my_own_judges:Brief", "limit": [1, 2]}, "my_own_judges:Half"])
    assert list(judges) == ["Brief-1", "Brief-2", "Half"]
    assert {own["judge"] for own in judges.values()} == {
        "my_own_judges:Brief",
        "my_own_judges:Half",
    }


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "cases.jsonl").write_text(as_jsonl(make_cases(3, 0)))
    return {
        "corpus": str(tmp_path / "cases.jsonl"), "out": str(tmp_path / "out"), "model": "m",
        "axes": ["fluency"], "workers": {"executor": "local"},
        "judges": {"mine": {"judge": "my_own_judges:Brief"},
                   "stepped": {"judge": "my_own_judges:Stepped"}},
    }  # fmt: skip


def test_a_run_is_bound_to_its_source(write: Write, config: dict[str, Any], tmp_path: Path) -> None:
    write(WHOLE)
    assert evaljudge.run(config, engines=ScriptedEngines()).coverage == 1.0
    run = json.loads((tmp_path / "out/run.json").read_text())
    bound = run["fingerprint"]["judges"]["mine"]
    assert bound["judge"] == "my_own_judges:Brief"
    signature = make_job(load_config(config), ScriptedEngines()).judge_signatures()["mine"]
    assert signature.startswith(f"mine@{bound['version']} | m@scripted | ")
    assert '"judge": "my_own_judges:Brief"' in signature
    assert len(list((tmp_path / "out/briefs/my_own_judges:Stepped").iterdir())) > 0
    page = (tmp_path / "out/report/index.html").read_text()
    assert "How probable the model finds each answer." in page

    assert evaljudge.run(config, engines=ScriptedEngines()).coverage == 1.0
    write(WHOLE + "# edited\n")
    with pytest.raises(UserError, match=r"judges\.mine\.version is .* there, .* here"):
        evaljudge.run(config, engines=ScriptedEngines())
    with pytest.raises(UserError, match="is bound to another run"):
        evaljudge.make_report(config, engines=ScriptedEngines())


@pytest.mark.ray
def test_a_module_that_ray_s_workers_lack_is_named(
    write: Write, config: dict[str, Any], local_ray: None
) -> None:
    """They search what they were started with: this process alone has the folder."""
    write(WHOLE, "left_at_home")
    config |= {"workers": {"executor": "ray"}, "judges": {"m": {"judge": "left_at_home:Brief"}}}
    with pytest.raises(UserError, match=r"No module named 'left_at_home': a judge's module must"):
        evaljudge.run(config, engines=ScriptedEngines())
