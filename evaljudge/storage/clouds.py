"""Object storage, by obstore: `s3://bucket/key`, `gs://bucket/key`, `az://container/key`.

A put is one request, and may hold only if the object is not there yet, or still the one that was
read. Credentials are the environment's or the machine's, never the URI's.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO, Any, NamedTuple, TypeVar

from pyarrow import fs
from pyarrow.fs import FileInfo, FileSelector, FileType

from evaljudge.errors import UserError, first_line, first_words, needing
from evaljudge.storage.failures import answer_within, has_answered, patiently, refuse
from evaljudge.storage.s3 import SCHEME, endpoint, s3_settings
from evaljudge.storage.streams import PIECE
from evaljudge.text import without_secrets

R = TypeVar("R")
GOOGLE = ("gs://", "gcs://")
CLOUDS = (SCHEME, *GOOGLE, "az://", "abfs://", "abfss://")
CONNECT_TIMEOUT = 5
_NO_CREDENTIALS = re.compile(r"token request: .*(169\.254\.|metadata\.google)")
"""Where nothing else is set, the machine's own service is asked for them."""
_NOT_S3 = re.compile("code: (405|501)|(GET|PUT|POST) .*code: 404 (?!.*<Code>)", re.DOTALL)
_EMPTY = re.compile(" 416 |non-partial response")  # of a range's answer
_LOGINS = (
    "AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_USE_AZURE_CLI=true",
    "GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`",
)


class CloudFiles:
    """One bucket's files, as Place asks pyarrow's filesystems for those of other places."""

    def __init__(self, uri: str) -> None:
        self.path = _path_in(uri)
        self._root = self.path.partition("/")[0]
        self._bucket = f"{uri.partition('://')[0]}://{self._root}"
        _store(self._bucket)  # what is missing is said now

    def get_file_info(self, asked: str | fs.FileSelector) -> Any:
        """A file or a folder by its path, or what is in a folder."""
        if isinstance(asked, FileSelector):
            return self._listed(asked.base_dir, and_below=asked.recursive)
        try:
            return FileInfo(asked, FileType.File, size=self.open_input_file(asked).size())
        except FileNotFoundError:
            there = self._listed(asked) or not _key(asked)
            return FileInfo(asked, FileType.Directory if there else FileType.NotFound)

    def _listed(self, folder: str, *, and_below: bool = False) -> list[fs.FileInfo]:
        store, key, root = _store(self._bucket), _key(folder), self._root
        with _answering(f"{self._bucket}/{key}"):
            if and_below:
                found = {"objects": store.list(key).collect(), "common_prefixes": ()}
            else:
                found = store.list_with_delimiter(key)
        files = (
            FileInfo(f"{root}/{o['path']}", FileType.File, size=o["size"]) for o in found["objects"]
        )
        folders = (FileInfo(f"{root}/{p}", FileType.Directory) for p in found["common_prefixes"])
        return [*files, *folders]

    def open_input_file(self, path: str) -> "CloudFile":
        return CloudFile(_store(self._bucket), f"{self._bucket}/{_key(path)}", _key(path))


class CloudFile:
    def __init__(self, store: Any, uri: str, key: str) -> None:
        if not key:
            raise FileNotFoundError(uri)
        self._store, self._uri, self._key = store, uri, key
        with _answering(uri):
            self._size = int(store.head(key)["size"])

    def size(self) -> int:
        return self._size

    def read_at(self, length: int, start: int) -> bytes:
        if not length:
            return b""
        with _answering(self._uri):
            return bytes(self._store.get_range(self._key, start=start, length=length))

    def close(self) -> None: ...


class Held(NamedTuple):
    """An object as it was read, and its ETag, by which a change is noticed."""

    content: bytes
    mark: Any


