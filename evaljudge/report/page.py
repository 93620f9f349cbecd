"""index.html: the whole report in one file that loads nothing and runs nothing.

    page(findings)  ->  "<!doctype html>\\n<html lang=\\"en\\">…"

Names and texts of a corpus are strangers' words. The template (page.html.j2) escapes all of them,
`line` makes each one line, and the page's own policy forbids scripts and requests besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaljudge.analysis.findings import Findings, SystemMean
from evaljudge.report import entity_view, figures, levels, role_view
from evaljudge.report.sections import sections
from evaljudge.text import LONG, one_line

if TYPE_CHECKING:
    from jinja2 import Template

    from evaljudge.judges.entities.evidence import JudgedText
    from evaljudge.judges.roles.evidence import PolledText

_TEMPLATE = Path(__file__).with_name("page.html.j2")
_ENTITIES = Path(__file__).with_name("entities.html.j2")
_ROLES = Path(__file__).with_name("roles.html.j2")


def page(findings: Findings) -> str:
    return template().render(
        findings=findings,
        levels=levels.levels(findings),
        sections=sections(findings),
        means=means_by_scorer(findings.systems),
        words=levels,
        figures=figures,
        entities=_entities(),
        roles=_roles(),
        about_view=entity_view.about,
    )


def text_size(text: JudgedText) -> int:
    """The bytes that a text with its entities adds to the page."""
    return len(_entities().text(entity_view.shown_text(text)).encode())


def polled_size(text: PolledText) -> int:
    """The bytes that a text with its roles' votes adds to the page."""
    return len(_roles().text(role_view.shown_polled(text)).encode())


def means_by_scorer(
    systems: Sequence[SystemMean],
) -> Mapping[str, Mapping[str, Mapping[str, SystemMean]]]:
    """scorer -> system -> axis -> mean, each in its first order."""
    found: dict[str, dict[str, dict[str, SystemMean]]] = {}
    for mean in systems:
        found.setdefault(mean.scorer, {}).setdefault(mean.system, {})[mean.axis] = mean
    return found


def axes_of(systems: Mapping[str, Mapping[str, SystemMean]]) -> list[str]:
    """Every axis that any system has a mean on."""
    return list(dict.fromkeys(axis for means in systems.values() for axis in means))


@cache
def template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "line": one_line,
        "long_line": lambda text: one_line(text, LONG),
        "axes": axes_of,
        "count": figures.count,
        "shown_text": entity_view.shown_text,
        "shown_polled": role_view.shown_polled,
    }
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))


@cache
def _entities() -> Any:
    """The macros of a text with its entities, which escape all that they are given."""
    return template().environment.from_string(_ENTITIES.read_text(encoding="utf-8")).module


@cache
def _roles() -> Any:
    """The macros of a text with its roles' votes, over those that escape words."""
    text = _ROLES.read_text(encoding="utf-8")
    return template().environment.from_string(text, {"entities": _entities()}).module
