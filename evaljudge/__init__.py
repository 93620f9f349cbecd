"""Absolute scores for machine-written text, and the statistics to believe them.

>>> import evaljudge
>>> outcome = evaljudge.run("jobs/configs/summary.yaml", ["judges.synthetic.levels=3"])
>>> outcome.coverage
1.0

run, plan                    judge what a configuration names (an Outcome); what that would ask
prepare, judge, make_report  the parts of a run
score, Scorer                the same for a few texts, without a file; with the engine kept loaded
open_run                     the Outcome of a run that is there
agree, calibrate, check, diff, export, label, show, why    the commands of these names
probe.position, probe.injection, probe.datasheet           what misleads a judge
run_study, plan_study        settings compared with each other
load_config                  a file as a Config; a mistake anywhere is a UserError

Everything heavy (ray, vllm, torch, pyarrow) is imported where it is used, never here.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evaljudge.commands.python import agree, calibrate, check, diff, export, label, show, why
    from evaljudge.config import Config, load_config
    from evaljudge.errors import UserError
    from evaljudge.probes import python as probe
    from evaljudge.runs.outcome import Outcome, open_run
    from evaljudge.runs.pipeline import judge, make_report, plan, prepare, run
    from evaljudge.runs.scorer import Scorer, score
    from evaljudge.studies.study import Study, plan_study, run_study

__version__ = "0.1.0"

__all__ = [
    "Config", "Outcome", "Scorer", "Study", "UserError", "__version__", "agree", "calibrate",
    "check", "diff", "export", "judge", "label", "load_config", "make_report", "open_run", "plan",
    "plan_study", "prepare", "probe", "run", "run_study", "score", "show", "why",
]  # fmt: skip
_HOMES = {
    "commands.python": ["agree", "calibrate", "check", "diff", "export", "label", "show", "why"],
    "config": ["Config", "load_config"],
    "errors": ["UserError"],
    "runs.outcome": ["Outcome", "open_run"],
    "runs.pipeline": ["judge", "make_report", "plan", "prepare", "run"],
    "runs.scorer": ["Scorer", "score"],
    "studies.study": ["Study", "plan_study", "run_study"],
}


def __dir__() -> list[str]:
    return __all__


if not TYPE_CHECKING:  # a checker would take any name

    def __getattr__(name: str) -> Any:
        if name not in __all__:
            raise AttributeError(f"module 'evaljudge' has no attribute {name!r}")
        if name == "probe":
            return import_module("evaljudge.probes.python")
        home = next(module for module, names in _HOMES.items() if name in names)
        return getattr(import_module(f"evaljudge.{home}"), name)
