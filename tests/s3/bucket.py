"""S3 for tests: a server of their own, and a bucket looked into past all that is under test."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

SERVE = Path(__file__).with_name("serve.py")
NOBODYS = ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL_S3")


@dataclass(frozen=True)
class Server:
    url: str

    def environment(self, url: str = "") -> dict[str, str]:
        """What makes boto3, pyarrow and every subprocess take this server for S3."""
        return {
            "AWS_ENDPOINT_URL": url or self.url,
            "AWS_ACCESS_KEY_ID": "loopback-key",
            "AWS_SECRET_ACCESS_KEY": "loopback-secret",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_REGION": "us-east-1",
            "AWS_EC2_METADATA_DISABLED": "true",
            "AWS_CONFIG_FILE": os.devnull,
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }


@contextmanager
def serving() -> Iterator[Server]:
    """A server in a process of its own, so that it is never in the way of what is tested."""
    with subprocess.Popen(
        [sys.executable, SERVE], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        try:
            url = process.stdout.readline().strip()
            assert url, "moto did not start"
            yield Server(url)
        finally:
            process.kill()


class Bucket:
    """A fresh bucket. Its own look goes straight to the server, never through a proxy."""

    def __init__(self, server: Server) -> None:
        import boto3

        self.server, self.name = server, f"bucket-{uuid.uuid4().hex[:12]}"
        self.uri, self.environment = f"s3://{self.name}", server.environment()
        self._client: Any = boto3.client(
            "s3",
            endpoint_url=server.url,
            region_name="us-east-1",
            aws_access_key_id="loopback-key",
            aws_secret_access_key="loopback-secret",
        )
        self._client.create_bucket(Bucket=self.name)

    def close(self) -> None:
        self._client.close()

    def through(self, url: str) -> Mapping[str, str]:
        """The environment of those who shall reach it by another door, such as a proxy."""
        return self.server.environment(url)

    def keys(self, prefix: str = "") -> set[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=self.name, Prefix=prefix
        )
        return {found["Key"] for page in pages for found in page.get("Contents", ())}

    def unfinished(self) -> int:
        """How many uploads in parts were begun and neither completed nor aborted."""
        return len(self._client.list_multipart_uploads(Bucket=self.name).get("Uploads", ()))

    def read(self, key: str) -> bytes:
        """Again where the tests' server gave nothing: its readers of an object share a place."""
        from botocore.exceptions import FlexibleChecksumError

        for _ in range(3):
            with suppress(FlexibleChecksumError):
                return self._client.get_object(Bucket=self.name, Key=key)["Body"].read()
        raise AssertionError(f"{key}: its content has another checksum, three times")

    def put(self, key: str, content: bytes) -> None:
        self._client.put_object(Bucket=self.name, Key=key, Body=content)

    def remove(self, key: str) -> None:
        self._client.delete_object(Bucket=self.name, Key=key)

    def download(self, prefix: str, folder: Path) -> Path:
        """All that lies under a prefix, as files of a folder, markers of folders left out."""
        start = f"{prefix.rstrip('/')}/" if prefix else ""
        for key in self.keys(start):
            if not key.endswith("/"):
                file = folder / key.removeprefix(start)
                file.parent.mkdir(parents=True, exist_ok=True)
                # the last request of a process that was killed may remove one meanwhile
                with suppress(self._client.exceptions.NoSuchKey):
                    file.write_bytes(self.read(key))
        return folder
