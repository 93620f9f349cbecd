"""The types of what evaljudge's functions give, for type hints.

from evaljudge.results import Agreed, Agreement

def best(found: Agreed) -> Agreement: ...
"""

from __future__ import annotations

from evaljudge.agreement import Agreement
from evaljudge.analysis.calibration import CalibratedRow
from evaljudge.analysis.findings import Findings
from evaljudge.commands.agree import Agreed
from evaljudge.commands.calibrate import CalibratedScores
from evaljudge.commands.check import Checked
from evaljudge.commands.diff import Diffed
from evaljudge.commands.label import WrittenSheet
from evaljudge.probes.results import ProbeResult
from evaljudge.runs.planning import Plan

__all__ = [
    "Agreed",
    "Agreement",
    "CalibratedRow",
    "CalibratedScores",
    "Checked",
    "Diffed",
    "Findings",
    "Plan",
    "ProbeResult",
    "WrittenSheet",
]
