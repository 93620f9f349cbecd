"""index.html: the whole report in one file that loads nothing and runs nothing.

    page(findings)  ->  "<!doctype html>\\n<html lang=\\"en\\">…"

Names and texts of a corpus come from outside. The template (page.html.j2) escapes all of them,
`line` makes each one line, and the page's content policy also forbids scripts and requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaljudge.analysis.findings import Findings
from evaljudge.report import levels, lines
from evaljudge.report.sections import sections
from evaljudge.sections import View, figures
from evaljudge.text import LONG, one_line

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATE = Path(__file__).with_name("page.html.j2")
_WORDS = Path(__file__).with_name("words.html.j2")
MOST_SHOWN = 3_000_000
"""Bytes that the texts of one kind of judge may add to the page."""


def page(findings: Findings) -> str:
    return template().render(
        findings=findings,
        levels=levels.levels(findings),
        sections=sections(findings),
        words=levels,
        lines=lines,
        figures=figures,
        views=_shown_views(findings.judged.views),
    )


@dataclass(frozen=True, slots=True)
class ShownView:
    """A judge's texts as far as the page goes, already as HTML."""

    title: str
    about: Sequence[str]
    legend: str
    texts: Sequence[str]


def _shown_views(views: Sequence[View]) -> Iterator[ShownView]:
    """Views of one kind after one another, until the page is full of them."""
    left = dict.fromkeys((view.template for view in views), MOST_SHOWN)
    for view in views:
        macros, shown = _macros(view.template), list[str]()
        for one in view.texts:
            text = macros.text(one)
            left[view.template] -= len(text.encode())
            if left[view.template] < 0:
                break
            shown.append(text)
        about = list(_about(len(shown), view))
        yield ShownView(view.title, about, macros.legend(), shown)


def _about(shown: int, view: View) -> Iterator[str]:
    """How far the view goes."""
    of = f"{figures.count(shown)} of {figures.count(view.candidates)} candidates are shown"
    by = "; how many is set by “view” in the configuration" if shown < view.candidates else ""
    yield f"{of}{by}."
    if shown < len(view.texts):
        yield "Fewer than that are shown here: more would make the page too large."


@cache
def template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "line": one_line,
        "long_line": lambda text: one_line(text, LONG),
        "count": figures.count,
    }
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))


@cache
def _macros(view: Path) -> Any:
    """Of a judge's view, over those that escape words."""
    environment = template().environment
    shared = environment.from_string(_WORDS.read_text(encoding="utf-8")).module
    text = view.read_text(encoding="utf-8")
    return environment.from_string(text, {"shared": shared}).module
