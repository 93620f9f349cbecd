"""Wrong configurations, each refused in one line of ours; errors of libraries, and in a notebook.

The lines are compared whole, since they are what people read; none of them speaks in the words of
the library that checks the values.
"""

import pickle
import sys
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
    (
        "",
        "c.yaml: is empty: write at least `corpus`, `out` and `model`, or let `evaljudge "
        "init` write it",
    ),
    ("- a\n- b\n", "c.yaml: a configuration is a mapping of keys to values: `out: runs/a`"),
    (
        "corpus: c\n\tout: o\n",
        "c.yaml:2: not YAML: while scanning for the next token: found character '\\t' that "
        "cannot start any token: indent with spaces, keys of one mapping alike; put texts "
        "with signs in quotes",
    ),
    (
        "corpus: c\n out: o\n",
        "c.yaml:2: not YAML: mapping values are not allowed here: indent with spaces, keys "
        "of one mapping alike; put texts with signs in quotes",
    ),
    (
        "a: [1, 2",
        "c.yaml:1: not YAML: while parsing a flow sequence: expected ',' or ']', but got "
        "'<stream end>': indent with spaces, keys of one mapping alike; put texts with "
        "signs in quotes",
    ),
    ("corpus: c\ncorpus: d\n", "c.yaml:2: key 'corpus' again (first in line 1)"),
    (
        'a: "open',
        "c.yaml:1: not YAML: while scanning a quoted scalar: found unexpected end of "
        "stream: indent with spaces, keys of one mapping alike; put texts with signs in quotes",
    ),
    (
        "corpus: *x\n",
        "c.yaml:1: not YAML: found undefined alias 'x': indent with spaces, keys of one "
        "mapping alike; put texts with signs in quotes",
    ),
    (
        "corpus: !!python/name:x a\n",
        "c.yaml:1: the tag 'tag:yaml.org,2002:python/name:x' is not read here: remove it",
    ),
    (
        "corpus: {path: c.jsonl, columns: {a: b}\nout: o\n",
        "c.yaml:2: not YAML: while parsing a flow mapping: expected ',' or '}', but got "
        "'<scalar>': indent with spaces, keys of one mapping alike; put texts with signs "
        "in quotes",
    ),
    (
        "out: o\nmodel: m\n",
        "c.yaml: corpus: is needed: the file, folder, glob or URI of the texts to judge",
    ),
    (
        "corpus: c\nmodel: m\n",
        "c.yaml: out: is needed: the folder or URI where everything that a run makes goes",
    ),
    ("corpus: c\nout: o\n", "c.yaml: model: judges need one (a hub name, a path or a URI)"),
    (
        "corpus: 5\nout: o\nmodel: m\n",
        "c.yaml: corpus: should be a mapping of keys to values (got 5)",
    ),
    (
        "corpus: {format: summeval}\nout: o\nmodel: m\n",
        "c.yaml: corpus.path: is needed: the file, folder, glob or URI of the texts to judge",
    ),
    ("corpus: []\nout: o\nmodel: m\n", "c.yaml: corpus: should not be empty"),
    (
        "corpus: {path: {a: b}}\nout: o\nmodel: m\n",
        'c.yaml: corpus.path: should be a valid string or a valid list (got {"a": "b"})',
    ),
    (
        "corpus: {path: c, columns: {a: 1}}\nout: o\nmodel: m\n",
        "c.yaml: corpus.columns.a: should be a valid string: write it in quotes (got 1)",
    ),
    ("corpus: c\nout: ''\nmodel: m\n", 'c.yaml: out: should have at least 1 character (got "")'),
    ("corpus: c\nout:\nmodel: m\n", "c.yaml: out: should be a valid string (got null)"),
    (
        "corpus: c\nout: $HOME/x\nmodel: m\n",
        "c.yaml: out: $HOME is not replaced in a configuration: write the path itself (got "
        '"$HOME/x")',
    ),
    (
        "corpus: c\nout: o\nmodel: 5\n",
        "c.yaml: model: should be a hub name, a path or a URI, or a mapping (got 5)",
    ),
    (
        "corpus: c\nout: o\nmodel: {}\n",
        "c.yaml: model: needs a `source`: a hub name, a path or a URI",
    ),
    (
        "corpus: c\nout: o\nmodel: {source: m, engine: {tensor_parallel_size: two}}\n",
        "c.yaml: model.engine: tensor_parallel_size must be a whole number, at least 1",
    ),
    (
        "corpus: c\nout: o\nmodel: {source: m, allow: [pickel]}\n",
        "c.yaml: model.allow.0: should be 'pickle' or 'remote-code' (got \"pickel\")",
    ),
    (
        "corpus: c\nout: o\nmodel: {source: m, allow: pickle}\n",
        'c.yaml: model.allow: should be a valid list: [pickle] (got "pickle")',
    ),
]
"""Whole files, and what is said of them."""
KEYS = [
    ("copus: x", "unknown key 'copus': did you mean 'corpus'?"),
    ("Seed: 1", "unknown key 'Seed': did you mean 'seed'?"),
    (
        "levels: 5",
        "unknown key 'levels': known: agreement, axes, bad_rows, briefs, calibrate, "
        "combine, corpus, coverage_floor, entity_labels, families, judges, layout, "
        "metrics, mixes, model, out, outliers, prompts, rated_by, ratings, seed, select, "
        "study, task, view, workers, writer",
    ),
    ("resamples: 5", "unknown key 'resamples': did you mean 'agreement.resamples'?"),
    ("format: summeval", "unknown key 'format': did you mean 'corpus.format'?"),
    ("seed: x", 'seed: should be a valid integer, unable to parse string as an integer (got "x")'),
    ("seed: 1.5", "seed: should be a valid integer, got a number with a fractional part (got 1.5)"),
    ("seed: -1", "seed: should be greater than or equal to 0 (got -1)"),
    ("seed: 99999999999", "seed: should be less than or equal to 4294967295 (got 99999999999)"),
    (
        "seed: yes",
        "seed: should be a number, not a truth value as YAML reads yes and on (got true)",
    ),
    ("seed:", "seed: should be a valid integer (got null)"),
    ("coverage_floor: 95", "coverage_floor: should be less than or equal to 1 (got 95)"),
    (
        "coverage_floor: 95%",
        'coverage_floor: should be a valid number, unable to parse string as a number (got "95%")',
    ),
    ("coverage_floor: .nan", "coverage_floor: should be a finite number (got NaN)"),
    ("layout: papers", "layout: should be 'paper' or 'shared' (got \"papers\")"),
    (
        "layout: ladder",
        "layout: `ladder` is a layout of one judge: `judges: {synthetic: {layout: "
        'ladder}}` (got "ladder")',
    ),
    ("bad_rows: false", "bad_rows: should be 'fail' or 'skip' (got false)"),
    ("axes: coherence", 'axes: should be a valid list: [coherence] (got "coherence")'),
    ("axes: []", "axes: should have at least 1 item after validation, not 0"),
    ("axes: [5]", "axes.0: should be a valid string: write it in quotes (got 5)"),
    ("axes: [a, a]", "axes: 'a' is named twice"),
    (
        "judges: synthetic",
        "judges: should be a list of judges, [synthetic], or a mapping of names to "
        'settings (got "synthetic")',
    ),
    (
        "judges: [[a]]",
        "judges: a list has the judges' names only: for settings write a mapping, "
        "{synthetic: {levels: 5}}",
    ),
    ("judges: [direct, direct]", "judges: 'direct' is named twice"),
    ("judges: {synthetic: 5}", "judges.synthetic: should be a mapping of keys to values (got 5)"),
    ("judges: {synthetic: {levels: 4}}", "judges.synthetic.levels: should be 2, 3, 5 or 9 (got 4)"),
    (
        "judges: {synthetic: {level: 5}}",
        "judges.synthetic: unknown key 'level': did you mean 'levels'?",
    ),
    ("judges: {directt: {}}", "judges: unknown judge 'directt': did you mean 'direct'?"),
    (
        "judges: {direct: {steps: maybe}}",
        'judges.direct.steps: should be a valid boolean, unable to interpret input (got "maybe")',
    ),
    (
        "metrics: words",
        "metrics: should be a list of metrics, [words], or a mapping of names to settings "
        '(got "words")',
    ),
    (
        "metrics: [5]",
        "metrics: should be a list of metrics, [words], or a mapping of names to settings",
    ),
    ("metrics: {words: 5}", "metrics: words: should be a mapping of settings to values"),
    (
        "metrics: {rouge1: {against: x}}",
        "metrics.rouge1.against: should be 'first', 'best', 'mean' or 'source' (got \"x\")",
    ),
    ("metrics: [wrds]", "metrics: unknown metric 'wrds': did you mean 'words'?"),
    (
        "workers: {gpus: x}",
        "workers.gpus: should be 'auto' or a valid number, unable to parse string as a "
        'number (got "x")',
    ),
    (
        "workers: {gpus: 1.5}",
        "workers.gpus: more than one GPU must be a whole number of them (got 1.5)",
    ),
    ("workers: {cpus: 0}", "workers.cpus: should be 'auto' or greater than 0 (got 0)"),
    ("workers: {min: 3, max: 1}", "workers: min 3 is more than max 1"),
    ("workers: {mx: 1}", "workers: unknown key 'mx': did you mean 'max'?"),
    ("select: [good]", 'select.0: should be a mapping of keys to values (got "good")'),
    (
        "select: [{name: x}]",
        "select.0.all: is needed: a list of conditions: [{scorer: direct, axis: fluency, "
        "at_least: 4}]",
    ),
    (
        "select: [{name: a/b, all: [{scorer: s, axis: a, at_least: 1}]}]",
        'select.0.name: may hold letters, digits, `_`, `.` and `-` only (got "a/b")',
    ),
    (
        "select: [{name: a, all: [{scorr: s, axis: a, top_fraction: 0.1}]}]",
        "2 mistakes: select.0.all.0.scorer: is needed: the name of a judge, a metric or "
        "one of their scorers; select.0.all.0: unknown key 'scorr': did you mean 'scorer'?",
    ),
    (
        "select: [{name: a, all: [{axis: a, confidence: 1, precision: 0.5, good: 3}]}]",
        "2 mistakes: select.0.all.0.scorer: is needed: the name of a judge, a metric or "
        "one of their scorers; select.0.all.0.confidence: should be less than 1 (got 1)",
    ),
    ("mixes: [a]", 'mixes: should be a mapping of keys to values (got ["a"])'),
    ("ratings: 5", "ratings: should be a valid string or a valid list: write it in quotes (got 5)"),
    ("entity_labels: 5", "entity_labels: should be a file, or a file for each judge of entities"),
    (
        "study: {}",
        "study.judges: is needed: a list of judges, each with its settings: [{synthetic: "
        "{levels: 5}}, direct]",
    ),
]
"""A line below LEAST, and what is said of it behind the file's name."""
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


@pytest.mark.parametrize(("text", "said"), TEXTS, ids=[text for text, _ in TEXTS])
def test_a_wrong_file(
    text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _said(text) == said


@pytest.mark.parametrize(("line", "said"), KEYS, ids=[line for line, _ in KEYS])
def test_a_wrong_key(line: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert _said(LEAST + line + "\n") == f"c.yaml: {said}"


def test_a_wrong_change_names_the_option(tmp_path: Path) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(LEAST)
    with pytest.raises(UserError) as refused:
        load_config(file, ["seed=-1"])
    assert (
        str(refused.value)
        == f"{file} with --set: seed: should be greater than or equal to 0 (got -1)"
    )
