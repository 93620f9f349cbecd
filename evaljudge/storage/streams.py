"""Files that appear whole or not at all, and remote files that are read piece by piece.

A local file is written beside its place and renamed. Any other is written to a file here first and
uploaded when it is whole: a put is atomic, and one that fails can be tried again from the start.
"""

import fcntl
import io
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import IO, Any

import pyarrow as pa

from evaljudge.errors import UserError
from evaljudge.storage.failures import disk_error, patiently, refusing_disk_errors

IN_MEMORY, PIECE = 8 << 20, 8 << 20
PART = ".part"


def is_part(name: str) -> bool:
    return name.startswith(".") and name.endswith(PART)


@contextmanager
def whole_file(path: str, *, only_new: bool = False, is_synced: bool = True) -> Iterator[IO[bytes]]:
    """A file on this machine; `only_new` leaves a file alone that is there already, `is_synced`
    waits until it is safe from a power failure."""
    folder, _, base = path.rpartition("/")
    beside = f"{folder}/.{base}.{uuid.uuid4().hex[:8]}{PART}"
    try:
        os.makedirs(folder, exist_ok=True)
        stream = open(beside, "wb")  # noqa: SIM115 (closed below, before it is renamed)
    except OSError as error:
        raise disk_error(path, "written", error) from None
    try:
        with refusing_disk_errors(path, "written"):
            with stream:
                yield stream
                if is_synced:
                    stream.flush()
                    os.fsync(stream.fileno())
            if only_new:
                with suppress(FileExistsError):
                    os.link(beside, path)
            else:
                os.replace(beside, path)
    except IsADirectoryError:
        raise UserError(f"{path}: a folder lies there: move it away") from None
    finally:
        with suppress(OSError):  # renamed, or the disk fails: then a later run removes it
            os.unlink(beside)


@contextmanager
def alone(path: str) -> Iterator[None]:
    """Hold a file on this machine against all who change it in this way, until the block ends."""
    while True:
        with refusing_disk_errors(path, "locked"), open(path, "r+b") as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            if os.path.samestat(os.stat(path), os.fstat(held.fileno())):  # else it was replaced
                yield
                return


@contextmanager
def whole_upload(put: Callable[[IO[bytes]], None]) -> Iterator[IO[bytes]]:
    """A file on object storage; a large one lies in a file here until it is put."""
    with tempfile.SpooledTemporaryFile(IN_MEMORY) as spool:
        with refusing_disk_errors(tempfile.gettempdir(), "written"):
            yield spool
        put(spool)


class PatientFile(io.RawIOBase):
    """A remote file that is read piece by piece; each read is tried again where it fails."""

    def __init__(self, stream: pa.NativeFile, uri: str) -> None:
        self._stream, self._uri, self._at = stream, uri, 0
        self._size = int(patiently(uri, stream.size))

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + (0, self._at, self._size)[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        wanted = min(len(buffer), max(0, self._size - self._at))
        read = patiently(self._uri, lambda: self._stream.read_at(wanted, self._at))
        buffer[: len(read)] = read
        self._at += len(read)
        return len(read)

    def close(self) -> None:
        self._stream.close()
        super().close()
