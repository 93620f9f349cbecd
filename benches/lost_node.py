"""A node is lost with shards in hand: how long the run then takes, and whether anything changes.

    python benches/lost_node.py [--seeds N]             (default: 10)

Three of Ray's workers, each on a node of its own, share a run on a scripted model, whose engine
takes the same time for each question. For each seed a node is lost, late in the run and never to
return: its raylet is killed. What is left to ask at this moment, at the pace of the workers that
are left, is the time that the rest would take if no worker ever waited; the tail is what it takes
beyond that. The tail of the undisturbed run is taken from the same moment. Prints both in seconds
and as multiples of the time that one shard takes in a worker, and writes benches/lost_node.json.
"""

import argparse
import asyncio
import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

from figures import HERE, keep

sys.path.insert(0, str(HERE.parent))

from evaljudge.storage import Output
from tests.end_to_end import shared

DOCUMENTS, NODES, EACH = 144, 3, 0.04
"""The engine takes EACH seconds for a question, one after the other."""
QUICK = {"health_check_period_ms": 500, "health_check_failure_threshold": 4}


def run(config: str, log: str) -> None:
    """The driver: notes each question when it is answered."""
    import evaljudge
    from evaljudge.engines.scripted import Scripted, ScriptedEngines

    class Paced(Scripted):
        async def _paced(self, prompts: Any) -> None:
            self.__dict__.setdefault("turn", asyncio.Lock())
            for prompt in prompts:
                async with self.__dict__["turn"]:
                    await asyncio.sleep(EACH)
                line = f"{time.time()} {os.getpid()} {hash_of(prompt.text)}\n"
                with open(log, "a") as noted:
                    noted.write(line)

        async def write(self, prompts: Any, how: Any) -> Any:
            await self._paced(prompts)
            return await super().write(prompts, how)

        async def choose(self, prompts: Any, options: Any, samples: int = 0) -> Any:
            await self._paced(prompts)
            return await super().choose(prompts, options, samples)

    evaljudge.run(config, progress=False, engines=ScriptedEngines(Paced))


def hash_of(text: str) -> str:
    import hashlib

    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@dataclass(frozen=True)
class Answer:
    at: float
    worker: str
    question: str


def answers(log: Path) -> list[Answer]:
    rows = log.read_text().splitlines() if log.exists() else []
    return [Answer(float(at), worker, question) for at, worker, question in map(str.split, rows)]


@contextmanager
def cluster() -> Iterator[tuple[str, list[Any]]]:
    """The address, and the nodes that may be lost."""
    from ray.cluster_utils import Cluster

    head = {"num_cpus": 1, "include_dashboard": False, "_system_config": QUICK}
    made = Cluster(initialize_head=True, head_node_args=head)
    nodes = [made.add_node(num_cpus=1) for _ in range(NODES - 1)]
    yield made.address, nodes
    made.shutdown()


def lived(folder: Path, moment: float | None, total: int) -> tuple[list[Answer], float]:
    """What was answered in a run whose node is lost after this share of all questions, and when."""
    folder.mkdir()
    workers = {"min": NODES, "max": NODES, "cpus": 1}
    config = shared.config(folder, shared.cases(DOCUMENTS), workers=workers)
    (folder / "config.json").write_text(json.dumps(config))
    log, lost_at = folder / "asks", float("inf")
    with cluster() as (address, nodes):
        environment = os.environ | {"RAY_ADDRESS": address}
        command = [sys.executable, __file__, "--run", str(folder / "config.json"), str(log)]
        driver = subprocess.Popen(command, env=environment)
        while driver.poll() is None:
            if moment is not None and len(answers(log)) >= moment * total:
                (raylet,) = nodes.pop().all_processes["raylet"]
                raylet.process.kill()
                lost_at, moment = time.time(), None
            time.sleep(0.05)
        assert driver.returncode == 0
    return answers(log), lost_at


def committed(folder: Path) -> list[float]:
    """How long each shard took, both stages together."""
    output = Output(str(folder / "out"))
    return [sum(r["seconds"] for r in output.receipts_of(shard)) for shard in output.shards()]


def tail(given: Sequence[Answer], since: float, workers: int, pace: float) -> float:
    """Seconds from `since` on, less those that the questions left then take at this pace. What only
    a worker that is lost has answered is left."""
    after = [answer for answer in given if answer.at > since]
    living = {answer.worker for answer in after if answer.at > since + 1}
    known = {answer.question for answer in given if answer.at <= since and answer.worker in living}
    left = {answer.question for answer in after} - known
    return given[-1].at - since - len(left) / (pace * workers)


def main(seeds: int) -> None:
    figures = list[Mapping[str, float]]()
    with tempfile.TemporaryDirectory() as temporary:
        place = Path(temporary)
        whole, _ = lived(place / "whole", None, 0)
        tables = shared.lasting(place / "whole/out")
        total = len({answer.question for answer in whole})
        pace = total / (whole[-1].at - whole[0].at) / NODES
        shard = mean(committed(place / "whole"))
        print(f"{total} questions, {pace:.1f} a second and worker; a shard takes {shard:.1f} s")
        for seed in range(seeds):
            moment = random.Random(seed).uniform(0.5, 0.95)
            folder = place / f"{seed}"
            seen, lost_at = lived(folder, moment, total)
            changed = len(shared.differences(shared.lasting(folder / "out"), tables))
            same_moment = whole[int(moment * total)].at
            row = {
                "seed": seed,
                "lost_after": round(moment, 2),
                "tail": round(tail(seen, lost_at, NODES - 1, pace), 1),
                "undisturbed": round(tail(whole, same_moment, NODES, pace), 1),
                "asked_again": len(seen) - len({answer.question for answer in seen}),
                "changed_tables": changed,
            }
            figures.append(row)
            print(f"{row}; the tail is {row['tail'] / shard:.2f} shards' time", flush=True)
            of_all = {"shard_seconds": round(shard, 1), "pace": round(pace, 1)}
            keep("lost_node", of_all | {"runs": figures})


if __name__ == "__main__":
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--seeds", type=int, default=10)
    given.add_argument("--run", nargs=2)
    options = given.parse_args()
    if options.run:
        run(*options.run)
    else:
        main(options.seeds)
