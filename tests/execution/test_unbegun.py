"""A worker that dies before it can work is given up; Ray would start it for ever."""

import asyncio
import os
import subprocess
import sys
from functools import partial
from typing import Any

import pytest

import evaljudge
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.execution import budget
from evaljudge.execution.ray import board as boards
from evaljudge.execution.ray import executor
from tests import build


def deadly_unpacking(monkeypatch: pytest.MonkeyPatch) -> ScriptedEngines:
    """Engines that end every process but this one as they arrive there, as an import may."""
    here = os.getpid()

    class Deadly(ScriptedEngines):
        def __setstate__(self, state: dict[str, Any]) -> None:
            if os.getpid() != here:
                os._exit(1)
            self.__dict__.update(state)

    return Deadly()


def deadly(worker: str, monkeypatch: pytest.MonkeyPatch) -> ScriptedEngines:
    class Dying:
        def __init__(self, *arguments: object) -> None:
            os._exit(1)

    monkeypatch.setattr(executor, worker, Dying)
    return ScriptedEngines()


@pytest.mark.ray
@pytest.mark.long
@pytest.mark.parametrize(
    "deadly", [deadly_unpacking, partial(deadly, "Worker"), partial(deadly, "Measurer")]
)
def test_given_up_with_what_to_look_at(tmp_path, local_ray, capfd, deadly):
    build.jsonl(tmp_path / "cases.jsonl", [build.document(1)])
    usual = {"judges": {"synthetic": {}}, "metrics": ["importance"], "workers": {"executor": "ray"}}
    config = build.config(tmp_path, **usual)
    told = "died 3 times before it could begin.* in the folder `logs`"
    with pytest.MonkeyPatch.context() as here, pytest.raises(UserError, match=told):
        evaljudge.run(config, engines=deadly(here))
    told = capfd.readouterr().err
    assert "warning: a worker died before it could begin; too little memory" in told
    assert "Traceback" not in told
    config["out"] = str(tmp_path / "well")
    assert evaljudge.run(config, engines=ScriptedEngines()).coverage > 0


def test_what_counts_the_deaths_imports_nothing_that_may_be_their_cause():
    import ray.cloudpickle

    for module in (boards, budget):
        ray.cloudpickle.register_pickle_by_value(module)
    for counting in (boards.Board, boards.CountedWorker):
        packed = ray.cloudpickle.dumps(counting)
        read = "import sys; sys.modules['evaljudge'] = None; import ray.cloudpickle as p; "
        code = f"{read}print(p.loads({packed!r}).__name__)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout == f"{counting.__name__}\n", done.stderr


def test_deaths_are_counted_by_actor_and_only_on_nodes_that_are_up(monkeypatch):
    nodes = [{"NodeID": "n", "Alive": True}, {"NodeID": "gone", "Alive": False}]
    monkeypatch.setattr("ray.nodes", lambda: nodes)
    board = boards.Board(may_copy=True)

    async def begin() -> None:
        deaths = [
            await board.begins("a", f"w{n}", at) for n, at in enumerate(["n", "gone", "n", "n"])
        ]
        assert deaths == [0, 1, 1, 2]
        _, _, events, *_ = await board.told(frozenset({"n"}), frozenset(), False)
        assert events == [("died",)] * 2  # w0 and w2: the machine of w1 is gone
        assert await board.begins("another", "w", "n") == 0
        await board.has_begun("a")
        assert await board.begins("a", "w4", "n") == 0

    asyncio.run(begin())
