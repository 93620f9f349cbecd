"""A folder anywhere (local path or URI), and the whole-file reads and writes that the rest uses.

place = Place("s3://bucket/runs/first")
place.write_json("run.json", {…}); place.names("commits/judge")
"""

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property, partial
from itertools import chain, count
from pathlib import Path
from tempfile import mkdtemp
from typing import IO, Any, TypeVar

import pyarrow as pa
from pyarrow import ArrowInvalid, fs
from pyarrow.fs import FileType

from evaljudge.errors import UserError, first_line, first_words
from evaljudge.storage.clouds import CLOUDS, CloudFiles, Objects
from evaljudge.storage.failures import patiently, refuse_irregular, refusing_disk_errors
from evaljudge.storage.seals import json_text
from evaljudge.storage.streams import PatientFile, alone, is_part, whole_file, whole_upload
from evaljudge.text import is_encodable, shown, without_secrets

R = TypeVar("R")
WHERE = "a local path, s3://, gs:// or az://"
HUB = "hf://"


def is_a_file(uri: str) -> UserError:
    """Where a folder is meant, that of a run most often. `out` is read as most people write it."""
    if not uri.endswith((".yaml", ".yml")):
        advice = "name a folder (that of a run is the `out` of its configuration)"
        return UserError(f"{uri}: is a file: {advice}")
    text = Path(uri).read_text(errors="replace") if os.path.isfile(uri) else ""
    out = re.search(r"""^["']?out["']?: *["']?([^"'\s]+)""", text, re.MULTILINE)
    advice = f"name the folder of its run, which is its `out`{f' ({out[1]})' if out else ''}"
    return UserError(f"{uri}: is a configuration: {advice}")


def objects(uri: str, patience: float | None = None) -> Objects:
    """The objects of a folder on S3, Google's or Azure's storage; nothing else is written to."""
    if not uri.startswith(CLOUDS):
        raise UserError(f"{uri}: can only be read: write to {WHERE}")
    return Objects(uri, patience)


def locate(uri: str) -> tuple[fs.FileSystem | CloudFiles, str]:
    """The filesystem that holds a URI or a local path, and the path in it."""
    if not is_encodable(uri):
        raise UserError(f"{shown(uri)}: a path cannot have a NUL or characters that are not UTF-8")
    if "://" not in uri:
        return fs.LocalFileSystem(), os.path.abspath(os.path.expanduser(uri))
    if (plain := without_secrets(uri)) != uri:
        raise UserError(f"{plain}: holds credentials: they belong in the environment")
    if uri.startswith(CLOUDS):
        files = CloudFiles(uri)
        return files, files.path
    if uri.startswith(HUB):
        from huggingface_hub import HfFileSystem

        return fs.PyFileSystem(fs.FSSpecHandler(HfFileSystem())), uri.removeprefix(HUB)
    try:
        system, path = fs.FileSystem.from_uri(uri)
        return system, str(path)
    except (ArrowInvalid, OSError) as error:
        raise UserError(f"{uri}: not a place that can be opened ({first_line(error)})") from None


