"""Killed with kill -9 and resumed, as if nothing had happened: moment x stage x executor.

A run is killed at every moment of the matrix, one after the other, and let through after the last.
A worker that is killed is replaced by the run itself; a driver, alone or with all of its Ray, by
starting the same command again.
"""

import json
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from tests.end_to_end import killing, shared
from tests.end_to_end.scripted_run import noting_engines
from tests.tiny import make_tiny_model

CASES = 128
"""Two in each shard."""
ASKS_OF = {"prepare": CASES * 5, "judge": CASES * 3 * 5}
"""Of a run that nobody disturbs."""
MOMENTS = [("prepare", 0.05), ("prepare", 0.7), ("judge", 0.05), ("judge", 0.7), ("judge", 1.0)]
"""The stage, and the share of its questions that were asked when somebody is killed."""
EVERY = 0.1
"""Seconds after which what is done of a shard is saved."""
PAUSE = 0.3
"""Seconds that the scripted model takes for an ask, on average."""
PROSE = Path(__file__).parents[1] / "prose.jsonl"


@dataclass(frozen=True)
class Chain:
    victims: tuple[str, ...]
    """Who is killed at each of the moments; of three, in the middle ones."""
    executor: str = "ray"
    own_ray: bool = False
    """Each driver starts a Ray, as on a laptop; else all use one that stays, as on a cluster."""
    workers: int = 1
    writer: str | None = None
    on_s3: bool = False


CHAINS = {
    "in its own process": Chain(("driver",) * 3, "local"),
    "one worker": Chain(("worker", "driver", "worker", "driver", "driver"), on_s3=True),
    "own ray": Chain(("all", "driver", "all", "driver", "all"), own_ray=True),
    "two workers": Chain(("driver", "worker", "worker", "worker", "driver"), workers=2),
    "two models": Chain(("worker", "driver", "driver", "worker", "all"), writer="another"),
}
MARKS: dict[str, Any] = {"in its own process": pytest.mark.service} | {
    name: [pytest.mark.ray, pytest.mark.long] for name in list(CHAINS)[1:]
}


class Run(killing.Run):
    def __init__(self, folder: Path, chain: Chain, ray: str, bucket: Any) -> None:
        best = {"scorer": "synthetic.level", "axis": "coherence", "top_fraction": 0.25}
        on_ray = {"min": chain.workers, "cpus": 0.5} if chain.executor == "ray" else {}
        where = {} if chain.own_ray or chain.executor == "local" else {"RAY_ADDRESS": ray}
        where |= {"WITH_PROGRESS": "1"}
        super().__init__(
            folder, shared.cases(CASES), PAUSE * chain.workers, where, bucket,
            writer=chain.writer, commit_every=EVERY,
            judges={"synthetic": {"checks": shared.NONE}}, metrics=["words"],
            select=[{"name": "best", "all": [best]}],
            workers={"executor": chain.executor} | on_ray,
        )  # fmt: skip

    def kill_at(
        self, stage: str, share: float, victim: str
    ) -> tuple[int, dict[str, set[int]], set[tuple[str, str]]]:
        """How much was asked then, the shards of each stage that were committed, and what was saved
        of others; while other workers go on, that is no moment's."""
        wanted = share * ASKS_OF[stage]
        self.command.wait_until(
            lambda: len({ask.prompt for ask in self.asks if ask.stage == stage}) >= wanted,
            f"{wanted} asks of {stage}",
        )
        self.command.kill(victim)
        committed = self.command.committed()
        asked, saved = len(self.asks), set[tuple[str, str]]()
        if victim != "worker":
            saved = saved_of(self.out)
            self.command.start()
        return asked, committed, saved


@pytest.fixture(scope="module", autouse=True)
def adopting():
    with killing.adopting():
        yield


@pytest.fixture(scope="module")
def own_ray(adopting, s3_of_module, start_ray):
    """Not the one that other tests share: what is adopted is killed in the end. The bucket comes
    first, so that its workers know it."""
    with start_ray(num_cpus=4):
        import ray

        yield ray.get_runtime_context().gcs_address


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """What a run comes to, in this process; one for each writer."""

    @cache
    def of(writer: str | None) -> dict[str, Any]:
        chain = Chain((), "local", writer=writer)
        run = Run(tmp_path_factory.mktemp("whole"), chain, "", None)
        evaljudge.run(run.config, engines=noting_engines(run.log))
        prompts = [ask.prompt for ask in run.asks]
        assert len(prompts) == len(set(prompts)) == sum(ASKS_OF.values())
        return dict(shared.tables(run.out))

    return of


