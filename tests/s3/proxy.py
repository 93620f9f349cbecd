"""A door to S3 that fails as networks and services do, as often as a test tells it to.

>>> proxy.add("slow down", share=0.1)
>>> proxy.add("reset after", when=lambda method, path: method == "PUT", most=1)
>>> proxy.counts
Counter({'slow down': 14, 'reset after': 1})

Every request passes unchanged (its Host too: the signature covers it) unless a rule takes it; the
first rule that does so decides. A rule draws from a seed of its own, so that how often it applies
depends on how many requests there were, and on nothing else.
"""

from __future__ import annotations

import http.client
import random
import socket
import struct
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Literal
from urllib.parse import urlsplit

Kind = Literal[
    "error",  # 500 InternalError, nothing done
    "slow down",  # 503 SlowDown, nothing done
    "denied",  # 403 AccessDenied, nothing done
    "expired",  # 400 ExpiredToken, nothing done
    "full",  # 507, as MinIO answers when its disks are full; nothing done
    "quota",  # 403 QuotaExceeded, as Ceph answers; nothing done
    "reset before",  # the connection is lost with the request
    "reset after",  # it took effect, and its answer is lost
    "torn upload",  # half of the body arrives, then both sides lose the connection
    "torn answer",  # half of the answer arrives
    "delay",  # it is answered late
    "outage",  # nobody is there
]
When = Callable[[str, str], bool]
"""Of a request's method and path (its query too)."""
FORWARDED_ANEW = {"connection", "expect", "transfer-encoding", "content-length"}
ANSWERS = {
    "error": (500, "InternalError", "We encountered an internal error. Please try again."),
    "slow down": (503, "SlowDown", "Please reduce your request rate."),
    "denied": (403, "AccessDenied", "Access Denied"),
    "expired": (400, "ExpiredToken", "The provided token has expired."),
    "full": (507, "XMinioStorageFull", "Storage backend has reached its minimum free drive space."),
    "quota": (403, "QuotaExceeded", "Quota exceeded."),
}
RESET_ON_CLOSE = struct.pack("ii", 1, 0)


def always(method: str, path: str) -> bool:
    return True


@dataclass
class Rule:
    fault: Kind
    share: float = 1.0
    when: When = always
    most: int = sys.maxsize
    seconds: float = 0.0
    seed: int = 0
    applied: int = 0
    _draw: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self._draw = random.Random(self.seed)

    def takes(self, method: str, path: str) -> bool:
        if self.applied >= self.most or not self.when(method, path):
            return False
        if self._draw.random() >= self.share:
            return False
        self.applied += 1
        return True


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes | None


@dataclass(frozen=True)
class Answer:
    status: int
    reason: str
    headers: list[tuple[str, str]]
    body: bytes


