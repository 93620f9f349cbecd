"""A user's mistakes: one line on stderr, exit code 2, no traceback, no file.

Of each family of mistakes one is made before a real shell; the others before the command's own
entry point, in this process.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evaljudge.cli import main

Row = dict[str, Any]


class Shell:
    def __init__(
        self, folder: Path, e2e: SimpleNamespace, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self.folder, self.e2e, self._capsys = folder, e2e, capsys
        self.rows(e2e.cases(4))
        self.configure({})

    def rows(self, rows: list[Row]) -> None:
        self.e2e.write_cases(self.folder / "cases.jsonl", rows)

    def configure(self, changes: Row) -> None:
        config = {"corpus": "cases.jsonl", "out": "out", "judges": {}, "metrics": ["words"]}
        (self.folder / "config.yaml").write_text(json.dumps(config | changes))

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """By the entry point, in this process."""
        self._capsys.readouterr()
        with contextlib.chdir(self.folder):
            try:
                main(list(arguments))
                code = 0
            except SystemExit as ending:
                code = int(ending.code or 0)
        said = self._capsys.readouterr()
        return subprocess.CompletedProcess(arguments, code, said.out, said.err)

    def call(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """By a process of its own, as a shell does it."""
        return subprocess.run(
            [sys.executable, "-m", "evaljudge", *arguments],
            cwd=self.folder, env=os.environ | {"HF_HUB_OFFLINE": "1"} | environment,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    def refused(self, *arguments: str, really: bool = False) -> str:
        given = arguments or ("run", "config.yaml")
        done = self.call(*given) if really else self.run(*given)
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr.startswith("evaljudge: ")
        assert done.stderr.count("\n") == 1, done.stderr
        assert not (self.folder / "out").exists()
        return done.stderr


@pytest.fixture
def shell(tmp_path: Path, e2e: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, e2e, capsys)


JUDGED = {"judges": {"synthetic": {}}}
HUB = "nobody/nothing"
"""A hub's name: whether the hub may be asked is read from the environment, as Python starts."""


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        pytest.param(
            {"modle": "x"},
            "config.yaml: unknown key 'modle': did you mean 'model'?",
            marks=pytest.mark.service,
        ),
        ({"workers": {"mix": 2}}, "workers: unknown key 'mix': did you mean 'min'?"),
        (JUDGED | {"model": "./no/such/model"}, "model ./no/such/model: no such folder"),
        pytest.param(
            JUDGED | {"model": HUB}, "not in the local hub cache", marks=pytest.mark.service
        ),
        ({"corpus": "config.yaml"}, "config.yaml: unknown ending"),
    ],
)
def test_a_mistake_in_the_configuration(shell: Shell, changes: Row, said: str) -> None:
    shell.configure(changes)
    assert said in shell.refused(really="modle" in changes or changes.get("model") == HUB)


@pytest.mark.parametrize("command", ["run", "report"])
def test_every_command_refuses_alike(shell: Shell, command: str) -> None:
    shell.configure({"axis": ["fluency"]})
    assert "unknown key 'axis': did you mean 'axes'?" in shell.refused(command, "config.yaml")
    assert "nowhere.yaml: no such configuration" in shell.refused(command, "nowhere.yaml")


def test_a_mistake_among_the_changes(shell: Shell) -> None:
    changes = ("--set", "model=x", "--set", "judges.synthetic.levels=4")
    said = shell.refused("run", "config.yaml", *changes)
    assert "judges.synthetic.levels: should be 2, 3, 5 or 9 (got 4)" in said


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        pytest.param(
            lambda row: row.pop("doc_id"), "cases.jsonl:1: no `doc_id`", marks=pytest.mark.service
        ),
        (
            lambda row: row.update(doc_id="d1"),
            "`source` of document 'd1' is another",
        ),
        (lambda row: row["candidates"].append(row["candidates"][0]), "system 'A' of document 'd0'"),
    ],
    ids=["no doc_id", "conflicting source", "duplicate candidate"],
)
def test_a_bad_row_is_named(shell: Shell, changed: Callable[[Row], Any], said: str) -> None:
    rows = shell.e2e.cases(4)
    changed(rows[0])
    shell.rows(rows)
    line = shell.refused(really=said.endswith("no `doc_id`"))
    assert line.startswith("evaljudge: 1 bad row in the corpus: ")
    assert said in line


@pytest.mark.ray
def test_a_ray_that_does_not_answer_is_not_waited_for(shell: Shell, tiny: Any) -> None:
    shell.configure(JUDGED | {"model": str(tiny())})
    done = shell.call("run", "config.yaml", RAY_ADDRESS="127.0.0.1:1")
    assert done.returncode == 2, done.stderr
    *_, last = done.stderr.splitlines()
    assert last.startswith("evaljudge: RAY_ADDRESS: no Ray answers at 127.0.0.1:1")
    assert "Traceback" not in done.stderr


@pytest.mark.service
def test_under_the_floor_is_another_code_with_everything_written(shell: Shell) -> None:
    rows = shell.e2e.cases(4)
    rows[0]["candidates"][0]["text"] = ""
    shell.rows(rows)
    done = shell.call("run", "config.yaml")
    assert done.returncode == 3, done.stderr
    assert "coverage 91.6% is under the floor of 95.0%" in done.stderr
    assert (shell.folder / "out/report/index.html").exists()
    assert (shell.folder / "out/scores/00000.parquet").exists()
    assert shell.run("run", "config.yaml", "--set", "coverage_floor=0.9").returncode == 0
