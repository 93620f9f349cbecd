"""A remote file that is read bit by bit, each bit patiently."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

from evaljudge.storage.patience import patiently

if TYPE_CHECKING:
    import pyarrow as pa


class PatientFile(io.RawIOBase):
    """A remote file read bit by bit, each bit patiently."""

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
