"""Amazon's S3 and storage with the same interface: `s3://bucket/key`.

Pyarrow moves the data. Boto3 does what pyarrow cannot: a put in one request (pyarrow begins an
upload in parts for the smallest file, and leaves it behind when it fails), and a put that holds
only if the object is not there yet, or still the one that was read. Credentials are the
environment's or the machine's role, never the URI's.
"""

import os
import re
import shutil
from abc import ABC, abstractmethod
from functools import cache
from typing import IO, Any, NamedTuple

from pyarrow import fs

from evaljudge.errors import UserError, first_words, needing
from evaljudge.storage.failures import NO_CREDENTIALS, answer_within, patiently, refuse
from evaljudge.storage.streams import PIECE

SCHEME = "s3://"
CONNECT_TIMEOUT, UPLOAD_TRIES = 5, 3
MISSING, TAKEN, EMPTY = {404}, {409, 412}, {416}
NOT_BUILT = {405, 501}  # answers of a server that lacks what S3 has


def open_s3(uri: str, tries: int = 1) -> tuple[fs.FileSystem, str]:
    """`tries`: of each request, or of each part of an upload, before `patiently` begins anew."""
    path = path_in(uri, "endpoint and region are set by AWS_ENDPOINT_URL and AWS_REGION")
    bucket = path.partition("/")[0]
    scheme, _, host = (_endpoint() or "https://").rpartition("://")
    if "@" in host:  # not to be repeated
        advice = "they belong in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
        raise UserError(f"AWS_ENDPOINT_URL holds credentials: {advice}")
    system = fs.S3FileSystem(
        region=_region(bucket),
        scheme=scheme or "https",
        endpoint_override=host.rstrip("/") or None,
        connect_timeout=CONNECT_TIMEOUT,
        request_timeout=answer_within(uri),
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=tries),
    )
    return system, path


def ask_for_boto3(bucket: str) -> None:
    """Before the network is asked, for the bucket's region, say."""
    with needing(f"{SCHEME}{bucket}", "s3"):
        import boto3  # noqa: F401


def path_in(uri: str, advice: str) -> str:
    """The bucket and the path in it; `advice`: what is in the place of a URI's parameters."""
    path = uri.partition("://")[2]
    if not path.partition("/")[0]:
        raise UserError(f"{uri}: names no bucket")
    if "//" in path:
        raise UserError(f"{uri}: a folder in it has no name")
    if "?" in path:  # there may be a secret key in the rest
        raise UserError(f"{uri.partition('?')[0]}: {advice}")
    return path.rstrip("/")


def _endpoint() -> str | None:
    """Boto3 reads these by itself; pyarrow's filesystem needs them as arguments."""
    return os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")


def _region(bucket: str) -> str | None:
    """The region that is named; otherwise, on Amazon's own S3, the region of the bucket."""
    named = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    return named if named or _endpoint() else _region_of(bucket)


@cache
def _region_of(bucket: str) -> str:
    return str(patiently(f"{SCHEME}{bucket}", lambda: fs.resolve_s3_region(bucket)))


class Held(NamedTuple):
    """An object as it was read, and its ETag, by which a change is noticed."""

    content: bytes
    mark: Any


class Objects(ABC):
    """Single objects of a folder, put whole or on a condition."""

    def __init__(self, uri: str, patience: float | None = None) -> None:
        self._uri, self._patience = uri, patience
        self._bucket, _, folder = uri.partition("://")[2].partition("/")
        self._folder = f"{folder.strip('/')}/" if folder.strip("/") else ""

    def put_if(self, name: str, content: bytes, mark: Any = None) -> bool:
        """Replace what had this mark when it was read; without one, put it unless something is
        there. Also true where the answer was lost and this content is there."""
        if self._holds(name, content, mark):
            return True
        there = self.read(name)
        return there is not None and there.content == content

    @abstractmethod
    def _holds(self, name: str, content: bytes, mark: Any) -> bool:
        """Put it, if nothing is there, or what had this mark; whether the condition held."""

    @abstractmethod
    def read(self, name: str, last: int | None = None) -> Held | None:
        """`last`: at most so many bytes of its end."""