class FaultProxy:
    """Listens on loopback, in threads of this process; `counts` says what was done to requests."""

    def __init__(self, url: str) -> None:
        target = urlsplit(url)
        self.target = (str(target.hostname), int(target.port or 80))
        self.counts: Counter[str] = Counter()
        self._rules: list[Rule] = []
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._out_until = 0.0
        self._server = _Listener(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"

    def __enter__(self) -> FaultProxy:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._server.shutdown()
        self._thread.join()
        self._server.hang_up()
        self._server.server_close()

    def add(
        self,
        fault: Kind,
        *,
        share: float = 1.0,
        when: When = always,
        most: int = sys.maxsize,
        seconds: float = 0.0,
        seed: int = 0,
    ) -> Rule:
        rule = Rule(fault, share, when, most, seconds, seed)
        with self._lock:
            self._rules.append(rule)
        return rule

    def heal(self) -> None:
        """No faults any more; the counts stay."""
        with self._lock:
            self._rules.clear()
            self._out_until = 0.0

    def outage(self, seconds: float) -> None:
        """From now on every connection is reset, those that are open at their next request."""
        with self._lock:
            self._out_until = time.monotonic() + seconds

    @property
    def is_out(self) -> bool:
        """Whether it is; a connection or request that asks is one more that met the outage."""
        with self._lock:
            out = time.monotonic() < self._out_until
            if out:
                self.counts["outage"] += 1
            return out

    def decide(self, request: Request) -> Rule | None:
        with self._lock:
            for rule in self._rules:
                if rule.takes(request.method, request.path):
                    self.counts[rule.fault] += 1
                    return rule
            return None

    def wait(self, seconds: float) -> None:
        """As long as the proxy lives."""
        self._stopping.wait(seconds)

    def forward(self, request: Request, share: float = 1.0) -> Answer:
        """Its answer; of a body only this share is sent, and then the connection is lost."""
        upstream = http.client.HTTPConnection(*self.target, timeout=300)
        try:
            self._send(upstream, request, share)
            found = upstream.getresponse()
            body = found.read()
            return Answer(found.status, found.reason, found.getheaders(), body)
        finally:
            upstream.close()

    def _send(self, upstream: http.client.HTTPConnection, request: Request, share: float) -> None:
        upstream.putrequest(request.method, request.path, True, True)
        for name, value in request.headers:
            if name.lower() not in FORWARDED_ANEW:
                upstream.putheader(name, value)
        if request.body is not None:
            upstream.putheader("Content-Length", str(len(request.body)))
        upstream.endheaders()
        if request.body:
            upstream.send(request.body[: int(len(request.body) * share)])
        if share < 1:
            upstream.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            raise _Lost


class _Lost(Exception):
    """The connection of a client is to be reset."""


class _Listener(ThreadingHTTPServer):
    daemon_threads = False
    block_on_close = True
    request_queue_size = 256

    def __init__(self, proxy: FaultProxy) -> None:
        self.proxy = proxy
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def verify_request(self, request: Any, client_address: Any) -> bool:
        if self.proxy.is_out:
            request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)
            return False
        self._open.add(request)
        return True

    def close_request(self, request: Any) -> None:
        self._open.discard(request)
        super().close_request(request)

    def shutdown_request(self, request: Any) -> None:
        """Without the farewell of the base class: a connection that is reset has none."""
        self.close_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is no error of the proxy's."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def hang_up(self) -> None:
        for connection in list(self._open):
            _shut(connection)


def _shut(connection: socket.socket) -> None:
    with suppress(OSError):  # it is gone already
        connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def _any(self) -> None:
        proxy = self.server.proxy
        if proxy.is_out:
            return self._reset()
        request = Request(self.command, self.path, self.headers.items(), self._body())
        rule = proxy.decide(request)
        try:
            self._answer(request, rule)
        except (_Lost, OSError):  # an OSError: the server itself is gone, or the client is
            self._reset()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = do_OPTIONS = _any

    def _answer(self, request: Request, rule: Rule | None) -> None:
        proxy, fault = self.server.proxy, rule.fault if rule else ""
        if rule and fault == "delay":
            proxy.wait(rule.seconds)
        if fault == "reset before":
            raise _Lost
        if fault in ANSWERS:
            answer = _refusal(fault)
        else:
            answer = proxy.forward(request, share=0.5 if fault == "torn upload" else 1.0)
        if fault == "reset after":
            raise _Lost
        self._send(request, answer, share=0.5 if fault == "torn answer" else 1.0)

    def _body(self) -> bytes | None:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return b"".join(self._chunks())
        length = self.headers.get("Content-Length")
        return None if length is None else self.rfile.read(int(length))

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self.rfile.readline().partition(b";")[0], 16):
            yield self.rfile.read(size)
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass  # trailers of the transfer itself

    def _send(self, request: Request, answer: Answer, share: float = 1.0) -> None:
        """A HEAD's answer tells the length of a body that does not come."""
        self.send_response_only(answer.status, answer.reason)
        told = {name.lower(): value for name, value in answer.headers}
        for name, value in answer.headers:
            if name.lower() not in FORWARDED_ANEW:
                self.send_header(name, value)
        if request.method == "HEAD":
            self.send_header("Content-Length", told.get("content-length", "0"))
        elif answer.status != 204:
            self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if request.method != "HEAD":
            self.wfile.write(answer.body[: int(len(answer.body) * share)])
        if share < 1:
            raise _Lost

    def _reset(self) -> None:
        self.close_connection = True
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_ON_CLOSE)

    def log_message(self, *_: object) -> None:
        pass


def _refusal(fault: str) -> Answer:
    status, code, message = ANSWERS[fault]
    body = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<Error><Code>{code}</Code><Message>{message}</Message>"
        "<RequestId>4442587FB7D0A2F9</RequestId><HostId>loopback</HostId></Error>"
    ).encode()
    headers = [("Content-Type", "application/xml"), ("x-amz-request-id", "4442587FB7D0A2F9")]
    return Answer(status, code, headers, body)
