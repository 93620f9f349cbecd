"""A run on the scripted model, in a process of its own that may be killed.

    python scripted_run.py config.json asks.log 0.2

Every ask is one line of the log, written when it is asked: its prompt's hash, its document, its
stage and the model asked. The model then takes its time: up to twice the seconds given, and always
the same for the same prompt.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from evaljudge.model.scripted import ScriptedEngines


class NotingEngines(ScriptedEngines):
    """Scripted engines that note what is asked, and of which model."""


def noting(log: str, seconds: float = 0, most: int | None = None) -> Callable[[str], Any]:
    """Opens such a model; after `most` asks in all it refuses every other.

    A closure with its imports inside: so it travels to a worker by value, whoever made it.
    """

    def opens(name: str) -> Any:
        import os

        from evaljudge.errors import UserError

        file = os.open(log, os.O_RDWR | os.O_APPEND | os.O_CREAT)

        async def note(stage: str, prompts: Any) -> None:
            for prompt in prompts:
                if most is not None and os.fstat(file).st_size >= most:
                    raise UserError("asked enough")
