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

JUDGED = {"judges": {"synthetic": {}}}
HUB = "nobody/nothing"
"""A hub's name: whether the hub may be asked is read from the environment, as Python starts."""


def refused(folder: Path, changes: dict[str, Any], **environment: str) -> list[str]:
    """The lines on stderr of a run that is refused, in a process of its own."""
    shared.write_cases(folder / "cases.jsonl", shared.cases(4))
    config = {"corpus": "cases.jsonl", "out": "out", "judges": {}, "metrics": ["words"]}
    (folder / "config.yaml").write_text(json.dumps(config | changes))
    done = subprocess.run(
        [sys.executable, "-m", "evaljudge", "run", "config.yaml"], cwd=folder,
        env=os.environ | {"HF_HUB_OFFLINE": "1"} | environment,
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert "Traceback" not in done.stderr
    return done.stderr.splitlines()


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
def test_a_mistake_in_the_configuration(tmp_path, changes, said):
    (line,) = refused(tmp_path, changes)
    assert line.startswith("evaljudge: ") and said in line
    assert not (tmp_path / "out").exists()


@pytest.mark.ray
def test_a_ray_that_does_not_answer_is_not_waited_for(tmp_path, tiny):
    model = {"model": str(tiny())}
    *_, last = refused(tmp_path, JUDGED | model, RAY_ADDRESS="127.0.0.1:1")
    assert last.startswith("evaljudge: RAY_ADDRESS: no Ray answers at 127.0.0.1:1")
