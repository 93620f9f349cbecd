"""The fixture `snapshot`, and that no snapshot outlives its test file."""

from pathlib import Path

import pytest


def test_text_and_json_are_compared_with_files(snapshot, pytestconfig, monkeypatch):
    snapshot("two\nlines\n", "text")
    snapshot({"a": [0.1 + 0.2, True, None]}, "rows")
    monkeypatch.setattr(pytestconfig.option, "renew", False)
    with pytest.raises(AssertionError, match="if this is meant"):
        snapshot("another\n", "text")
    with pytest.raises(AssertionError, match="missing"):
        snapshot("another\n", "never-written")


def test_every_snapshot_has_its_test_file():
    for folder in Path(__file__).parent.rglob("expected/*/"):
        assert (folder.parents[1] / f"{folder.name}.py").is_file(), folder
