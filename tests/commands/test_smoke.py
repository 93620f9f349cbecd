"""`evaljudge smoke`: each step is shown, nothing is left, and a step that fails is named."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from evaljudge.bundled.world.corpus import as_jsonl, make_cases
from evaljudge.commands.demo import demo_config
from evaljudge.commands.smoke import smoke
from evaljudge.engines import ModelSource
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.errors import GivenUp, UserError
from evaljudge.model.asks import Failed

OPENED = ["executor", "worker", "model files", "model", "first ask"]
STEPS = ["configuration", "corpus", "storage", *OPENED, "briefs"]
CASES = [
    {"doc_id": "bare", "source": "No text is here.", "candidates": []},
    *(
        {
            "doc_id": f"d{number}",
            "source": f"Document {number}: the river rose, and the bridge was closed.",
            "candidates": [
                {"system": system, "text": f"{system}: a flood closed it.", "ratings": {"*": 3}}
                for system in "AB"
            ],
        }
        for number in range(3)
    ),
]


@pytest.fixture
def config(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "c.jsonl").write_text("\n".join(map(json.dumps, CASES)))
    return {
        "corpus": str(tmp_path / "c.jsonl"),
        "out": str(tmp_path / "runs" / "first"),
        "model": "m",
        "axes": ["fluency"],
        "judges": {"synthetic": {}, "direct": {"steps": False}},
        "metrics": ["words"],
        "workers": {"executor": "local", "price_per_worker_hour": 3600},
        "select": [{"name": "x", "all": [{"scorer": "words", "axis": "*", "at_least": 1}]}],
    }


class Lines(list[str]):
    """What was shown; the steps are what stands before a number of seconds."""

    @property
    def steps(self) -> list[str]:
        return [line[:24].strip() for line in self if line[24:].strip()[:1].isdigit()]

    @property
    def text(self) -> str:
        return "\n".join(self)


def tried(config: dict[str, Any], engines: ScriptedEngines | None = None, **more: Any) -> Lines:
    lines = Lines()
    code = smoke(config, engines=engines or ScriptedEngines(), show=lines.append, **more)
    lines.append(f"exit code {code}")
    return lines


def test_every_step_is_shown_and_nothing_is_left(config: dict[str, Any], tmp_path: Path) -> None:
    lines = tried(config)
    judged = ["verdicts of synthetic", "verdicts of direct", "metrics", "report"]
    assert lines.steps == [*STEPS, *judged]
    assert "4 documents, 6 texts; tried with 'd0', 2 texts" in lines.text
    assert "This configuration works." in lines
    assert "An estimate of the whole run: " in lines.text
    assert "USD)" in lines.text
    assert lines[-1] == "exit code 0"
    assert list((tmp_path / "runs").iterdir()) == []


def test_what_is_kept_is_a_run_of_one_document(config: dict[str, Any], tmp_path: Path) -> None:
    lines = tried(config, keep=True)
    (kept,) = (tmp_path / "runs").iterdir()
    assert f"kept: {kept}" in lines
    assert kept.name.startswith("first-smoke-")
    run = json.loads((kept / "run/run.json").read_text())
    assert (run["counts"]["cases"], run["counts"]["candidates"]) == (1, 2)
    receipt = json.loads((kept / "run/commits/judge/00000.json").read_text())
    assert all(of["seconds"] >= 0 for of in receipt["asked"].values())


def test_a_judge_without_briefs_and_no_judge(config: dict[str, Any]) -> None:
    alone = tried(config | {"judges": {"direct": {"steps": False}}})
    assert {"briefs", "first ask", "verdicts of direct"} <= set(alone.steps)
    measured = tried({key: value for key, value in config.items() if key != "model"}
                     | {"judges": {}})  # fmt: skip
    assert measured.steps == [*STEPS[:3], "executor", "metrics", "report"]
    assert "estimate" not in measured.text


def test_writer_and_judge_are_told_apart(config: dict[str, Any]) -> None:
    lines = tried(config | {"writer": "w"})
    assert lines.steps == [*STEPS, *OPENED[1:], *lines.steps[-4:]]
    assert lines.text.count("(writer)") == lines.text.count("(judge)") == len(OPENED[1:])


class Unopened(ScriptedEngines):
    def open(self, source: ModelSource, seed: int) -> Scripted:
        raise UserError("model m: the engine cannot load it: no memory")


class Lost(ScriptedEngines):
    def open(self, source: ModelSource, seed: int) -> Scripted:
        raise GivenUp("the workers were lost")


def taken(folder: Path) -> str:
    """A file lies where `out` should have its folder."""
    folder.write_text("")
    return str(folder / "first")


@pytest.mark.parametrize(
    ("changes", "engines", "step", "said"),
    [
        ({"model": None}, ScriptedEngines(), "configuration", "model: judges need one"),
        ({"corpus": "gone.jsonl"}, ScriptedEngines(), "corpus", "gone.jsonl"),
        ({"out": taken}, ScriptedEngines(), "storage", ""),
        ({}, Unopened(), "model", "no memory"),
    ],
)
def test_a_step_that_fails_is_named(
    config: dict[str, Any], tmp_path: Path, changes: dict[str, Any], engines: ScriptedEngines,
    step: str, said: str,
) -> None:  # fmt: skip
    given = {key: value(tmp_path / "file") if callable(value) else value
             for key, value in changes.items()}  # fmt: skip
    lines = Lines()
    with pytest.raises(UserError, match=f"smoke: the step `{step}` failed: .*{said}"):
        smoke(config | given, engines=engines, show=lines.append)
    assert lines[-1] == f"{step:<24}  failed"
    assert not list(tmp_path.glob("runs/*"))


def test_what_is_given_up_has_no_advice_to_resume(config: dict[str, Any]) -> None:
    lines = Lines()
    with pytest.raises(GivenUp, match="`model` failed: the workers were lost$"):
        smoke(config, engines=Lost(), show=lines.append)


def mute() -> Scripted:
    return Scripted(chooses=lambda *_: Failed("it says nothing"))


def test_where_nothing_is_scored_it_does_not_work(config: dict[str, Any]) -> None:
    wanted = config | {"metrics": [], "select": [], "judges": {"synthetic": {}}}
    lines = tried(wanted, ScriptedEngines(mute))
    assert "Nothing was scored: this configuration does not work for this document." in lines
    assert lines[-1] == "exit code 3"


@pytest.mark.service
def test_beside_a_run_in_a_bucket(config: dict[str, Any], s3: Any) -> None:
    lines = tried(config | {"out": f"{s3.uri}/runs/first"})
    assert "This configuration works." in lines
    assert s3.keys() == set()


@pytest.mark.engine
@pytest.mark.ray
@pytest.mark.parametrize("executor", ["local", "ray"], indirect=True)
def test_the_demo_s_judge(tmp_path: Path, executor: str, shared_engines: Any) -> None:
    (tmp_path / "c.jsonl").write_text(as_jsonl(make_cases(3, 5)))
    given = demo_config(tmp_path / "c.jsonl", tmp_path / "run") | {
        "workers": {"executor": executor}
    }
    lines = Lines()
    engines = shared_engines if executor == "local" else None
    assert smoke(given, engines=engines, show=lines.append) == 0
    assert lines.steps == [*STEPS, "verdicts of synthetic", "metrics", "report"]
    assert [file.name for file in tmp_path.iterdir()] == ["c.jsonl"]
