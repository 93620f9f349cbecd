"""Wrong configurations, each refused in one line of ours; errors of libraries, and in a notebook.

The lines are compared whole, since they are what people read; none of them speaks in the words of
the library that checks the values.
"""

import contextlib
import json
import pickle
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from pydantic import BaseModel, ValidationError

from evaljudge.config import load_config
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import Damaged, StorageLost, UserError, first_words, refused
from evaljudge.runs.job import make_job
from evaljudge.studies.study import study_runs
from tests.build import refusal


class Arguments(BaseModel):
    max_model_len: int


def test_a_field_that_is_refused_is_named():
    with pytest.raises(ValidationError) as refused:
        Arguments.model_validate({"max_model_len": "lots"})
    assert first_words(refused.value) == "max_model_len: should be a whole number"


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("one line", "one line"),
        ("\n the first \n the second", "the first"),
        ("By `heads`:\n\n 130 is odd\n more", "By `heads`: 130 is odd"),
        ("", "ValueError('')"),
    ],
)  # fmt: skip
def test_what_announces_a_cause_is_followed_by_it(said, words):
    assert first_words(ValueError(said)) == words


def test_a_notebook_shows_no_traceback(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])  # the shell takes it
    errors = [
        refused("a.yaml: ", ["out: is needed"]),
        refused("", ["b", "c"]),
        Damaged("run.json", "is gone", "write it"),
        StorageLost("no disk"),
    ]
    shell = InteractiveShell(user_ns={"errors": errors})
    for number in range(len(errors)):
        shell.run_cell(f"raise errors[{number}]")
    assert capsys.readouterr().out.splitlines() == [
        "UserError: a.yaml: out: is needed",
        "UserError: 2 mistakes:",
        "b",
        "c",
        "UserError: run.json: is gone: write it",
        "StorageLost: no disk",
    ]


def test_one_mistake_is_a_plain_user_error():
    assert type(refused("", ["out: is needed"])) is UserError
    two = refused("a.yaml: ", ["b", "c"])
    assert str(pickle.loads(pickle.dumps(two))) == "a.yaml: 2 mistakes: b; c"


LEAST = "corpus: c.jsonl\nout: o\nmodel: m\n"
SAID = Path(__file__).parent / "mistakes.json"
"""Whole files, and what is said of each. Write it anew, and read what has changed:
`python -m tests.test_mistakes`."""
FOREIGN = (
    "Input should",
    "Extra inputs",
    "Field required",
    "value_error",
    "Value error",
    "pydantic",
)


def _made(file: str) -> Any:
    config = load_config(file)
    return study_runs(config) if config.study else make_job(config, ScriptedEngines())


def _said(text: str) -> str:
    Path("c.yaml").write_text(text)
    said = refusal(_made, "c.yaml")
    assert not [words for words in FOREIGN if words in said]
    return said


@pytest.mark.parametrize(("text", "said"), json.loads(SAID.read_text()).items())
def test_a_wrong_file(text, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert _said(text) == said


def test_a_wrong_change_names_the_option(tmp_path):
    file = tmp_path / "c.yaml"
    file.write_text(LEAST)
    words = refusal(load_config, file, ["seed=-1"])
    assert words == f"{file} with --set: seed: should be 0 or more (got -1)"


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        now = {text: _said(text) for text in json.loads(SAID.read_text())}
    SAID.write_text(json.dumps(now, indent=1, ensure_ascii=False) + "\n")
