"""What is installed: the smallest environment, the wheel, what type checkers find of the clone."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path
from zipfile import ZipFile

import pytest
import yaml
from packaging.requirements import Requirement

from tests.build import document, jsonl

BACKEND = "import sys; sys.path.insert(0, '.packaging'); import backend"
ROOT = Path(__file__).parents[1]
SAFELY = {"filter": "data"} if sys.version_info >= (3, 11, 4) else {}
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WHEEL = "file:///made/evaljudge-0.1.0-py3-none-any.whl"


def lacks(package: str, extra: str) -> str:
    return f"the package {package} is missing: install 'evaljudge[{extra}] @ {WHEEL}'"


NO_BOTO3 = f"s3://bucket: {lacks('boto3', 's3')}"
IN_THE_SMALLEST = """
import json, sys
from pathlib import Path
import evaljudge
from evaljudge.cli import main
from evaljudge.commands.options import ViewOptions
from evaljudge.commands.plan import planned
from evaljudge.commands.view import viewing
from evaljudge.engines.scripted import ScriptedEngines

config = json.loads(sys.argv[1])
runs = [evaljudge.run(config | {"out": out}, engines=ScriptedEngines()) for out in ("a", "b")]
assert all(run.coverage == 1 for run in runs)
planned(config | {"out": "c"}, engines=ScriptedEngines())
assert evaljudge.agree(config["corpus"], metrics="rouge1,importance", resamples=20).findings
assert evaljudge.calibrate("cases.jsonl", "a").text
assert "settings" in evaljudge.diff("a", "b").text
with viewing(ViewOptions("a")) as link:
    assert link
try:
    evaljudge.check("s3://bucket/runs/a")
except evaljudge.UserError as error:
    print(error)
for changes in json.loads(sys.argv[2]):
    changed = config | {"out": "e"} | changes
    try:
        evaljudge.run(changed, engines=ScriptedEngines())
    except evaljudge.UserError as error:
        lines = planned(changed, engines=ScriptedEngines()).text.splitlines()
        assert [line for line in lines if line.endswith(str(error))] == lines[:1], lines
        print(lines[0].removeprefix("error: "))
from evaljudge.engines.internals import installed_build
try:
    installed_build()
except evaljudge.UserError as error:
    print(error)
main(["files", "cluster", "new"])
"""


def smallest(folder: Path) -> dict[str, str]:
    """The environment of a Python that has what `pip install evaljudge` brings, and no more: links
    to those packages alone."""
    todo, done = [Requirement(text) for text in PROJECT["dependencies"]], set[str]()
    while todo:
        package = todo.pop()
        if package.name in done or (package.marker and not package.marker.evaluate({"extra": ""})):
            continue
        done.add(package.name)
        found = distribution(package.name)
        todo += map(Requirement, found.requires or ())
        for top in {file.parts[0] for file in found.files or ()} - {"..", "__pycache__"}:
            if not (folder / top).exists():
                (folder / top).symlink_to(Path(str(found.locate_file(top))))
    assert "ray" not in done
    (folder / "evaljudge").symlink_to(ROOT / "evaljudge")
    installed = folder / "evaljudge-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Name: evaljudge\nVersion: 0.1.0\n")
    (installed / "direct_url.json").write_text(json.dumps({"url": WHEEL, "archive_info": {}}))
    known = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return known | {"PYTHONPATH": str(folder)}


@pytest.mark.service
def test_the_smallest_environment_agrees_runs_and_views(tmp_path):
    """Without site-packages, so that other packages are missing, not only hidden."""
    folder = tmp_path / "packages"
    folder.mkdir()
    cases = [document(n, fluency=1 + n % 5) for n in range(12)]
    for n, case in enumerate(cases):
        case["references"] = [f"this text is of {n}"]
    jsonl(tmp_path / "cases.jsonl", cases)
    config = {"corpus": "cases.jsonl", "model": "m", "axes": ["fluency"], "judges": ["synthetic"],
              "metrics": ["rouge1", "words"]}  # fmt: skip
    refused = {
        "workers: `executor: ray`: the package ray is missing: install "
        f"'evaljudge[ray] @ {WHEEL}'": {"workers": {"executor": "ray"}},
        f"workers: `max: 2`: the package ray is missing: install 'evaljudge[ray] @ {WHEEL}'": {
            "workers": {"max": 2}
        },
        "settings: metrics.chrf: the package sacrebleu is missing: install "
        f"'evaljudge[metrics] @ {WHEEL}'": {"metrics": ["chrf"]},
        "settings: metrics.meteor: the package nltk is missing: install "
        f"'evaljudge[metrics] @ {WHEEL}'": {"metrics": ["meteor"]},
        f"out: {NO_BOTO3}": {"out": "s3://bucket/runs/a", "judges": {}},
        "out: gs://bucket: the package obstore is missing: install "
        f"'evaljudge[clouds] @ {WHEEL}'": {"out": "gs://bucket/runs/a"},
    }
    here = {"AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": "us-east-1"}
    given = json.dumps(config), json.dumps(list(refused.values()))
    done = subprocess.run(
        [sys.executable, "-S", "-c", IN_THE_SMALLEST, *given], cwd=tmp_path,
        env=smallest(folder) | here, capture_output=True, text=True, check=False,
    )  # fmt: skip
    *said, no_engine = done.stdout.splitlines()
    assert said == [NO_BOTO3, *refused], done.stderr
    cuda, cpu = (shlex.split(line) for line in re.findall(r"`(uv pip install [^`]+)`", no_engine))
    assert [cuda[-1], cpu[-1]] == [f"evaljudge[{build}] @ {WHEEL}" for build in ("gpu", "cpu")]
    assert cpu[3:5] == ["--torch-backend=cpu", "--overrides"]
    assert Path(cpu[5]).read_text() == (ROOT / ".overrides.txt").read_text()
    assert done.stderr.splitlines()[-1].startswith("evaljudge: files cluster: ")
    assert done.returncode == 2  # in a clone, which has these files


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Built of the source distribution of the files that git knows, unpacked."""
    folder = tmp_path_factory.mktemp("wheel")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    for name in listed.stdout.splitlines():
        if not name.startswith(("tests/", "benches/", "docs/")) and (ROOT / name).is_file():
            (folder / "clone" / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / "clone" / name)
    (folder / "built").mkdir()
    for kind, place in {"sdist": "clone", "wheel": "evaljudge-*"}.items():
        [source] = folder.glob(place)
        build = f"{BACKEND}; backend.build_{kind}('../built')"
        subprocess.run([sys.executable, "-c", build], cwd=source, check=True, capture_output=True)
        for archive in (folder / "built").glob("*.tar.gz"):
            shutil.unpack_archive(archive, folder, **SAFELY)
    [made] = (folder / "built").glob("*.whl")
    with ZipFile(made) as archive:
        archive.extractall(folder / "unpacked")
    return folder / "unpacked"


