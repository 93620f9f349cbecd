"""A judge from nothing, as docs/extending.md writes it: found by folder, and by entry point."""

import json
import os
import re
import subprocess
import sys
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import yaml

from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.errors import UserError
from evaljudge.judges import make_judges
from evaljudge.judges.plugin import plugin_at
from evaljudge.plugins import kinds
from evaljudge.prompts import load_task
from evaljudge.runs.outcome import open_run
from tests.build import refusal

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
FILE = re.compile(r"^```\w+ (clear/\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def written(folder: Path) -> Path:
    """The judge's folder with the files that the page shows."""
    for name, text in FILE.findall(PAGE.read_text(encoding="utf-8")):
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder / "clear"


SCRIPTED = """from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.runs import job
job.VllmEngines = ScriptedEngines
from evaljudge.__main__ import main
main()"""


def told(environment: dict[str, str], *arguments: str, status: int = 0) -> str:
    command = [sys.executable, "-c", SCRIPTED, *arguments]
    done = subprocess.run(
        command, env=os.environ | environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


@pytest.fixture
def config(tmp_path):
    text = next(make_cases(3, 0))["candidates"][0]["text"]
    (tmp_path / "cases.jsonl").write_text(as_jsonl(make_cases(3, 0)).replace(text, " "))
    return {
        "corpus": str(tmp_path / "cases.jsonl"), "out": str(tmp_path / "out"), "prompts": "nano",
        "model": {"source": "nano", "engine": {"kv_cache_memory_bytes": 1 << 26}, "least_mass": 0},
        "judges": {"clear": {}, "stricter": {"judge": "clear", "at_least": 0.5}}, "view": 4,
        "coverage_floor": 0, "workers": {"executor": "local"},
    }  # fmt: skip


def saved(file: Path, config: dict[str, Any]) -> str:
    file.write_text(yaml.safe_dump(config))
    return str(file)


def looked_at(out: Path) -> None:
    """In all that a run says of its judges, which ask nothing about the empty text."""
    rows = json.loads((out / "report/clear.json").read_text())
    assert [(row["judge"], row["texts"]) for row in rows] == [("clear", 17), ("stricter", 17)]
    costs = json.loads((out / "report/costs.json").read_text())
    assert {row["judge"]: row["asks"] for row in costs if row["stage"] == "judge"}["clear"] > 0
    assert "## What is clear" in (out / "report/agreement.md").read_text()
    page = (out / "report/index.html").read_text()
    assert "How probable the answer Yes is." in page
    assert re.search(r"Yes <bdi>0\.\d\d\d", page)
    agreement = json.loads((out / "report/agreement.json").read_text())
    assert "clear" in {row["scorer"] for row in agreement}
    doubts = open_run(str(out)).scores(["doubt"])["doubt"].drop_null().to_pylist()
    assert doubts and all(0 < doubt < 1 for doubt in doubts)


def test_a_judge_in_a_folder_of_one_s_own(tmp_path, config):
    environment = {"EVALJUDGE_JUDGES": str(written(tmp_path / "mine").parent)}
    file = saved(tmp_path / "config.yaml", config)
    assert "What is clear" in told(environment, "run", file, "--full")
    looked_at(tmp_path / "out")


@pytest.mark.long
def test_its_settings_make_a_study(tmp_path, config):
    environment = {"EVALJUDGE_JUDGES": str(written(tmp_path / "mine").parent)}
    judges = [{"judge": "clear", "at_least": [0.0, 0.1]}]
    study = config | {"out": str(tmp_path / "study"), "study": {"judges": judges}}
    del study["judges"]
    said = told(environment, "study", saved(tmp_path / "study.yaml", study))
    assert "clear-0-0" in said and "clear-0-1" in said


@pytest.mark.long
def test_a_judge_of_an_installed_package(tmp_path, config):
    """What makes a package installed, for Python, is that its metadata lie beside it."""
    site = tmp_path / "site"
    folder = written(site / "my_package")
    (folder.parent / "__init__.py").touch()
    for file in folder.glob("*.py"):
        text = file.read_text().replace("evaljudge.judges.clear", "my_package.clear")
        file.write_text(text)
    (site / "my_package-1.dist-info").mkdir()
    (site / "my_package-1.dist-info/METADATA").write_text("Name: my-package\nVersion: 1\n")
    points = "[evaljudge.judges]\nclear = my_package.clear:PLUGIN\n"
    (site / "my_package-1.dist-info/entry_points.txt").write_text(points)
    paths = os.pathsep.join(filter(None, [str(site), os.environ.get("PYTHONPATH", "")]))
    assert re.search(
        "^clear +.*Needs: a model", told({"PYTHONPATH": paths}, "list", "judges"), re.M
    )
    file = saved(tmp_path / "config.yaml", config)
    assert re.search(r"judge +clear +17 ", told({"PYTHONPATH": paths}, "plan", file))
    told({"PYTHONPATH": paths}, "run", file)
    looked_at(tmp_path / "out")


@pytest.mark.long
def test_a_broken_plug_in_is_left_out_with_a_warning_unless_it_is_wanted(tmp_path, config):
    (tmp_path / "mine/broken").mkdir(parents=True)
    (tmp_path / "mine/broken/__init__.py").write_text("import no_such_package")
    environment = {"EVALJUDGE_JUDGES": str(tmp_path / "mine")}
    problem = "evaljudge.judges.broken cannot be imported: No module named 'no_such_package'"
    said = told(environment, "list", "judges")
    assert f"evaljudge: the judge 'broken': {problem}; it is left out\n" in said
    wanted = config | {"judges": {"broken": {}}}
    said = told(environment, "plan", saved(tmp_path / "config.yaml", wanted), status=2)
    assert f"the judge 'broken': {problem}\n" in said


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("own_plugin:PLUGIN_", "own_plugin: unknown plug-in 'PLUGIN_': did you mean 'PLUGIN'?"),
        ("own_plugin", "own_plugin: unknown plug-in"),
        ("own_plugin:other", "own_plugin:other is not a Plugin"),
        ("own_plugins:PLUGIN", "there is no module own_plugins: install its package"),
    ],
)
def test_a_plug_in_that_is_none_is_refused(tmp_path, monkeypatch, place, said):
    text = "from evaljudge.judges.plugin import Plugin\nPLUGIN = Plugin(print)\nother = 3\n"
    (tmp_path / "own_plugin.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    assert refusal(plugin_at, "mine", place).startswith(f"the judge 'mine': {said}")


def test_a_copy_of_a_judge_must_have_a_kind_of_its_own(folders, monkeypatch):
    points = [EntryPoint("copied", "evaljudge.judges.direct:PLUGIN", "evaljudge.judges")]
    monkeypatch.setattr("evaljudge.plugins.entry_points", lambda group: points)
    with pytest.raises(UserError, match="judges.copied: its class says `kind = 'direct'`, but its"):
        make_judges({"copied": {}}, load_task("summary", ["fluency"]))


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The folder of judges that the environment names, for this process."""
    monkeypatch.setenv("EVALJUDGE_JUDGES", str(tmp_path / "mine"))
    kinds.cache_clear()
    yield tmp_path / "mine"
    kinds.cache_clear()
