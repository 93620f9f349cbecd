"""Prompt packs: templates by name, rendered so that no document can leave its markers.

    pack.render("synthetic.compare", {"source": "The river …", "target": "A <flood>."}, axis="…")

Texts of the corpus are `given`; everything else is the template's own. Given texts stand between
markers such as `<article>` and `</article>`; what looks like one of the template's markers inside
a text is written with `‹` in place of `<`, so a text can neither close its fence nor open another.
A marker is recognised whatever its case, with white space, attributes or invisible characters in
it, and in full-width letters, which some tokenizers read as plain ones.

A given text may also be a list of texts, each placed alone: `{% for one in references %}`.

A template may inherit from others of its pack and include them: `{% extends "entities.ask" %}`.
Together they are a family: it is fenced by the markers of all of them, and hashed as a whole.
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from evaljudge.errors import UserError, first_words, unknown
from evaljudge.model.asks import Prompt

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_TAG = re.compile(r"</?\s*(\w+)\s*>")
_GIVEN = re.compile("\0(\\w+)\0")
_BRACKETED = re.compile("[<﹤＜](?=([^<>﹤﹥＜＞]*)[>﹥＞])")
_NAME = re.compile(r"\s*/\s*(\w+)|\s*(\w+)(?=\s*/?\s*$|\s.*=)", re.DOTALL)
_UNSEEN = ("Cc", "Cf", "Me", "Mn")
"""Categories of characters that a reader of `</target>` may not see in it."""

Given = str | Sequence[str] | None  # a text or several, to be placed in a template
Marked = str | tuple[str, ...]
"""What stands for a given text, or for each of several, while a template is rendered."""
Place = tuple[Path, str]  # a folder of templates, and what their names begin with
Family = tuple[tuple[str, str], ...]
"""A template, first, and those that it inherits or includes: the name and the text of each."""


@dataclass(frozen=True)
class Pack:
    """The templates' texts by name: plain data, so that it can travel to a worker."""

    templates: Mapping[str, str]
    advice: str = field(default="", compare=False)
    """What to do if a judge needs a template that is not here; empty: name the nearest one."""

    @property
    def markers(self) -> list[str]:
        return sorted(_markers(tuple(self.templates.items())))

    def markers_of(self, name: str) -> frozenset[str]:
        """The names of the markers of a template, and of those that it inherits or includes."""
        return _markers(self._as_family(name))

    def render(self, name: str, given: Mapping[str, Given], **words: str) -> Prompt:
        """A prompt in parts: the template's words and, each alone, the given texts."""
        family, texts = self._as_family(name), dict[str, str]()
        slots = tuple([(slot, _marked(slot, text, texts)) for slot, text in given.items()])
        pieces, markers = _pieces(family, slots, tuple(words.items())), _markers(family)
        parts = [
            fenced(texts[piece], markers) if number % 2 else piece
            for number, piece in enumerate(pieces)
        ]
        head = 1 if pieces[0] else 0
        return Prompt(tuple(filter(None, parts)), head, template=name)

    def check(
        self,
        name: str,
        needed: Iterable[str],
        without: Iterable[str] = (),
        several: Iterable[str] = (),
        **words: str,
    ) -> None:
        """Refuse a template that cannot be rendered, or leaves out a text that it is about.

        `without`: the texts that it may lack, and lacks this time. `several`: lists of texts.
        """
        slots: dict[str, Given] = {slot: f"the {slot}" for slot in (*needed, "source", "context")}
        slots |= {slot: [f"{n} of {slot}" for n in ("first", "last")] for slot in several}
        prompt = self.render(name, slots | dict.fromkeys(without, ""), **words)
        for slot in (*needed, *several):
            texts = [slots[slot]] if slot in needed else slots[slot] or ()
            if not set(prompt.parts) >= set(texts):
                raise UserError(f"prompt {name}: has no place for {{{{ {slot} }}}}")

    def hash(self, names: Iterable[str]) -> str:
        """Twelve letters that change with any word of these templates' families."""
        families = {member: text for name in names for member, text in self._family(name).items()}
        texts = "\0".join(f"{name}\0{families[name]}" for name in sorted(families))
        return hashlib.sha256(texts.encode()).hexdigest()[:12]

    def _as_family(self, name: str) -> Family:
        if name not in self._families:
            self._families[name] = tuple(self._family(name).items())
        return self._families[name]

    @cached_property
    def _families(self) -> dict[str, Family]:
        """The families looked up so far, by the template's name."""
        return {}

    def _family(self, name: str, heirs: tuple[str, ...] = ()) -> dict[str, str]:
        """This template and all that it inherits or includes; `heirs` led to it."""
        if name not in self.templates:
            if self.advice and not heirs:
                raise UserError(f"prompts: no template {name!r}: {self.advice}")
            asked_by = f"prompt {heirs[-1]}" if heirs else "prompts"
            raise UserError(f"{asked_by}: {unknown('template', name, self.templates)}")
        if name in heirs:
            circle = " → ".join((*heirs, name))
            raise UserError(f"prompt {name}: it inherits or includes itself: {circle}")
        family = {name: self.templates[name]}
        for other in _others(name, self.templates[name]):
            family |= self._family(other, (*heirs, name))
        return family


