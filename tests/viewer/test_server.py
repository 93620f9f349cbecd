"""The server: who is answered, with what headers, and that nothing else is read or written."""

import json
import re
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from urllib.parse import quote, urlencode

import numpy as np
import pytest

from evaljudge.analysis.run_scores import scored_run
from evaljudge.errors import UserError
from evaljudge.viewer.labels import LabelSheet, label_site
from evaljudge.viewer.server import MOST_POSTED, Site, serving
from evaljudge.viewer.site import MOST_ROWS, RunSite
from tests.viewer.pages import DOCUMENTS, SYSTEMS, make_run

HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
SHEET = [{"label": "ab", "source": "S", "text": "T", "fluency": None, "rater": None},
         {"label": "cd", "source": "S", "text": "U", "fluency": None, "rater": None}]  # fmt: skip


class Asker:
    """Sends requests as a browser does, or as one must not."""

    def __init__(self, site: Site) -> None:
        self.token = site.token
        self._server = serving(site)
        self.port = self._server.server_port
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def send(
        self, method: str, path: str, body: bytes | None = None, **headers: str
    ) -> tuple[int, bytes]:
        """`X_Y` in `headers`: the header `X-Y`."""
        asked = HTTPConnection("127.0.0.1", self.port, timeout=10)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        asked.request(method, path, body, named)
        return self.read(asked)

    def read(self, asked: HTTPConnection) -> tuple[int, bytes]:
        answer: HTTPResponse = asked.getresponse()
        content = answer.read()
        assert HEADERS.items() <= dict(answer.getheaders()).items()
        assert b"Traceback" not in content and b"evaljudge/" not in content
        if answer.status != 200:
            assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
        asked.close()
        return answer.status, content

    def get(self, path: str, **given: str) -> tuple[int, bytes]:
        return self.send("GET", f"{path}?{urlencode(given | {'token': self.token})}")

    def rate(self, body: bytes, token: str | None = None) -> tuple[int, bytes]:
        return self.send("POST", "/rate", body, X_Evaljudge_Token=token or self.token)


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("served"), "run", judges={"geval": {}},
                    select=[{"name": "good", "all": [
                        {"scorer": "geval", "axis": "fluency", "at_least": 3}]}])  # fmt: skip


@pytest.fixture(scope="module")
def run(run_folder):
    asker = Asker(RunSite(scored_run(run_folder.out), run_folder.findings).site)
    yield asker
    asker.end()


@pytest.fixture
def sheet(tmp_path):
    file = tmp_path / "sheet.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in SHEET))
    asker = Asker(label_site(LabelSheet.open(str(file), "anna"), {}))
    yield asker
    asker.end()


def files(folder: Path) -> dict[str, bytes]:
    return {str(file): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def test_the_page_and_its_columns_are_given(run):
    status, content = run.get("/")
    assert status == 200 and content.startswith(b"<!doctype html>")
    names = json.loads(run.get("/names")[1])
    assert len(names) == DOCUMENTS * len(SYSTEMS)
    assert len(np.frombuffer(run.get("/column", name="score:0")[1], np.float32)) == len(names)
    assert json.loads(run.get("/begins", rows="0,2")[1])[1].startswith("C on 0")
    assert b"A on 0: the river rose." in run.get("/text", row="0")[1]
    found = np.frombuffer(run.get("/search", words="D7 river")[1], np.uint8)
    assert {names[row] for row in np.flatnonzero(found)} == {"d7"}


@pytest.mark.parametrize("path", ["/", "/names", "/column", "/begins", "/text", "/search", "/x"])
@pytest.mark.parametrize("query", ["", "?token=", "?token=wrong", "?token=%00%ff"])
def test_without_the_token_nothing_is_given(run, path, query):
    assert run.send("GET", path + query) == (403, b"open the whole link that was printed")


@pytest.mark.parametrize("host", ["evil.example", "evil.example:{port}", "127.0.0.1", "", "[::1]"])
def test_a_name_of_another_site_is_not_answered(run, host):
    """As after a change of that name's address, by which its pages would reach this server."""
    status, said = run.send("GET", f"/?token={run.token}", Host=host.format(port=run.port))
    assert (status, said) == (403, b"this server answers on this machine only")
    assert run.send("GET", f"/?token={run.token}", Host=f"localhost:{run.port}")[0] == 200


@pytest.mark.parametrize("path", [
    "/../../etc/passwd", "/..%2f..%2fetc/passwd", "//etc/passwd", "/names/../text", "/run.json",
    "/report/index.html", "/names/", "/NAMES", "/\\..\\x", "/__proto__",
])  # fmt: skip
def test_no_path_leads_elsewhere(run, path):
    assert run.send("GET", f"{path}?token={run.token}")[0] == 404


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "NONE"])
def test_other_methods_are_refused(run, method):
    status, _ = run.send(method, f"/?token={run.token}")
    assert status == 501


