"""What all judges of one case share while it is open: a memory, and a count for each of them.

A worker opens cases over its engine, `plan` over a model that only imagines.

What is kept of a shard that is not committed: what its finished cases gave, and the replies that
its open ones have had.

    partial/judge/00003.json    {"results": {"d17": {"synthetic": [[…], […]]}, …}, "asked": …,
                                 "replies": {"d18": {"4e1d…": {"logprobs": …}, …}, …}}

A shard may take minutes, and a worker may be killed, or have spent all that it may, at any moment.
So every `commit_every` seconds what is new is saved, and at once where work is cut short. Who does
the shard next asks nothing of it again, and counts what was asked. A copy begins with what was
saved, too, but saves nothing itself. Once the stage is committed nobody reads this.

Replies alone would do, since judges make the same of them; but all replies of the shards in hand,
256 documents each, are a hundred times those of the cases that are open (64), which a worker
remembers anyway, and verdicts hold less than replies. Results alone lose what a case with many asks
has had. A reply's key is a digest of the whole question, so it belongs to no other; numbers are
kept to the last digit; only the share of a prefix cache (`floor`) is not counted again.
"""

import asyncio
import sys
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter
from pydantic_core import to_json

from evaljudge.errors import Damaged, GivenUp, UserError
from evaljudge.judges.checked import checked_scores, own_code
from evaljudge.judges.protocol import Judge, Judged
from evaljudge.model import Model
from evaljudge.model.counting import CountingModel, Masses, Reply
from evaljudge.model.remembering import Memory, Remembering
from evaljudge.records import Brief, Case, Tokens, Verdict
from evaljudge.storage import Output, Shard, Stage, as_stored


@dataclass
class Asked:
    """What a stage asked of its model, for one judge."""

    tokens: Tokens = Tokens()
    masses: Masses = Masses()
    axes: dict[str, Tokens] = field(default_factory=dict)
    seconds: float = 0.0
    """Seconds of cases with this judge, waiting for replies included; cases overlap."""

    @contextmanager
    def timed(self) -> Iterator[None]:
        since = time.monotonic()
        yield
        self.seconds += time.monotonic() - since

    def add(self, model: CountingModel) -> None:
        self.tokens += model.tokens
        self.masses += model.masses

    def add_axes(self, records: Iterable[Brief | Verdict]) -> None:
        for record in records:
            self.axes[record.axis] = self.axes.get(record.axis, Tokens()) + record.tokens


class CaseModel(Remembering):
    """One judge's view of the model: it counts what the judge is the first to ask."""

    def __init__(self, counting: CountingModel, memory: Memory) -> None:
        super().__init__(counting, memory)
        self.counting = counting

    def _count(self, had: list[Reply]) -> None:
        self.counting.count(had)


Models = Mapping[str, CaseModel]  # the keys are the judges' names


def add_counts(asked: Mapping[str, Asked], models: Models) -> None:
    for name, model in models.items():
        asked[name].add(model.counting)


def case_models(
    model: Model,
    names: Iterable[str],
    heads: set[int],
    blocks: set[int],
    memory: Memory | None = None,
) -> Models:
    """These judges' models for one case: what any of them has asked, no other asks again."""
    memory = Memory() if memory is None else memory
    return {name: CaseModel(CountingModel(model, heads, blocks), memory) for name in names}


def try_scoring(judge: Judge, case: Case, verdicts: Sequence[Verdict]) -> bool:
    """Score a first case as the report will, so that a bug there costs no run; False: none of its
    texts could be judged. Arithmetic that needs the whole run is not tried."""
    with own_code(judge, "verdicts"):
        stored = as_stored(verdicts)
    if type(judge).fit is Judge.fit:
        with own_code(judge, "score"):
            checked_scores(judge, [case], judge.scores(stored))
    return any(verdict.status == "ok" for verdict in verdicts)


R = TypeVar("R")
Briefs = dict[str, Brief]  # the keys are the briefs' own
GIVEN: Mapping[Stage, Any] = {
    "prepare": dict[str, dict[str, Briefs]],
    "judge": dict[str, dict[str, Judged]],
}
"""What cases give, by document: in one stage briefs by kind, in the other verdicts by judge."""


class InHand(Generic[R]):
    """Of a stage of a shard: what each case gave that is done, and the replies of those that are
    open, by document."""

    def __init__(self, output: Output, stage: Stage, shard: Shard, judges: Iterable[Judge]) -> None:
        self.stage, self._output, self._shard, self.since = stage, output, shard, time.monotonic()
        self.asked = {judge.name: Asked() for judge in judges}
        """By the cases that are done, for each judge."""
        self.results, self.replies = dict[str, R](), defaultdict[str, Memory](Memory)
        self._saved, self._saving = self._extent, asyncio.Lock()

    @property
    def _extent(self) -> tuple[int, int]:
        return len(self.results), sum(map(len, self.replies.values()))

    def find(self) -> None:
        try:
            saved = self._output.partial(self.stage, self._shard) or {"results": {}, "asked": {}}
        except Damaged as error:
            print(f"warning: {error}", file=sys.stderr, flush=True)
            return
        self.results |= TypeAdapter(GIVEN[self.stage]).validate_python(saved["results"])
        self.asked |= TypeAdapter(dict[str, Asked]).validate_python(saved["asked"])
        self.replies |= {doc: Memory(had) for doc, had in saved.get("replies", {}).items()}
        self._saved = self._extent

    async def save(self) -> None:
        """Unless nothing is new."""
        async with self._saving:
            if (extent := self._extent) != self._saved:
                replies = {doc: memory.to_keep() for doc, memory in self.replies.items()}
                content = to_json(
                    {"results": self.results, "asked": self.asked, "replies": replies}
                )
                try:
                    await asyncio.to_thread(
                        self._output.write_partial, self.stage, self._shard, content
                    )
                    self._saved = extent
                except (UserError, GivenUp) as error:  # the commit fails too, should that last
                    print(f"warning: {error}", file=sys.stderr, flush=True)

    @asynccontextmanager
    async def saved(self, every: float) -> AsyncIterator[None]:
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
