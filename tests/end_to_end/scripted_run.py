"""A run, or a study, on the scripted model, in a process of its own that may be killed.

    python scripted_run.py config.json asks.log 0.2

Every ask is one line of the log, written when it is asked: the prompt's hash, its document, its
stage and the model. The model then takes its time: up to twice the seconds given, and always the
same for the same prompt. What ends the run is said and told by the exit code as the command line
does it.
"""

import hashlib
import json
import os
import re
import sys
from asyncio import sleep
from functools import partial
from pathlib import Path
from typing import Any

from evaljudge.engines.scripted import Scripted, ScriptedEngines, noise
from evaljudge.errors import GivenUp, UserError


def noting() -> Any:
    """A scripted model whose subclasses `note` the stage and the prompts of all that it is asked.

    It is a local class, so that it travels to a worker by value, whoever made it.
    """

    class Noting(Scripted):
        async def write(self, prompts: Any, how: Any) -> Any:
            await self.note("prepare", prompts)
            return await super().write(prompts, how)

        async def choose(self, prompts: Any, options: Any, samples: int = 0) -> Any:
            await self.note("judge", prompts)
            return await super().choose(prompts, options, samples)

        async def note(self, stage: str, prompts: Any) -> None:
            raise NotImplementedError

    return Noting


def noting_engines(log: str | Path, seconds: float = 0, most: int = sys.maxsize) -> ScriptedEngines:
    """Engines whose models note every ask, and refuse after `most` of them."""

    class Noting(noting()):  # type: ignore[misc]
        def __init__(self, name: str) -> None:
            super().__init__()
            self._name, self._left = name, most
            self._log = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

        async def note(self, stage: str, prompts: Any) -> None:
            for prompt in prompts:
                self._left -= 1
                if self._left < 0:
                    raise UserError("the scripted model was asked enough")
                digest = hashlib.blake2b(prompt.text.encode(), digest_size=8).hexdigest()
                named = re.search(r"document-(\w+)", prompt.text)
                document = named[1] if named else "none"
                os.write(self._log, f"{digest} {document} {stage} {self._name}\n".encode())
            if prompts:
                await sleep(2 * seconds * noise(prompts[0].text, "pause"))

    class NotingEngines(ScriptedEngines):
        def open(self, source: Any, seed: int) -> Scripted:
            return Noting(source.source)

    return NotingEngines()


def main(config: str, log: str, seconds: str) -> int:
    import evaljudge
    from evaljudge.studies.study import run_study

    spec, engines = json.loads(Path(config).read_text()), noting_engines(log, float(seconds))
    work = (
        run_study
        if "study" in spec
        else partial(evaljudge.run, progress="WITH_PROGRESS" in os.environ)
    )
    try:
        return work(spec, engines=engines).exit_code
    except (UserError, OSError, GivenUp) as error:
        print(f"evaljudge: {error}", file=sys.stderr)
        return getattr(error, "exit_code", 2)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
