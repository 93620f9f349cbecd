"""The commands as functions: `evaljudge.agree`, `calibrate`, `check`, `diff` and `label`.

They give what the commands print as typed values, and print nothing themselves. Their arguments
have the names of the commands' options, with `_` for `-`.
"""

from __future__ import annotations

from collections.abc import Sequence

from evaljudge.commands.agree import agree as agree_with
from evaljudge.commands.calibrate import calibrate as calibrate_with
from evaljudge.commands.check import Checked, check_run
from evaljudge.commands.diff import Diffed, compare_runs
from evaljudge.commands.label import LabelOptions, WrittenSheet
from evaljudge.commands.label import label as label_texts
from evaljudge.errors import naming_arguments
from evaljudge.settings import AnyPath, as_path
from evaljudge.text import listed

agree = naming_arguments(agree_with)
calibrate = naming_arguments(calibrate_with)


def check(run: AnyPath, *, briefs: AnyPath | None = None) -> Checked:
    """Whether every file of a run is as it was written, and what to do about one that is not."""
    moved = None if briefs is None else as_path(briefs, "briefs")
    return check_run(as_path(run, "run"), moved)


@naming_arguments
def diff(
    a: AnyPath, b: AnyPath, *, fail_if_lower: str | Sequence[str] = (), tolerance: float = 0.0
) -> Diffed:
    """What changed from run A to run B, and which of these scorers' means are lower in B."""
    runs = as_path(a, "a"), as_path(b, "b")
    return compare_runs(*runs, listed(fail_if_lower), tolerance)


@naming_arguments
def label(
    run: AnyPath, to: AnyPath, *, n: int = 200, by: str = "random", axis: str | Sequence[str] = (),
    scorer: str | None = None, seed: int = 0,
) -> WrittenSheet:  # fmt: skip
    """Write a sheet of a run's texts for people to rate, without systems and scores."""
    where = as_path(run, "run"), as_path(to, "to")
    wanted = LabelOptions(*where, n, by, listed(axis), scorer, seed)
    return label_texts(wanted)
