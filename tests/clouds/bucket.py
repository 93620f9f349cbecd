"""A fresh bucket of Google's or Azure's storage, looked into past all that is under test.

Azure's is Azurite where that is installed (`npm install -g azurite`), else a server of serve.py.
"""

import shutil
import socket
import subprocess
import time
import uuid
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from email.utils import formatdate
from hashlib import sha256
from hmac import digest
from http.server import ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.request import Request, urlopen

from tests.clouds.serve import ACCOUNT, TOKEN, Storage
from tests.s3.bucket import Server

KEY = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
"""Azurite's own, which its documentation has."""


@contextmanager
def serving(scheme: str) -> Iterator[Server]:
    if scheme == "az" and (azurite := shutil.which("azurite-blob")):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        options = f"--blobPort {port} --inMemoryPersistence --silent --disableTelemetry"
        options += " --skipApiVersionCheck"
        with subprocess.Popen([azurite, *options.split()]) as process:
            try:
                for _ in range(600):
                    with suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                        break
                    time.sleep(0.1)
                yield Server(f"http://127.0.0.1:{port}")
            finally:
                process.kill()
        return
    with ThreadingHTTPServer(("127.0.0.1", 0), Storage) as server:
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield Server(f"http://127.0.0.1:{server.server_port}")
        server.shutdown()


class CloudBucket:
    """As tests.s3.bucket.Bucket."""

    def __init__(self, scheme: str, server: Server) -> None:
        from obstore import store

        self.server, self.name = server, f"bucket-{uuid.uuid4().hex[:12]}"
        self.scheme, self.uri = scheme, f"{scheme}://{self.name}"
        if scheme == "gs":
            request = Request(f"{server.url}/{self.name}", method="PUT")
            request.add_header("Authorization", f"Bearer {TOKEN}")
            config: Any = {"base_url": server.url, "bearer_token": TOKEN}
        else:
            request = _signed(server.url, f"/{ACCOUNT}/{self.name}")
            config = {"account_name": ACCOUNT, "account_key": KEY}
            config["endpoint"] = f"{server.url}/{ACCOUNT}"
        urlopen(request).close()
        kind: Any = store.GCSStore if scheme == "gs" else store.AzureStore
        self._store = kind(self.name, config=config, client_options={"allow_http": True})

    @property
    def environment(self) -> dict[str, str]:
        return self.through(self.server.url)

    def through(self, url: str) -> dict[str, str]:
        """The environment of those who shall reach it, such as by a proxy."""
        if self.scheme == "gs":
            return {"GOOGLE_BASE_URL": url, "GOOGLE_BEARER_TOKEN": TOKEN}
        return {
            "AZURE_STORAGE_ACCOUNT_NAME": ACCOUNT,
            "AZURE_STORAGE_ACCOUNT_KEY": KEY,
            "AZURE_STORAGE_ENDPOINT": f"{url}/{ACCOUNT}",
        }

    def keys(self, prefix: str = "") -> set[str]:
        found = self._store.list().collect()
        return {blob["path"] for blob in found if blob["path"].startswith(prefix)}

    def read(self, key: str) -> bytes:
        return bytes(self._store.get(key).bytes())

    def put(self, key: str, content: bytes) -> None:
        self._store.put(key, content)

    def download(self, prefix: str, folder: Path) -> Path:
        """All that lies under a prefix, as files of a folder."""
        for key in self.keys(f"{prefix}/"):
            file = folder / key.removeprefix(f"{prefix}/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(self.read(key))
        return folder


def _signed(url: str, path: str) -> Request:
    """A container is made, which obstore cannot."""
    headers: Mapping[str, str] = {
        "x-ms-date": formatdate(usegmt=True),
        "x-ms-version": "2021-08-06",
    }
    lines = ["PUT", *[""] * 11, *(f"{name}:{value}" for name, value in headers.items())]
    text = "\n".join([*lines, f"/{ACCOUNT}{path}", "restype:container"])
    signature = b64encode(digest(b64decode(KEY), text.encode(), sha256)).decode()
    request = Request(f"{url}{path}?restype=container", method="PUT", headers=dict(headers))
    request.add_header("Authorization", f"SharedKey {ACCOUNT}:{signature}")
    return request
