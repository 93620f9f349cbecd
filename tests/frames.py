"""What analyses are made from, and their rows, without a run."""

from dataclasses import fields, replace
from typing import Any

import numpy as np

from evaljudge.agreement.rated import Grid, Rated
from evaljudge.analyses import RunFrame, analyses, rows_of
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.tables import Tables
from evaljudge.sections import Section

FACTS = {one.name for one in fields(Findings)}
NONE = np.array([], dtype=np.int64)


def frame(rated: Rated | None = None, grid: Grid | None = None, **more: Any) -> RunFrame:
    ordinary: dict[str, Any] = {
        "tables": Tables([]),
        "rated": rated or Rated(NONE, NONE, {}, {}, {}),
        "grid": grid or Grid((), (), {}, {}),
    }
    return RunFrame(**ordinary | more)


def rows(analysis: str, run: RunFrame) -> list[Any]:
    return list(analyses()[analysis].rows(run))


def warnings(analysis: str, run: RunFrame, given: dict[str, Any] | None = None) -> dict[str, str]:
    """Their texts by identifier."""
    found = analyses()[analysis].warnings(run, given or rows_of(run))
    return {warned.id: warned.text for warned in found}


def sections(analysis: str, found: Findings, in_short: bool = False) -> list[Section]:
    return list(analyses()[analysis].sections(found, in_short))


def findings(**more: Any) -> Findings:
    """Facts, and rows by the name of their analysis."""
    facts = {key: value for key, value in more.items() if key in FACTS}
    return Findings(**facts, rows={key: more[key] for key in more if key not in FACTS})


def replaced(found: Findings, **more: Any) -> Findings:
    facts = {key: value for key, value in more.items() if key in FACTS}
    own = {key: value for key, value in more.items() if key not in FACTS}
    return replace(found, rows={**found.rows, **own}, **facts)
