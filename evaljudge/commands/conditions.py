"""`--fail-if-lower`: whether a scorer's mean fell from one run to another by more than chance.

    lower(["synthetic.relevance", "words"], 0.0, differences)
    -> [Looked("synthetic on relevance", difference=-0.213, p=0.0004, p_holm=0.0008, failed=True),
        Looked("words", …, failed=False)]

Student's t over documents, one-sided: is the mean lower by more than the tolerance? At 5% after
Holm's correction for all that are looked at, so that the chance of a false alarm does not grow with
their number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evaljudge.agreement.significance import holm
from evaljudge.analysis.run_differences import MeanChange, RunDifferences
from evaljudge.analysis.run_scores import scale_name
from evaljudge.decisions.differences import p_lower
from evaljudge.errors import UserError, unknown
from evaljudge.records import ANY_AXIS
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
    ps = [_p(row, tolerance) for row in rows]
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
                raise UserError(
                    f"--fail-if-lower {name}: only {run} has scores of {scale_name(*key)}"
                )
    shared = [row for row in found.means if row.system is None]
    wanted = [row for row in shared if name in (row.scorer, scale_name(row.scorer, row.axis))]
    if wanted:
        return wanted
    known = {one for row in shared for one in (row.scorer, scale_name(row.scorer, row.axis))}
    raise UserError(f"--fail-if-lower {name}: {unknown('scorer', name, known)}")


def _p(row: MeanChange, tolerance: float) -> float:
    p = p_lower(row.found, tolerance)
    if p is None:
        raise UserError(
            f"--fail-if-lower {scale_name(row.scorer, row.axis)}: fewer than two documents have "
            "scores in both runs, so nothing can be tested"
        )
    return p


def on_axis(scorer: str, axis: str) -> str:
    return scorer if axis == ANY_AXIS else f"{scorer} on {axis}"
