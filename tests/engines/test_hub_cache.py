"""A folder of models that several machines share, and the token that a hub asks for."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

COMMIT, MODEL = "c" * 40, "org/guarded"
FILES = {"config.json": b"{}", "model.safetensors": b"w" * 5000}
FETCH = """
import sys
from evaljudge.engines import ModelSource, VllmEngines
VllmEngines().fetch(ModelSource(sys.argv[1]))
"""


@dataclass
class Hub:
    """A hub with one model, which it gives to those with a token."""

    url: str = ""
    downloaded: list[str] = field(default_factory=list)
    tokens: set[str] = field(default_factory=set)

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        path = request.path.partition("?")[0]
        self.tokens.add(request.headers.get("Authorization", ""))
        name = path.rpartition("/")[2]
        if path.startswith(f"/api/models/{MODEL}/revision/"):
            content = json.dumps({"id": MODEL, "sha": COMMIT}).encode()
        elif path == f"/api/models/{MODEL}/tree/{COMMIT}":
            listed = [{"type": "file", "path": file, "size": len(content), "oid": file}
                      for file, content in FILES.items()]  # fmt: skip
            content = json.dumps(listed).encode()
        else:
            assert path.startswith(f"/{MODEL}/resolve/{COMMIT}/")
            content = FILES[name]
            if request.command == "GET":
                self.downloaded.append(name)
        request.send_response(200)
        for header, value in {"ETag": f'"{name}"', "X-Repo-Commit": COMMIT,
                              "Content-Length": str(len(content))}.items():  # fmt: skip
            request.send_header(header, value)
        request.end_headers()
        if request.command == "GET":
            request.wfile.write(content)


@pytest.fixture
def hub() -> Iterator[Hub]:
    made = Hub()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.answer(self)

        do_HEAD = do_GET

        def log_message(self, *_: object) -> None:
            """Nothing is written for each request."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        made.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield made
        server.shutdown()


@pytest.mark.service
def test_a_second_machine_finds_what_the_first_has_downloaded(hub: Hub, tmp_path: Path) -> None:
    shared = tmp_path / "weights/hub"

    def fetch_on(machine: str, cache: Path) -> None:
        home = tmp_path / machine
        home.mkdir(exist_ok=True)
        here = {"HOME": str(home), "HF_HUB_CACHE": str(cache), "HF_ENDPOINT": hub.url,
                "HF_HUB_OFFLINE": "0", "HF_TOKEN": "of-the-secret"}  # fmt: skip
        command = [sys.executable, "-c", FETCH, MODEL]
        subprocess.run(command, env=os.environ | here, check=True, capture_output=True, timeout=60)

    fetch_on("first", shared)
    assert sorted(hub.downloaded) == sorted(FILES)
    assert (shared / f"models--org--guarded/snapshots/{COMMIT}/config.json").read_bytes() == b"{}"
    hub.downloaded.clear()
    fetch_on("second", shared)
    assert hub.downloaded == []
    fetch_on("third", tmp_path / "alone")
    assert sorted(hub.downloaded) == sorted(FILES)
    assert hub.tokens == {"Bearer of-the-secret"}
    kept = (file for file in tmp_path.rglob("*") if file.is_file() and not file.is_symlink())
    assert not [file for file in kept if b"of-the-secret" in file.read_bytes()]


@pytest.mark.service
def test_what_a_model_is_is_asked_of_the_hub_and_its_weights_are_not(
    hub: Hub, tmp_path: Path
) -> None:
    code = (
        "import sys\nfrom evaljudge.engines import ModelSource\n"
        "from evaljudge.engines.checkpoint import whole_config\n"
        "print([whole_config(ModelSource(name, sys.argv[2])) for name in sys.argv[1:2]])"
    )
    here = {"HOME": str(tmp_path), "HF_ENDPOINT": hub.url, "HF_HUB_OFFLINE": "0"}
    command = [sys.executable, "-c", code, MODEL, COMMIT]
    done = subprocess.run(
        command, env=os.environ | here, check=True, capture_output=True, timeout=60
    )
    assert done.stdout == b"[{}]\n"
    assert hub.downloaded == ["config.json"]
