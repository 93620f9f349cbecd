"""What is settled as a model is loaded: arguments, and what is fetched of a hub."""

import hashlib
import json
import logging
import os
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from huggingface_hub.errors import LocalEntryNotFoundError

from evaljudge.engines import ModelSource
from evaljudge.engines.loading import _arguments, fetch_checkpoint, set_environment
from evaljudge.engines.template import DrawKey

SEES = {"vision_config": {}}
"""In the configuration of a model that reads images, for which no memory is to be kept."""


@pytest.mark.parametrize(
    ("config", "said", "name", "value"),
    [
        ({}, {}, "enable_prefix_caching", None),  # vLLM decides
        ({}, {"enable_prefix_caching": False}, "enable_prefix_caching", False),
        ({}, {}, "max_model_len", -1),  # the most that fit
        ({}, {"max_model_len": 100}, "max_model_len", 100),
        ({}, {"quantization": "fp8"}, "quantization", "fp8"),
        ({}, {}, "language_model_only", None),
        (SEES, {}, "language_model_only", True),
        (SEES, {"limit_mm_per_prompt": {"image": 1}}, "language_model_only", None),
        (SEES, {"language_model_only": False}, "language_model_only", False),
    ],
)
def test_arguments_that_the_user_does_not_give(tmp_path, config, said, name, value):
    (tmp_path / "config.json").write_text(json.dumps(config))
    source = ModelSource(str(tmp_path), engine=said)
    assert _arguments(source, str(tmp_path), 0).get(name) == value


def test_code_is_run_only_where_that_is_allowed():
    assert "trust_remote_code" not in _arguments(ModelSource("m"), "m", 0)
    assert _arguments(ModelSource("m", allow=("remote-code",)), "m", 0)["trust_remote_code"] is True


def test_the_engine_s_own_lines_are_kept_where_they_are_wanted(monkeypatch):
    triton = logging.getLogger("torch._library.triton")
    monkeypatch.setattr(triton, "level", logging.NOTSET)
    monkeypatch.setattr(triton, "_cache", {})  # has what the level was before
    for level, is_quiet in (("DEBUG", False), ("ERROR", True)):
        monkeypatch.setenv("VLLM_LOGGING_LEVEL", level)
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            set_environment()
            old = FutureWarning("reduce_op is deprecated")
            warnings.warn_explicit(old, None, "dispatcher.py", 1, module="vllm.triton_utils")
            warnings.warn_explicit(old, None, "mine.py", 1, module="mine")
        # those of a file that is collected just now are heard, too
        assert [w.message for w in heard].count(old) == 1 + (not is_quiet)
        assert triton.isEnabledFor(logging.WARNING) != is_quiet


def test_a_draw_s_key_is_that_of_the_whole_prompt():
    key = DrawKey(3, [(1, 2), (), (3,)])
    assert str(key) == hashlib.sha256(b"3 (1, 2, 3)").hexdigest()
    assert str(key) == str(DrawKey(3, [(1,), (2, 3)]))


def test_of_the_hub_s_files_those_that_vllm_reads_are_fetched(tmp_path):
    """From the hub's local cache, which is as good as the hub for a snapshot that is in it."""
    snapshot = tmp_path / "models--o--m" / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (snapshot / "config.json").write_text("{}")
    source = ModelSource("o/m", COMMIT, engine={"download_dir": str(tmp_path)})
    fetch_checkpoint(source)
    fetch_checkpoint(ModelSource(str(tmp_path)))  # a folder is here already
    with pytest.raises(LocalEntryNotFoundError):
        fetch_checkpoint(replace(source, source="o/other"))


# a folder of models that several machines share, and the token that a hub asks for


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
