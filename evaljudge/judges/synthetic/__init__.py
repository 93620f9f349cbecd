"""Direct scoring by comparison with synthetic references of graded quality."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaljudge.judges.plugin import Plugin, Settings

if TYPE_CHECKING:
    from evaljudge.judges.synthetic.judge import Synthetic
    from evaljudge.prompts import Task


def make(settings: Settings, task: Task, name: str) -> Synthetic:
    from evaljudge.judges.synthetic.judge import Synthetic

    return Synthetic(settings, task, name)


PLUGIN = Plugin(make, files=["validity"])
