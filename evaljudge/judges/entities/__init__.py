"""Entity-level checking: which facts are missing, wrong, misplaced or badly written."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evaljudge.judges.entities.commands import add_commands
from evaljudge.judges.entities.label_files import LABELS, files_of_labels
from evaljudge.judges.plugin import Plugin, Settings

if TYPE_CHECKING:
    from evaljudge.judges.entities.judge import Entities
    from evaljudge.prompts import Task


def make(settings: Settings, task: Task, name: str) -> Entities:
    from evaljudge.judges.entities.judge import Entities

    return Entities(settings, task, name)


PLUGIN = Plugin(
    make,
    keys={LABELS: files_of_labels},
    files=["entities", "entity_agreement"],
    commands=add_commands,
)
