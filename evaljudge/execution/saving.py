"""What the finished cases of a shard gave, saved while others of it are still asked about.

    partial/judge/00003.json    {"results": {"d17": {"synthetic": [[…], […]]}, …}, "asked": …}

A shard may take minutes, and a worker may be killed at any moment. So every `commit_every` seconds
what is done is saved if any of it is new. Who does the shard next asks nothing again for these
documents, and counts what they asked. A shard that is done sooner costs no request. A copy begins
with what was saved, too, but saves nothing itself, so that it takes nothing from the one that it is
a copy of. Once the stage is committed nobody reads this, and it is removed when all is asked.
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_json

from evaljudge.errors import Damaged, GivenUp, UserError
from evaljudge.execution.case import Asked
from evaljudge.judges.protocol import Judged
from evaljudge.records import Brief
from evaljudge.storage import Output, Shard, Stage

R = TypeVar("R")
Briefs = dict[str, Brief]
"""The keys are the briefs' own."""
GIVEN: Mapping[Stage, Any] = {
    "prepare": dict[str, dict[str, Briefs]],
    "judge": dict[str, dict[str, Judged]],
}
"""What cases give, by document: in one stage briefs by kind, in the other verdicts by judge."""


class Finished(Generic[R]):
    """The cases of a stage of a shard that are done: what each gave, by document."""

    def __init__(self, output: Output, stage: Stage, shard: Shard, asked: dict[str, Asked]) -> None:
        """`asked` counts what they asked for each judge, and nothing of other cases."""
        self.stage, self._output, self._shard, self._asked = stage, output, shard, asked
        self.results = dict[str, R]()
        self._saved, self._saving = 0, asyncio.Lock()

    def find(self) -> None:
        """Take over what was saved, if anything was."""
        try:
            saved = self._output.partial(self.stage, self._shard) or {"results": {}, "asked": {}}
        except Damaged as error:
            print(f"warning: {error}", file=sys.stderr, flush=True)
            return
        self.results |= TypeAdapter(GIVEN[self.stage]).validate_python(saved["results"])
        self._asked |= TypeAdapter(dict[str, Asked]).validate_python(saved["asked"])
        self._saved = len(self.results)

    async def save(self) -> None:
        """Unless nothing is new."""
        async with self._saving:
            if (number := len(self.results)) > self._saved:
                content = to_json({"results": self.results, "asked": self._asked})
                try:
                    await asyncio.to_thread(
                        self._output.write_partial, self.stage, self._shard, content
                    )
                    self._saved = number
                except (UserError, GivenUp) as error:  # the commit fails too, should that last
                    print(f"warning: {error}", file=sys.stderr, flush=True)

    @asynccontextmanager
    async def saved(self, every: float) -> AsyncIterator[None]:
        """Meanwhile what is new is saved, each time after so many seconds."""

        async def keep_saving() -> None:
            while True:
                await asyncio.sleep(every)
                await self.save()

        saving = asyncio.create_task(keep_saving())
        try:
            yield
        finally:
            async with self._saving:  # nothing is written later
                saving.cancel()
