"""Whether the files of a run are as they were written: all that are damaged, found in one pass.

    inspect(Output("runs/first"))  ->  Inspected(proven=84, readable=0, faults=[Fault(…)], …)

A shard's marker names the files that it is of. Where a run is done, every shard must have one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from hashlib import sha256
from typing import Any, get_args

from evaljudge.errors import Damaged, first_words
from evaljudge.storage.disk import NOT_PERMITTED, DiskError
from evaljudge.storage.files import COMMON, RUN, SHARDS
from evaljudge.storage.output import Output, Panel, Shard, Stage, judge_kinds, marker, panels_of
from evaljudge.storage.streams import PIECE

STAGES: tuple[Stage, ...] = get_args(Stage)
DERIVED = "derived"
"""The key of run.json that holds the digests of what the last report wrote."""
_REPORT = re.compile(r"report/\w+\.(json|md|html)")
_SHARD = r"\d{5,}\.parquet"
_OURS = re.compile(
    rf"run\.json|shards\.json|commits/({'|'.join(STAGES)})(-\w+)?/\d{{5,}}\.json"
    rf"|(cases|scores)/{_SHARD}"
    rf"|(verdicts|checks|measures)/[^/]+/{_SHARD}|briefs/common/\w+\.json"
    r"|briefs/[^/]+/\d{5,}(-\w+){1,2}\.parquet|(attempts|labels)/[\w.-]+\.json"
    r"|corpus/rows-\w+\.(jsonl|parquet)|(damaged|briefs/damaged)/.+|\.claim|(.*/)?\..+\.part"
)


@dataclass(frozen=True, slots=True)
class Fault:
    """A file that is damaged or gone, or that may not be read: a DiskError."""

    name: str
    error: Damaged | DiskError
    shard: Shard | None = None
    stage: Stage | None = None
    """Of the shard, the stage that has to be done again."""
    marker: str = ""
    """Of this stage; empty where the fault is of none."""


@dataclass
class Inspected:
    proven: int = 0
    readable: int = 0
    """Files of earlier versions, which have no seal to prove them."""
    faults: list[Fault] = field(default_factory=list)
    done: dict[Stage, int] = field(default_factory=lambda: dict.fromkeys(STAGES, 0))
    """How many shards each stage has done."""
    shards: int = 0
    ignored: Sequence[str] = ()
    """Files that are not ours."""

    def add(self, other: Inspected) -> None:
        self.proven += other.proven
        self.readable += other.readable
        self.faults += other.faults
        for stage, times in other.done.items():
            self.done[stage] += times


def inspect(output: Output, *, with_derived: bool = False) -> Inspected:
    """All that a run's stages wrote; `with_derived`: and what its last report wrote.

    Raises Damaged where that is run.json or shards.json: they say what there should be.
    """
    run, shards, found = output.run() or {}, output.shards(), Inspected()
    there, panels = set(output.place.all_names()), panels_of(run)
    ends = list(dict.fromkeys(panels.values())) or [Panel()]
    committed = {at: output.marked(at) for stage in STAGES for at in _folders(ends, stage)}
    is_cut = output.has_listing or any(committed.values())  # a run may have been killed before
    for name in (RUN, SHARDS) if is_cut else (RUN,):
        _count(found, output.prove(name)[1])
    found.shards = len(shards)
    derived: Mapping[str, str] = run.get(DERIVED, {})
    found.ignored = sorted(n for n in there if not _OURS.fullmatch(n) and n not in derived)
    if DERIVED not in run:  # an earlier version has not noted which of these it wrote
        found.ignored = [n for n in found.ignored if not n.startswith(("report/", "selected/"))]
    looking = _Looking(output, run, there, ends, committed, with_derived)
    for one in output.ahead(looking.at, shards):
        found.add(one)
    for kind in dict.fromkeys(judge_kinds(run).values()):
        own = {
            output.of(panel).brief_file(shard)
            for panel in ends
            for shard in shards
            if shard.number in committed[panel.folder("prepare")]
        }
        for file in output.brief_files(kind):
            if file not in own:
                _prove(output, found, f"briefs/{kind}/{file}")
    common = {f"{COMMON}{file}" for file in output.common_files()}
    for name in sorted(common | looking.common if with_derived else common):
        _prove(output, found, name)
    if with_derived:
        for name in output.label_keys():  # which nothing can make again
            _prove(output, found, f"labels/{name}.json")
        for name, digest in derived.items():
            _compare(output, found, name, digest)
    return found


def digests(output: Output, selections: Iterable[str]) -> dict[str, str]:
    """Of every file of the report and of these selections, to be compared by `inspect`."""
    report = (f"report/{name}" for name in output.place.names("report"))
    selected = [f"selected/{name}.{ending}" for name in selections for ending in ("json", "jsonl")]
    names = [*filter(_REPORT.fullmatch, report), *selected]
    return dict(zip(names, output.ahead(partial(_digest, output), names), strict=True))


@dataclass(frozen=True)
class _Looking:
    """Looks at one shard after the other."""

    output: Output
    run: Mapping[str, Any]
    there: set[str]
    panels: Sequence[Panel]
    committed: Mapping[str, set[int]]
    """By the folder of a panel's markers."""
    with_scores: bool
    common: set[str] = field(default_factory=set)
    """The files of briefs/common/ that markers name. A run that goes on needs none of them."""

    def at(self, shard: Shard) -> Inspected:
        found, files = Inspected(), dict[str, tuple[Stage, str]]()
        _prove(self.output, found, f"cases/{shard.file}", shard, seal=shard.seal)
        for stage in STAGES:
            done = list[bool]()
            for folder in _folders(self.panels, stage):
                if not self._is_expected(folder, shard):
                    done.append(False)
                    continue
                of = stage, marker(folder, shard.number)
                receipt = _prove(self.output, found, of[1], shard, *of)
                done.append(receipt is not None)
                if receipt is not None:
                    files |= dict.fromkeys(self._files(stage, shard, receipt), of)
            found.done[stage] += all(done)
        for name, of in files.items():
            if name.startswith(COMMON):
                self.common.add(name)
            else:
                _prove(self.output, found, name, shard, *of)
        name = f"scores/{shard.file}"
        if self.with_scores and (name in self.there or self.run.get("state") == "done"):
            _prove(self.output, found, name, shard)
        return found

    def _is_expected(self, folder: str, shard: Shard) -> bool:
        """A run that was done has, in each folder of markers, all or none."""
        was_done = was_finished(self.run) and bool(self.committed[folder])
        return was_done or shard.number in self.committed[folder]

    def _files(self, stage: Stage, shard: Shard, receipt: Mapping[str, Any]) -> list[str]:
        """Those that a marker vouches for; earlier versions did not name them in it."""
        if stage == "measure":
            return [f"measures/{metric}/{shard.file}" for metric in receipt["measured"]]
        if "files" in receipt:
            return list(receipt["files"])
        judges = judge_kinds(self.run)
        if stage == "prepare":
            own = self.output.brief_file(shard)
            return [f"briefs/{kind}/{own}" for kind in dict.fromkeys(judges.values())]
        verdicts = [f"verdicts/{judge}/{shard.file}" for judge in judges]
        return [*verdicts, *(f"checks/{judge}/{shard.file}" for judge in self._with_checks)]

    @cached_property
    def _with_checks(self) -> set[str]:
        return {name.split("/")[1] for name in self.there if name.startswith("checks/")}


