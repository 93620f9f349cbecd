"""Who gets which order, and whose work counts: decided without Ray."""

import asyncio
import random
from itertools import count

import pytest

from evaljudge.execution.ray.board import Board, Taken

BOTH = ["prepare", "judge"]
UP = frozenset({"here", "there"})


class Bench:
    """A board with some orders, asked at once or not at all."""

    def __init__(self, *stages: list[str], may_copy: bool = True) -> None:
        self.board, self.tickets = Board(may_copy), count(1)
        self.orders = [(n, each, f"order {n}") for n, each in enumerate(stages)]

    async def give(self) -> None:
        name, *_ = await self.board.told(UP, frozenset(), False)
        await self.board.give("one that was lost", self.orders, False, True)
        await self.board.give(name, self.orders, False, True)
        await self.board.give(name, [], True, False)  # sent before, and on its way for longer

    async def take(self, worker: str, node: str = "here", ticket: int = 0) -> Taken | str:
        """`waits` where it would wait, `over` where its turn is over."""
        asked = (worker, f"actor of {worker}", node, ticket or next(self.tickets))
        taking = asyncio.create_task(self.board.take(*asked))
        await asyncio.sleep(0)
        if not taking.done():
            taking.cancel()
            return "waits"
        return Taken(*taking.result()) if taking.result() else "over"

    async def shard(self, worker: str, node: str = "here") -> int | str:
        taken = await self.take(worker, node)
        return taken if isinstance(taken, str) else taken.shard

    async def commit(self, worker: str, shard: int, stage: str) -> bool:
        if await self.board.may_commit(worker, shard, stage) is None:
            return False
        await self.board.committed(worker, {"shard": shard, "stage": stage})
        return True

    async def receipts(self, up: frozenset[str] = UP) -> list[tuple[int, str]]:
        _, _, _, receipts, *_ = await self.board.told(up, frozenset(), False)
        return [(receipt["shard"], receipt["stage"]) for receipt in receipts]


@pytest.fixture(autouse=True)
def nodes(monkeypatch):
    monkeypatch.setattr("ray.nodes", lambda: [{"NodeID": n, "Alive": True} for n in UP])


async def test_what_a_dead_worker_had_is_next():
    bench = Bench(BOTH, BOTH, BOTH)
    await bench.give()
    await bench.board.begins("actor", "w1", "here")
    assert [await bench.shard("w1"), await bench.shard("w2")] == [0, 1]
    await bench.board.begins("actor", "w1 again", "here")
    assert [await bench.shard("w2"), await bench.shard("w1 again")] == [0, 2]
    assert not await bench.commit("w1", 0, "prepare")  # it is not dead at all, but too late
    assert await bench.take("w1") == "over"


async def test_the_driver_hears_of_a_worker_that_died_with_shards_in_hand():
    bench = Bench(BOTH, BOTH, BOTH)
    await bench.give()
    for worker in ("w1", "w2"):
        await bench.board.begins(f"actor of {worker}", worker, "here")
    assert [await bench.shard(w) for w in ("w1", "w2", "w2")] == [0, 1, 2]
    await bench.commit("w2", 1, "prepare")
    for worker in ("w1", "w2", "idle"):
        await bench.board.begins(f"actor of {worker}", f"{worker} again", "here")
    _, _, events, *_ = await bench.board.told(UP, frozenset(), False)
    assert events == [("died", "prepare", 0, 1), ("died", "judge", 1, 2)]


async def test_what_a_lost_node_had_is_next_and_a_node_that_is_to_go_gets_nothing():
    bench = Bench(BOTH, BOTH)
    await bench.give()
    assert await bench.shard("w1", "there") == 0
    await bench.board.told(UP, frozenset({"here"}), False)
    assert await bench.take("w2", "here") == "waits"
    await bench.board.told(frozenset({"here"}), frozenset(), False)
    assert [await bench.shard("w2", "here"), await bench.shard("w3", "here")] == [0, 1]


async def test_a_worker_whose_node_is_to_go_is_told():
    bench = Bench(BOTH, BOTH)
    await bench.give()
    assert [await bench.shard("w1"), await bench.shard("w2", "there")] == [0, 1]
    told = [asyncio.create_task(bench.board.notice(worker)) for worker in ("w1", "w2")]
    for draining, are_told in ((set[str](), [False, False]), ({"there"}, [False, True])):
        await bench.board.told(UP, frozenset(draining), False)
        await asyncio.sleep(0.01)
        assert [task.done() for task in told] == are_told
    told[0].cancel()


async def test_who_has_nothing_else_to_do_gets_copies_of_the_oldest():
    bench = Bench(BOTH, BOTH, BOTH)
    await bench.give()
    assert [await bench.shard(w) for w in ("w1", "w1", "w2")] == [0, 1, 2]
    assert await bench.take("w2") == "waits"  # it has a shard of its own
    first, second = await bench.take("w3"), await bench.take("w3")
    assert (first, second) == (
        (0, BOTH, "order 0", False, True),
        (1, BOTH, "order 1", False, True),
    )
    assert await bench.shard("w4") == 2
    assert await bench.take("w5") == "over"


