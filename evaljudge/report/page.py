"""index.html: the whole report in one file that loads nothing from elsewhere.

    page(findings, texts)  ->  "<!doctype html>\\n<html lang=\\"en\\">…"

Names and texts of a corpus come from outside. The templates escape all of them, `line` makes each
one line, and the script shows them as text only. The page's content policy allows this one script
and this one style sheet, by their hashes, and no request.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaljudge.analysis.findings import Findings
from evaljudge.report import first, levels, lines, pictures
from evaljudge.report.sections import sections
from evaljudge.report.texts import PageText, by_scorer, spread_data, text_data
from evaljudge.sections import View, figures
from evaljudge.text import LONG, harmless, one_line

if TYPE_CHECKING:
    from jinja2 import Template
    from markupsafe import Markup

_HERE = Path(__file__).parent
NO_DATA = {"bins": 0, "spreads": []}
"""Of a page without texts."""
LARGEST = 5_000_000
"""Bytes of a page. Texts that would make it larger are left out, the least telling first."""


def page(
    findings: Findings, texts: Sequence[PageText] = (), data: Mapping[str, Any] | None = None
) -> str:
    """`data`: what the server that shows all texts gives in place of a few."""
    if data:
        return _page(findings, [], data)
    shown = {_name(one): (one, text_html(findings, one)) for one in texts}
    places = {name: at for at, name in enumerate(findings.telling)}
    made = _page_with(findings, shown)
    while shown and (excess := len(made.encode()) - LARGEST) > 0:
        for name in sorted(shown, key=lambda name: places.get(name, 0), reverse=True):
            if excess > 0:
                excess -= len(shown.pop(name)[1].encode())
        made = _page_with(findings, shown)
    return made


def _name(one: PageText) -> tuple[str, str]:
    return one.document.doc_id, one.candidate.system


def _page_with(findings: Findings, shown: Mapping[tuple[str, str], tuple[PageText, Markup]]) -> str:
    texts, bodies = [one for one, _ in shown.values()], [body for _, body in shown.values()]
    return _page(findings, bodies, spread_data(findings) | text_data(findings, texts))


def _page(findings: Findings, bodies: Sequence[Markup], data: Mapping[str, Any]) -> str:
    shown = sections(findings)
    return template().render(
        findings=findings,
        first=first,
        answers=first.answers(findings),
        strips=[pictures.strips(one) for one in pictures.headlines(findings)],
        people=list(pictures.people_pictures(findings)),
        heat=pictures.heat_maps(findings),
        texts=bodies,
        levels=levels.levels(findings),
        is_open="",
        sections=shown,
        drawn=pictures.of_sections(shown),
        words=levels,
        lines=lines,
        figures=figures,
        data=data,
        **frame(data),
    )


def frame(data: Any = NO_DATA) -> dict[str, Any]:
    """What any page needs besides its content: style, script and data, and their hashes."""
    return parts(file_text("page.css"), file_text("page.js"), data)


def parts(style: str, script: str, data: Any) -> dict[str, Any]:
    from markupsafe import Markup

    return {
        "style": Markup(style),
        "style_hash": _hash(style),
        "script": Markup(script),
        "script_hash": _hash(script),
        "data_json": Markup(_as_data(data)),
        "connect": "connect-src 'self'; " if "token" in data else "",
    }


def _as_data(data: Any) -> str:
    """JSON that ends no element and begins no comment."""
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")


def _hash(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


@cache
def file_text(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def text_html(findings: Findings, one: PageText) -> Markup:
    """One text, and what each judge shows of it."""

    axes = list(dict.fromkeys([*(s.axis for s in one.scores), *one.candidate.ratings]))
    body = environment().get_template("text.html.j2").module.body
    signatures = {score.scorer: score.signature for score in one.scores if score.signature}
    made: Markup = body(one, axes, by_scorer(one.scores), signatures, figures, _view_html)
    return made


def _view_html(view: View) -> Markup:
    macros = _macros(view.template)
    shown: Markup = macros.legend() + macros.text(view.text)
    return shown


@cache
def environment() -> Any:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    made = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined,
        trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    made.filters |= {
        "line": one_line,
        "short_line": lambda text: one_line(text, 22),
        "name_line": lambda text: one_line(text, 30),
        "long_line": lambda text: one_line(text, LONG),
        "harmless": harmless,
        "count": figures.count,
        "px": lambda number: f"{number:.1f}".removesuffix(".0"),
    }
    return made


def template() -> Template:
    made: Template = environment().get_template("page.html.j2")
    return made


@cache
def _macros(view: Path) -> Any:
    """Of a judge's view, over those that escape words."""
    shared = environment().get_template("words.html.j2").module
    text = view.read_text(encoding="utf-8")
    return environment().from_string(text, {"shared": shared}).module
