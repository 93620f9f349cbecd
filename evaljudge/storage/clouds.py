"""Google's and Azure's storage: `gs://bucket/key`, `az://container/key`.

Obstore does for both what s3.py does for S3. Credentials are the environment's or the machine's,
never the URI's.
"""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import IO, Any, TypeVar

from pyarrow import fs
from pyarrow.fs import FileInfo, FileSelector, FileType

from evaljudge.errors import UserError, first_line, first_words, needing
from evaljudge.storage.failures import answer_within, has_answered, patiently, refuse
from evaljudge.storage.s3 import CONNECT_TIMEOUT, UPLOAD_TRIES, Held, Objects, path_in
from evaljudge.text import without_secrets

R = TypeVar("R")
GOOGLE = ("gs://", "gcs://")
CLOUDS = (*GOOGLE, "az://", "abfs://", "abfss://")
_NO_CREDENTIALS = re.compile(r"token request: .*(169\.254\.|metadata\.google)")
"""Where nothing else is set, the machine's own service is asked for them."""
_LOGINS = (
    "AZURE_STORAGE_ACCOUNT_KEY, AZURE_STORAGE_SAS_TOKEN or AZURE_USE_AZURE_CLI=true",
    "GOOGLE_APPLICATION_CREDENTIALS, or run `gcloud auth application-default login`",
)


class CloudFiles:
    """One bucket's files, as Place asks pyarrow's filesystems for those of other places."""

    def __init__(self, uri: str) -> None:
        self.path = path_in(uri, "a `?` in a name is not possible")
        self._root = self.path.partition("/")[0]
        self._bucket = f"{uri.partition('://')[0]}://{self._root}"

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


class CloudObjects(Objects):
    def __init__(self, uri: str, patience: float | None = None) -> None:
        super().__init__(uri, patience)
        self._home = f"{uri.partition('://')[0]}://{self._bucket}"
        _ = self._store  # what is missing is said now

    @property
    def _store(self) -> Any:
        return _store(self._home, self._patience)

    def put(self, name: str, content: bytes) -> None:
        self._request(name, lambda key: self._store.put(key, content, use_multipart=False))

    def upload(self, name: str, content: IO[bytes]) -> None:
        store = _store(self._home, self._patience, UPLOAD_TRIES)

        def upload(key: str) -> None:
            content.seek(0)
            store.put(key, content)

        self._request(name, upload)

    def read(self, name: str, last: int | None = None) -> Held | None:
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
        if last is not None and not self._uri.startswith(GOOGLE):
            how = {"offset": max(0, self._store.head(key)["size"] - last)}
        try:
            return self._store.get(key, options={} if last is None else {"range": how})
        except BaseError as error:
            if " 416 " not in str(error):
                raise
            return self._store.get(key)  # it is empty

    def remove(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._request(name, self._store.delete)

    def _holds(self, name: str, content: bytes, mark: Any) -> bool:
        from obstore.exceptions import AlreadyExistsError, PreconditionError

        def put(key: str) -> bool:
            try:
                self._store.put(key, content, mode=mark or "create", use_multipart=False)
            except (AlreadyExistsError, PreconditionError):
                return False
            return True

        return self._request(name, put)

    def _request(self, name: str, work: Callable[[str], R]) -> R:
        def tried() -> R:
            with _answering(f"{self._uri}/{name}"):
                return work(f"{self._folder}{name}")

        return patiently(f"{self._uri}/{name}", tried, self._patience)


def _key(path: str) -> str:
    return path.partition("/")[2]


@contextmanager
def _answering(uri: str) -> Iterator[None]:
    """Obstore's errors as those that are tried again, or that only the user can correct."""
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError as error:
        refuse(uri, str(error))
        raise FileNotFoundError(uri) from None
    except BaseError as error:
        if not _NO_CREDENTIALS.search(str(error)):
            refuse(uri, str(error))
        elif not has_answered(uri):
            login = _LOGINS[uri.startswith(GOOGLE)]
            raise UserError(f"{uri}: no credentials were found: set {login}") from None
        raise OSError(without_secrets(first_line(error))) from None


def _store(bucket: str, patience: float | None = None, tries: int = 1) -> Any:
    """Made once for these settings of the environment."""
    settings = ((n, v) for n, v in os.environ.items() if n.startswith(("AZURE_", "GOOGLE_")))
    return _made(bucket, patience or answer_within(bucket), frozenset(settings), tries)


@cache
def _made(bucket: str, timeout: float, settings: frozenset[tuple[str, str]], tries: int) -> Any:
    with needing(bucket, "clouds"):
        from obstore import store
        from obstore.exceptions import BaseError
    kind: Any = store.GCSStore if bucket.startswith(GOOGLE) else store.AzureStore
    options = {
        "connect_timeout": f"{min(timeout, CONNECT_TIMEOUT):g}s",
        "read_timeout": f"{timeout:g}s",
        "timeout": f"{10 * timeout:g}s",
        "allow_http": True,
    }
    url = bucket.replace(*GOOGLE[::-1])
    try:
        return kind.from_url(url, client_options=options, retry_config={"max_retries": tries - 1})
    except (BaseError, ValueError, OSError) as error:
        reason = without_secrets(first_words(error)).partition(" error: ")[2] or first_words(error)
        advice = ": set AZURE_STORAGE_ACCOUNT_NAME" if "Account must be" in reason else ""
        raise UserError(f"{bucket}: {reason}{advice}") from None
