"""One run two ways: on a local path, and on s3:// as a job of a cluster with a token.

The cluster is one machine's: `ray start --head`, as docs/cluster.md tries it.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

import evaljudge
from tests.end_to_end import shared

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
STARTING, RUNNING, STOPPING = 90, 600, 5
JOB = "the-same-run"
SELECTION = "best"


@dataclass(frozen=True)
class Head:
    """A cluster's first machine: where its job API listens, and what its users must know."""

    api: str
    token: str
    environment: Mapping[str, str]

    def ask(self, path: str, token: str) -> Any:
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        request = urllib.request.Request(f"{self.api}{path}", headers=headers)
        with urllib.request.urlopen(request, timeout=10) as reply:
            return json.load(reply)

    def submit(self, *entrypoint: str) -> str:
        """As docs/cluster.md has it, from the clone; gives the job's log."""
        submit = ["ray", "job", "submit", "--address", self.api, "--submission-id", JOB]
        command = [BIN / submit[0], *submit[1:], "--working-dir", ".", "--", *entrypoint]
        done = call(command, self.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        return str(self.ask(f"/api/jobs/{JOB}/logs", self.token)["logs"])


@pytest.fixture
def token(tmp_path):
    """A token that no other test, and nobody who works on this machine, is asked for."""
    home = {"HOME": str(tmp_path), "RAY_AUTH_MODE": "token"}
    done = call([BIN / "ray", "get-auth-token", "--generate"], os.environ | home)
    assert done.returncode == 0, done.stderr
    return tmp_path / ".ray" / "auth_token"


@pytest.fixture
def head(token, s3):
    environment = os.environ | {
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    folder = tempfile.mkdtemp(prefix="ray")  # a short path: a socket's may have 107 letters
    api = free_port()
    with subprocess.Popen(
        start_head(api, folder),
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as ray:
        try:
            started = Head(f"http://127.0.0.1:{api}", token.read_text(), environment)
            wait_for(started, ray)
            yield started
        finally:
            end(ray)
    shutil.rmtree(folder, ignore_errors=True)


def start_head(api: int, folder: str) -> list[str | Path]:
    """Ports of its own: another Ray may run here. With `--block` all of it ends with its parent."""
    given = {
        "dashboard-port": api,
        "ray-client-server-port": free_port(),
        "dashboard-agent-listen-port": free_port(),
        **dict.fromkeys(("port", "min-worker-port", "max-worker-port"), 0),  # any
        "num-cpus": 2,
        "temp-dir": folder,
    }
    options = [f"--{name}={value}" for name, value in given.items()]
    return [BIN / "ray", "start", "--head", "--block", "--dashboard-host=127.0.0.1", *options]


def wait_for(head: Head, ray: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + STARTING
    while ray.poll() is None and time.monotonic() < until:
        try:
            head.ask("/api/jobs/", head.token)
            return
        except OSError:  # nobody listens yet, or not everybody
            time.sleep(0.2)
    raise AssertionError(f"no job API at {head.api} after {STARTING} s")


def end(ray: subprocess.Popen[bytes]) -> None:
    """Only this Ray's processes, by their ids: others may run on this machine.

    Its dashboard's helpers do not all heed the end of their parent.
    """
    family = psutil.Process(ray.pid).children(recursive=True) if ray.poll() is None else []
    ray.terminate()
    _, alive = psutil.wait_procs(family, timeout=STOPPING)
    for process in alive:
        process.kill()
    ray.kill()


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def call(
    command: list[str | Path], environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    given: dict[str, Any] = {"capture_output": True, "text": True, "timeout": RUNNING}
    return subprocess.run(command, env=environment, cwd=ROOT, **given)


def write_config(file: Path, rows: list[Any], model: Path, **changes: str) -> str:
    engine = {"dtype": "float32", "kv_cache_memory_bytes": 1 << 28, "block_size": 32}
    half = {"scorer": "words", "axis": "*", "top_fraction": 0.5}
    config = shared.config(
        file.parent, rows, model={"source": str(model), "least_mass": 0, "engine": engine},
        metrics=["words"], select=[{"name": SELECTION, "all": [half]}],
    )  # fmt: skip
    file.write_text(json.dumps(config | changes))
    return str(file)


def refused(head: Head, token: str) -> int:
    with pytest.raises(urllib.error.HTTPError) as refusal:
        head.ask("/api/jobs/", token)
    with refusal.value as reply:
        return reply.code


@pytest.mark.ray
@pytest.mark.engine
def test_on_a_path_and_as_a_job_on_a_bucket_it_is_the_same(
    head, s3, tiny, tmp_path, shared_engines
):
    model = tiny("bytes")
    there = f"{s3.uri}/corpus/cases.jsonl"

    def configured(name: str, **changes: str) -> str:
        return write_config(tmp_path / f"{name}.json", shared.cases(2), model, **changes)

    evaljudge.run(configured("path", out=str(tmp_path / "path")), engines=shared_engines)
    s3.put("corpus/cases.jsonl", (tmp_path / "cases.jsonl").read_bytes())
    as_job = configured("job", corpus=there, out=f"{s3.uri}/runs/job")
    log = head.submit("python", "jobs/run.py", as_job)

    assert "prepared 2/2 documents, judged 2/2" in log
    assert f"{s3.uri}/runs/job/report/index.html" in log
    assert not set(log) & {"\r", "\x1b", "\b"}, "a log is no terminal"
    assert (refused(head, ""), refused(head, "a guess")) == (401, 403)

    job = s3.download("runs/job", tmp_path / "from-job")
    for out in (tmp_path / "path", job):
        assert shared.files(out) == shared.contract(out, (SELECTION,))
    assert not shared.differences(shared.lasting(job), shared.lasting(tmp_path / "path"))
