"""What the finished cases of a shard gave, saved while others of it are still asked about.

    partial/judge/00003.zip    verdicts/synthetic/00003.parquet  commits/judge/00003.json

A shard may take minutes, and a worker may be killed at any moment. So every `commit_every` seconds
what is done is saved if any of it is new: as one object, in the form of the stage's bundle, whose
receipt names the documents in it and counts what they asked. Who does the shard next asks nothing
again for these. A shard that is done sooner costs no request. A copy begins with what was saved,
too, but saves nothing itself, so that it takes nothing from the one that it is a copy of. Once the
stage is committed nobody reads this, and it is removed when all is asked.
"""

from __future__ import annotations

import asyncio
import sys
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Generic, Protocol, TypeVar

from pydantic import TypeAdapter

from evaljudge.errors import Damaged
from evaljudge.execution.case import Asked
from evaljudge.judges.checked import own_code
from evaljudge.judges.protocol import Judge, Judged
from evaljudge.records import Brief
from evaljudge.storage import Output, Shard, Stage

R = TypeVar("R")
Briefs = dict[str, Brief]
"""The keys are the briefs' own."""


class StageFiles(Protocol[R]):
    """The files of a stage of a shard, and what each case gave for them."""

    def write(self, output: Output, shard: Shard, results: Sequence[R]) -> list[str]:
        """Gives their names."""

    def read(self, output: Output, shard: Shard) -> Mapping[str, R]:
        """By document; of one that is not in them, nothing."""


class BriefFiles:
    """The briefs of each kind of judge."""

    def __init__(self, judges: Sequence[Judge]) -> None:
        self._kinds = list(dict.fromkeys(judge.kind for judge in judges))

    def write(
        self, output: Output, shard: Shard, results: Sequence[Mapping[str, Briefs]]
    ) -> list[str]:
        briefs_of = {k: [b for each in results for b in each[k].values()] for k in self._kinds}
        return [output.write_briefs(kind, shard, briefs) for kind, briefs in briefs_of.items()]

    def read(self, output: Output, shard: Shard) -> Mapping[str, dict[str, Briefs]]:
        written = defaultdict[str, dict[str, Briefs]](lambda: {kind: {} for kind in self._kinds})
        for kind in self._kinds:
            for brief in output.own_briefs(kind, shard):
                written[brief.doc_id][kind][brief.key] = brief
        return written


class VerdictFiles:
    """The verdicts and checks of each judge."""

    def __init__(self, judges: Sequence[Judge]) -> None:
        self._judges = judges

    def write(
        self, output: Output, shard: Shard, results: Sequence[Mapping[str, Judged]]
    ) -> list[str]:
        files = list[str]()
        for judge in self._judges:
            verdicts = [verdict for each in results for verdict in each[judge.name].verdicts]
            checks = [check for each in results for check in each[judge.name].checks]
            with own_code(judge, "verdicts"):  # its evidence may be no JSON
                files.append(output.write_verdicts(judge.name, shard, verdicts))
            if judge.has_checks:
                files.append(output.write_checks(judge.name, shard, checks))
        return files

    def read(self, output: Output, shard: Shard) -> Mapping[str, dict[str, Judged]]:
        judged = defaultdict[str, dict[str, Judged]](
            lambda: {judge.name: Judged([], []) for judge in self._judges}
        )
        for judge in self._judges:
            for verdict in output.verdicts(judge.name, shard):
                judged[verdict.doc_id][judge.name].verdicts.append(verdict)
            for check in output.checks(judge.name, shard) if judge.has_checks else ():
                judged[check.doc_id][judge.name].checks.append(check)
        return judged


class Finished(Generic[R]):
    """The finished cases of a stage of a shard: what each gave, by document. `asked` counts what
    they asked for each judge."""

    def __init__(
        self,
        output: Output,
        stage: Stage,
        shard: Shard,
        files: StageFiles[R],
        asked: dict[str, Asked],
    ) -> None:
        self._output, self.stage, self._shard, self._files = output.partial, stage, shard, files
        self.results, self._asked = dict[str, R](), asked
        self._saved, self._saving, self._is_over = 0, asyncio.Lock(), asyncio.Event()

    def add(self, doc_id: str, result: R, asked: Mapping[str, Asked]) -> None:
        self.results[doc_id] = result
        for judge, counts in asked.items():
            self._asked[judge] += counts

    def find(self) -> None:
        """Take over what was saved, if anything was."""
        try:
            if receipt := self._output.receipt(self.stage, self._shard):
                results = self._files.read(self._output, self._shard)
                self.results = {doc_id: results[doc_id] for doc_id in receipt["documents"]}
                self._asked |= TypeAdapter(dict[str, Asked]).validate_python(receipt["asked"])
                self._saved = len(self.results)
        except Damaged as error:
            print(f"warning: {error}", file=sys.stderr, flush=True)

    async def save(self) -> None:
        """Unless nothing is new."""
        async with self._saving:
            if (number := len(self.results)) > self._saved:
                counts = {judge: asdict(asked) for judge, asked in self._asked.items()}
                receipt = {"documents": list(self.results), "asked": counts}
                await asyncio.to_thread(self._write, list(self.results.values()), receipt)
                self._saved = number

    def _write(self, results: Sequence[R], receipt: Mapping[str, object]) -> None:
        self._files.write(self._output, self._shard, results)
        self._output.commit(self.stage, self._shard, receipt)

    async def keep_saving(self, every: float) -> None:
        """Until all is over."""
        while not self._is_over.is_set():
            try:
                await asyncio.wait_for(self._is_over.wait(), every)
            except TimeoutError:
                await self.save()

    def end(self) -> None:
        self._is_over.set()
