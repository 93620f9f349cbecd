"""A stage of a shard as one object: the files that it wrote, and last the receipt that they count.

    commits/judge/00003.zip       verdicts/synthetic/00003.parquet  checks/synthetic/00003.parquet
                                  measures/judge/rouge1/00003.parquet  commits/judge/00003.json
    briefs/z1f0c9a2b/00003.zip    briefs/synthetic/00003-z1f0c9a2b.parquet
                                  commits/prepare/00003.json

It is a zip whose parts are not compressed. Each part has the name and the seal that it would have
as a file of its own, as in runs of earlier versions. Its end, where the receipt and the directory
lie, can be read without the rest.
"""

import io
import struct
import zlib
from collections.abc import Mapping
from threading import Lock
from zipfile import BadZipFile, ZipFile, ZipInfo

from evaljudge.errors import first_words
from evaljudge.storage.seals import Unsound

END = 1 << 16
"""Bytes at the end of a bundle that hold its receipt, or nearly always do."""
_BROKEN = (
    *(BadZipFile, NotImplementedError, RuntimeError, EOFError, ValueError, LookupError, OSError),
    *(struct.error, zlib.error),
)
"""What reading a damaged zip may raise."""


def bundled(parts: Mapping[str, bytes]) -> bytes:
    """The same parts make the same bytes, whenever that is."""
    made = io.BytesIO()
    with ZipFile(made, "w") as archive:
        for name, content in parts.items():
            archive.writestr(ZipInfo(name), content)
    return made.getvalue()


class Bundle:
    def __init__(self, content: bytes) -> None:
        """`content`: the whole bundle, or its end."""
        if not content:
            raise Unsound("is empty")
        try:
            self._archive = ZipFile(io.BytesIO(content))
        except _BROKEN as error:
            raise Unsound(f"cannot be read ({first_words(error)})") from None
        self.names = self._archive.namelist()

    def lies_before(self, name: str) -> bool:
        """Whether a part lies before the end that was read."""
        return name in self.names and self._archive.getinfo(name).header_offset < 0

    def part(self, name: str) -> bytes:
        if name not in self.names:
            raise Unsound(f"has no part {name}")
        try:
            return self._archive.read(name)
        except _BROKEN as error:
            raise Unsound(f"its part {name} cannot be read ({first_words(error)})") from None


class Recent:
    """The files last read or written whole, by name, up to so many bytes in all.

    So the parts of a bundle are one request, whoever asks for them one after the other.
    """

    def __init__(self, most: int = 32 << 20) -> None:
        self._most, self._lock = most, Lock()
        self._kept: dict[str, tuple[bytes, bool]] = {}
        """With whether a file's own seal was compared."""
        self._reading = [Lock() for _ in range(64)]

    def reading(self, name: str) -> Lock:
        """Held while a file is read, so that threads that want it at once read it once."""
        return self._reading[hash(name) % len(self._reading)]

    def get(self, name: str) -> bytes | None:
        return self._kept.get(name, (None, False))[0]

    def is_proven(self, name: str, content: bytes) -> bool:
        kept, is_proven = self._kept.get(name, (None, False))
        return is_proven and kept is content

    def note_proven(self, name: str, content: bytes) -> None:
        if self.get(name) is content:
            self.keep(name, content, is_proven=True)

    def keep(self, name: str, content: bytes, *, is_proven: bool = False) -> None:
        with self._lock:
            self._kept.pop(name, None)
            if len(content) <= self._most:
                self._kept[name] = content, is_proven
            while sum(len(kept) for kept, _ in self._kept.values()) > self._most:
                del self._kept[next(iter(self._kept))]

    def forget(self, name: str) -> None:
        with self._lock:
            self._kept.pop(name, None)

    def clear(self) -> None:
        with self._lock:
            self._kept.clear()
