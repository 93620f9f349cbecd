"""`evaljudge plan`: what is wrong with a configuration, before it is counted what a run asks."""

import json
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

import evaljudge
from evaljudge.commands.plan import Planned, planned
from evaljudge.engines import ModelFacts, ModelSource, VllmEngines
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.storage.claim import claimed
from tests.build import command, refusal

ROWS = [
    {"doc_id": f"d{n}", "source": f"source {n}", "references": ["a text"],
     "candidates": [{"system": s, "text": f"{s} of {n}", "ratings": {"fluency": n}} for s in "AB"]}
    for n in range(6)
]  # fmt: skip
Lines = list[tuple[str, str]]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(ROWS)
    return tmp_path


def write_rows(rows: list[Any]) -> None:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    Path("cases.jsonl").write_text("\n".join(lines))


def config(**changes: Any) -> dict[str, Any]:
    usual = {"corpus": "cases.jsonl", "out": "out", "model": "m", "axes": ["fluency"],
             "judges": {"direct": {}}, "workers": {"executor": "local"}}  # fmt: skip
    return {key: value for key, value in (usual | changes).items() if value is not None}


def checked(engines: Any = None, **changes: Any) -> Planned:
    Path("c.yaml").write_text(yaml.safe_dump(config(**changes)))
    return planned("c.yaml", engines=engines or ScriptedEngines())


def said(made: Planned, level: str) -> Lines:
    return [(line.topic, line.said) for line in made.problems if line.level == level]


def test_a_sound_configuration_has_no_problem_and_leaves_nothing():
    found = checked(select=[{"name": "x", "all": [
        {"scorer": "direct", "axis": "fluency", "at_least": 4}]}])  # fmt: skip
    assert found.problems == []
    assert found.exit_code == 0
    assert found.text.startswith("6 documents, 12 texts\nrated by people: fluency 12\n")
    assert sorted(os.listdir()) == ["c.yaml", "cases.jsonl"]


@pytest.mark.parametrize(
    ("changes", "is_counted"),
    [({"ratings": "none.csv"}, True), ({"out": "cases.jsonl"}, False), ({"axes": ["x"]}, False),
     ({"model": "./none"}, False)],
)  # fmt: skip
def test_errors_come_first_and_what_does_not_depend_on_them_is_counted(changes, is_counted):
    found = checked(VllmEngines() if "model" in changes else None, **changes)
    first, *rest = found.text.splitlines()
    assert first.startswith("error: ")
    assert (found.exit_code, any("6 documents" in line for line in rest)) == (2, is_counted)
    assert (rest[-1] == "More mistakes may show when these are corrected.") is not is_counted


RULE = {"scorer": "direct", "axis": "fluency", "at_least": 4}


@pytest.mark.parametrize(
    ("changes", "topic", "words"),
    [
        ({"copus": "x"}, "configuration", "c.yaml: unknown key 'copus': did you mean 'corpus'?"),
        ({"task": "sumary"}, "settings", "task: unknown task 'sumary': did you mean 'summary'?"),
        ({"axes": ["fluencey"]}, "settings", "unknown axis 'fluencey': did you mean 'fluency'?"),
        ({"prompts": "none"}, "settings", "prompts: none: no such folder"),
        ({"judges": {"direkt": {}}}, "settings", "unknown judge 'direkt'"),
        ({"select": [{"name": "x", "all": [RULE | {"scorer": "direkt"}]}]}, "settings",
         "select.x: unknown scorer 'direkt': did you mean 'direct'?"),
        ({"select": [{"name": "x", "all": [RULE | {"axis": "flow"}]}]}, "settings",
         "select.x: unknown axis 'flow'"),
        ({"calibrate": ["direkt"]}, "settings", "calibrate: unknown scorer 'direkt'"),
        ({"mixes": {"both": "direct+wrds"}}, "settings", "mixes.both"),
        ({"corpus": "none.jsonl"}, "corpus", "none.jsonl: no such file or folder"),
        ({"outliers": "none.jsonl"}, "outliers", "none.jsonl"),
        ({"ratings": "none.csv"}, "ratings", "none.csv"),
        ({"judges": {"entities": {}}, "entity_labels": "none.jsonl"}, "files of judges",
         "none.jsonl"),
        ({"judges": {"synthetic": {"references": "none.jsonl"}}}, "settings", "none.jsonl"),
        ({"out": "cases.jsonl"}, "out", "cases.jsonl: is a file: name a folder"),
        ({"out": "cases.jsonl/x"}, "out", "is a file"),
        ({"out": "/proc/x"}, "out", "you may not write to it: take another folder"),
        ({"briefs": "cases.jsonl/x"}, "briefs", "is a file"),
        ({"out": "hf://datasets/a/b"}, "out", "can only be read: write to a local path, s3://"),
        ({"metrics": {"bertscore": {}}}, "settings", "name an encoder"),
        ({"judges": None, "study": {"judges": ["direkt"]}}, "study", "unknown judge 'direkt'"),
    ],
)  # fmt: skip
def test_a_mistake_is_an_error_of_its_topic(changes, topic, words):
    found = checked(**changes)
    errors = said(found, "error")
    assert found.exit_code == 2
    assert [one for one, _ in errors] == [topic]
    assert words in errors[0][1]


