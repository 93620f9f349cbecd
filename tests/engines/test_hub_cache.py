"""A folder of models that several machines share, and the token that a hub asks for."""

import json
import os
import subprocess
import sys
import threading
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


class Hub:
    """A hub with one model, which notes what is downloaded, and the tokens that it is shown."""

    def __init__(self) -> None:
        self.downloaded, self.tokens = list[str](), set[str]()

    def handler(self) -> type[BaseHTTPRequestHandler]:
        hub = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                path = self.path.partition("?")[0]
                name = path.rpartition("/")[2]
                hub.tokens.add(self.headers.get("Authorization", ""))
                if path.startswith(f"/api/models/{MODEL}/revision/"):
                    content = json.dumps({"id": MODEL, "sha": COMMIT}).encode()
                elif path == f"/api/models/{MODEL}/tree/{COMMIT}":
                    content = json.dumps([
                        {"type": "file", "path": file, "size": len(content), "oid": file}
                        for file, content in FILES.items()
                    ]).encode()  # fmt: skip
                else:
                    assert path.startswith(f"/{MODEL}/resolve/{COMMIT}/")
                    content = FILES[name]
                    hub.downloaded += [name] if self.command == "GET" else []
                self.send_response(200)
                self.send_header("ETag", f'"{name}"')
                self.send_header("X-Repo-Commit", COMMIT)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content if self.command == "GET" else b"")

            do_HEAD = do_GET

        return Handler


@pytest.fixture
def hub(monkeypatch):
    made = Hub()
    with ThreadingHTTPServer(("127.0.0.1", 0), made.handler()) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield made
        server.shutdown()


def in_a_process(code: str, home: Path, **environment: str) -> bytes:
    home.mkdir(exist_ok=True)
    here = os.environ | {"HOME": str(home)} | environment
    command = [sys.executable, "-c", code, MODEL, COMMIT]
    done = subprocess.run(command, env=here, check=True, stdout=subprocess.PIPE, timeout=60)
    return done.stdout


@pytest.mark.service
def test_a_second_machine_finds_what_the_first_has_downloaded(hub, tmp_path):
    shared = tmp_path / "weights/hub"

    def fetch_on(machine: str, cache: Path) -> None:
        home = tmp_path / machine
        in_a_process(FETCH, home, HF_HUB_CACHE=str(cache), HF_TOKEN="of-the-secret")

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
def test_what_a_model_is_is_asked_of_the_hub_and_its_weights_are_not(hub, tmp_path):
    code = (
        "import sys\nfrom evaljudge.engines import ModelSource\n"
        "from evaljudge.engines.checkpoint import whole_config\n"
        "print(whole_config(ModelSource(*sys.argv[1:])))"
    )
    assert in_a_process(code, tmp_path) == b"{}\n"
    assert hub.downloaded == ["config.json"]