@pytest.mark.parametrize(("path", "given", "said"), [
    ("/column", {"name": "secrets"}, "there is no column 'secrets'"),
    ("/column", {"name": "score:99"}, "there is no column 'score:99'"),
    ("/column", {"name": "score:-1"}, "there is no column 'score:-1'"),
    ("/column", {"name": "score:x"}, "there is no column 'score:x'"),
    ("/column", {"name": "__class__"}, "there is no column '__class__'"),
    ("/column", {"name": "other:0"}, "there is no column 'other:0'"),
    ("/column", {}, "the request has no `name`"),
    ("/text", {"row": "120"}, "there is no row 120"),
    ("/text", {"row": "-1"}, "there is no row -1"),
    ("/text", {"row": "9" * 5000}, "there is no row 999"),
    ("/text", {}, "the request has no `row`"),
    ("/begins", {"rows": "1,120"}, "there is no row 120"),
    ("/begins", {"rows": "0," * 10_000}, f"at most {MOST_ROWS} rows at a time"),
    ("/search", {"words": " "}, "no word to look for"),
])  # fmt: skip
def test_what_is_not_there_is_refused_in_a_line(run, path, given, said):
    status, answer = run.get(path, **given)
    assert status == 400
    assert answer.decode().startswith(said) and b"\n" not in answer and len(answer) < 2100


@pytest.mark.parametrize(("line", "said"), [
    (b"nonsense\r\n\r\n", b"Bad request"), (b"GET / HTTP/9.9\r\n\r\n", b"Invalid HTTP version"),
    (b"GET " + b"x" * 70_000, b"HTTP/1.1 414"), (b"GET http://[?token= HTTP/1.1\r\n\r\n", b"403"),
])  # fmt: skip
def test_what_is_no_request_is_refused(run, line, said, capfd):
    with socket.create_connection(("127.0.0.1", run.port), timeout=10) as asked:
        asked.sendall(line)
        assert said in asked.recv(1000)
    assert capfd.readouterr().err == ""


def test_a_browser_that_leaves_is_no_error(run, capfd):
    asked = socket.create_connection(("127.0.0.1", run.port))
    asked.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset, at once
    asked.sendall(b"GET / HTTP/1.1\r\n")
    asked.close()
    assert run.get("/")[0] == 200
    assert capfd.readouterr().err == ""


def test_a_file_that_is_gone_is_named(tmp_path):
    made = make_run(tmp_path, "gone", judges={"geval": {}}, select=[])
    asked = [("/text", {"row": "0"}), ("/begins", {"rows": "0"}), ("/search", {"words": "river"})]
    for folder in ("cases", "briefs", "scores", "commits", "run.json"):
        asker = Asker(RunSite(scored_run(made.out), made.findings).site)
        (Path(made.out) / folder).rename(tmp_path / "away")
        for path, given in asked:
            status, said = asker.get(path, **given)
            assert status in (200, 500), (folder, said)
            assert status == 200 or (folder.encode() in said and b"\n" not in said)
        asker.end()
        (tmp_path / "away").rename(Path(made.out) / folder)


def test_a_rating_is_kept_in_the_sheet_and_nowhere_else(sheet, tmp_path):
    assert rated(sheet, "cd", 4) == {}
    rows = [json.loads(line) for line in (tmp_path / "sheet.jsonl").read_text().splitlines()]
    assert rows == [SHEET[0], SHEET[1] | {"fluency": 4, "rater": "anna"}]
    assert [file.name for file in tmp_path.iterdir()] == ["sheet.jsonl"]


def rated(sheet: Asker, label: str, value: float | None, before: float | None = None) -> object:
    """What the answer says of ratings that it replaces."""
    body = {"label": label, "ratings": {"fluency": value}, "before": {"fluency": before}}
    status, answer = sheet.rate(json.dumps(body).encode())
    assert status == 200, answer
    return json.loads(answer)["replaced"]


def rows(file: Path) -> list[tuple[str, float | None, str | None]]:
    found = map(json.loads, file.read_text().splitlines())
    return [(row["label"], row["fluency"], row["rater"]) for row in found]


def test_two_who_rate_one_sheet_keep_their_own_ratings(sheet, tmp_path):
    file = tmp_path / "sheet.jsonl"
    ben = Asker(label_site(LabelSheet.open(str(file), "ben"), {}))
    assert rated(sheet, "ab", 4) == rated(ben, "ab", 1) == rated(ben, "cd", 2) == {}
    assert rated(sheet, "cd", 5) == {}
    ratings = [("ab", 4, "anna"), ("ab", 1, "ben"), ("cd", 2, "ben"), ("cd", 5, "anna")]
    assert rows(file) == ratings
    ben.end()
    shown = LabelSheet.open(str(file), "ben").data({})["texts"]
    assert [one["ratings"] for one in shown] == [
        {"fluency": 1, "note": None}, {"fluency": 2, "note": None},
    ]  # fmt: skip


