"""Errors in one line: what a library's says, and what a notebook shows of ours."""

import pickle
import sys
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from pydantic import BaseModel, ValidationError

from evaljudge.errors import Damaged, StorageLost, UserError, first_words, refused


class Arguments(BaseModel):
    max_model_len: int


def test_a_field_that_is_refused_is_named() -> None:
    with pytest.raises(ValidationError) as refused:
        Arguments.model_validate({"max_model_len": "lots"})
    assert (
        first_words(refused.value)
        == "max_model_len: should be a valid integer, unable to parse string as an integer"
    )


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("one line", "one line"),
        ("\n the first \n the second", "the first"),
        ("By `heads`:\n\n 130 is odd\n more", "By `heads`: 130 is odd"),
        ("", "ValueError('')"),
    ],
)  # fmt: skip
def test_what_announces_a_cause_is_followed_by_it(said: str, words: str) -> None:
    assert first_words(ValueError(said)) == words


def test_a_notebook_shows_no_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_one_mistake_is_a_plain_user_error() -> None:
    assert type(refused("", ["out: is needed"])) is UserError
    two = refused("a.yaml: ", ["b", "c"])
    assert str(pickle.loads(pickle.dumps(two))) == "a.yaml: 2 mistakes: b; c"