def test_a_run_refuses_with_the_same_words():
    """Since both call the same functions."""
    for changes in (
        {"axes": ["x"]},
        {"corpus": "none.jsonl"},
        {"ratings": "none.csv"},
        {"out": "cases.jsonl"},
    ):
        ((_, words),) = said(checked(**changes), "error")
        assert refusal(evaljudge.run, "c.yaml", engines=ScriptedEngines()) == words


def test_all_errors_are_shown_at_once():
    write_rows([*ROWS, "{", {"doc_id": "z"}])
    found = checked(judges={"direkt": {}}, metrics=["wrds"], out="cases.jsonl", ratings="none.csv")
    assert [topic for topic, _ in said(found, "error")] == [
        "out", "settings", "settings", "corpus", "corpus", "corpus",
    ]  # fmt: skip
    errors = said(found, "error")
    assert errors[3][1].startswith("cases.jsonl:7: not valid JSON")
    assert errors[4][1].startswith("cases.jsonl:8: ")
    assert errors[5][1] == "correct these rows, or set `bad_rows: skip`"


def test_bad_rows_that_are_skipped_are_warnings_with_their_lines():
    write_rows([*ROWS, "{"])
    found = checked(bad_rows="skip")
    assert found.exit_code == 0
    assert [words.partition(": ")[0] for _, words in said(found, "warning")] == [
        "cases.jsonl:7", "1 bad row of the corpus was skipped",
    ]  # fmt: skip


class Away(ScriptedEngines):
    def describe(self, source: ModelSource) -> ModelFacts:
        return replace(super().describe(source), lacking="all its files")

    def find_encoder(self, encoder: str) -> str:
        return "all its files"


def test_what_is_not_here_is_warned_of():
    assert said(checked(Away()), "warning") == [
        ("model", "m: not on this machine: all its files; a run fetches them first")
    ]
    found = checked(Away(), judges={"roles": {}})
    words = dict(said(found, "warning"))["encoders"]
    assert words.endswith("not on this machine: all its files; a run fetches them first")
    assert checked(judges={"roles": {}}).problems == []


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "no config.json there, so no checkpoint"),
        ({"config.json": {}}, "the folder lacks its weights, such as model.safetensors"),
        ({"config.json": {}, "model.safetensors": {}}, "the folder lacks its tokenizer"),
        ({"config.json": {}, "tokenizer.json": {}, "a.safetensors": {},
          "model.safetensors.index.json": {"weight_map": {"x": "a.safetensors",
                                                          "y": "b.safetensors"}}},
         "the folder lacks 1 of 2 files of weights, such as b.safetensors"),
        ({"config.json": {}, "tokenizer.json": {}, "pytorch_model.bin": {}},
         "`allow: [pickle]` beside its name"),
    ],
)  # fmt: skip
def test_a_model_s_folder_is_looked_through(files, words):
    Path("model").mkdir()
    for name, content in files.items():
        Path("model", name).write_text(json.dumps(content))
    (found,) = said(checked(VllmEngines(), model="./model"), "error")
    assert found[0] == "model"
    assert words in found[1]


def test_trust_that_is_not_needed_is_warned_of():
    model = {"source": "m", "allow": ["pickle"]}
    assert said(checked(model=model), "warning") == [
        ("model", "m: `allow: [pickle]` is not needed: remove it")
    ]


def test_what_lies_or_works_there_is_told():
    checked()
    evaljudge.run("c.yaml", engines=ScriptedEngines())
    assert "6 documents are judged already" in checked().text
    ((topic, words),) = said(checked(seed=7), "error")
    assert topic == "out"
    assert "out is bound to another run: seed" in words
    with claimed("out"):
        ((topic, words),) = said(checked(), "warning")
    assert topic == "out"
    assert "another job works there now" in words


def test_a_study_s_runs_are_checked_and_what_they_share_is_said_once():
    study = {"judges": ["direct"], "models": ["m", "n"]}
    found = checked(judges=None, model=None, study=study)
    assert found.problems == []
    assert "\nm\n" in found.text and "\nn\n" in found.text and "all runs" in found.text
    found = checked(judges=None, model=None, study=study, ratings="none.csv")
    assert len(said(found, "error")) == 1


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["c.yaml", "--set", "model=none/such"], "error: model: "),
        (["none.yaml"], "error: configuration: none.yaml: no such configuration"),
    ],
)
def test_the_command(arguments, words, capsys):
    Path("c.yaml").write_text(yaml.safe_dump(config(model="nano")))
    assert words in command(capsys, "plan", *arguments, code=2)[0]


@pytest.mark.ray
def test_a_ray_that_does_not_answer_is_an_error(monkeypatch):
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:9")
    ((topic, words),) = said(checked(workers={"executor": "ray"}), "error")
    assert topic == "workers"
    assert "RAY_ADDRESS: no Ray answers at 127.0.0.1:9" in words


@pytest.mark.service
def test_an_out_on_s3_is_tried_and_left_as_it_was(s3, monkeypatch):
    assert said(checked(out=f"{s3.uri}/out"), "error") == []
    assert s3.keys("out") == set()
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "")
    (topic, words), *_ = said(checked(out=f"{s3.uri}/out"), "error")
    assert topic == "out"
    assert "no credentials were found: set AWS_ACCESS_KEY_ID" in words
