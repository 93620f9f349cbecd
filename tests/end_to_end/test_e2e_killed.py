"""Killed with kill -9 at 22 seeded random moments, and resumed: as if nothing had happened.

A chain is one run that is killed again and again until it is let through, most of them on S3 over
HTTP, one on a local folder. Each moment is so many asks after the last, drawn from those that the
work still left would take. A worker that is killed is replaced by the run
itself; a driver, alone or with all of its Ray, by starting the same command again.
"""

import json
import random
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import evaljudge

pytestmark = pytest.mark.ray

ASKS_OF = {"prepare": 24 * 5, "judge": 24 * 3 * 5}
ASKS = sum(ASKS_OF.values())
"""Of a run that nobody disturbs."""
PAUSE = 0.5
"""Seconds that the scripted model takes for an ask, on average."""


@dataclass(frozen=True)
class Chain:
    victims: tuple[str, ...] = ()
    own_ray: bool = False
    """Each driver starts a Ray, as on a laptop; else all use one that stays, as on a cluster."""
    workers: int = 1
    writer: str | None = None
    on_s3: bool = True


CHAINS = {
    "own ray": Chain(("all", "all", "driver"), own_ray=True),
    "one worker": Chain(("worker", "driver", "worker", "worker", "driver", "driver")),
    "two workers": Chain(
        ("driver", "worker", "worker", "driver", "worker", "worker"), workers=2, on_s3=False
    ),
    "short": Chain(("worker", "driver")),
    "two models": Chain(("worker", "driver", "worker", "driver", "driver"), writer="another"),
}


def test_that_there_are_twenty_moments_and_two() -> None:
    assert sum(len(chain.victims) for chain in CHAINS.values()) == 22


@dataclass(frozen=True)
class Moment:
    """What stood when a kill had done its work: asks so far, and each stage's committed shards."""

    victim: str
    asks: int
    committed: dict[str, set[int]]


class Run:
    """A chain's folder, its log of asks, and the command that works on it."""

    def __init__(
        self, folder: Path, chain: Chain, ray: str, e2e: SimpleNamespace, killing: ModuleType,
        bucket: Any,
    ) -> None:  # fmt: skip
        self._out, self.log, self._e2e = folder / "out", folder / "asks", e2e
        self._bucket, self._prefix = (bucket if chain.on_s3 else None), f"{folder.name}/out"
        corpus = e2e.write_cases(folder / "cases.jsonl", e2e.cases(24))
        best = {"scorer": "synthetic.level", "axis": "coherence", "top_fraction": 0.25}
        self.config = config = {
            "corpus": corpus,
            "out": f"{bucket.uri}/{self._prefix}" if chain.on_s3 else str(self._out),
            "axes": ["coherence"],
            "model": "scripted",
            "writer": chain.writer,
            "judges": {"synthetic": {"checks": {"neighbours": 0, "exchanged": 0}}},
            "metrics": ["words"],
            "select": [{"name": "best", "all": [best]}],
            "workers": {"min": chain.workers, "cpus": 0.5, "executor": "ray"},
        }
        (folder / "config.json").write_text(json.dumps(config))
        command = [sys.executable, e2e.script, "config.json", self.log, PAUSE * chain.workers]
        where = {} if chain.own_ray else {"RAY_ADDRESS": ray}
        self.command = killing.Command(command, folder, self._out, where, self.files)

    def files(self) -> set[str]:
        if self._bucket is None:
            return set(self._e2e.files(self._out))
        start = f"{self._prefix}/"
        return {key.removeprefix(start) for key in self._bucket.keys(start)}

    @property
    def out(self) -> Path:
        """The output folder, or a copy of what it holds now."""
        if self._bucket is None:
            return self._out
        shutil.rmtree(self._out, ignore_errors=True)
        self._out.mkdir()
        return Path(self._bucket.download(self._prefix, self._out))

    def left(self, committed: dict[str, set[int]]) -> float:
        """How many asks a run has to go that begins with so much committed."""
        cut = sum(name.startswith("cases/") for name in self.files())
        done = {stage: len(committed[stage]) / cut for stage in ("prepare", "judge")} if cut else {}
        return sum(asks * (1 - done.get(stage, 0)) for stage, asks in ASKS_OF.items())

    @property
    def asks(self) -> list[Any]:
        return self._e2e.asks(self.log)

    def start(self) -> None:
        before = len(self.asks)
        self.command.start()
        self._wait_for_more(before)

    def kill(self, victim: str) -> Moment:
        self.command.kill(victim)
        return Moment(victim, len(self.asks), self.command.committed())

    def go_on(self, after: Moment) -> None:
        if after.victim == "worker":
            self._wait_for_more(after.asks)
        else:
            self.start()

    def wait_for_asks(self, wanted: float) -> None:
        self.command.wait_until(
            lambda: len(self.asks) >= wanted or self.command.ended, f"{wanted} asks"
        )

    def _wait_for_more(self, asks: int) -> None:
        """Until something is asked, if anything is left to ask."""
        if self.left(self.command.committed()):
            self.command.wait_until(lambda: len(self.asks) > asks, "an ask")


