"""Wrong configurations, each refused in one line of ours; errors of libraries, and in a notebook.

The lines are compared whole, since they are what people read; none of them speaks in the words of
the library that checks the values.
"""

import pickle
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from IPython.core.interactiveshell import InteractiveShell
from pydantic import BaseModel, ValidationError

from evaljudge.config import load_config
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import Damaged, StorageLost, UserError, first_words, refused
from evaljudge.runs.job import make_job


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


LEAST = "corpus: c.jsonl\nout: o\nmodel: m\n"
TEXTS = [
    "",
    "- a\n- b\n",
    "corpus: c\n\tout: o\n",
    "corpus: c\n out: o\n",
    "a: [1, 2",
    "corpus: c\ncorpus: d\n",
    'a: "open',
    "corpus: *x\n",
    "corpus: !!python/name:x a\n",
    "corpus: {path: c.jsonl, columns: {a: b}\nout: o\n",
    "out: o\nmodel: m\n",
    "corpus: c\nmodel: m\n",
    "corpus: c\nout: o\n",
    "corpus: 5\nout: o\nmodel: m\n",
    "corpus: {format: summeval}\nout: o\nmodel: m\n",
    "corpus: []\nout: o\nmodel: m\n",
    "corpus: {path: {a: b}}\nout: o\nmodel: m\n",
    "corpus: {path: c, columns: {a: 1}}\nout: o\nmodel: m\n",
    "corpus: c\nout: ''\nmodel: m\n",
    "corpus: c\nout:\nmodel: m\n",
    "corpus: c\nout: $HOME/x\nmodel: m\n",
    "corpus: c\nout: o\nmodel: 5\n",
    "corpus: c\nout: o\nmodel: {}\n",
    "corpus: c\nout: o\nmodel: {source: m, engine: {tensor_parallel_size: two}}\n",
    "corpus: c\nout: o\nmodel: {source: m, allow: [pickel]}\n",
    "corpus: c\nout: o\nmodel: {source: m, allow: pickle}\n",
]
"""Whole files; what is said of them is in expected/test_mistakes/files.json."""
KEYS = [
    "copus: x",
    "Seed: 1",
    "levels: 5",
    "resamples: 5",
    "format: summeval",
    "seed: x",
    "seed: 1.5",
    "seed: -1",
    "seed: 99999999999",
    "seed: yes",
    "seed:",
    "coverage_floor: 95",
    "coverage_floor: 95%",
    "coverage_floor: .nan",
    "layout: papers",
    "layout: ladder",
    "bad_rows: false",
    "axes: coherence",
    "axes: []",
    "axes: [5]",
    "axes: [a, a]",
    "judges: synthetic",
    "judges: [[a]]",
    "judges: [direct, direct]",
    "judges: {synthetic: 5}",
    "judges: {synthetic: {levels: 4}}",
    "judges: {synthetic: {level: 5}}",
    "judges: {directt: {}}",
    "judges: {direct: {steps: maybe}}",
    "metrics: words",
    "metrics: [5]",
    "metrics: {words: 5}",
    "metrics: {rouge1: {against: x}}",
    "metrics: [wrds]",
    "workers: {gpus: x}",
    "workers: {gpus: 1.5}",
    "workers: {cpus: 0}",
    "workers: {min: 3, max: 1}",
    "workers: {mx: 1}",
    "select: [good]",
    "select: [{name: x}]",
    "select: [{name: a/b, all: [{scorer: s, axis: a, at_least: 1}]}]",
    "select: [{name: a, all: [{scorr: s, axis: a, top_fraction: 0.1}]}]",
    "select: [{name: a, all: [{axis: a, confidence: 1, precision: 0.5, good: 3}]}]",
    "mixes: [a]",
    "ratings: 5",
    "entity_labels: 5",
    "study: {}",
]
"""A line below LEAST each; what is said of it is in expected/test_mistakes/keys.json."""
FOREIGN = (
    "Input should",
    "Extra inputs",
    "Field required",
    "value_error",
    "Value error",
    "pydantic",
)


def _said(text: str) -> str:
    Path("c.yaml").write_text(text)
    with pytest.raises(UserError) as refused:
        make_job(load_config("c.yaml"), ScriptedEngines())
    said = str(refused.value)
    assert "\n" not in said
    assert not [words for words in FOREIGN if words in said]
    return said


def test_wrong_files_and_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: Callable[..., None]
) -> None:
    monkeypatch.chdir(tmp_path)
    snapshot({text: _said(text) for text in TEXTS}, "files")
    snapshot({line: _said(f"{LEAST}{line}\n") for line in KEYS}, "keys")


def test_a_wrong_change_names_the_option(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(LEAST)
    with pytest.raises(UserError) as refused:
        load_config(file, ["seed=-1"])
    assert (
        str(refused.value)
        == f"{file} with --set: seed: should be greater than or equal to 0 (got -1)"
    )
