"""A remote folder is copied to a machine once, whatever its workers do at the same time."""

from __future__ import annotations

import fcntl
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from evaljudge.storage import fetch_folder


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


def test_who_comes_second_waits_and_takes_the_first_one_s_copy(model: Path) -> None:
    kept = fetch_folder(str(model))
    again = Path(kept).stat().st_ino
    with ThreadPoolExecutor() as workers, open(f"{kept}.lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        waiting = [workers.submit(fetch_folder, str(model)) for _ in range(3)]
        assert not wait(waiting, timeout=0.3).done
        fcntl.flock(lock, fcntl.LOCK_UN)
    assert {one.result() for one in waiting} == {kept}
    assert Path(kept).stat().st_ino == again
    assert [file.name for file in Path(kept).iterdir()] == ["config.json"]


def test_what_a_killed_worker_left_is_not_taken_over(model: Path) -> None:
    first = fetch_folder(str(model))
    (Path(first) / "config.json").rename(Path(first) / "half")
    Path(first).rename(f"{first}.part")
    assert fetch_folder(str(model)) == first
    assert [file.name for file in Path(first).iterdir()] == ["config.json"]
    assert not Path(f"{first}.part").exists()


def test_another_content_is_another_copy(model: Path) -> None:
    first = fetch_folder(str(model))
    (model / "config.json").write_text('{"a": 1}')
    assert fetch_folder(str(model)) != first
