"""The server behind `evaljudge view`: one page, and the texts that it asks for.

It listens on this machine alone. Every request must carry the token of the link that was printed,
and name this machine as its host, so that no page of another site can read the run.
"""

import json
import secrets
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

from evaljudge.errors import UserError
from evaljudge.text import LONG, one_line

HTML, TEXT = "text/html; charset=utf-8", "text/plain; charset=utf-8"
JSON, BYTES = "application/json", "application/octet-stream"
MOST_POSTED = 100_000  # bytes of one request
HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True)
class Response:
    content: bytes
    kind: str = JSON


class Refused(Exception):
    def __init__(self, words: str, status: HTTPStatus = HTTPStatus.BAD_REQUEST) -> None:
        super().__init__(words)
        self.status = status


class Given(dict[str, str]):
    def __missing__(self, name: str) -> str:
        raise Refused(f"the request has no `{name}`")


Route = Callable[[Given], Response]
Write = Callable[[Mapping[str, object]], Response]


@dataclass
class Site:
    reads: Mapping[str, Route]
    writes: Mapping[str, Write] = field(default_factory=dict)
    token: str = field(default_factory=lambda: secrets.token_urlsafe(16))


def as_json(value: object) -> Response:
    return Response(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())


@contextmanager
def served(site: Site, port: int = 0) -> Iterator[str]:
    """The link of a page that is served until the block ends."""
    try:
        server = serving(site, port)
    except OSError as error:
        reason = f"nothing can be served there ({error.strerror}): name another port, or none"
        raise UserError(f"--port {port}: {reason}") from None
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/?token={site.token}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def serving(site: Site, port: int = 0) -> ThreadingHTTPServer:
    """A server on the loopback device, ready for `serve_forever`; port 0: any that is free."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        server_version, sys_version = "evaljudge", ""

        def do_GET(self) -> None:
            path, _, query = self.path.partition("?")
            query_values = Given({name: values[-1] for name, values in parse_qs(query).items()})
            read = site.reads.get(path)
            self._answer(query_values.pop("token", ""), read and (lambda: read(query_values)))

        def do_POST(self) -> None:
            self.close_connection = True  # what is refused has not been read to its end
            write = site.writes.get(self.path)
            token = self.headers.get("X-Evaljudge-Token", "")
            self._answer(token, write and (lambda: write(self._object())))

        def _answer(self, token: str, answer: Callable[[], Response] | None) -> None:
            try:
                self._check(token)
                if answer is None:
                    raise Refused("there is no such page", HTTPStatus.NOT_FOUND)
                status, response = HTTPStatus.OK, answer()
            except Refused as error:
                status, response = error.status, _message(str(error))
            except (ValueError, LookupError) as error:
                status, response = HTTPStatus.BAD_REQUEST, _message(str(error))
            except (UserError, OSError) as error:  # a file is gone or damaged
                status, response = HTTPStatus.INTERNAL_SERVER_ERROR, _message(str(error))
            self._send(status, response)

        def _check(self, token: str) -> None:
            if self.headers.get("Host") not in hosts:
                raise Refused("this server answers on this machine only", HTTPStatus.FORBIDDEN)
            if not secrets.compare_digest(token.encode(), site.token.encode()):
                raise Refused("open the whole link that was printed", HTTPStatus.FORBIDDEN)

        def _object(self) -> Mapping[str, object]:
            length = self.headers.get("Content-Length", "")
            if not length.isdecimal():
                raise Refused("the request has no length", HTTPStatus.LENGTH_REQUIRED)
            if len(length) > len(str(MOST_POSTED)) or int(length) > MOST_POSTED:
                raise Refused("too large a request", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            try:
                content = json.loads(self.rfile.read(int(length)))
            except RecursionError:
                content = None
            if not isinstance(content, dict):
                raise Refused("a JSON object is expected")
            return content

        def send_error(self, code: int, message: str | None = None, *_: object) -> None:
            """The answer to other methods, and to what is no HTTP."""
            self.close_connection = True
            self._send(HTTPStatus(code), _message(message or HTTPStatus(code).phrase))

        def _send(self, status: HTTPStatus, answer: Response) -> None:
            self.send_response(status)
            length = {"Content-Type": answer.kind, "Content-Length": str(len(answer.content))}
            for name, value in (length | HEADERS).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.content)

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: a terminal is no place for a line for each request."""

    server = _Server(("127.0.0.1", port), Handler)
    hosts = {f"{name}:{server.server_port}" for name in ("127.0.0.1", "localhost")}
    return server


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A browser that leaves before it is answered is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


def _message(words: str) -> Response:
    return Response(one_line(words, LONG).encode(), TEXT)
