"""Files of a run that are damaged or gone: set aside, and made anew by what made them.

    verdicts/synthetic/00003.parquet: is empty
    ->  damaged/verdicts/synthetic/00003.parquet; shard 3 has no marker of `judge` any more

A file that is read proves itself. Once one does not, all files are looked at, so that one rerun
repairs everything.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from typing import TypeVar

from evaljudge.errors import Damaged
from evaljudge.runs.binding import cases_again, open_bound
from evaljudge.runs.job import Job
from evaljudge.storage import GONE, Fault, Output, Shard, inspect
from evaljudge.text import counted

R = TypeVar("R")
Faulty = Mapping[Shard, Sequence[Fault]]  # what is damaged of shards that a report leaves out
MOST_REPAIRS = 3
"""More often than that, what is written does not come back as it was: the storage is broken."""
NAMED = 3
UNEXPECTED = ("commits/", "briefs/")  # what may be in the way of a file that is to be written


def until_whole(job: Job, work: Callable[[], R], warn: Callable[[str], None]) -> R:
    for _ in range(MOST_REPAIRS):
        try:
            return work()
        except Damaged as error:
            warn(_repaired(job, error))
    return work()


def _repaired(job: Job, error: Damaged) -> str:
    """A line that says what; refused before anything is moved."""
    output = open_bound(job)
    faults = _faults(output, error)
    cases = cases_again(job, output, [f for f in faults if f.name.startswith("cases/")])
    set_aside(output, faults)
    if cases:
        shards = [output.write_cases(s, cases[s]) if s in cases else s for s in output.shards()]
        output.write_listing((output.listing() or {}) | {"shards": list(map(astuple, shards))})
    return _set_aside_warning(output, faults)


def left_out(output: Output, error: Damaged, warn: Callable[[str], None]) -> Faulty:
    """The shards that a report cannot read. What it can measure itself is set aside."""
    faults = _faults(output, error)
    if measured := [fault for fault in faults if fault.stage == "measure"]:
        set_aside(output, measured)
        warn(_set_aside_warning(output, measured))
    faults_of: dict[Shard, list[Fault]] = {}
    for fault in faults:
        if fault.shard and fault.stage != "measure":
            faults_of.setdefault(fault.shard, []).append(fault)
    return faults_of


def _set_aside_warning(output: Output, faults: Sequence[Fault]) -> str:
    return f"damaged files of {output.uri}: {named(faults)}: set aside in damaged/ and made again"


def left_out_warning(shards: Faulty) -> str:
    faults = [fault for those in shards.values() for fault in those]
    left = counted(len(shards), "shard", "shards")
    return f"{left} left out for damaged files: {named(faults)}; `evaljudge run` makes them again"


def set_aside(output: Output, faults: Sequence[Fault]) -> None:
    """The files first: whatever is killed in between, they are found again."""
    for fault in faults:
        output.set_aside(fault.name)
        if fault.marker:
            output.uncommit(fault.marker)


def named(faults: Sequence[Fault]) -> str:
    some = ", ".join(f"{fault.name}: {fault.error.problem}" for fault in faults[:NAMED])
    return some + (f" (and {len(faults) - NAMED} more)" if len(faults) > NAMED else "")


def _faults(output: Output, error: Damaged) -> list[Fault]:
    """The error's file is not among them where its shard's marker, which would name it, is damaged
    too. Markers and briefs are added of which nothing says that they should be there."""
    faults = inspect(output).faults
    for fault in faults:
        if not isinstance(fault.error, Damaged):
            raise fault.error
    name = output.name_of(error)
    if name.startswith(UNEXPECTED) and name not in {fault.name for fault in faults}:
        try:
            output.prove(name)
        except Damaged as still:
            faults += [Fault(name, still)] if still.problem != GONE else []
    if not faults:
        raise error
    return faults
