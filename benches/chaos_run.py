"""One seed of benches/chaos.py: its lives one after the other, and what came of them."""

import os
import random
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import psutil
from chaos_harm import Harm, is_expected, kill, second_node
from chaos_stage import Run, Stage, Undisturbed, killing, shared
from chaos_worlds import JUDGES, Life, World, draw_lives, draw_world

LONGEST = 120.0
"""Seconds in which all processes of a run have to end: Ray's agents need one minute."""
SHORT, PATIENT = 3.0, 60.0
"""Seconds that S3 is tried, where it is to be given up and where it is not."""
ENDED = ("interrupted", "terminated")
"""What a signal says, which may come at the same time as an error."""


@dataclass
class Outcome:
    """What came of a seed."""

    seed: int
    world: str
    faults: list[dict[str, Any]] = field(default_factory=list)
    unequal: int = 0
    """Tables that lack rows, or have others or more, than those of the undisturbed run."""
    repeated: int = 0
    needless: int = 0
    """Asks of shards that were committed when a life ended, and were asked again."""
    processes: int = 0
    hidden: int = 0
    tracebacks: int = 0
    seconds: float = 0.0
    problems: list[str] = field(default_factory=list)

    @property
    def is_well(self) -> bool:
        bad = self.unequal + self.needless + self.processes
        return not (bad + self.hidden + self.tracebacks or self.problems)


def run_seed(stage: Stage, seed: int, executor: str | None = None) -> Outcome:
    draw = random.Random(f"chaos {seed}")
    world = draw_world(draw, executor)
    return survive(stage, world, draw_lives(draw, world), seed)


def survive(stage: Stage, world: World, lives: Sequence[Life], seed: int = 0) -> Outcome:
    """Harm a world's run, life after life, let it end, and compare it with one that was not."""
    since = time.monotonic()
    undisturbed = stage.undisturbed(world.undisturbed)
    outcome, folder = Outcome(seed, str(world)), stage.folder / f"seed-{seed}"
    shutil.rmtree(folder, ignore_errors=True)
    run = Run(stage, world, folder)
    with ExitStack() as stack:
        node = None
        if world.executor == "second node":
            node, run.environment["RAY_ADDRESS"] = stack.enter_context(second_node())
        ended = [_lived(stage, run, undisturbed, life, outcome, node) for life in lives]
        code = run.once()
        _note_words(run, code, outcome)
    if code != undisturbed.code:
        outcome.problems.append(f"healed, it ended with {code}: {run.complained()[-300:]!r}")
    else:
        _compare(run, undisturbed, outcome)
        outcome.needless = _needless(run, ended)
    _note_left(stage, outcome)
    outcome.seconds = round(time.monotonic() - since, 1)
    if outcome.is_well:
        shutil.rmtree(folder)
    if run.bucket:
        run.bucket.close()
    return outcome


@dataclass(frozen=True)
class Ended:
    """What stood when a life had ended."""

    asks: int
    committed: Mapping[str, set[int]]


def _lived(
    stage: Stage, run: Run, usual: Undisturbed, life: Life, outcome: Outcome, node: Any
) -> Ended:
    harm, asked = Harm(stage, run, usual, life, node), len(run.asks())
    is_out = any(fault.kind == "outage" for fault in life)
    run.environment["EVALJUDGE_STORAGE_PATIENCE"] = f"{SHORT if is_out else PATIENT:g}"
    harm.prepare()
    process = run.start()
    harm.strike(process, asked)
    code = stage.code()
    if run.world.executor == "local":  # else nodes outlive it
        _note_left(stage, outcome)  # before its files are looked at
    harm.heal()
    _note_words(run, code, outcome)
    for fault in life:
        struck = fault in harm.struck
        outcome.faults.append({"fault": fault.kind, "at": str(fault), "struck": struck})
    if not is_expected(code, harm.struck, usual):
        kinds = ", ".join(fault.kind for fault in harm.struck) or "nothing"
        message = run.complained()[-300:]
        outcome.problems.append(f"after {kinds} it ended with {code}: {message!r}")
    outcome.problems += [f"half-written: {name}" for name in run.half_written()]
    return Ended(len(run.asks()), run.committed())


def _note_words(run: Run, code: int, outcome: Outcome) -> None:
    """A life that ended by an error says so in one line of ours, without a traceback."""
    message = run.complained()
    outcome.tracebacks += "Traceback" in message
    lines = [line for line in message.splitlines() if line.startswith("evaljudge: ")]
    lines = [line for line in lines if line.partition(" ")[2] not in ENDED]
    is_named = len(lines) == 1 and lines[0].startswith(f"evaljudge: {run.base}/")
    if code in (1, 2) and run.world.executor == "local" and not is_named:
        outcome.problems.append(f"{code} with {len(lines)} lines of ours: {message[-500:]!r}")


def _compare(run: Run, undisturbed: Undisturbed, outcome: Outcome) -> None:
    tables, asks = run.tables(), Counter(run.asks())
    differences = shared.differences(tables, undisturbed.tables)
    outcome.unequal = len({line.partition(":")[0] for line in differences})
    outcome.problems += [f"unequal: {line[:300]}" for line in differences[:3]]
    outcome.repeated = sum(asks.values()) - sum(undisturbed.asks.values())
    if set(asks) != set(undisturbed.asks):
        outcome.problems.append("asked something else than the undisturbed run")
    files, contract = set(run.files()), run.contract(iter(undisturbed.patterns))
    extra, gone = sorted(files - contract), sorted(contract - files)
    extra += run.strays()
    outcome.hidden = len(extra)
    outcome.problems += [f"left: {name}" for name in extra[:5]]
    outcome.problems += [f"missing: {name}" for name in gone[:5]]


def _needless(run: Run, ended: Sequence[Ended]) -> int:
    """Asks that were repeated although their shard was committed, and never damaged."""
    import pyarrow.parquet as pq

    files = (file for name, file in run.files().items() if name.startswith("out/cases/"))
    home = {
        doc_id.removeprefix("d"): int(file.stem)
        for file in files
        for doc_id in pq.read_table(file, columns=["doc_id"])["doc_id"].to_pylist()
    }
    hurt = {int(name.rpartition("/")[2].partition(".")[0]) for name in run.damaged}
    asks, repeats = run.asks(), 0
    for life in ended:
        before = set(asks[: life.asks])
        again = (ask for ask in asks[life.asks :] if ask in before and ask.document in home)
        homes = [(home[ask.document], _stage(run.world, ask)) for ask in again]
        repeats += sum(shard in life.committed[of] and shard not in hurt for shard, of in homes)
    return repeats


def _stage(world: World, ask: Any) -> str:
    """The ask's stage; of all judges `direct` alone lets the model write in stage two."""
    return "judge" if "direct" in JUDGES[world.judges] else str(ask.stage)


def _note_left(stage: Stage, outcome: Outcome) -> None:
    """Processes that outlive their run; its helpers need a while to miss their parent."""
    give_up = time.monotonic() + LONGEST
    while left := list(_others(stage)):
        if time.monotonic() > give_up:
            break
        time.sleep(0.05)
    outcome.processes += len(left)
    outcome.problems += [f"process left: {killing.title(process)[:100]}" for process in left]
    kill(left)


def _others(stage: Stage) -> Iterator[psutil.Process]:
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess):
            if process.status() == psutil.STATUS_ZOMBIE:
                if process.ppid() == os.getpid():
                    process.wait(0)
            elif process.pid not in stage.kept and killing.SHARED not in killing.title(process):
                yield process
