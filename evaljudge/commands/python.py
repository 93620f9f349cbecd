"""The commands as functions: `evaljudge.agree`, `calibrate`, `check`, `diff` and `label`.

They give what the commands print as typed values, and print nothing themselves. Their arguments
have the names of the commands' options, with `_` for `-`.
"""

from __future__ import annotations

from evaljudge.commands.agree import Agreed, agreement_of
from evaljudge.commands.calibrate import calibrated
from evaljudge.commands.check import Checked, check_run
from evaljudge.commands.diff import compare_runs
from evaljudge.commands.label import label_texts
from evaljudge.commands.options import (
    AgreeOptions,
    CalibrateOptions,
    DiffOptions,
    LabelOptions,
    function,
)
from evaljudge.settings import AnyPath, as_path

agree = function(AgreeOptions, lambda wanted: Agreed(agreement_of(wanted)))
calibrate = function(CalibrateOptions, calibrated)
diff = function(DiffOptions, compare_runs)
label = function(LabelOptions, label_texts)


def check(run: AnyPath, *, briefs: AnyPath | None = None) -> Checked:
    """Whether every file of a run is as it was written, and what to do about one that is not."""
    moved = None if briefs is None else as_path(briefs, "briefs")
    return check_run(as_path(run, "run"), moved)
