"""vLLM's own server over a checkpoint, in processes that end together."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

PATIENCE = 600
COMMAND = [sys.executable, "-W", "ignore", "-m"]
"""A module: the command `vllm` asks for the version of a package that the CPU build lacks."""
OPTIONS = ["--dtype", "float32", "--enforce-eager", "--served-model-name", "m"]
QUIET = {"VLLM_CPU_KVCACHE_SPACE": "1", "TORCHDYNAMO_DISABLE": "1", "VLLM_NO_USAGE_STATS": "1"}
OF_OURS = ("VLLM_ENABLE_V1_MULTIPROCESSING", "PYTHONWARNINGS")


def _environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in OF_OURS} | QUIET


def answer_file(checkpoint: Path, asks: Path, replies: Path) -> None:
    """As `vllm run-batch` does."""
    run_batch = [*COMMAND, "vllm.entrypoints.openai.run_batch", *OPTIONS]
    given = ["--model", str(checkpoint), "-i", str(asks), "-o", str(replies)]
    subprocess.run([*run_batch, *given], env=_environment(), check=True, timeout=PATIENCE)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class VllmServer:
    def __init__(self, checkpoint: Path, log: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}/v1"
        served = ["--model", str(checkpoint), "--host", "127.0.0.1", "--port", str(port)]
        with log.open("ab") as out:
            self.process = subprocess.Popen(
                [*COMMAND, "vllm.entrypoints.openai.api_server", *OPTIONS, *served],
                stdout=out,
                stderr=out,
                env=_environment(),
                start_new_session=True,
            )
        self._log = log

    def wait(self) -> None:
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until and self.process.poll() is None:
            try:
                if httpx.get(f"{self.url}/models").is_success:
                    return
            except httpx.TransportError:
                time.sleep(0.5)
        raise AssertionError(self._log.read_text(errors="replace")[-3000:])

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@contextmanager
def serving(checkpoint: Path, log: Path) -> Iterator[VllmServer]:
    server = VllmServer(checkpoint, log, free_port())
    try:
        server.wait()
        yield server
    finally:
        server.kill()
