"""Moto's S3 on a free loopback port: says its URL, and lives as long as its standard input.

So it ends with whoever started it, however that ended; told to end by a line, it first prints how
many requests of each kind there were. Moto answers each request in a thread of its
own, looks at a put's condition before it stores, and closes what another thread may be reading. S3
does each of these at once: so requests about objects are answered one after the other.
"""

import json
import logging
import sys
from collections import Counter
from threading import Lock
from typing import Any

from moto.moto_server.threaded_moto_server import ThreadedMotoServer
from moto.s3.responses import S3Response


def answer_one_after_the_other() -> Counter[str]:
    """Requests about objects; those about buckets go as Moto has them. Gives the counts of all."""
    lock, counts = Lock(), Counter[str]()
    about_objects, about_buckets = S3Response.key_response, S3Response.bucket_response

    def answer_alone(self: S3Response, request: Any, *more: Any) -> Any:
        with lock:
            folder = request.path.rpartition("/")[0]
            counts[f"{request.method} {folder}"] += 1
            return about_objects(self, request, *more)

    def answer(self: S3Response, request: Any, *more: Any) -> Any:
        with lock:
            counts[f"{request.method} listing {request.args.get('prefix', '')}"] += 1
        return about_buckets(self, request, *more)

    setattr(S3Response, "key_response", answer_alone)  # noqa: B010  (mypy forbids the plain way)
    setattr(S3Response, "bucket_response", answer)  # noqa: B010
    return counts


def main() -> None:
    counts = answer_one_after_the_other()
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else every request is a line
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    print(f"http://{host}:{port}", flush=True)
    if sys.stdin.readline():
        print(json.dumps(counts), flush=True)


if __name__ == "__main__":
    main()
