"""Runs that are harmed in many ways come to what an undisturbed run comes to (benches/chaos.py).

Each fault is tested alone on a small world, and twelve seeds as they are drawn. The bench has
hundreds more, and tells how to run a seed alone.
"""

import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.service, pytest.mark.long]

BENCHES = Path(__file__).parents[2] / "benches"
SMALL: dict[str, Any] = {
    "cases": 3, "systems": "AB", "axes": ("coherence",), "oddities": (), "judges": 0,
    "writer": None, "metrics": ("words",), "selects": True, "briefs_elsewhere": False,
    "workers": 1, "executor": "local",
}  # fmt: skip


@pytest.fixture(scope="module")
def chaos():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHES))
        yield import_module("chaos_run")


@pytest.fixture(scope="module")
def stage(chaos, tmp_path_factory):
    with import_module("chaos_stage").staged(tmp_path_factory.mktemp("chaos")) as stage:
        yield stage


def survived(chaos: Any, stage: Any, storage: str, *faults: tuple[str, float, str]) -> Any:
    """One life with these faults, each of which has to strike."""
    worlds = import_module("chaos_worlds")
    life = tuple(worlds.Fault(*fault, 0.2) for fault in faults)
    outcome = chaos.survive(stage, worlds.World(**SMALL, storage=storage), [life])
    assert outcome.is_well, outcome
    assert all(one["struck"] for one in outcome.faults), outcome
    return outcome


@pytest.mark.parametrize(("error", "moment"), [("ENOSPC", 0.6), ("EIO", 0.9)])
def test_a_disk_that_fails(error, moment, chaos, stage):
    survived(chaos, stage, "disk", (error, moment, "operations"))


@pytest.mark.parametrize("refusal", ["denied", "full"])
def test_a_bucket_that_refuses(refusal, chaos, stage):
    survived(chaos, stage, "s3", (refusal, 0.4, "operations"))


@pytest.mark.parametrize(
    "faults",
    [("error", "slow down"), ("reset before", "reset after"), ("torn upload", "torn answer")],
    ids=" and ".join,
)
def test_a_bucket_that_fails_now_and_then(faults, chaos, stage):
    outcome = survived(chaos, stage, "s3", *((fault, 0.0, "asks") for fault in faults))
    assert not outcome.repeated


@pytest.mark.parametrize(("outage", "repeats"), [("outage", True), ("short outage", False)])
def test_a_bucket_out_of_reach(outage, repeats, chaos, stage):
    outcome = survived(chaos, stage, "s3", (outage, 0.5, "asks"))
    assert repeats or not outcome.repeated


@pytest.mark.parametrize(("storage", "kinds"), [("disk", 6), ("s3", 2)])
def test_files_damaged_between_two_lives(storage, kinds, chaos, stage):
    worlds = import_module("chaos_worlds")
    world = worlds.World(**SMALL, storage=storage)
    killed = worlds.Fault("SIGKILL", 0.9, "asks")
    damages = worlds.DAMAGES[-kinds:]
    lives = [(killed,), *((worlds.Fault(kind, 0.4, "files"),) for kind in damages)]
    outcome = chaos.survive(stage, world, lives)
    assert outcome.is_well, outcome
    assert all(one["struck"] for one in outcome.faults), outcome


@pytest.mark.parametrize("seed", range(12))
def test_a_world_that_is_drawn(seed, chaos, stage):
    outcome = chaos.run_seed(stage, seed, "local")
    assert outcome.is_well, f"again: python benches/chaos.py --only {seed} --executor local"


def test_a_real_disk_that_is_full(chaos, stage, small_disk, tmp_path):
    world = import_module("chaos_worlds").World(**SMALL | {"cases": 12}, storage="disk")
    run = import_module("chaos_stage").Run(stage, world, tmp_path / "run")
    (run.folder / "out").symlink_to(small_disk)

    assert run.once() == 2

    said = run.complained().splitlines()
    (line,) = [line for line in said if line.startswith("evaljudge: ")]
    assert line.startswith(f"evaljudge: {run.folder}/out/"), line
    assert "Traceback" not in run.complained()
    assert line.endswith("(No space left on device): free space there, then run it again"), line
    assert not run.half_written()
    subprocess.run(["mount", "-o", "remount,size=16m", str(small_disk)], check=True)
    assert run.once() == 0
    undisturbed = stage.undisturbed(world)
    assert not chaos.shared.differences(run.tables(), undisturbed.tables)
    assert set(run.files()) == run.contract(iter(undisturbed.patterns))


@pytest.mark.ray
@pytest.mark.parametrize("executor", ["ray", "second node"])
def test_a_world_on_ray(executor, chaos, stage):
    outcome = chaos.run_seed(stage, 0, executor)
    assert outcome.is_well, f"again: python benches/chaos.py --only 0 --executor {executor!r}"
