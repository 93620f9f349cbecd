"""What a user's path names: the files of a corpus, a file to read, a folder to copy here."""

import fcntl
import hashlib
import os
import shutil
from fnmatch import fnmatch
from typing import IO

from evaljudge.errors import UserError, absent
from evaljudge.storage.failures import refusing_disk_errors
from evaljudge.storage.output import ahead
from evaljudge.storage.place import Place
from evaljudge.storage.streams import PIECE


def expand(uri: str) -> list[str]:
    """The files that a file, a folder or a glob names, sorted; folders are not descended into."""
    if any(mark in uri for mark in "*?["):
        folder, _, pattern = uri.rpartition("/")
        files = _files_of(Place(folder or "."))
        return [f for f in files if fnmatch(f.rpartition("/")[2], pattern)]
    place = Place(uri)
    match place.kind(""):
        case "Directory":
            return _files_of(place)
        case "NotFound":
            raise absent(uri, "no such file or folder")
    return [uri]


def _files_of(place: Place) -> list[str]:
    names = [name for name, _ in place.files("") if not name.startswith((".", "_"))]
    return [place.at(name) for name in names]


def open_to_read(uri: str) -> IO[bytes]:
    """A file's bytes as they are (a name in .gz is not unpacked)."""
    try:
        return Place(uri).open("")
    except FileNotFoundError:
        raise absent(uri, "no such file") from None


def to_write(uri: str, force: bool = True) -> tuple[Place, str]:
    """The folder and the name of a file that is to be written; `force`: even if it is there."""
    where = uri if "://" in uri else os.path.abspath(os.path.expanduser(uri))
    folder, _, name = where.rpartition("/")
    place = Place(folder or "/")
    if not name or uri.endswith("/") or place.kind(name) == "Directory":
        raise UserError(f"{uri}: a folder; name a file")
    if not force and place.kind(name) != "NotFound":
        raise UserError(f"{uri}: is there already: choose another file by --to, or --force")
    return place, name


def listing(uri: str) -> list[tuple[str, int]]:
    """The files directly in a folder, with their sizes."""
    place = Place(uri)
    files = place.files("")
    if not files:
        raise absent(uri, "no such folder, or an empty one")
    return files


def fetch_folder(uri: str) -> str:
    """A local copy of a remote folder's files, made once for this content. Where several workers of
    a machine want it, one copies and the others wait."""
    place = Place(uri)
    name = hashlib.sha256(repr((uri, place.files(""))).encode()).hexdigest()[:16]
    kept = os.path.expanduser(f"~/.cache/evaljudge/{name}")
    with refusing_disk_errors(kept, "written"):
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        with open(f"{kept}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not os.path.isdir(kept):
                _fetch(place, kept)
    return kept


def _fetch(place: Place, kept: str) -> None:
    arriving = f"{kept}.part"
    shutil.rmtree(arriving, ignore_errors=True)  # of a worker that was killed
    os.makedirs(arriving)

    def copy(file: tuple[str, int]) -> None:
        with place.open(file[0]) as source, open(f"{arriving}/{file[0]}", "wb") as target:
            shutil.copyfileobj(source, target, PIECE)

    for _ in ahead(copy, place.files("")):  # a bucket gives one reader a tenth of what it could
        pass
    os.rename(arriving, kept)