@pytest.mark.long
@pytest.mark.service
def test_a_cluster_is_made_from_the_wheel(wheel, tmp_path):
    environment = os.environ | {"PYTHONPATH": str(wheel)}
    call = [sys.executable, "-m", "evaljudge", "files", "cluster", "made"]
    for code in (0, 2):  # it is there the second time
        done = subprocess.run(call, cwd=tmp_path, env=environment, capture_output=True, text=True)
        assert done.returncode == code, done.stderr
    made = tmp_path / "made"
    assert (made / "jobs/slurm.sbatch").exists()
    for mount in yaml.safe_load((ROOT / "cluster.yaml").read_text())["file_mounts"].values():
        assert mount.startswith("~") or (made / mount).exists(), mount
    copied = re.findall(r"^COPY (?!--from)(.*) \S+$", (made / "Dockerfile").read_text(), re.M)
    assert all((made / name).exists() for names in copied for name in names.split())
    for file in (ROOT / "jobs").rglob("*.*"):
        assert file.suffix == ".pyc" or (made / file.relative_to(ROOT)).read_bytes() == (
            file.read_bytes()
        )
    assert not list(made.rglob("__pycache__"))
    for page in made.glob("docs/*.md"):
        for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


@pytest.mark.service
def test_the_page_of_an_index_has_no_link_that_leads_nowhere(wheel):
    [metadata] = wheel.glob("*.dist-info/METADATA")
    head, _, page = metadata.read_text().partition("\n\n")
    assert page.startswith("# evaljudge\n")
    assert "`evaljudge files cluster DIR` copies them" in page[:800]
    brought = wheel / "evaljudge/bundled/cluster/.overrides.txt"  # the message on a missing engine
    assert brought.read_text() == (ROOT / ".overrides.txt").read_text()
    assert len(page) > len((ROOT / "README.md").read_text()) / 2
    assert [link for link in re.findall(r"\]\(([^)]*)\)", page) if link[:8] != "https://"] == []
    assert "Author: the evaljudge authors" in head


def test_an_extra_for_all_but_the_engine():
    extras = PROJECT["optional-dependencies"]
    named = set(Requirement(extras["all"][0]).extras)
    assert named == set(extras) - {"cpu", "gpu", "dev", "all"}
    pinned = [p for name in named for p in extras[name] if "==" in p]
    assert pinned == []


@pytest.mark.service
def test_type_checkers_find_the_clone_s_package(tmp_path):
    """An editable install is a path: a finder of imports would be seen by Python alone."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    build = f"{BACKEND}; backend.build_editable({str(tmp_path)!r})"
    subprocess.run([sys.executable, "-c", build], cwd=ROOT, env=environment, check=True,
                   capture_output=True)  # fmt: skip
    [made] = tmp_path.glob("*.whl")
    with ZipFile(made) as archive:
        [path] = [name for name in archive.namelist() if name.endswith(".pth")]
        assert archive.read(path).decode().split() == [str(ROOT)]