@pytest.fixture(scope="module", autouse=True)
def adopting(killing: ModuleType) -> Iterator[None]:
    with killing.adopting():
        yield


@pytest.fixture(scope="module")
def own_ray(adopting: None, start_ray: Any) -> Iterator[None]:
    """Not the one that other tests share: what is adopted is killed in the end."""
    with start_ray(num_cpus=4):
        yield


@pytest.fixture(scope="module")
def begin(
    tmp_path_factory: pytest.TempPathFactory,
    adopting: None,
    s3_of_module: Any,
    own_ray: None,
    e2e: SimpleNamespace,
    killing: ModuleType,
) -> Callable[[Chain], Run]:
    import ray

    address = ray.get_runtime_context().gcs_address
    folder = partial(tmp_path_factory.mktemp, "run")
    return lambda chain: Run(folder(), chain, address, e2e, killing, s3_of_module)


@pytest.fixture(scope="module")
def uninterrupted(
    begin: Callable[[Chain], Run], e2e: SimpleNamespace
) -> Callable[[str | None], dict[str, Any]]:
    """What a run comes to that nobody disturbs, in this process; one for each writer."""

    @cache
    def of(writer: str | None) -> dict[str, Any]:
        run = begin(Chain(writer=writer, on_s3=False))
        engines = e2e.noting_engines(run.log)
        config = run.config | {"workers": {"executor": "local"}}
        evaljudge.run(config, engines=engines)
        prompts = [ask.prompt for ask in run.asks]
        assert len(prompts) == len(set(prompts)) == ASKS
        tables: dict[str, Any] = e2e.tables(run.out)
        return tables

    return of


LONG = ("own ray", "one worker", "two workers", "two models")
"""A worker and a driver are killed in every `make test`, twenty more in `make test-all`."""


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.long if n in LONG else ()) for n in CHAINS]
)
def test_a_run_killed_again_and_again_ends_like_one_that_was_not(
    name: str, begin: Callable[[Chain], Run], uninterrupted: Any, e2e: SimpleNamespace
) -> None:
    chain = CHAINS[name]
    expected = uninterrupted(chain.writer)
    run = begin(chain)

    moments = list(killed(run, chain.victims, random.Random(name)))

    out = run.out
    assert not e2e.differences(e2e.tables(out), expected)
    assert run.files() == e2e.contract(out, ("best",))
    assert any(moment.committed["prepare"] for moment in moments), "all were too early"
    assert len(run.asks) > ASKS, "nothing was ever lost"
    for moment, again in zip(moments, repeated(run, moments), strict=True):
        commits = {stage: len(numbers) for stage, numbers in moment.committed.items()}
        print(f"{name}: {moment.victim} after {moment.asks} asks, {commits}; {again} asked again")


def killed(run: Run, victims: Iterable[str], draw: random.Random) -> Iterator[Moment]:
    """Kill each victim somewhere in the asks that the last one left, then let the run end.

    Not in their last part: asks come in bursts, a whole case at once, and the moment must not be
    after the end.
    """
    run.start()
    moment = Moment("", 0, {"prepare": set(), "judge": set()})
    for victim in victims:
        run.wait_for_asks(moment.asks + draw.uniform(0, 0.6 * run.left(moment.committed)))
        moment = run.kill(victim)
        yield moment
        run.go_on(moment)
    run.command.end()


def repeated(run: Run, moments: Iterable[Moment]) -> Iterator[int]:
    """What was asked again after each kill: of the shards only that were not committed then."""
    home = homes(run.out)
    for moment in moments:
        before = {ask.prompt for ask in run.asks[: moment.asks]}
        again = {ask for ask in run.asks[moment.asks :] if ask.prompt in before}
        assert not {a for a in again if home[a.document] in moment.committed[a.stage]}, moment
        yield len(again)


def homes(out: Path) -> dict[str, int]:
    """The shard in which each document lies, by its number in the source."""
    import pyarrow.parquet as pq

    return {
        doc_id.removeprefix("d"): int(file.stem)
        for file in (out / "cases").glob("*.parquet")
        for doc_id in pq.read_table(file, columns=["doc_id"])["doc_id"].to_pylist()
    }
