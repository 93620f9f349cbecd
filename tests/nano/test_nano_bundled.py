"""The bundled judge by its name: what it is, where it is not meant, what its users are told."""

import json
from typing import Any

import pytest

from evaljudge.bundled.nano import CHECKPOINT
from evaljudge.config import load_config
from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.errors import UserError
from evaljudge.runs.job import make_job
from jobs.nano.checkpoint import save_tokenizer

MOST_BYTES = 8_000_000


def job(**more: Any) -> Any:
    spec = {"corpus": "c.jsonl", "out": "/tmp/o", "model": "nano", "judges": ["synthetic"]}
    return make_job(load_config(spec | more))


def test_the_checkpoint_is_small_and_whole():
    sizes = {file.name: file.stat().st_size for file in CHECKPOINT.iterdir()}
    assert {"config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors"} == set(
        sizes
    )
    assert sum(sizes.values()) <= MOST_BYTES


def test_the_checkpoint_has_the_tokenizer_that_the_code_makes(tmp_path):
    """Words of the world cannot change without a new training."""
    save_tokenizer(tmp_path)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert json.loads((tmp_path / name).read_text()) == json.loads(
            (CHECKPOINT / name).read_text()
        )


def test_its_name_is_its_identity():
    found = VllmEngines().describe(ModelSource("nano")).identity
    assert found.name == "nano"
    assert found.revision == VllmEngines().describe(ModelSource(str(CHECKPOINT))).identity.revision


def test_a_folder_of_the_same_name_is_not_passed_over(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_tokenizer(tmp_path / "nano")
    (tmp_path / "nano/config.json").write_text("{}")
    with pytest.raises(UserError, match=r"write \./nano"):
        _ = VllmEngines().describe(ModelSource("nano")).identity
    assert VllmEngines().describe(ModelSource("./nano")).identity.revision != ""


@pytest.mark.parametrize(("name", "near"), [("nanno", True), ("Nano", True), ("gpt2", False)])
def test_a_name_near_its_own(name, near):
    with pytest.raises(UserError, match=f"model {name}: no such folder") as refused:
        _ = VllmEngines().describe(ModelSource(name)).identity
    assert ("did you mean 'nano'" in str(refused.value)) == near


def test_its_users_are_told_what_it_knows():
    (told,) = job(prompts="nano").cautions
    assert "nothing else" in told
    _, prompts = job().cautions
    assert "prompts: nano" in prompts
