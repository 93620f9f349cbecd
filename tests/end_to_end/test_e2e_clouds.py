"""Runs on Google's and Azure's storage (tests/clouds), and a corpus of the hub."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

import evaljudge
from evaljudge.storage import Place
from tests.end_to_end import shared
from tests.end_to_end.killing import Run
from tests.end_to_end.scripted_run import noting_engines

pytestmark = pytest.mark.service
ROWS = shared.cases(8)


@pytest.mark.long
@pytest.mark.parametrize("cloud", ["gs", "az"], indirect=True)
def test_a_killed_run_is_resumed_there(cloud, tmp_path):
    """Its corpus lies there, too; a second job is refused; the report is that of a local run."""
    cloud.put("corpus/cases.jsonl", "".join(f"{json.dumps(row)}\n" for row in ROWS).encode())
    run = Run(tmp_path, ROWS, 2, {}, cloud, corpus=f"{cloud.uri}/corpus/*.jsonl", commit_every=1)
    run.command.start()
    run.command.wait_until(lambda: ".claim" in run.files(), "its claim")
    second = subprocess.run(
        [sys.executable, shared.SCRIPT, "config.json", "others", "0"], cwd=tmp_path,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert "another job is at work there (process" in second.stderr and second.returncode == 6
    assert not (tmp_path / "others").exists()
    run.command.wait_until(lambda: any(run.command.committed().values()), "a commit")
    asked, committed = len(run.asks), run.command.committed()
    run.command.kill("all")
    run.command.start()
    run.command.end()

    (tmp_path / "local").mkdir()
    local = shared.config(tmp_path / "local", ROWS)
    evaljudge.run(local, engines=noting_engines(tmp_path / "local/asks"))
    assert not shared.differences(shared.tables(run.out), shared.tables(tmp_path / "local/out"))
    assert run.files() == shared.contract(run.out)
    again = {ask.prompt for ask in run.asks[:asked]} & {ask.prompt for ask in run.asks[asked:]}
    assert len(again) < asked, "all was asked again"
    print(f"{cloud.uri}: killed after {asked} asks and {committed}; {len(again)} were asked again")
    outcome = evaljudge.open_run(run.config["out"])
    assert len(outcome.scores()) == len(evaljudge.open_run(local["out"]).scores())


KEY = "AZURE_STORAGE_ACCOUNT_KEY"
REFUSED: dict[str, list[tuple[str, dict[str, str], str]]] = {
    "gs": [
        ("gs://no-such-bucket/run", {}, "there is no such bucket"),
        ("gs://key:SECRET@bucket/run", {}, "holds credentials: they belong in the environment"),
        ("gs://bucket/run", {"GOOGLE_BEARER_TOKEN": "SECRET"}, "access is denied"),
        ("gs://", {}, "names no bucket"),
        ("gs://a b/run", {}, "gs://a b: invalid"),
        ("gs://bucket//run", {}, "a folder in it has no name"),
        ("gs://bucket/run", {"GOOGLE_BASE_URL": "http://127.0.0.1:9"}, "no answer"),
        ("gs://bucket/run", {"GOOGLE_BEARER_TOKEN": "", "GOOGLE_SERVICE_ACCOUNT": "/none.json"},
         "/none.json"),
    ],
    "az": [
        ("az://no-such-bucket/run", {}, "there is no such bucket"),
        ("az://bucket/run?sv=1&sig=SECRET", {}, "holds credentials: they belong in the env"),
        ("abfs://c:SECRET@a.dfs.core.windows.net/run", {}, "holds credentials"),
        ("az://bucket/run", {"AZURE_STORAGE_ACCOUNT_NAME": ""}, "set AZURE_STORAGE_ACCOUNT_NAME"),
        ("az://bucket/run", {KEY: "", "AZURE_STORAGE_SAS_TOKEN": "sig=SECRET"}, "access is denied"),
        ("az://bucket/run", {KEY: "SECRET"}, "az://bucket: "),
        ("az://bucket/run", {"AZURE_STORAGE_ENDPOINT": "http://127.0.0.1:9/x"}, "no answer"),
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("scheme", "uri", "variables", "words"),
    [(scheme, *each) for scheme, all_of in REFUSED.items() for each in all_of],
)
def test_what_is_refused_is_one_line_without_secrets(
    scheme, uri, variables, words, tmp_path, request, monkeypatch
):
    request.getfixturevalue(scheme)
    monkeypatch.setenv("EVALJUDGE_STORAGE_PATIENCE", "1")
    for name, value in variables.items():
        monkeypatch.setenv(name, value) if value else monkeypatch.delenv(name)
    for changed in ({"out": uri}, {"corpus": f"{uri}/cases.jsonl"}):
        config = shared.config(tmp_path, ROWS, **changed)
        with pytest.raises((evaljudge.UserError, evaljudge.errors.GivenUp)) as caught:
            evaljudge.run(config, engines=noting_engines(tmp_path / "asks"))
        said = str(caught.value)
        assert words in said and "\n" not in said and len(said) < 300 and "SECRET" not in said


def test_without_credentials_the_line_says_where_they_come_from(cloud, monkeypatch, tmp_path):
    for name in cloud.environment:
        if "ACCOUNT_NAME" not in name:
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    said = f"{cloud.uri}/run/a: no credentials were found: set (GOOGLE|AZURE)_"
    with pytest.raises(evaljudge.UserError, match=said):
        Place(f"{cloud.uri}/run").write("a", b"x")


@contextmanager
def hub(files: dict[str, bytes]) -> Iterator[str]:
    """A dataset `owner/name`, with as much of the hub's interface as is asked for."""

    class Hub(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path, info = self.path.partition("?")[0], {"id": "owner/name", "sha": "f" * 40}
            tree = [{"type": "file", "path": p, "size": len(c), "oid": p} for p, c in files.items()]
            asked = {
                "/api/datasets/owner/name": info,
                "/api/datasets/owner/name/revision/main": info,
                "/api/datasets/owner/name/tree/main": tree,
            }
            content = files.get(path.rpartition("/")[2])
            if path in asked:
                content = json.dumps(asked[path]).encode()
            self.send_response(404 if content is None else 200)
            start = 0
            if content and (ranged := self.headers.get("Range")):
                start, last = map(int, ranged.removeprefix("bytes=").split("-"))
                content = content[start : last + 1]
            self.send_header("Content-Length", str(len(content or b"")))
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(content or b"")

        do_HEAD = do_POST = do_GET

        def log_message(self, *_: object) -> None:
            print(self.command, self.path, self.headers.get("Range"))

    with ThreadingHTTPServer(("127.0.0.1", 0), Hub) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("uri", ["cases.jsonl", "*.jsonl", ""])
def test_a_corpus_of_the_hub(uri):
    """In a process of its own: the hub's library reads its settings when it is loaded."""
    code = (
        "import sys; from evaljudge.storage import expand, open_to_read\n"
        "[file] = expand(sys.argv[1]); print(file); print(open_to_read(file).read().decode())"
    )
    files = {"cases.jsonl": b'{"doc_id": "d"}'}
    with hub(files) as url:
        done = subprocess.run(
            [sys.executable, "-c", code, f"hf://datasets/owner/name/{uri}"], capture_output=True,
            text=True, env=os.environ | {"HF_ENDPOINT": url, "HF_HUB_OFFLINE": "0"},
        )  # fmt: skip
    assert done.stdout.splitlines() == [
        "hf://datasets/owner/name/cases.jsonl",
        '{"doc_id": "d"}',
    ], done.stderr


@pytest.mark.parametrize(
    ("offline", "words"),
    [
        ("1", "HF_HUB_OFFLINE is set: unset it"),
        pytest.param("0", "no answer (", marks=pytest.mark.long),
    ],
)
def test_a_hub_out_of_reach_is_one_line(offline, words, tmp_path):
    uri = "hf://datasets/owner/name/*.parquet"
    config = {"corpus": uri, "out": str(tmp_path / "out"), "judges": {}, "metrics": ["words"]}
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    variables = {"HF_ENDPOINT": "http://127.0.0.1:9", "HF_HUB_OFFLINE": offline}
    done = subprocess.run(
        [sys.executable, "-m", "evaljudge", "run", "config.yaml"], cwd=tmp_path,
        capture_output=True, text=True, env=os.environ | variables,
    )  # fmt: skip
    assert done.returncode in (1, 2) and words in done.stderr
    progress = ("reading ", "waiting for ")  # the second only where the tries took long
    lines = [x for x in done.stderr.strip().splitlines() if not x.startswith(progress)]
    assert len(lines) == 1, done.stderr
