"""index.html: the whole report in one file that loads nothing and runs nothing.

    page(findings)  ->  "<!doctype html>\\n<html lang=\\"en\\">…"

Names and texts of a corpus are strangers' words. The template (page.html.j2) escapes all of them,
`line` makes each one line, and the page's own policy forbids scripts and requests besides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from evaljudge.report import figures, levels
from evaljudge.report.findings import Findings, SystemMean
from evaljudge.report.plain import LONG, one_line
from evaljudge.report.sections import sections

if TYPE_CHECKING:
    from jinja2 import Template

_TEMPLATE = Path(__file__).with_name("page.html.j2")


def page(findings: Findings) -> str:
    return _template().render(
        findings=findings,
        levels=levels.levels(findings),
        sections=sections(findings),
        means=means_by_scorer(findings.systems),
        words=levels,
        figures=figures,
    )


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
def _template() -> Template:
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= {
        "line": one_line,
        "long_line": lambda text: one_line(text, LONG),
        "axes": axes_of,
        "count": figures.count,
    }
    return environment.from_string(_TEMPLATE.read_text(encoding="utf-8"))
