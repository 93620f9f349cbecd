"""Moto's S3 on a free loopback port: says its URL, and lives as long as its standard input.

So it ends with whoever started it, however that ended.
"""

from __future__ import annotations

import logging
import sys

from moto.moto_server.threaded_moto_server import ThreadedMotoServer


def main() -> None:
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # else every request is a line
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    print(f"http://{host}:{port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
