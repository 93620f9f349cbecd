"""A folder anywhere (local path or URI), and the whole-file reads and writes that the rest uses.

A file appears whole or not at all: locally by writing beside it and renaming, on object storage
because a put is atomic. So a reader never meets half a file, whatever was killed.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Container
from fnmatch import fnmatch
from typing import IO, TYPE_CHECKING, Any

from evaljudge.errors import UserError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyarrow import fs


def locate(uri: str) -> tuple[fs.FileSystem, str]:
    """The filesystem that holds a URI or a local path, and the path in it."""
    from pyarrow import ArrowInvalid, fs

    if "://" not in uri:
        return fs.LocalFileSystem(), os.path.abspath(os.path.expanduser(uri))
    try:
        system, path = fs.FileSystem.from_uri(uri)
        return system, str(path)
    except (ArrowInvalid, OSError) as error:
        raise UserError(f"{uri}: not a place that can be opened ({_first_line(error)})") from None


def expand(uri: str) -> list[str]:
    """The files that a file, a folder or a glob names, sorted; folders are not descended into."""
    from pyarrow import fs

    if any(mark in uri for mark in "*?["):
        folder, _, pattern = uri.rpartition("/")
        return [f for f in _files_of(folder or ".") if fnmatch(f.rpartition("/")[2], pattern)]
    system, path = locate(uri)
    kind = system.get_file_info(path).type
    if kind == fs.FileType.Directory:
        return _files_of(uri)
    if kind == fs.FileType.NotFound:
        raise UserError(f"{uri}: no such file or folder")
    return [uri]


def _files_of(folder: str) -> list[str]:
    from pyarrow import fs

    system, path = locate(folder)
    found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    names = sorted(i.base_name for i in found if i.type == fs.FileType.File)
    return [f"{folder.rstrip('/')}/{n}" for n in names if not n.startswith((".", "_"))]


def open_to_read(uri: str) -> IO[bytes]:
    """A file's bytes as they are (a name in .gz is not unpacked)."""
    system, path = locate(uri)
    try:
        stream: IO[bytes] = system.open_input_file(path)
    except FileNotFoundError:
        raise UserError(f"{uri}: no such file") from None
    return stream


class Place:
    """A folder by path or URI."""

    def __init__(self, uri: str) -> None:
        self.uri = uri.rstrip("/") or "/"
        self._system, self._root = locate(self.uri)

    def __reduce__(self) -> tuple[type[Place], tuple[str]]:
        return Place, (self.uri,)

    def at(self, name: str) -> str:
        return f"{self.uri}/{name}"

    def exists(self, name: str) -> bool:
        from pyarrow import fs

        return bool(self._info(name).type != fs.FileType.NotFound)

    def names(self, folder: str) -> list[str]:
        """The files directly in a folder, sorted; none where the folder is not there."""
        return sorted(name for name in self._files(folder) if not name.startswith("."))

    def keep(self, folder: str, names: Container[str]) -> None:
        """Remove every other file directly in a folder, half-written ones too."""
        for name in self._files(folder):
            if name not in names:
                self._system.delete_file(f"{self._root}/{folder}/{name}")

    def read(self, name: str) -> bytes:
        with self._system.open_input_file(f"{self._root}/{name}") as stream:
            content: bytes = stream.read()
        return content

    def read_json(self, name: str) -> Any:
        return json.loads(self.read(name))

    def read_table(self, name: str, columns: list[str] | None = None) -> pa.Table:
        import pyarrow.parquet as pq

        with self._system.open_input_file(f"{self._root}/{name}") as stream:
            return pq.read_table(stream, columns=columns)

    def write(self, name: str, content: bytes | str) -> None:
        with self.writing(name) as stream:
            stream.write(content.encode() if isinstance(content, str) else content)

    def write_json(self, name: str, content: Any) -> None:
        self.write(name, json.dumps(content, indent=1, ensure_ascii=False) + "\n")

    def write_table(self, name: str, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        with self.writing(name) as stream:
            pq.write_table(table, stream)

    def writing(self, name: str) -> _Whole:
        """A binary stream whose content appears under `name` when the block ends well."""
        return _Whole(self._system, f"{self._root}/{name}")

    def remove(self, name: str) -> None:
        if self.exists(name):
            self._system.delete_file(f"{self._root}/{name}")

    def _files(self, folder: str) -> list[str]:
        from pyarrow import fs

        selector = fs.FileSelector(f"{self._root}/{folder}", allow_not_found=True)
        found = self._system.get_file_info(selector)
        return [info.base_name for info in found if info.type == fs.FileType.File]

    def _info(self, name: str) -> fs.FileInfo:
        return self._system.get_file_info(f"{self._root}/{name}")


class _Whole:
    """Writes beside and renames (local), or leaves it to the put (object storage)."""

    def __init__(self, system: fs.FileSystem, path: str) -> None:
        from pyarrow import fs

        self._system, self._path = system, path
        folder, _, base = path.rpartition("/")
        self._local = isinstance(system, fs.LocalFileSystem)
        self._beside = f"{folder}/.{base}.part" if self._local else path
        self._folder = folder

    def __enter__(self) -> IO[bytes]:
        if self._local:
            self._stream: IO[bytes] = self._open_beside()
        else:
            self._stream = self._system.open_output_stream(self._path)
        return self._stream

    def _open_beside(self) -> IO[bytes]:
        try:
            os.makedirs(self._folder, exist_ok=True)
            return open(self._beside, "wb")
        except OSError as error:
            raise UserError(f"{self._path}: cannot be written ({error.strerror})") from None

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if not self._local:
            if kind is None:
                self._stream.close()
            return  # an upload that is not closed never appears
        if kind is None:
            self._stream.flush()
            os.fsync(self._stream.fileno())
        self._stream.close()
        if kind is None:
            os.replace(self._beside, self._path)
        else:
            os.unlink(self._beside)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def listing(uri: str) -> list[tuple[str, int]]:
    """The files directly in a folder, with their sizes."""
    from pyarrow import fs

    system, path = locate(uri)
    found = system.get_file_info(fs.FileSelector(path, allow_not_found=True))
    return sorted((i.base_name, i.size) for i in found if i.type == fs.FileType.File)


def fetch_folder(uri: str) -> str:
    """A local copy of a remote folder's files, made once for this content and then reused."""
    from pyarrow import fs

    name = hashlib.sha256(repr((uri, listing(uri))).encode()).hexdigest()[:16]
    kept = os.path.expanduser(f"~/.cache/evaljudge/{name}")
    if not os.path.isdir(kept):
        system, path = locate(uri)
        arriving = f"{kept}.{os.getpid()}.part"
        os.makedirs(arriving)
        for file, _ in listing(uri):
            fs.copy_files(
                f"{path}/{file}",
                f"{arriving}/{file}",
                source_filesystem=system,
                destination_filesystem=fs.LocalFileSystem(),
            )
        with contextlib.suppress(OSError):  # another worker on this machine was first
            os.rename(arriving, kept)
    return kept
