"""What is settled as a model is loaded: arguments, and what vLLM would look up for each request."""

import hashlib
import json
import logging
import warnings
from dataclasses import replace

import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from evaljudge.engines import ModelSource
from evaljudge.engines.loading import _arguments, fetch_checkpoint, set_environment
from evaljudge.engines.template import DrawKey

COMMIT = "c0ffee" + 34 * "0"


SEES = {"vision_config": {}}
"""In the configuration of a model that reads images, for which no memory is to be kept."""


@pytest.mark.parametrize(
    ("config", "said", "name", "value"),
    [
        ({}, {}, "enable_prefix_caching", None),  # vLLM decides
        ({}, {"enable_prefix_caching": False}, "enable_prefix_caching", False),
        ({}, {}, "max_model_len", -1),  # the most that fit
        ({}, {"max_model_len": 100}, "max_model_len", 100),
        ({}, {"quantization": "fp8"}, "quantization", "fp8"),
        ({}, {}, "language_model_only", None),
        (SEES, {}, "language_model_only", True),
        (SEES, {"limit_mm_per_prompt": {"image": 1}}, "language_model_only", None),
        (SEES, {"language_model_only": False}, "language_model_only", False),
    ],
)
def test_arguments_that_the_user_does_not_give(tmp_path, config, said, name, value):
    (tmp_path / "config.json").write_text(json.dumps(config))
    source = ModelSource(str(tmp_path), engine=said)
    assert _arguments(source, str(tmp_path), 0).get(name) == value


def test_code_is_run_only_where_that_is_allowed():
    assert "trust_remote_code" not in _arguments(ModelSource("m"), "m", 0)
    assert _arguments(ModelSource("m", allow=("remote-code",)), "m", 0)["trust_remote_code"] is True


def test_the_engine_s_own_lines_are_kept_where_they_are_wanted(monkeypatch):
    triton = logging.getLogger("torch._library.triton")
    monkeypatch.setattr(triton, "level", logging.NOTSET)
    monkeypatch.setattr(triton, "_cache", {})  # has what the level was before
    for level, is_quiet in (("DEBUG", False), ("ERROR", True)):
        monkeypatch.setenv("VLLM_LOGGING_LEVEL", level)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            set_environment()
            old = FutureWarning("reduce_op is deprecated")
            warnings.warn_explicit(old, None, "dispatcher.py", 1, module="vllm.triton_utils")
            warnings.warn_explicit(old, None, "mine.py", 1, module="mine")
        # those of a file that is collected just now are heard, too
        assert [w.message for w in heard].count(old) == 1 + (not is_quiet)
        assert triton.isEnabledFor(logging.WARNING) != is_quiet


def test_a_draw_s_key_is_that_of_the_whole_prompt():
    key = DrawKey(3, [(1, 2), (), (3,)])
    assert str(key) == hashlib.sha256(b"3 (1, 2, 3)").hexdigest()
    assert str(key) == str(DrawKey(3, [(1,), (2, 3)]))


def test_of_the_hub_s_files_those_that_vllm_reads_are_fetched(tmp_path):
    """From the hub's local cache, which is as good as the hub for a snapshot that is in it."""
    snapshot = tmp_path / "models--o--m" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    source = ModelSource("o/m", COMMIT, engine={"download_dir": str(tmp_path)})
    fetch_checkpoint(source)
    fetch_checkpoint(ModelSource(str(tmp_path)))  # a folder is here already
    with pytest.raises(LocalEntryNotFoundError):
        fetch_checkpoint(replace(source, source="o/other"))
