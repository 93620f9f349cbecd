"""`evaljudge check`: whether every file of a run is as it was written, or how far the run is."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from evaljudge.commands.options import CheckOptions, Shown
from evaljudge.errors import Damaged
from evaljudge.settings import as_path
from evaljudge.storage import Inspected, Output, Stage, holder, inspect, judge_kinds

DAMAGED = 2  # the exit code where a file is damaged or gone


@dataclass(frozen=True, repr=False)
class Checked(Shown):
    out: str
    at_work: str  # the job that writes there now, if any does
    found: Inspected
    problems: list[str]

    @property
    def exit_code(self) -> int:
        return DAMAGED if self.problems else 0

    @property
    def text(self) -> str:
        return "\n".join(self._lines()) + "\n"

    @property
    def json(self) -> str:
        found, named = self.found, {"out": self.out, "at_work": self.at_work}
        rows = {**named, "shards": found.shards, "done": found.done}
        if found.proven or self.problems:  # else nothing was read
            rows |= {"proven": found.proven, "damaged": self.problems}
        return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"

    def _lines(self) -> Iterator[str]:
        files, damaged = self.found, len(self.problems)
        yield from self.problems
        if self.at_work:
            yield f"at work    {self.at_work}: what it writes meanwhile was not looked at"
        if damaged and not files.proven:  # run.json or shards.json is damaged
            yield f"files      {damaged:,} damaged; the others were not read"
            return
        done = ", ".join(f"{number:,} {stage}d" for stage, number in files.done.items())
        yield f"shards     {files.shards:,}: {done}"
        if files.proven:
            yield f"files      {files.proven:,} proven whole, {damaged:,} damaged"


def checked(wanted: CheckOptions) -> Checked:
    out = as_path(wanted.run, "run")
    moved = None if wanted.briefs is None else as_path(wanted.briefs, "briefs")
    output, at_work = Output(out), holder(out)
    try:
        run = output.known_run()
        output = Output(out, moved or run.get("briefs"), run["id"])
        if wanted.quick:
            found = Inspected(shards=len(output.shards()))
            stages: list[Stage] = ["prepare", "judge"] if judge_kinds(run) else ["measure"]
            found.done = {stage: len(output.committed(stage)) for stage in stages}
            return Checked(out, at_work, found, [])
        found = inspect(output, with_derived=True)
    except Damaged as error:  # run.json or shards.json: no other file can be checked without it
        return Checked(out, at_work, Inspected(), [str(error)])
    problems = [str(fault.error) for fault in found.faults]
    return Checked(out, at_work, found, problems)
