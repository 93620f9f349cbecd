"""A user's mistakes before a real shell: one line on stderr, exit code 2, no traceback, no file.

Of each family one; the others are made in tests/cli/test_cli.py and tests/test_mistakes.py.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.end_to_end import shared

Row = dict[str, Any]


class Shell:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.rows(shared.cases(4))
        self.configure({})

    def rows(self, rows: list[Row]) -> None:
        shared.write_cases(self.folder / "cases.jsonl", rows)

    def configure(self, changes: Row) -> None:
        config = {"corpus": "cases.jsonl", "out": "out", "judges": {}, "metrics": ["words"]}
        (self.folder / "config.yaml").write_text(json.dumps(config | changes))

    def call(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """By a process of its own, as a shell does it."""
        return subprocess.run(
            [sys.executable, "-m", "evaljudge", *arguments],
            cwd=self.folder, env=os.environ | {"HF_HUB_OFFLINE": "1"} | environment,
            capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip

    def refused(self) -> str:
        done = self.call("run", "config.yaml")
        assert (done.returncode, done.stdout) == (2, ""), done.stderr
        assert done.stderr.startswith("evaljudge: ")
        assert done.stderr.count("\n") == 1, done.stderr
        assert not (self.folder / "out").exists()
        return done.stderr


@pytest.fixture
def shell(tmp_path):
    return Shell(tmp_path)


JUDGED = {"judges": {"synthetic": {}}}
HUB = "nobody/nothing"
"""A hub's name: whether the hub may be asked is read from the environment, as Python starts."""


@pytest.mark.service
@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"modle": "x"}, "config.yaml: unknown key 'modle': did you mean 'model'?"),
        pytest.param(
            JUDGED | {"model": HUB},
            "not in the local hub cache (HF_HUB_OFFLINE is set) (a model behind a URL is "
            f"`{{endpoint: URL, name: {HUB}}}`)",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_mistake_in_the_configuration(shell, changes, said):
    shell.configure(changes)
    assert said in shell.refused()


@pytest.mark.ray
def test_a_ray_that_does_not_answer_is_not_waited_for(shell, tiny):
    shell.configure(JUDGED | {"model": str(tiny())})
    done = shell.call("run", "config.yaml", RAY_ADDRESS="127.0.0.1:1")
    assert done.returncode == 2, done.stderr
    *_, last = done.stderr.splitlines()
    assert last.startswith("evaljudge: RAY_ADDRESS: no Ray answers at 127.0.0.1:1")
    assert "Traceback" not in done.stderr
