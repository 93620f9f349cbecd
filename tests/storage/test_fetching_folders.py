"""A remote folder is copied to a machine once, whatever its workers do at the same time."""

import fcntl
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from evaljudge.storage import fetch_folder
from tests.build import refusal


@pytest.fixture
def model(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    return folder


def test_who_comes_second_waits_and_takes_the_first_one_s_copy(model):
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


def test_what_a_killed_worker_left_is_not_taken_over(model):
    first = fetch_folder(str(model))
    (Path(first) / "config.json").rename(Path(first) / "half")
    Path(first).rename(f"{first}.part")
    assert fetch_folder(str(model)) == first
    assert [file.name for file in Path(first).iterdir()] == ["config.json"]
    assert not Path(f"{first}.part").exists()
    (model / "config.json").write_text('{"a": 1}')
    assert fetch_folder(str(model)) != first


@pytest.mark.service
def test_files_come_from_a_bucket_side_by_side(s3_proxy, s3, tmp_path, monkeypatch):
    """Each answer is late: one after the other, eight files would take the sum of it."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for number in range(8):
        s3.put(f"weights/part-{number}.safetensors", bytes([number]) * 1000)
    late = s3_proxy.add(
        "delay", when=lambda method, path: method == "GET" and "part-" in path, seconds=0.5
    )
    begun = time.monotonic()
    kept = Path(fetch_folder(f"{s3.uri}/weights"))
    assert time.monotonic() - begun < 0.6 * late.applied * late.seconds
    assert late.applied >= 8
    assert [file.read_bytes() for file in sorted(kept.iterdir())] == [
        bytes([number]) * 1000 for number in range(8)
    ]


@pytest.mark.service
def test_a_copy_that_fails_leaves_nothing_that_looks_whole(s3_proxy, s3, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    for number in range(8):
        s3.put(f"weights/part-{number}", b"x")
    s3_proxy.add("denied", when=lambda method, path: "part-5" in path)
    assert "part-5: access is denied" in refusal(fetch_folder, f"{s3.uri}/weights")
    cache = tmp_path / ".cache/evaljudge"
    assert not [one for one in cache.iterdir() if one.suffix not in (".part", ".lock")]
