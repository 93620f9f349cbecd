"""Prompt packs: a folder of templates, rendered so that no document can leave its fence.

    pack.render("synthetic.compare", {"source": "The river …", "target": "A <flood>."}, axis="fluency")

Texts of the corpus are `given`; everything else is the template's own. Given texts stand between
markers such as `<article>` and `</article>`; what looks like one of our markers inside a text is
written with `‹` in place of `<`, so a text can neither close its fence nor open another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from evaljudge.asks import Prompt
from evaljudge.errors import UserError

if TYPE_CHECKING:
    from jinja2 import Template

MARKERS = (
    *("article", "conversation", "fact", "idea", "source", "context"),
    *("reference", "target", "worse", "better", "summary", "response", "story", "text"),
)
_MARKER = re.compile(rf"<(?=\s*/?\s*(?:{'|'.join(MARKERS)})\s*/?\s*>)", re.IGNORECASE)
_GIVEN = re.compile("\0(\\w+)\0")


class Pack:
    """Templates by name: the user's folder first, then the task's own."""

    def __init__(self, folders: Iterable[Path]) -> None:
        self._folders = tuple(folders)
        self._template = cache(self._compile)

    def render(self, name: str, given: Mapping[str, str | None], **words: str) -> Prompt:
        """A prompt in parts: the template's words and, each alone, the given texts."""
        slots = {slot: f"\0{slot}\0" if text else "" for slot, text in given.items()}
        pieces = _GIVEN.split(self._rendered(name, slots | words))
        parts = [
            fenced(given[piece] or "") if number % 2 else piece
            for number, piece in enumerate(pieces)
        ]
        if any("\0" in piece for piece in pieces):
            raise UserError(f"prompt {name}: a given text may be placed, not cut or changed")
        return Prompt(tuple(part for part in parts if part), head=1 if pieces[0] else 0)

    def hash(self, names: Iterable[str]) -> str:
        """Twelve letters that change with any word of these templates."""
        told = "\0".join(f"{name}\0{self._source(name)}" for name in sorted(names))
        return hashlib.sha256(told.encode()).hexdigest()[:12]

    def _rendered(self, name: str, slots: Mapping[str, str]) -> str:
        from jinja2 import TemplateError

        try:
            return self._template(name).render(slots).strip()
        except TemplateError as error:
            raise UserError(f"prompt {name}: {error}") from None

    def _compile(self, name: str) -> Template:
        from jinja2 import StrictUndefined, TemplateError
        from jinja2.sandbox import SandboxedEnvironment

        try:
            return SandboxedEnvironment(undefined=StrictUndefined).from_string(self._source(name))
        except TemplateError as error:
            raise UserError(f"prompt {name}: {error}") from None

    def _source(self, name: str) -> str:
        for folder in self._folders:
            file = folder / f"{name}.j2"
            if file.is_file():
                return file.read_text(encoding="utf-8").replace("\0", "")
        raise UserError(f"prompt {name}: no {name}.j2 in {' or '.join(map(str, self._folders))}")


def fenced(text: str) -> str:
    """A given text, unable to look like one of our markers."""
    return _MARKER.sub("‹", text.strip())
