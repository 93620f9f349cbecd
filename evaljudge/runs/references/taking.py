"""Which judges take references from a file, read before anything else is done.

take_references({"synthetic": {"references": "refs.jsonl", "levels": 5}}, ["fluency"])
-> {"synthetic": {"references": "5f1c09ab77e2d410", "levels": 5}}, {"synthetic": "refs.jsonl"}
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Mapping
from contextlib import closing
from typing import Any

from evaljudge.errors import UserError
from evaljudge.runs.references.file import Index

SETTING = "references"
"""Of a judge that can take a file; of another it is an unknown key."""


def take_references(
    judges: Mapping[str, Mapping[str, Any]], axes: Collection[str]
) -> tuple[dict[str, Mapping[str, Any]], dict[str, str]]:
    """The judges' settings with digests in place of files, and each judge's file."""
    paths = {
        name: settings[SETTING]
        for name, settings in judges.items()
        if isinstance(settings.get(SETTING), str)
    }
    digests = {path: _checked(path, axes) for path in dict.fromkeys(paths.values())}
    told = {
        name: {**settings, SETTING: digests[paths[name]]} if name in paths else settings
        for name, settings in judges.items()
    }
    return told, paths


def _checked(path: str, axes: Collection[str]) -> str:
    """Rows that the run has no use for are not used; a file of none but such is a mistake."""
    with closing(sqlite3.connect("")) as base:
        index = Index(base)
        digest, found = index.add(path), index.axes()
    if not found & set(axes):
        there, wanted = (", ".join(sorted(some)) for some in (found, axes))
        raise UserError(
            f"{path}: its references are of other axes ({there}) than the run's ({wanted})"
        )
    return digest
