"""Whether the files of a run are as they were written: all that are damaged, found in one pass.

inspect(Output("runs/first"))  ->  Inspected(proven=84, faults=[Fault(…)], …)
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import Any, NamedTuple, get_args

from evaljudge.errors import Damaged, first_words
from evaljudge.storage.failures import NOT_PERMITTED, DiskError
from evaljudge.storage.files import COMMON, GONE, RUN, SHARDS, SPENT
from evaljudge.storage.output import Output, Shard, Stage, judge_kinds, marked_in, marker
from evaljudge.storage.streams import PIECE

STAGES: tuple[Stage, ...] = get_args(Stage)
DERIVED = "derived"
"""The key of run.json that holds the digests of what the last report wrote."""
CHANGED = "is not as the last report wrote it"
_ALONE = (SPENT, "cascade.json")
_REPORT = re.compile(r"report/\w+\.(json|md|html)")


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that is damaged or gone, or that may not be read: a DiskError."""

    name: str
    error: Damaged | DiskError
    shard: Shard | None = None
    stage: Stage | None = None  # the stage of the shard that has to be done again
    marker: str = ""  # the stage's marker; empty where the fault belongs to no stage


@dataclass
class Inspected:
    proven: int = 0
    faults: list[Fault] = field(default_factory=list)
    done: dict[Stage, int] = field(default_factory=lambda: dict.fromkeys(STAGES, 0))
    """How many shards each stage has done."""
    shards: int = 0


class _File(NamedTuple):
    name: str
    shard: Shard | None = None
    stage: Stage | None = None
    marker: str = ""
    seal: str = ""


def inspect(output: Output, *, with_derived: bool = False) -> Inspected:
    """All that a run's stages wrote; `with_derived`: and what its last report wrote.

    Raises Damaged where that is run.json or shards.json: they say what there should be.
    """
    run, shards = output.run() or {}, output.shards()
    seen, place = Inspected(shards=len(shards)), output.place
    folders = {stage: output.folders(stage) for stage in STAGES}
    committed = {at: output.marked(at) for at in chain.from_iterable(folders.values())}
    is_cut = output.has_listing or any(committed.values())  # a run may have been killed before
    for name in (RUN, SHARDS) if is_cut else (RUN,):
        output.prove(name)
        seen.proven += 1
    derived: Mapping[str, str] = run.get(DERIVED, {})

    was_done, judges = was_finished(run), judge_kinds(run)
    common, whole, measured = set[str](), set[str](), defaultdict[int, set[str]](set)
    unknown = set[int]()
    """Shards whose verdicts are damaged: who knows what was measured beside them?"""
    for stages in (STAGES[:2], STAGES[2:]):  # what is measured beside verdicts may have no marker
        is_judged = bool(judges) and stages == STAGES[:2]
        markers = [
            _File(name := marker(at, n), shard, stage, name)
            for n, shard in ((shard.number, shard) for shard in shards)
            for stage in stages
            for at in folders[stage]
            # else a folder has all or none
            if n in committed[at]
            or (was_done and (committed[at] or is_judged) and n not in measured.keys() | unknown)
        ]
        for file, receipt in _proven(output, seen, markers):
            whole.add(file.name)
            if file.shard and receipt.get("measured"):
                measured[file.shard.number].update(receipt["measured"])
            common |= {name for name in receipt["files"] if name.startswith(COMMON)}
        unknown |= {fault.shard.number for fault in seen.faults if fault.shard}
    for stage in STAGES:
        seen.done[stage] = sum(
            all(marker(at, shard.number) in whole for at in folders[stage]) for shard in shards
        )
    metrics = set(run.get("config", {}).get("metrics", {}))
    seen.done["measure"] = sum(metrics <= names for names in measured.values())
    kept = {
        output.of(panel).brief_file(shard)
        for panel in output.panels()
        for shard in shards
        if shard.number in committed[marked_in(panel, "prepare")]
    }
    briefs = (
        f"briefs/{kind}/{file}"
        for kind in dict.fromkeys(judges.values())
        for file in output.brief_files(kind)
        if file not in kept
    )
    files = [
        *(_File(f"cases/{shard.file}", shard, seal=shard.seal) for shard in shards),
        *map(_File, briefs),
        *(_File(name) for name in _ALONE if place.kind(name) == "File"),
        *map(_File, output.critique_files()),
    ]
    there = {f"{COMMON}{file}" for file in output.common_files()}
    common = common | there if with_derived else there  # a run that goes on needs no other
    if with_derived:
        scored = {output.scores_file(shard): shard for shard in reversed(shards)}
        there = {f"scores/{name}" for name in place.names("scores")}
        is_done = run.get("state") == "done"
        files += [_File(n, scored[n]) for n in reversed(scored) if n in there or is_done]
        files += [_File(f"labels/{name}.json") for name in output.label_keys()]
    for _ in _proven(output, seen, [*files, *map(_File, sorted(common))]):
        pass
    seen.faults.sort(key=lambda fault: fault.shard.number if fault.shard else len(shards))
    for name, digest in derived.items() if with_derived else ():
        if problem := changed(output, name, digest):
            seen.faults.append(Fault(name, output.damaged(name, problem)))
        seen.proven += not problem
    return seen


def digests(output: Output, selections: Iterable[str]) -> dict[str, str]:
    report = (f"report/{name}" for name in output.place.names("report"))
    selected = [f"selected/{name}.{ending}" for name in selections for ending in ("json", "jsonl")]
    names = [*filter(_REPORT.fullmatch, report), *selected]
    return dict(zip(names, output.ahead(partial(_digest, output), names), strict=True))


def was_finished(run: Mapping[str, Any]) -> bool:
    """Every shard was done: a marker that is not there is lost."""
    return run.get("state") in ("done", "damaged")


def _proven(
    output: Output, seen: Inspected, files: Sequence[_File]
) -> Iterator[tuple[_File, dict[str, Any]]]:
    """The undamaged files, with what a JSON file holds."""

    def prove(file: _File) -> dict[str, Any] | Damaged | DiskError | None:
        try:
            if not file.marker and not output.has_part(file.name):  # briefs of other judges
                return None
            return output.prove(file.name, file.seal)
        except (Damaged, DiskError) as error:
            if isinstance(error, DiskError) and error.number not in NOT_PERMITTED:
                raise
            return error

    for file, proof in zip(files, output.ahead(prove, files), strict=True):
        if isinstance(proof, Exception):
            name = output.bundle(file.name) or file.name
            if all(fault.name != name for fault in seen.faults):
                seen.faults.append(Fault(name, proof, file.shard, file.stage, file.marker))
        elif proof is not None:
            seen.proven += 1
            yield file, proof


def changed(output: Output, name: str, digest: str) -> str:
    """What is wrong with a file that the last report wrote; empty if nothing is."""
    try:
        return "" if _digest(output, name) == digest else CHANGED
    except FileNotFoundError:
        return GONE
    except DiskError as error:
        return error.problem
    except OSError as error:
        return f"cannot be read ({first_words(error)})"


def _digest(output: Output, name: str) -> str:
    made = sha256()
    if name.startswith("report/"):  # a stream would ask for the size first
        return sha256(output.place.read(name)).hexdigest()
    with output.place.open(name) as stream:
        while piece := stream.read(PIECE):
            made.update(piece)
    return made.hexdigest()