class Place:
    def __init__(self, uri: str) -> None:
        self.uri = uri if uri.rstrip("/").endswith(":") else uri.rstrip("/") or "/"
        self._system: Any
        self._system, self.path = locate(self.uri)  # the path in its filesystem
        self.is_local = isinstance(self._system, fs.LocalFileSystem)

    def __reduce__(self) -> "tuple[type[Place], tuple[str]]":
        return Place, (self.uri,)

    def at(self, name: str) -> str:
        return f"{self.uri}/{name}" if name else self.uri

    # what is there

    def kind(self, name: str) -> str:
        """`File`, `Directory` or `NotFound`."""
        path = self._path(name)
        return str(self._try(name, lambda: self._system.get_file_info(path)).type.name)

    def folders(self, folder: str) -> list[str]:
        return sorted(info.base_name for info in self._infos(folder) if not info.is_file)

    def files(self, folder: str) -> list[tuple[str, int]]:
        """The files directly in a folder, with their sizes; none where the folder is not there."""
        return sorted((info.base_name, info.size) for info in self._files_in(folder))

    def names(self, folder: str) -> list[str]:
        return [name for name, _ in self.files(folder) if not name.startswith(".")]

    def entries(self, folder: str) -> list[str]:
        """The names of the files and folders in it."""
        return [info.base_name for info in self._infos(folder)]

    def _files_in(self, folder: str, *, and_below: bool = False) -> list[fs.FileInfo]:
        kinds = FileType.File, FileType.Unknown  # a pipe lies in the place of a file, too
        return [info for info in self._infos(folder, and_below=and_below) if info.type in kinds]

    def _infos(self, folder: str, *, and_below: bool = False) -> list[fs.FileInfo]:
        selector = fs.FileSelector(self._path(folder), allow_not_found=True, recursive=and_below)
        try:
            infos = self._try(folder, lambda: self._system.get_file_info(selector))
        except NotADirectoryError:
            problem = f"{self.at(folder)}: is a file where a folder must be: move it away"
            raise UserError(problem) if folder else is_a_file(self.uri) from None
        try:
            _ = [info.path for info in infos]
        except UnicodeDecodeError as error:
            name = error.object.decode(errors="replace").rpartition("/")[2]
            reason = f"holds a name that is not UTF-8 ({name}): rename it, or move it away"
            raise UserError(f"{self.at(folder)}: {reason}") from None
        return list(infos)

    # reading

    def read(self, name: str, last: int | None = None) -> bytes:
        """`last`: at most so many bytes of its end."""
        if isinstance(self._system, CloudFiles):  # a stream would ask for the size first
            if (held := self._objects.read(name, last)) is None:
                raise FileNotFoundError(self.at(name))
            return held.content

        def read() -> bytes:
            with self._opened(name) as stream:
                if last is not None:
                    stream.seek(max(0, stream.size() - last))
                content: bytes = stream.read()
            return content

        return self._try(name, read)

    def open(self, name: str) -> IO[bytes]:
        """A file's bytes as they are (a name in .gz is not unpacked), read piece by piece."""
        stream = self._try(name, lambda: self._opened(name))
        return stream if self.is_local else PatientFile(stream, self.at(name))  # type: ignore[return-value]

    def _opened(self, name: str) -> pa.NativeFile:
        """Refuses what waits for a writer or never ends, as pipes and devices do."""
        path = self._path(name)
        if self.is_local:
            refuse_irregular(path)
        return self._system.open_input_file(path)

    # writing

    def write(self, name: str, content: bytes | str, *, is_derived: bool = False) -> None:
        with self.writing(name, is_derived=is_derived) as stream:
            stream.write(content.encode() if isinstance(content, str) else content)

    def write_json(self, name: str, content: Any) -> None:
        self.write(name, json_text(content))

    def writing(self, name: str, *, is_derived: bool = False) -> AbstractContextManager[IO[bytes]]:
        """A binary stream whose content appears under `name` when the block ends well. What is
        derived from other files is made anew after a power failure, so nothing waits for the disk.
        """
        if self.is_local:
            return whole_file(self._path(name), is_synced=not is_derived)
        return whole_upload(partial(self._objects.put, name))

    def create(self, name: str, text: bytes) -> bool:
        """Write it, unless such a file exists: of two writers at the same time one succeeds."""
        if not self.is_local:
            return self._objects.put_if(name, text)
        if os.path.isdir(self._path(name)):
            raise UserError(f"{self.at(name)}: a folder lies there: move it away")
        with whole_file(self._path(name), only_new=True) as stream:
            stream.write(text)
        return self.read(name) == text

    def change(self, name: str, changed: Callable[[bytes], bytes]) -> None:
        """Write a file anew from what it holds. Of several changes at once none is lost."""
        if self.is_local and self.kind(name) != "NotFound":
            with alone(self._path(name)):
                self.write(name, changed(self.read(name)))
            return
        while not self.is_local and (there := self._objects.read(name)):
            if self._objects.put_if(name, changed(there.content), there.mark):
                return
        raise UserError(f"{self.at(name)}: no such file")

    # removing

    def remove(self, name: str) -> None:
        if not self.is_local:
            self._objects.remove(name)
            return
        try:
            self._try(name, lambda: self._system.delete_file(self._path(name)), "removed")
        except IsADirectoryError:
            raise UserError(f"{self.at(name)}: a folder lies there: move it away") from None
        except (FileNotFoundError, NotADirectoryError):
            return

    def set_aside(self, name: str) -> None:
        """Move a file, or a folder in its place, to `damaged/`, beside what was moved earlier."""
        if not (os.path.lexists(self._path(name)) if self.is_local else self.kind(name) == "File"):
            return
        to = f"damaged/{name}"
        names = chain([to], (f"{to}.{number}" for number in count(2)))
        free = next(name for name in names if self.kind(name) == "NotFound")
        if self.is_local:
            with refusing_disk_errors(self._path(free), "written"):
                os.makedirs(os.path.dirname(self._path(free)), exist_ok=True)
                os.rename(self._path(name), self._path(free))
        else:
            self.write(free, self.read(name))
            self.remove(name)

    def sweep(self, mark: str = "") -> None:
        """Remove what killed writers have left half-written, here and below; `mark`: only files
        whose paths hold it."""
        if self.is_local:
            for folder, _, files in os.walk(self.path):
                for name in (f for f in files if is_part(f) and mark in f"{folder}/{f}"):
                    with refusing_disk_errors(f"{folder}/{name}", "removed"):
                        os.unlink(f"{folder}/{name}")

    def remove_folder(self, folder: str) -> None:
        path = self._path(folder)
        for info in self._files_in(folder, and_below=True):
            self.remove(f"{folder}/{info.path.removeprefix(f'{path}/')}")
        if self.is_local and os.path.isdir(path):
            self._try(folder, lambda: self._system.delete_dir(path), "removed")

    def refuse_unwritable(self) -> None:
        """Does what `try_out` does, but does not make a local folder."""
        if not self.is_local or os.path.isdir(self.path):
            self.try_out()
            return
        path = Path(self.path)
        if os.path.isfile(path):  # False where nobody may look
            raise is_a_file(self.uri)
        above = next(at for at in (path, *path.parents) if os.path.lexists(at))
        try:  # not os.access, by which root may write to /proc
            os.rmdir(mkdtemp(dir=above))
        except OSError:
            reason = "is a file, or you may not write to it: take another folder"
            raise UserError(f"{self.uri}: {above} {reason}") from None

    def try_out(self) -> None:
        """Refuse a place that cannot be written to, before any work is done."""
        self.write(".evaljudge", b"")
        self.remove(".evaljudge")

    @cached_property
    def _objects(self) -> Objects:
        return objects(self.uri)

    def _path(self, name: str) -> str:
        return f"{self.path}/{name}" if name else self.path

    def _try(self, name: str, work: Callable[[], R], action: str = "read") -> R:
        if not self.is_local:
            if self.uri.startswith(HUB):
                from huggingface_hub import constants

                if constants.HF_HUB_OFFLINE:  # else it would be an empty folder
                    reason = "HF_HUB_OFFLINE is set: unset it, or copy the files"
                    raise UserError(f"{self.uri}: {reason}")
            try:
                return patiently(self.at(name), work)
            except ValueError as error:  # a path that is none there
                raise UserError(f"{self.at(name)}: {first_words(error)}") from None
        with refusing_disk_errors(self._path(name), action):
            return work()