async def test_there_are_no_copies_where_none_are_wanted_nor_of_what_kills():
    bench = Bench(BOTH, may_copy=False)
    await bench.give()
    assert [await bench.shard("w1"), await bench.take("w2")] == [0, "over"]
    bench = Bench(BOTH)
    await bench.give()
    await bench.board.begins("actor", "w1", "here")
    assert await bench.shard("w1") == 0
    await bench.board.begins("actor", "w2", "here")
    assert [await bench.shard("w2"), await bench.take("w3")] == [0, "waits"]


async def test_of_two_the_first_that_asks_commits_and_the_other_drops_it():
    bench = Bench(BOTH)
    await bench.give()
    assert [await bench.shard("w1"), await bench.shard("w2")] == [0, 0]
    lost = asyncio.create_task(bench.board.lost("w1", 0))
    await bench.board.post("w1", [("cases", "prepare", 0, 7, 0.0)])
    repeated = await bench.board.may_commit("w2", 0, "prepare")
    assert repeated == {"copies": 1, "cases": 7, "seconds": 0.0}
    await asyncio.wait_for(lost, 1)
    assert not await bench.commit("w1", 0, "prepare")
    asked = asyncio.create_task(bench.board.take("w1", "actor", "here", 99))
    await asyncio.sleep(0)
    assert not asked.done()  # while somebody writes, nobody else begins
    await bench.board.committed("w2", {"shard": 0, "stage": "prepare"})
    assert await asked == (0, ["judge"], "order 0", False, True)
    assert await bench.take("w3") == "over"
    assert await bench.commit("w1", 0, "judge")
    assert not await bench.commit("w2", 0, "judge")
    assert await bench.receipts() == [(0, "prepare"), (0, "judge")]
    assert [await bench.take("w1"), await bench.take("w2")] == ["over", "over"]


async def test_another_may_commit_once_the_one_that_was_to_is_dead():
    bench = Bench(BOTH)
    await bench.give()
    assert [await bench.shard("w1", "there"), await bench.shard("w2")] == [0, 0]
    assert await bench.board.may_commit("w1", 0, "prepare") is not None
    await bench.receipts(frozenset({"here"}))
    assert await bench.shard("w2") == 0
    assert await bench.commit("w2", 0, "prepare")


async def test_a_call_that_ray_sends_twice_gives_the_same_order():
    bench = Bench(BOTH, BOTH)
    await bench.give()
    assert await bench.take("w1", ticket=7) == await bench.take("w1", ticket=7)
    assert await bench.shard("w2") == 1
    for _ in range(2):
        assert await bench.board.begins("actor", "w3", "here") == 0
        assert await bench.board.may_commit("w1", 0, "prepare") == {}


async def test_who_is_to_end_gets_nothing_more_and_is_told_when_it_has_nothing():
    bench = Bench(["judge"], ["judge"])
    await bench.give()
    assert await bench.shard("w1") == 0
    leaving = asyncio.create_task(bench.board.leaves("w1"))
    await asyncio.sleep(0)
    assert await bench.take("w1") == "waits"
    assert not leaving.done()
    assert await bench.commit("w1", 0, "judge")
    await asyncio.wait_for(leaving, 1)


@pytest.mark.parametrize("seed", range(4))
async def test_whoever_dies_each_stage_is_committed_once(seed):
    """Workers that work for a random time, do not notice that they lost, and die at random."""
    draw = random.Random(seed)
    left = {shard: list(BOTH) for shard in range(12)}
    writing: dict[int, str] = {}
    board = Board(True)
    numbers = count()

    async def worker(name: str, actor: str) -> None:
        while given := await board.take(name, actor, "here", next(numbers)):
            shard, stages, _, _, is_copy = given
            for stage in stages:
                await asyncio.sleep(draw.random() / 500)
                if is_copy or stage in left[shard]:
                    if await board.may_commit(name, shard, stage) is None:
                        break
                    assert writing.setdefault(shard, name) == name
                    await asyncio.sleep(draw.random() / 1000)
                    left[shard].remove(stage)
                    await asyncio.sleep(draw.random() / 1000)
                    del writing[shard]
                await board.committed(name, {"shard": shard, "stage": stage})

    async def actor(number: int) -> None:
        """Dies now and then, and begins again a little later."""
        while any(left.values()):
            name = f"{number}-{next(numbers)}"
            await board.begins(f"actor {number}", name, "here")
            living = asyncio.create_task(worker(name, f"actor {number}"))
            await asyncio.wait([living], timeout=draw.choice([0.004, 0.01, 9]))
            if living.done():
                await living
                return
            living.cancel()
            await asyncio.wait([living])
            for shard in [shard for shard, writer in writing.items() if writer == name]:
                del writing[shard]
            await asyncio.sleep(draw.random() / 100)

    name, *_ = await board.told(UP, frozenset(), False)
    await board.give(name, [(n, list(stages), "") for n, stages in left.items()], False, True)
    await asyncio.wait_for(asyncio.gather(*map(actor, range(4))), 20)
    assert not any(left.values())
