"""Direct scoring: the model is asked for a rating from 1 to 5."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaljudge.judges.plugin import Plugin, Settings

if TYPE_CHECKING:
    from evaljudge.judges.direct.judge import Direct
    from evaljudge.prompts import Task


def make(settings: Settings, task: Task, name: str) -> Direct:
    from evaljudge.judges.direct.judge import Direct

    return Direct(settings, task, name)


PLUGIN = Plugin(make)
