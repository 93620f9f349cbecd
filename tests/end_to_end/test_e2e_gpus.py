"""Workers with GPUs: Ray is told of some that do not exist, and the scripted model wants none.

Each engine notes, when it is opened, its model, its process and the GPUs that it can see.
"""

import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import evaljudge
from evaljudge.storage import Output
from tests.end_to_end import shared
from tests.end_to_end.scripted_run import noting_engines

pytestmark = pytest.mark.ray

PAUSE = 0.1
Row = dict[str, Any]


class Opened(NamedTuple):
    model: str
    pid: str
    gpus: str


class Desk:
    """A folder with a corpus of several shards, and the engines that were opened for it."""

    def __init__(self, folder: Path) -> None:
        self.out, self.folder = folder / "out", folder

    def run(self, workers: Row, **changes: Any) -> None:
        mine = {"model": "reader", "workers": {"cpus": 0.5} | workers}
        config = shared.config(self.folder, shared.cases(70), **mine | changes)
        asking = noting_engines(self.folder / "asks", PAUSE)
        noting = noting_openings(asking, self.folder / "opened")
        assert evaljudge.run(config, engines=noting).exit_code == 0

    @property
    def opened(self) -> list[Opened]:
        file = self.folder / "opened"
        return [Opened(*line.split()) for line in file.read_text().splitlines()]

    def receipts(self, stage: str) -> list[Row]:
        return list(Output(str(self.out)).receipts(stage))

    def refused(self, workers: Row) -> str:
        """At once, before any engine."""
        before = time.monotonic()
        with pytest.raises(evaljudge.UserError) as refusal:
            self.run(workers)
        assert time.monotonic() - before < 5
        assert not (self.folder / "opened").exists()
        return str(refusal.value)


def noting_openings(engines: Any, log: Path) -> Any:
    """The same engines; their class is local, so that it travels to a worker by value."""

    class NotingOpenings(type(engines)):  # type: ignore[misc]
        def open(self, source: Any, seed: int) -> Any:
            sees = os.environ.get("CUDA_VISIBLE_DEVICES", "unset")
            with log.open("a") as file:
                file.write(f"{source.source} {os.getpid()} {sees}\n")
            return super().open(source, seed)

    return NotingOpenings()


@pytest.fixture(scope="module")
def gpus(request, start_ray):
    """A Ray with so many GPUs, for all tests that want as many; they are of type L4, in zone a."""
    resources = {"accelerator_type:L4": 1} if request.param else {}
    more = {"resources": resources, "labels": {"zone": "a"}}
    with start_ray(num_cpus=4, num_gpus=request.param, **more):
        yield


def on_ray_with(gpus: int) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("gpus", [gpus], indirect=True, ids=[f"{gpus} GPUs"])


@pytest.fixture
def desk(tmp_path, gpus):
    return Desk(tmp_path)


@pytest.mark.long
@on_ray_with(0)
def test_no_gpu_where_one_is_needed_is_said_at_once(desk):
    assert desk.refused({"gpus": 1}).startswith("workers: each worker needs 1 GPU and ")
    elsewhere = desk.refused({"labels": {"zone": "b"}})
    assert "needs 0.5 CPU with zone=b on one node" in elsewhere
    assert elsewhere.endswith("with zone=a")


@pytest.mark.long
@on_ray_with(1)
def test_writer_and_judge_take_turns_on_the_only_gpu(desk):
    desk.run({}, writer="writer")
    assert [(opened.model, opened.gpus) for opened in desk.opened] == [
        ("writer", "0"),
        ("reader", "0"),
    ]
    stages = [ask.stage for ask in shared.asks(desk.folder / "asks")]
    assert stages == sorted(stages, key=["prepare", "judge"].index)


@on_ray_with(2)
@pytest.mark.long
def test_two_workers_have_one_gpu_each(desk, tmp_path_factory):
    zones = [{"zone": "b"}, {"zone": "!in(b, c)"}]
    desk.run({"min": 2, "accelerator_type": "L4", "labels": zones, "memory": 0.1})

    assert sorted(opened.gpus for opened in desk.opened) == ["0", "1"]
    assert len({opened.pid for opened in desk.opened}) == 2
    receipts = desk.receipts("judge")
    assert len({receipt["worker"] for receipt in receipts}) == 2
    assert {receipt["gpus"] for receipt in receipts} == {1}

    without = Desk(tmp_path_factory.mktemp("without"))
    without.run({"gpus": 0})
    assert {receipt["gpus"] for receipt in without.receipts("judge")} == {0}
    assert not shared.differences(shared.tables(desk.out), shared.tables(without.out))