class S3Objects(Objects):
    def __init__(self, uri: str, patience: float | None = None) -> None:
        super().__init__(uri, patience)
        aws = ((name, value) for name, value in os.environ.items() if name.startswith("AWS_"))
        self._settings = frozenset(aws)
        _client(self._bucket, patience or answer_within(uri), self._settings)  # else a beat is late

    def put(self, name: str, content: bytes) -> None:
        """Writes in one request, so that nothing is begun that may be left unfinished."""
        self._request("put_object", name, set(), Body=content)

    def upload(self, name: str, content: IO[bytes]) -> None:
        system, path = open_s3(self._uri, UPLOAD_TRIES)

        def upload() -> None:
            content.seek(0)
            with system.open_output_stream(f"{path}/{name}") as sink:
                shutil.copyfileobj(content, sink, PIECE)

        patiently(f"{self._uri}/{name}", upload)

    def read(self, name: str, last: int | None = None) -> Held | None:
        if last is not None:
            end = self._request("get_object", name, MISSING | EMPTY, Range=f"bytes=-{last}")
            if end:
                return Held(end["Body"], end["ETag"])
        response = self._request("get_object", name, MISSING)
        return Held(response["Body"], response["ETag"]) if response else None

    def remove(self, name: str) -> None:
        self._request("delete_object", name, MISSING)

    def _holds(self, name: str, content: bytes, mark: Any) -> bool:
        condition = {"IfMatch": mark} if mark else {"IfNoneMatch": "*"}
        put = self._request("put_object", name, TAKEN | MISSING, Body=content, **condition)
        return put is not None

    def _request(self, operation: str, name: str, allowed: set[int], **more: Any) -> Any:
        """The answer, with its body read; None if the status is one of `allowed`."""
        from botocore import exceptions as boto
        from urllib3.exceptions import HTTPError

        mistakes = boto.PartialCredentialsError, boto.ParamValidationError
        uri, key = f"{self._uri}/{name}", f"{self._folder}{name}"

        def tried() -> Any:
            timeout = self._patience or answer_within(uri)
            client = _client(self._bucket, timeout, self._settings)
            try:
                answer = getattr(client, operation)(Bucket=self._bucket, Key=key, **more)
                return answer | {"Body": answer["Body"].read()} if "Body" in answer else answer
            except boto.ClientError as error:
                code = error.response["Error"]["Code"]
                refuse(uri, re.sub(r"(?<=[a-z])(?=[A-Z])", "_", code).upper())
                status = error.response["ResponseMetadata"]["HTTPStatusCode"]
                refuse(uri, f"HTTP status {status}")
                if _endpoint() and (status in NOT_BUILT or code == "404"):  # S3 says NoSuchKey
                    reason = "AWS_ENDPOINT_URL answers, but not as S3 does: correct it"
                    raise UserError(f"{uri}: {reason}") from None
                if status in allowed:
                    return None
                raise OSError(str(error)) from None
            except boto.NoCredentialsError:
                raise UserError(f"{uri}: {NO_CREDENTIALS}") from None
            except mistakes as error:
                raise UserError(f"{uri}: {first_words(error)}") from None
            except (boto.BotoCoreError, HTTPError) as error:  # the latter where an answer is cut
                raise OSError(str(error)) from None

        return patiently(uri, tried, self._patience)


@cache
def _client(bucket: str, timeout: float, settings: frozenset[tuple[str, str]]) -> Any:
    """A client, made once (it takes a tenth of a second) for these settings of the environment."""
    ask_for_boto3(bucket)
    import boto3
    from botocore.config import Config
    from botocore.exceptions import BotoCoreError

    patient = Config(
        connect_timeout=min(timeout, CONNECT_TIMEOUT),
        read_timeout=timeout,
        retries={"mode": "standard", "total_max_attempts": 1},
    )
    try:
        return boto3.Session().client("s3", region_name=_region(bucket), config=patient)
    except (BotoCoreError, ValueError) as error:  # no such profile, no such endpoint
        raise UserError(f"{SCHEME}{bucket}: {first_words(error)}") from None