def was_finished(run: Mapping[str, Any]) -> bool:
    """Every shard was done: a marker that is not there is lost."""
    return run.get("state") in ("done", "damaged")


def _folders(panels: Iterable[Panel], stage: Stage) -> list[str]:
    return list(dict.fromkeys(panel.folder(stage) for panel in panels))


def _prove(
    output: Output,
    found: Inspected,
    name: str,
    shard: Shard | None = None,
    stage: Stage | None = None,
    of_marker: str = "",
    *,
    seal: str = "",
) -> dict[str, Any] | None:
    """What a JSON file holds; None where a file is damaged, gone, or may not be read."""
    try:
        content, is_proven = output.prove(name, seal)
    except (Damaged, DiskError) as error:
        if isinstance(error, DiskError) and error.number not in NOT_PERMITTED:
            raise
        found.faults.append(Fault(name, error, shard, stage, of_marker))
        return None
    _count(found, is_proven)
    return content


def _count(found: Inspected, is_proven: bool) -> None:
    found.proven += is_proven
    found.readable += not is_proven


def _compare(output: Output, found: Inspected, name: str, digest: str) -> None:
    try:
        problem = "" if _digest(output, name) == digest else "is not as the last report wrote it"
    except FileNotFoundError:
        problem = "is gone"
    except DiskError as error:
        problem = error.problem
    except OSError as error:
        problem = f"cannot be read ({first_words(error)})"
    if problem:
        found.faults.append(Fault(name, output.damaged(name, problem)))
    found.proven += not problem


def _digest(output: Output, name: str) -> str:
    made = sha256()
    with output.place.open(name) as stream:
        while piece := stream.read(PIECE):
            made.update(piece)
    return made.hexdigest()
