"""`evaljudge files cluster DIR`: what clusters are made with, from the wheel (.packaging)."""

import shutil
from pathlib import Path

from evaljudge.commands.options import FilesOptions
from evaljudge.errors import UserError

PACKAGE = Path(__file__).parents[1]
BROUGHT = PACKAGE / "bundled" / "cluster"


def copied(wanted: FilesOptions) -> str:
    """The folder has what `ray up` and `docker build` read in a clone, the package included."""
    if not BROUGHT.is_dir():
        which = "evaljudge is installed from a clone, which has these files itself"
        raise UserError(f"files {wanted.what}: {which}")
    if wanted.to.exists():
        raise UserError(f"{wanted.to}: exists already: name a new folder")
    shutil.copytree(BROUGHT, wanted.to)
    left_out = shutil.ignore_patterns("__pycache__", BROUGHT.name)
    shutil.copytree(PACKAGE, wanted.to / PACKAGE.name, ignore=left_out)
    names = ", ".join(sorted(file.name for file in wanted.to.iterdir()))
    return f"{wanted.to}: {names}\n"
