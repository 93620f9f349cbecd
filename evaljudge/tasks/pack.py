"""Prompt packs: templates by name, rendered so that no document can leave its fence.

    pack.render("synthetic.compare", {"source": "The river …", "target": "A <flood>."}, axis="…")

Texts of the corpus are `given`; everything else is the template's own. Given texts stand between
markers such as `<article>` and `</article>`; what looks like one of the template's markers inside
a text is written with `‹` in place of `<`, so a text can neither close its fence nor open another.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from evaljudge.asks import Prompt
from evaljudge.errors import UserError, unknown

if TYPE_CHECKING:
    from jinja2 import Template

_TAG = re.compile(r"</?\s*(\w+)\s*>")
_GIVEN = re.compile("\0(\\w+)\0")


@dataclass(frozen=True)
class Pack:
    """The templates' texts by name: plain data, so that it can travel to a worker."""

    templates: Mapping[str, str]

    def render(self, name: str, given: Mapping[str, str | None], **words: str) -> Prompt:
        """A prompt in parts: the template's words and, each alone, the given texts."""
        source = self._source(name)
        slots = {slot: f"\0{slot}\0" if text else "" for slot, text in given.items()}
        pieces = _GIVEN.split(_rendered(name, source, slots | words))
        if any("\0" in piece for piece in pieces) or not given.keys() >= set(pieces[1::2]):
            raise UserError(f"prompt {name}: a given text may be placed, not cut or changed")
        markers = _markers(source)
        parts = [
            fenced(given[piece] or "", markers) if number % 2 else piece
            for number, piece in enumerate(pieces)
        ]
        return Prompt(tuple(part for part in parts if part), head=1 if pieces[0] else 0)

    def check(self, name: str, needed: Iterable[str], **words: str) -> None:
        """Refuse a template that cannot be rendered, or leaves out a text that it is about."""
        given = {slot: f"the {slot}" for slot in (*needed, "source", "context")}
        prompt = self.render(name, given, **words)
        for slot in needed:
            if given[slot] not in prompt.parts:
                raise UserError(f"prompt {name}: has no place for {{{{ {slot} }}}}")

    def hash(self, names: Iterable[str]) -> str:
        """Twelve letters that change with any word of these templates."""
        told = "\0".join(f"{name}\0{self._source(name)}" for name in sorted(names))
        return hashlib.sha256(told.encode()).hexdigest()[:12]

    def _source(self, name: str) -> str:
        if name not in self.templates:
            raise UserError(f"prompts: {unknown('template', name, self.templates)}")
        return self.templates[name]


def read_pack(folders: Iterable[Path]) -> Pack:
    """Every `NAME.j2` of these folders; where two have the name, the first folder's."""
    found: dict[str, str] = {}
    for folder in folders:
        for file in sorted(folder.glob("*.j2")):
            found.setdefault(file.stem, _text(file))
    return Pack(found)


def fenced(text: str, markers: re.Pattern[str]) -> str:
    """A given text, unable to look like one of these markers."""
    return markers.sub("‹", text.strip())


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").replace("\0", "")
    except UnicodeDecodeError:
        raise UserError(f"prompt {file}: not UTF-8") from None


def _rendered(name: str, source: str, slots: Mapping[str, str]) -> str:
    from jinja2 import TemplateError

    try:
        return _compiled(source).render(slots).strip()
    except (TemplateError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        raise UserError(f"prompt {name}: {error}") from None


@cache
def _compiled(source: str) -> Template:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(undefined=StrictUndefined).from_string(source)


@cache
def _markers(source: str) -> re.Pattern[str]:
    """Whatever stands between angle brackets in a template is one of its markers."""
    names = "|".join(sorted(set(_TAG.findall(source)))) or "(?!)"
    return re.compile(rf"<(?=\s*/?\s*(?:{names})\s*/?\s*>)", re.IGNORECASE)
