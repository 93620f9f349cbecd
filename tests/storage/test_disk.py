"""A disk that is full, read-only or failing, a process at its limits: one line, nothing half."""

import errno
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from evaljudge.errors import UserError
from evaljudge.storage import Place, claimed, index_on_disk

FULL = "cannot be written (No space left on device): free space there, then run it again"


@contextmanager
def limited(kind: int, most: int) -> Iterator[None]:
    """A real limit of this process."""
    before = resource.getrlimit(kind)
    resource.setrlimit(kind, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(kind, before)


@contextmanager
def no_more_files() -> Iterator[None]:
    free = os.dup(0)
    os.close(free)
    with limited(resource.RLIMIT_NOFILE, free):
        yield


def failing(number: int) -> Callable[..., Any]:
    def fail(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


@pytest.fixture
def place(tmp_path):
    place = Place(str(tmp_path / "run"))
    place.write("a.json", "before")
    return place


@pytest.mark.parametrize("operation", ["fsync", "replace"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EROFS])
def test_a_file_that_cannot_be_written_stays_as_it_was(
    number, operation, place, refused, monkeypatch
):
    monkeypatch.setattr(os, operation, failing(number))
    said = (f"{place.path}/a.json: cannot be written (", os.strerror(number), "then run it again")
    refused(lambda: place.write("a.json", "after"), UserError, *said)
    assert place.read("a.json") == b"before" and place.files("") == [("a.json", 6)]


def test_what_a_failing_disk_keeps_is_hidden_and_swept_up_later(place, refused, monkeypatch):
    with monkeypatch.context() as failed:
        failed.setattr(os, "replace", failing(errno.ENOSPC))
        failed.setattr(os, "unlink", failing(errno.EROFS))
        refused(lambda: place.write("a.json", "after"), UserError, FULL)
    assert len(place.files("")) == 2 and place.names("") == ["a.json"]
    place.sweep()
    assert place.files("") == [("a.json", 6)]


@pytest.mark.parametrize("use", [
    lambda place: place.read("a.json"), lambda place: place.write("b", b""),
    lambda place: place.open("a.json"), lambda place: place.names(""),
])  # fmt: skip
def test_no_file_more_can_be_opened(use, place, refused):
    place.names("")  # what is imported for it would be opened, too

    def hemmed_in() -> None:
        with no_more_files():
            use(place)

    refused(hemmed_in, UserError, place.path, "Too many open files", "ulimit -n")


def test_a_folder_that_cannot_be_claimed_is_left_as_it_was(tmp_path, refused):
    def claim() -> None:
        with claimed(str(tmp_path / "run")):
            raise AssertionError("claimed")

    with limited(resource.RLIMIT_FSIZE, 0):
        refused(claim, UserError, f"{tmp_path}/run: cannot be locked (File too large)")
    assert not (tmp_path / "run").exists()
    with (
        pytest.raises(UserError, match="/proc/x: the folder cannot be made: take another `out`"),
        claimed("/proc/x"),
    ):
        raise AssertionError("claimed")


def test_an_index_beyond_the_disk(refused, monkeypatch):
    def fill() -> None:
        with index_on_disk("CREATE TABLE seen (doc_id TEXT);") as index:
            index.executemany("INSERT INTO seen VALUES (?)", (("x" * 10_000,) for _ in range(999)))

    monkeypatch.delenv("SQLITE_TMPDIR", raising=False)
    monkeypatch.setenv("TMPDIR", "/tmp")
    with limited(resource.RLIMIT_FSIZE, 100_000):
        refused(fill, UserError, "/tmp: a temporary index cannot be kept there", "TMPDIR")


@pytest.mark.service
def test_a_real_disk_that_is_full_and_read_only(small_disk, refused):
    place = Place(str(small_disk / "run"))
    place.write("a.json", "before")
    refused(lambda: place.write("a.json", "x" * 100_000), UserError, f"run/a.json: {FULL}")
    assert place.read("a.json") == b"before" and len(place.files("")) == 1
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    refused(lambda: place.write("a.json", ""), UserError, "Read-only file system", "mount it")
    refused(lambda: place.remove("a.json"), UserError, "cannot be removed", "mount it")
    assert place.read("a.json") == b"before"