def read_pack(places: Iterable[Place]) -> Pack:
    """Every `NAME.j2` of these folders; where two have the name, the first folder's."""
    texts: dict[str, str] = {}
    for folder, prefix in places:
        for file in sorted(folder.glob("*.j2")):
            texts.setdefault(prefix + file.stem, read_text(file, "prompt").replace("\0", ""))
    return Pack(texts)


@lru_cache(256)
def fenced(text: str, markers: frozenset[str]) -> str:
    """A given text, unable to look like one of these markers."""

    def opened(match: re.Match[str]) -> str:
        return "‹" if _name_in(match[1]) in markers else match[0]

    return _BRACKETED.sub(opened, text.strip())


def _name_in(tag: str) -> str:
    """The marker that these characters between brackets look like: `/ TARGET` is `target`."""
    folded = unicodedata.normalize("NFKC", tag).casefold()
    seen = (c for c in folded if c.isspace() or unicodedata.category(c) not in _UNSEEN)
    name = _NAME.match("".join(seen))
    return (name[1] or name[2]) if name else ""


def read_text(file: Path, kind: str) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UserError(f"{kind} {file}: not UTF-8") from None


def _others(name: str, source: str) -> list[str]:
    with _refusing(name):
        others = _named(source)
    if None in others:
        raise UserError(f"prompt {name}: another template must be named in quotes")
    return [other for other in others if other is not None]


@cache
def _named(source: str) -> tuple[str | None, ...]:
    from jinja2.meta import find_referenced_templates

    return tuple(find_referenced_templates(_environment({}).parse(source)))


def _marked(slot: str, text: Given, texts: dict[str, str]) -> Marked:
    """What stands for these texts; `texts` gets each by the name that is in its mark."""
    if text is None or isinstance(text, str):
        texts[slot] = text or ""
        return f"\0{slot}\0" if text else ""
    names = [f"{slot}_{number}" for number in range(len(text))]
    texts |= zip(names, text, strict=True)
    return tuple(f"\0{name}\0" for name in names)


@lru_cache(1024)
def _pieces(
    family: Family, slots: tuple[tuple[str, Marked], ...], words: tuple[tuple[str, str], ...]
) -> tuple[str, ...]:
    """The template's words and, between them, the names of given texts.

    The same for all pairs of texts that are compared on an axis.
    """
    name, given = family[0][0], dict(slots)
    with _refusing(name, [*dict(words), *given]):
        rendered = _compiled(family).render({**dict(words), **given}).strip()
    pieces = tuple(_GIVEN.split(rendered))
    names = _GIVEN.findall("".join("".join(marks) for marks in given.values()))
    if any("\0" in piece for piece in pieces) or not set(names) >= set(pieces[1::2]):
        raise UserError(f"prompt {name}: a given text may be placed, not cut or changed")
    return pieces


@contextmanager
def _refusing(name: str, slots: Iterable[str] = ()) -> Iterator[None]:
    """Say what is wrong with a template, whatever raises it, in one line."""
    from jinja2 import TemplateError, UndefinedError

    of_expressions = (ArithmeticError, LookupError, TypeError, ValueError)
    of_size = (RecursionError, MemoryError, SyntaxError)  # Python itself nests 20 blocks at most
    try:
        yield
    except UndefinedError as error:
        there = ", ".join(sorted(slots))
        raise UserError(f"prompt {name}: {error}: its slots are {there}") from None
    except of_size:
        raise UserError(f"prompt {name}: it is nested too deep, or becomes too long") from None
    except (TemplateError, *of_expressions) as error:
        raise UserError(f"prompt {name}: {first_words(error)}") from None


@cache
def _compiled(family: Family) -> "Template":
    return _environment(dict(family)).get_template(family[0][0])


def _environment(templates: Mapping[str, str]) -> "Environment":
    from jinja2 import DictLoader, StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    return SandboxedEnvironment(loader=DictLoader(templates), undefined=StrictUndefined)


@cache
def _markers(family: Family) -> frozenset[str]:
    """Every word in angle brackets in a template, or in its comments, is one of its markers."""
    return frozenset(name.casefold() for _, source in family for name in _TAG.findall(source))
