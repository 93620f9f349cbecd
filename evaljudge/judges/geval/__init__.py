"""G-Eval: steps of evaluation, then the model's distribution of ratings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaljudge.judges.plugin import Plugin, Settings

if TYPE_CHECKING:
    from evaljudge.judges.geval.judge import Geval
    from evaljudge.prompts import Task


def make(settings: Settings, task: Task, name: str) -> Geval:
    from evaljudge.judges.geval.judge import Geval

    return Geval(settings, task, name)


PLUGIN = Plugin(make)
