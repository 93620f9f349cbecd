"""What befalls a life of a run in benches/chaos.py, and by which exit codes it may end of it."""

import os
import random
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import Any

import psutil
from chaos_stage import Run, Stage, Undisturbed, killing, s3_proxy
from chaos_worlds import DAMAGES, DISK, FLEETING, REFUSING, SIGNALS, Fault, Life

REQUESTS = 5
"""The approximate number of requests to S3 for each file that is written."""
CODES: Mapping[str, tuple[int, ...]] = {
    **{name: (-getattr(signal, name), 128 + getattr(signal, name)) for name in SIGNALS},
    "SIGKILL before": (-9, 137), "SIGKILL after": (-9, 137), "all": (-9, 137),
    **dict.fromkeys((*DISK, *REFUSING), (2,)), "outage": (1,),
}  # fmt: skip
"""The exit codes by which a life ends that a fault ended; what is not here ends none."""
OUTAGES = {"outage": 3600.0, "short outage": 1.0}
"""Seconds that S3 is away: longer than a run waits, and not so long."""
OF_RAY = ("gcs", "raylet")
"""What ends the Ray of a run, and so the run, in whatever way Ray has it."""


def _one_bit_flipped(content: bytes) -> bytes:
    changed = bytearray(content)
    changed[len(content) // 3] ^= 1
    return bytes(changed)


DAMAGED: Mapping[str, Callable[[bytes], bytes | None]] = {
    "emptied": lambda content: b"",
    "cut in half": lambda content: content[: len(content) // 2],
    "one bit flipped": _one_bit_flipped,
    "zeroed": lambda content: bytes(len(content)),
    "made junk": lambda content: random.Random(len(content)).randbytes(300),
    "removed": lambda content: None,
}
"""What each of `DAMAGES` leaves of a file."""


class Harm:
    """Does to one life what was drawn for it."""

    def __init__(self, stage: Stage, run: Run, usual: Undisturbed, life: Life, node: Any) -> None:
        self._stage, self._run, self._of, self._life, self._node = stage, run, usual, life, node
        self.struck: set[Fault] = set()
        self._rules: dict[Fault, s3_proxy.Rule] = {}

    def prepare(self) -> None:
        """Files are damaged now; the rest strikes by itself when its moment has come."""
        self._damage([fault for fault in self._life if fault.kind in DAMAGES])
        plans = [self._plan(fault) for fault in self._life if fault.by == "operations"]
        self._stage.harm_disk([plan for plan in plans if plan])
        for fault in self._life:
            if fault.kind in FLEETING:
                self._rules[fault] = self._stage.proxy.add(
                    fault.kind, share=fault.share, when=_meets(fault.kind), seconds=1, seed=1
                )
            elif fault.kind in REFUSING:
                at, requests = int(fault.moment * self._of.operations * REQUESTS), count()
                self._rules[fault] = self._stage.proxy.add(
                    fault.kind, when=lambda method, path, n=requests, at=at: next(n) >= at
                )

    def _damage(self, faults: list[Fault]) -> None:
        for fault in faults:
            names = self._run.mendable()
            if names:
                name = names[int(fault.moment * len(names)) % len(names)]
                self._run.rewrite(name, DAMAGED[fault.kind])
                self.struck.add(fault)

    def _plan(self, fault: Fault) -> dict[str, Any] | None:
        if fault.kind in REFUSING:
            return None
        kinds = {"EROFS": ["open", "rename", "remove", "folder"], "EIO": ["sync", "write"],
                 "EMFILE": ["open"], "EACCES": ["open", "rename"]}  # fmt: skip
        operations = kinds.get(fault.kind, ["write"])
        if fault.kind.startswith("SIGKILL"):
            operations = ["rename"]
        at = int(fault.moment * self._of.operations * (2 if len(operations) > 1 else 1))
        rule = {"folder": f"{self._run.folder}/", "operations": operations, "at": at}
        times = 1 if fault.kind.startswith("SIGKILL") else 1 << 40  # else no worker ever gets on
        return rule | {"times": times, "fault": fault.kind}

    def strike(self, process: int, asked: int) -> None:
        """What is done from outside: each in its moment, in the order of the moments."""
        since = time.monotonic()
        outside = (f for f in self._life if f.by in ("asks", "seconds"))
        waiting = [f for f in outside if f.kind not in FLEETING]
        for fault in sorted(waiting, key=lambda fault: fault.moment):
            if not self._wait(process, fault, since, asked):
                return
            if self._done(process, fault):
                self.struck.add(fault)

    def _wait(self, process: int, fault: Fault, since: float, asked: int) -> bool:
        """Waits for the fault's moment; False where the process ends before."""
        asks = asked + fault.moment * max(1, sum(self._of.asks.values()) - asked)
        slower = 1 if self._run.world.executor == "local" else 10
        until = since + fault.moment * self._of.seconds * slower
        while _runs(process):
            if fault.by == "seconds" and time.monotonic() >= until:
                return True
            if fault.by == "asks" and _lines(self._run.folder / "asks") >= asks:
                return True
            time.sleep(0.01)
        return False

    def _done(self, process: int, fault: Fault) -> bool:
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if fault.kind in SIGNALS:
                os.kill(process, getattr(signal, fault.kind))
            elif fault.kind in OUTAGES:
                self._stage.proxy.outage(OUTAGES[fault.kind])
            elif fault.kind == "worker":
                return kill(killing.workers()[:1])
            elif fault.kind == "node":
                return bool(self._node()) if self._node else False
            elif fault.kind == "all":
                whole = psutil.Process(process)
                return kill([whole, *whole.children(recursive=True)])
            else:
                name = {"gcs": "gcs_server", "raylet": "raylet"}[fault.kind]
                children = psutil.Process(process).children(recursive=True)
                return kill([child for child in children if child.name() == name])
            return True
        return False

    def heal(self) -> None:
        """The end of the life: what struck is noted, and nothing strikes any more."""
        for fault in self._life:
            rule = self._rules.get(fault)
            if rule and rule.applied:
                self.struck.add(fault)
            elif fault.by == "operations" and not rule:
                plan = self._plan(fault)
                if plan and self._stage.operations(fault.kind) > plan["at"]:
                    self.struck.add(fault)
        self._stage.heal_disk()
        self._stage.proxy.heal()


def _meets(fault: str) -> Callable[[str, str], bool]:
    methods = {"torn upload": {"PUT", "POST"}, "torn answer": {"GET"}}.get(fault)
    return lambda method, path: methods is None or method in methods


def _lines(file: Path) -> int:
    return file.read_bytes().count(b"\n") if file.exists() else 0


def _runs(process: int) -> bool:
    try:
        return psutil.Process(process).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def kill(processes: list[psutil.Process]) -> bool:
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    return bool(processes)


@contextmanager
def second_node() -> Iterator[tuple[Callable[[], bool], str]]:
    """A Ray with a head and a node beside it: how the node is lost, and Ray's address."""
    from ray.cluster_utils import Cluster

    quick = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}
    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": quick}
    cluster = Cluster(initialize_head=True, head_node_args=head)
    nodes = [cluster.add_node(num_cpus=1)]

    def lose() -> bool:
        """Another joins in its place."""
        (raylet,) = nodes.pop().all_processes["raylet"]
        raylet.process.kill()
        raylet.process.wait()
        nodes.append(cluster.add_node(num_cpus=1))
        return True

    yield lose, cluster.address
    cluster.shutdown()


def is_expected(code: int, struck: set[Fault], usual: Undisturbed) -> bool:
    """A life may end well all the same: a fault may come at its very end."""
    expected = {code for fault in struck for code in CODES.get(fault.kind, ())}
    return code in expected | {usual.code} or any(fault.kind in OF_RAY for fault in struck)