class Objects:
    """Single objects of a folder, put whole or on a condition."""

    def __init__(self, uri: str, patience: float | None = None) -> None:
        self._uri, self._patience = uri, patience
        scheme, _, path = uri.partition("://")
        bucket, _, folder = path.partition("/")
        self._home, self._folder = f"{scheme}://{bucket}", f"{folder}/" if folder else ""
        _ = self._store  # what is missing is said now

    @property
    def _store(self) -> Any:
        return _store(self._home, self._patience)

    def put(self, name: str, content: IO[bytes]) -> None:
        """In one request, or in parts where it is large."""

        def put(key: str) -> None:
            content.seek(0)
            self._store.put(key, content, chunk_size=PIECE)

        self._request(name, put)

    def read(self, name: str, last: int | None = None) -> Held | None:
        """`last`: at most so many bytes of its end."""

        def read(key: str) -> Held:
            got = self._got(key, last)
            mark = {name: got.meta[name] for name in ("e_tag", "version") if got.meta[name]}
            return Held(bytes(got.bytes()), mark)

        try:
            return self._request(name, read)
        except FileNotFoundError:
            return None

    def _got(self, key: str, last: int | None) -> Any:
        """Azure knows no ranges that count from the end."""
        from obstore.exceptions import BaseError

        how: dict[str, Any] = {"suffix": last}
        if last is not None and not self._uri.startswith((SCHEME, *GOOGLE)):
            how = {"offset": max(0, self._store.head(key)["size"] - last)}
        try:
            return self._store.get(key, options={} if last is None else {"range": how})
        except BaseError as error:
            if not _EMPTY.search(str(error)):
                raise
            return self._store.get(key)

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._request(name, self._store.delete)

    def put_if(self, name: str, content: bytes, mark: Any = None) -> bool:
        """Replace what had this mark when it was read; without one, put it unless something is
        there. Also true where the answer was lost and this content is there."""
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def put(key: str) -> bool:
            try:
                self._store.put(key, content, mode=mark or "create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

        if self._request(name, put):
            return True
        there = self.read(name)
        return there is not None and there.content == content

    def _request(self, name: str, work: Callable[[str], R]) -> R:
        def tried() -> R:
            with _answering(f"{self._uri}/{name}"):
                return work(f"{self._folder}{name}")

        return patiently(f"{self._uri}/{name}", tried, self._patience)


def _path_in(uri: str) -> str:
    """The bucket and the path in it."""
    path = uri.partition("://")[2]
    if not path.partition("/")[0]:
        raise UserError(f"{uri}: names no bucket")
    if "//" in path:
        raise UserError(f"{uri}: a folder in it has no name")
    if "?" in path:  # there may be a secret key in the rest
        advice = "a `?` in a name is not possible"
        if uri.startswith(SCHEME):
            advice = "endpoint and region are set by AWS_ENDPOINT_URL and AWS_REGION"
        raise UserError(f"{uri.partition('?')[0]}: {advice}")
    return path.rstrip("/")


def _key(path: str) -> str:
    return path.partition("/")[2]


@contextmanager
def _answering(uri: str) -> Iterator[None]:
    """Obstore's errors as those that are tried again, or that only the user can correct."""
    from obstore.exceptions import BaseError

    try:
        yield
    except (BaseError, FileNotFoundError) as error:
        said = str(error)
        if uri.startswith(SCHEME) and endpoint() and _NOT_S3.search(said):
            reason = "AWS_ENDPOINT_URL answers, but not as S3 does: correct it"
            raise UserError(f"{uri}: {reason}") from None
        if not _NO_CREDENTIALS.search(said):
            refuse(uri, said)
        elif not has_answered(uri):
            login = _LOGINS[uri.startswith(GOOGLE)]
            raise UserError(f"{uri}: no credentials were found: set {login}") from None
        if isinstance(error, FileNotFoundError):
            raise FileNotFoundError(uri) from None
        raise OSError(without_secrets(first_line(error))) from None


def _store(bucket: str, patience: float | None = None) -> Any:
    """Made once for these settings of the environment."""
    ours = ("AWS_", "AZURE_", "GOOGLE_")
    settings = frozenset(each for each in os.environ.items() if each[0].startswith(ours))
    return _made(bucket, patience or answer_within(bucket), settings)


@cache
def _made(bucket: str, timeout: float, settings: frozenset[tuple[str, str]]) -> Any:
    of_s3 = s3_settings(bucket) if bucket.startswith(SCHEME) else {}
    with needing(bucket, "clouds"):
        from obstore import store
        from obstore.exceptions import BaseError
    kind: Any = store.GCSStore if bucket.startswith(GOOGLE) else store.AzureStore
    kind = store.S3Store if of_s3 else kind
    options = {
        "connect_timeout": f"{min(timeout, CONNECT_TIMEOUT):g}s",
        "read_timeout": f"{timeout:g}s",
        "timeout": f"{10 * timeout:g}s",
        "allow_http": True,
    }
    url = bucket.replace(*GOOGLE[::-1])
    try:
        return kind.from_url(url, client_options=options, retry_config={"max_retries": 0}, **of_s3)
    except (BaseError, ValueError, OSError) as error:
        reason = without_secrets(first_words(error)).partition(" error: ")[2] or first_words(error)
        advice = ": set AZURE_STORAGE_ACCOUNT_NAME" if "Account must be" in reason else ""
        raise UserError(f"{bucket}: {reason}{advice}") from None
