"""The types of what evaljudge's functions give, for type hints.

from evaljudge.results import Agreed, Agreement

def best(found: Agreed) -> Agreement: ...
"""

from evaljudge.agreement import Agreement as Agreement
from evaljudge.analysis.calibration import CalibratedRow as CalibratedRow
from evaljudge.analysis.findings import Findings as Findings
from evaljudge.commands.agree import Agreed as Agreed
from evaljudge.commands.calibrate import CalibratedScores as CalibratedScores
from evaljudge.commands.check import Checked as Checked
from evaljudge.commands.diff import Diffed as Diffed
from evaljudge.commands.label import WrittenSheet as WrittenSheet
from evaljudge.commands.show import ShownDocument as ShownDocument
from evaljudge.commands.why import Critiques as Critiques
from evaljudge.probes.results import ProbeResult as ProbeResult
from evaljudge.runs.planning import Plan as Plan
from evaljudge.sections.figures import Rows as Rows
