"""A run on the scripted model, as a process of its own that may be killed.

    python scripted_run.py config.json asks.log 0.2

Every ask is one line of the log, written when it is asked: its prompt's hash, its document, and
the stage that asks it. The model then takes its time: up to twice the seconds given, and always
the same for the same prompt.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path


def noting(log: str, seconds: float = 0) -> Callable[[], object]:
    """What opens such a model, in a worker. A closure: it travels by value, whoever made it."""

    def opens() -> object:
        import asyncio
        import hashlib
        import os
        import re

        from evaljudge.model.scripted import Scripted, noise

        file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

        async def note(stage: str, prompts: list) -> None:
            for prompt in prompts:
                digest = hashlib.blake2b(prompt.text.encode(), digest_size=8).hexdigest()
                document = re.search(r"document-(\w+)", prompt.text)[1]
                os.write(file, f"{digest} {document} {stage}\n".encode())
            if prompts and seconds:
                await asyncio.sleep(2 * seconds * noise(prompts[0].text, "pause"))

        class Noting(Scripted):
            async def write(self, prompts, how):
                await note("prepare", prompts)
                return await super().write(prompts, how)

            async def choose(self, prompts, options, samples=0):
                await note("judge", prompts)
                return await super().choose(prompts, options, samples)

        return Noting()

    return opens


def main(config: str, log: str, seconds: str) -> None:
    import evaljudge
    from evaljudge.model.scripted import ScriptedEngines

    engines = ScriptedEngines(noting(log, float(seconds)))
    outcome = evaljudge.run(json.loads(Path(config).read_text()), engines=engines)
    sys.exit(outcome.exit_code)


if __name__ == "__main__":
    main(*sys.argv[1:])
