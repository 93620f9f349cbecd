"""How a judge is registered: `PLUGIN` in its folder, or in a package of the user's own.

All plug-ins are imported whenever a configuration is read, so they import nothing heavy: a judge's
class is imported only when it is called, inside a function or by `made_by`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import typer

    from evaljudge.judges.protocol import Judge
    from evaljudge.prompts import Task

Settings = Mapping[str, Any]
ReadKey = Callable[[Any, Mapping[str, Settings]], Mapping[str, Any]]
"""From a key's value, and the settings of the run's judges of this kind by name, to what the key
gives each judge. A wrong value raises a ValueError."""


@dataclass(frozen=True)
class Plugin:
    """One kind of judge; its name is that of its folder, or of its entry point."""

    make: Callable[[Settings, Task, str], Judge]
    """From settings, the task, and the name in the run."""
    keys: Mapping[str, ReadKey] = field(default_factory=dict)
    """The configuration keys of its own, beside the judges' settings."""
    files: Sequence[str] = ()
    """The names of its files in a report; an old file that is no longer written is removed."""
    commands: Callable[[typer.Typer], None] | None = None
    """Adds its own commands to the command line."""


def made_by(place: str) -> Callable[[Settings, Task, str], Judge]:
    """Makes the judge with the class at `module:Class`, which is imported when it is needed."""

    def make(settings: Settings, task: Task, name: str) -> Judge:
        module, _, kind = place.partition(":")
        judge: Judge = getattr(import_module(module), kind)(settings, task, name)
        return judge

    return make