@pytest.mark.parametrize("name", [pytest.param(name, marks=MARKS[name]) for name in CHAINS])
def test_a_run_killed_at_every_moment_ends_like_one_that_was_not(
    name, tmp_path, undisturbed, request
):
    chain = CHAINS[name]
    address = request.getfixturevalue("own_ray") if chain.executor == "ray" else ""
    bucket = request.getfixturevalue("s3_of_module") if chain.on_s3 else None
    run = Run(tmp_path, chain, address, bucket)
    run.command.start()
    moments = MOMENTS if len(chain.victims) > 3 else MOMENTS[1:4]
    killed = [run.kill_at(*at, victim) for at, victim in zip(moments, chain.victims, strict=True)]
    run.command.end()

    out, asks = run.out, run.asks
    died = (tmp_path / "said").read_text().count("a worker died at ")
    assert died or "worker" not in chain.victims
    assert not shared.differences(shared.tables(out), undisturbed(chain.writer))
    assert run.files() == shared.contract(out, ("best",))
    assert any(committed["prepare"] for _, committed, _ in killed), "all were too early"
    assert any(saved for _, _, saved in killed), "nothing was ever saved"
    assert len(asks) > sum(ASKS_OF.values()), "nothing was ever lost"
    home = homes(out)
    for asked, committed, saved in killed:  # nothing of a committed shard is asked again
        before = {ask.prompt for ask in asks[:asked]}
        again = {ask for ask in asks[asked:] if ask.prompt in before}
        assert not {a for a in again if home[a.document] in committed[a.stage]}
        assert not {a for a in again if (a.stage, a.document) in saved}
        print(f"{name}: after {asked} asks, {len(again)} asked again, {len(saved)} were saved")


def saved_of(out: Path) -> set[tuple[str, str]]:
    """Each stage and document, by its number, of which something lies in `partial/`."""
    found = set[tuple[str, str]]()
    for file in out.glob("partial/*/[!.]*.json"):
        stage, saved = file.parent.name.partition("-")[0], json.loads(file.read_text())["results"]
        found |= {(stage, document.removeprefix("d")) for document in saved}
    return found


def homes(out: Path) -> dict[str, int]:
    """The shard in which each document lies, by its number in the source."""
    import pyarrow.parquet as pq

    return {
        doc_id.removeprefix("d"): int(file.stem)
        for file in (out / "cases").glob("*.parquet")
        for doc_id in pq.read_table(file, columns=["doc_id"])["doc_id"].to_pylist()
    }


@pytest.mark.long
@pytest.mark.engine
@pytest.mark.parametrize(
    ("executor", "victim"), [("local", "driver"), pytest.param("ray", "all", marks=pytest.mark.ray)]
)
def test_the_real_engine_killed_leaves_nothing_running_and_loses_nothing(
    executor, victim, tmp_path
):
    """That nothing changes is tested above to the last digit; sums of floats of a real engine may
    depend on the batch, which a kill changes."""
    lines = PROSE.read_text(encoding="utf-8").splitlines()
    rows = [
        row | {"doc_id": f"{row['doc_id']}-{n}", "source": f"Edition {n}. {row['source']}"}
        for n in range(8)
        for row in map(json.loads, lines)
    ]
    config = {
        "corpus": shared.write_cases(tmp_path / "cases.jsonl", rows),
        "out": str(tmp_path / "out"),
        "axes": ["coherence"],
        "model": {
            "source": str(make_tiny_model(tmp_path / "model", lines)),
            "engine": {"kv_cache_memory_bytes": 1 << 27},
            "least_mass": 0,
        },
        "workers": {"executor": executor},
    }
    (tmp_path / "config.json").write_text(json.dumps(config))
    line = [sys.executable, "-m", "evaljudge", "run", "config.json"]
    command = killing.Command(line, tmp_path, tmp_path / "out", {})
    command.start()
    command.wait_until(lambda: bool(command.committed()["prepare"]), "a commit")
    command.kill(victim)
    assert len(command.committed()["judge"]) < 8, "too late to lose anything"
    command.start()
    command.end()
    scores = [json.loads(row) for row in shared.tables(tmp_path / "out")["scores"]]
    texts = {(row["doc_id"], c["system"]) for row in rows for c in row["candidates"]}
    assert {(row["doc_id"], row["system"]) for row in scores} == texts
    assert len(scores) == len({(r["doc_id"], r["system"], r["scorer"]) for r in scores})
    assert shared.files(tmp_path / "out") == shared.contract(tmp_path / "out")
    command.wait_until(lambda: not killing.workers(), "the end of every engine")
