"""`--fail-if-lower`: whether a scorer's mean fell from one run to another by more than chance.

Student's t over documents, one-sided: is the mean lower by more than the tolerance? At 5% after
Holm's correction for all that are looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaljudge.agreement.significance import holm
from evaljudge.analysis.run_differences import MeanChange, RunDifferences
from evaljudge.analysis.two_runs import scale_name
from evaljudge.decisions.differences import p_lower
from evaljudge.errors import UserError, unknown
from evaljudge.report.lines import on_axis as on_axis
from evaljudge.sections.figures import probability, short

ALPHA = 0.05


@dataclass(frozen=True)
class Looked:
    scale: str
    difference: float
    p: float
    p_holm: float
    failed: bool

    def __str__(self) -> str:
        change = f"{short(abs(self.difference))} {'lower' if self.difference < 0 else 'higher'}"
        return f"{self.scale}: {change}, p {probability(self.p_holm)}"


def lower(names: Sequence[str], tolerance: float, found: RunDifferences) -> list[Looked]:
    """Each scale once; a name that is not known, or a mean that cannot be tested, is a mistake."""
    if not 0 <= tolerance < float("inf"):
        raise UserError(f"--tolerance {tolerance:g}: give a number of 0 or more")
    if tolerance and not names:
        raise UserError("--tolerance is that of --fail-if-lower: name a scorer with it")
    rows = list(dict.fromkeys(row for name in names for row in _scales(name, found)))
    ps = list[float]()
    for row in rows:
        p = p_lower(row.found, tolerance)
        if p is None:
            said = "fewer than two documents have scores in both runs, so nothing can be tested"
            raise UserError(f"--fail-if-lower {scale_name(row.scorer, row.axis)}: {said}")
        ps.append(p)
    return [
        Looked(
            on_axis(row.scorer, row.axis), row.found.difference or 0.0, p, p_holm, p_holm < ALPHA
        )
        for row, p, p_holm in zip(rows, ps, holm(ps), strict=True)
    ]


def _scales(name: str, found: RunDifferences) -> list[MeanChange]:
    """One axis of a scorer, or all that it has, in both runs."""
    for run, keys in zip("AB", found.scorers, strict=True):
        for key in keys:
            if name in (key[0], scale_name(*key)):
                said = f"only {run} has scores of {scale_name(*key)}"
                raise UserError(f"--fail-if-lower {name}: {said}")
    shared = [row for row in found.means if row.system is None]
    wanted = [row for row in shared if name in (row.scorer, scale_name(row.scorer, row.axis))]
    if wanted:
        return wanted
    known = {one for row in shared for one in (row.scorer, scale_name(row.scorer, row.axis))}
    raise UserError(f"--fail-if-lower {name}: {unknown('scorer', name, known)}")
