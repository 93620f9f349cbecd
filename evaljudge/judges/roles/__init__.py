"""Role-players that vote: is the candidate better than a reference, in whose eyes, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaljudge.judges.plugin import Plugin, Settings

if TYPE_CHECKING:
    from evaljudge.judges.roles.judge import Roles
    from evaljudge.prompts import Task


def make(settings: Settings, task: Task, name: str) -> Roles:
    from evaljudge.judges.roles.judge import Roles

    return Roles(settings, task, name)


PLUGIN = Plugin(make, files=["roles"])
