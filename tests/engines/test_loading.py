"""What is settled as a model is loaded: arguments, and what vLLM would look up for each request."""

import hashlib
import logging
import warnings
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from evaljudge.engines import ModelSource
from evaljudge.engines.loading import _arguments, fetch_checkpoint, set_environment
from evaljudge.engines.vllm import _Key

COMMIT = "c0ffee" + 34 * "0"


def test_whether_prefixes_are_kept_is_for_vllm_to_say_and_for_the_user() -> None:
    assert "enable_prefix_caching" not in _arguments(ModelSource("m"), "m", 0)
    off = ModelSource("m", engine={"enable_prefix_caching": False})
    assert _arguments(off, "m", 0)["enable_prefix_caching"] is False


def test_the_engine_s_own_lines_are_kept_where_they_are_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    triton = logging.getLogger("torch._library.triton")
    monkeypatch.setattr(triton, "level", logging.NOTSET)
    for level, is_quiet in (("DEBUG", False), ("ERROR", True)):
        monkeypatch.setenv("VLLM_LOGGING_LEVEL", level)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            set_environment()
            old = FutureWarning("reduce_op is deprecated")
            warnings.warn_explicit(old, None, "dispatcher.py", 1, module="vllm.triton_utils")
            warnings.warn_explicit(old, None, "mine.py", 1, module="mine")
        assert len(heard) == 1 + (not is_quiet)
        assert triton.isEnabledFor(logging.WARNING) != is_quiet


def test_a_draw_s_key_is_that_of_the_whole_prompt() -> None:
    key = _Key(3, [(1, 2), (), (3,)])
    assert str(key) == hashlib.sha256(b"3 (1, 2, 3)").hexdigest()
    assert str(key) == str(_Key(3, [(1,), (2, 3)]))


def test_a_checkpoint_that_is_here_is_not_fetched(tmp_path: Path) -> None:
    fetch_checkpoint(ModelSource(str(tmp_path)))


def test_of_the_hub_s_files_those_that_vllm_reads_are_fetched(tmp_path: Path) -> None:
    """From the hub's local cache, which is as good as the hub for a snapshot that is in it."""
    snapshot = tmp_path / "models--o--m" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    source = ModelSource("o/m", COMMIT, engine={"download_dir": str(tmp_path)})
    fetch_checkpoint(source)
    with pytest.raises(LocalEntryNotFoundError):
        fetch_checkpoint(replace(source, source="o/other"))
