"""Files that appear whole or not at all.

Locally by writing beside and renaming. Elsewhere by writing here first, and uploading what is
whole: a put is atomic, and one that fails can be tried again from the start.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import uuid
from collections.abc import Callable
from typing import IO, TYPE_CHECKING

from evaljudge.errors import UserError
from evaljudge.storage.patience import patiently

if TYPE_CHECKING:
    from pyarrow import fs

IN_MEMORY, PIECE = 8 << 20, 8 << 20
PART = ".part"


def is_part(name: str) -> bool:
    return name.startswith(".") and name.endswith(PART)


class WholeFile:
    """On this machine; `only_new` leaves a file alone that is there already."""

    def __init__(self, path: str, only_new: bool = False) -> None:
        self._path, self._only_new = path, only_new
        self._folder, _, base = path.rpartition("/")
        self._beside = f"{self._folder}/.{base}.{uuid.uuid4().hex[:8]}{PART}"

    def __enter__(self) -> IO[bytes]:
        try:
            os.makedirs(self._folder, exist_ok=True)
            self._stream: IO[bytes] = open(self._beside, "wb")
        except OSError as error:
            raise UserError(f"{self._path}: cannot be written ({error.strerror})") from None
        return self._stream

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._stream.flush()
            os.fsync(self._stream.fileno())
        self._stream.close()
        if kind is None and not self._only_new:
            os.replace(self._beside, self._path)
            return
        if kind is None:
            with contextlib.suppress(FileExistsError):
                os.link(self._beside, self._path)
        os.unlink(self._beside)


class WholeUpload:
    """To object storage, through a file of our own that is gone when closed."""

    def __init__(
        self, system: fs.FileSystem, path: str, uri: str, put: Callable[[bytes], None] | None
    ) -> None:
        """`put` takes what is small, where there is such a way."""
        self._system, self._path, self._uri, self._put = system, path, uri, put

    def __enter__(self) -> IO[bytes]:
        self._spool = tempfile.SpooledTemporaryFile(IN_MEMORY)
        return self._spool

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        with self._spool:
            if kind is not None:
                return
            is_small = self._spool.tell() <= IN_MEMORY
            self._spool.seek(0)
            if self._put and is_small:
                self._put(self._spool.read())
            else:
                patiently(self._uri, self._upload)

    def _upload(self) -> None:
        self._spool.seek(0)
        with self._system.open_output_stream(self._path) as sink:
            shutil.copyfileobj(self._spool, sink, PIECE)