def test_of_one_raters_two_ratings_the_later_stays_and_the_other_is_reported(sheet, tmp_path):
    file = tmp_path / "sheet.jsonl"
    other = Asker(label_site(LabelSheet.open(str(file), "anna"), {}))
    assert rated(sheet, "ab", 4) == {}
    assert rated(other, "ab", 2) == {"fluency": 4}
    assert rated(other, "ab", 3, before=2) == {}
    assert rated(sheet, "ab", None, before=4) == {"fluency": 3}
    other.end()
    assert rows(file) == [("ab", None, None), ("cd", None, None)]


def test_of_many_ratings_at_once_none_is_lost(tmp_path):
    file = tmp_path / "sheet.jsonl"
    labels = [f"l{n}" for n in range(20)]
    file.write_text("".join(f"{json.dumps(SHEET[0] | {'label': one})}\n" for one in labels))
    whose = {name: LabelSheet.open(str(file), name) for name in ("anna", "ben", "cid")}

    def rate_all(name: str) -> None:
        for label in labels:
            whose[name].rate(label, {"fluency": 3}, {})

    with ThreadPoolExecutor() as pool:
        list(pool.map(rate_all, whose))
    assert sorted(rows(file)) == sorted((label, 3, name) for label in labels for name in whose)
    assert [one.name for one in tmp_path.iterdir()] == ["sheet.jsonl"]


def test_a_sheet_that_is_gone_is_named(sheet, tmp_path):
    (tmp_path / "sheet.jsonl").unlink()
    body = {"label": "ab", "ratings": {"fluency": 4}, "before": {}}
    for status, said in (sheet.get("/"), sheet.rate(json.dumps(body).encode())):
        assert status == 500 and b"sheet.jsonl" in said and b"\n" not in said


@pytest.mark.parametrize(("name", "row", "said"), [
    ("sheet.csv", {}, "only sheets that end in .jsonl can be filled in on a page: draw one with"),
    ("sheet.jsonl", {"doc_id": "d1"}, "no sheet of `evaljudge label`: its rows have no labels"),
])  # fmt: skip
def test_what_is_no_sheet_is_refused(tmp_path, name, row, said):
    file = tmp_path / name
    file.write_text(json.dumps(row))
    with pytest.raises(UserError, match=re.escape(f"{file}: {said}")):
        LabelSheet.open(str(file), "anna")


def test_a_rating_without_the_token_is_refused(sheet, tmp_path):
    body, before = json.dumps({"label": "ab", "ratings": {"fluency": 4}}).encode(), files(tmp_path)
    for path, headers in (
        ("/rate", {}),
        (f"/rate?token={sheet.token}", {}),
        ("/rate", {"X_Evaljudge_Token": "wrong"}),
        ("/rate", {"Cookie": f"token={sheet.token}"}),
    ):
        assert sheet.send("POST", path, body, **headers)[0] == 403
    evil = {"X_Evaljudge_Token": sheet.token, "Host": "evil.example"}
    assert sheet.send("POST", "/rate", body, **evil)[0] == 403
    assert sheet.get("/rate")[0] == sheet.get("/names")[0] == 404
    assert files(tmp_path) == before


@pytest.mark.parametrize("body", [
    b"", b"{", b"[]", b"null", b"\xff", b'{"label": "zz", "ratings": {}}', b'{"label": "ab"}',
    b'{"label": ["ab"], "ratings": {}}', b'{"label": "ab", "ratings": {"label": 4}}',
    b'{"label": "ab", "ratings": {"text": "x"}}', b'{"label": "ab", "ratings": {"fluency": 9}}',
    b'{"label": "ab", "ratings": {"fluency": "4"}}',
    b'{"label": "ab", "ratings": {"fluency": NaN}}',
    b'{"label": "ab", "ratings": {"fluency": true}}', b"[" * 50_000,
    b'{"label": "ab", "ratings": {"fluency": 4, "rater": 1}}',
])  # fmt: skip
def test_a_rating_that_is_none_changes_nothing(sheet, tmp_path, body):
    before = files(tmp_path)
    assert sheet.rate(body)[0] == 400
    assert sheet.rate(b'{"label": "cd", "ratings": {"fluency": 2}}')[0] == 200
    (row, _) = (tmp_path / "sheet.jsonl").read_text().splitlines()
    assert [row] == [text.decode().splitlines()[0] for text in before.values()]


@pytest.mark.parametrize(("length", "status"), [
    (str(MOST_POSTED + 1), 413), ("9" * 30, 413), ("-1", 411), ("x", 411), (None, 411),
])  # fmt: skip
def test_what_is_too_large_is_not_read(sheet, length, status):
    asked = HTTPConnection("127.0.0.1", sheet.port, timeout=10)
    asked.putrequest("POST", "/rate")
    asked.putheader("X-Evaljudge-Token", sheet.token)
    if length is not None:
        asked.putheader("Content-Length", length)
    asked.endheaders()
    assert sheet.read(asked)[0] == status


def test_a_path_of_any_letters_is_answered(run):
    assert run.get("/search", words="ünï\u2028\0")[0] == 200
    assert run.send("GET", f"/column?name={quote('<script>')}&token={run.token}")[0] == 400
