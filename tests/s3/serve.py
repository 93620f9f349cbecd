"""Moto's S3 on a free loopback port: says its URL, and lives as long as its standard input.

So it ends with whoever started it, however that ended. Moto answers each request in a thread of its
own, looks at a put's condition before it stores, and closes what another thread may be reading. S3
does each of these at once: so requests about objects are answered one after the other.
"""

import logging
import sys
from threading import Lock
from typing import Any

from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from moto.s3.responses import S3Response


def answer_one_after_the_other() -> None:
    """Requests about objects; those about buckets go as Moto has them."""
    lock, answer = Lock(), S3Response.key_response

    def answer_alone(self: S3Response, *request: Any) -> Any:
        with lock:
            return answer(self, *request)

    setattr(S3Response, "key_response", answer_alone)  # noqa: B010  (mypy forbids the plain way)


def main() -> None:
    answer_one_after_the_other()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else every request is a line
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    print(f"http://{host}:{port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
