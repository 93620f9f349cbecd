"""A case that kills its workers is found and quarantined; one that only stood by is not."""

import asyncio
import json
from typing import Any

import pytest

from evaljudge.errors import GivenUp
from evaljudge.execution.attempts import (
    MOST_DEATHS,
    MOST_KILLERS,
    Attempt,
    CaseSlots,
    Here,
)
from evaljudge.execution.local import LocalNotes


def here(worker: str, notes: LocalNotes, dead: str = "") -> Here:
    return Here(worker, f"node of {worker}", lambda node: node != dead, notes)


@pytest.fixture
def notes(tmp_path):
    return LocalNotes(tmp_path / "notes")


@pytest.fixture
def begin(notes):
    return lambda worker, **more: Attempt("00003", here(worker, notes, **more))


def open_alone(attempt: Attempt, doc_id: str) -> None:
    """Dies while the case is open: what follows it is never reached."""

    class Dies(BaseException): ...

    async def die() -> None:
        async with attempt.opening(doc_id, CaseSlots(9)):
            raise Dies

    with pytest.raises(Dies):
        asyncio.run(die())


def test_the_third_death_quarantines_a_case(begin):
    first = begin("w1")
    assert (first.is_first, first.is_careful, first.quarantined) == (True, False, set())
    open_alone(first, "d1")  # among others: no blame
    second = begin("w2")
    assert (second.is_first, second.is_careful, second.quarantined) == (False, True, set())
    open_alone(second, "d1")
    third = begin("w3")
    assert third.quarantined == set()
    open_alone(third, "d1")
    assert begin("w4").quarantined == {"d1"}


def test_a_case_that_ended_well_is_not_blamed_for_what_came_after(begin):
    begin("w1")
    for worker in ("w2", "w3", "w4"):
        asyncio.run(open_and_end(begin(worker), "d1"))
    assert begin("w5").quarantined == set()


def test_a_node_that_is_gone_is_no_case_s_doing(begin):
    begin("w1")
    open_alone(begin("w2"), "d1")
    for number in range(20):
        attempt = begin(f"n{number}", dead=f"node of n{number - 1}" if number else "")
        open_alone(attempt, "d1")
    assert attempt.quarantined == set()
    assert begin("w9").quarantined == {"d1"}


def test_a_worker_that_lives_is_not_counted(begin):
    for _ in range(3):
        assert not begin("w1").is_careful
    assert begin("w2").is_careful


def test_many_killers_of_one_shard_are_quarantined_one_after_the_other(begin):
    attempt = begin("w0")
    for number in range(1, 2 * 20 + 1):
        attempt = begin(f"w{number}")
        asyncio.run(open_and_end(attempt, "well"))
        open_alone(attempt, f"d{(number - 1) // 2}")
    assert begin("last").quarantined == {f"d{number}" for number in range(20)}


def test_who_stood_by_another_shard_s_case_is_not_blamed(begin, notes):
    begin("w0")
    for number in range(1, 3 * MOST_DEATHS):
        mine, other = (Attempt(name, here(f"w{number}", notes)) for name in ("00003", "00004"))
        open_alone(other, f"k{number}")
    assert mine.quarantined == set()
    assert begin("last").is_careful


def test_one_shard_is_not_tried_for_ever(begin):
    for number in range(10):
        begin(f"w{number}")
    with pytest.raises(GivenUp, match="shard 00003: its worker died 10 times"):
        begin("last")


def test_an_engine_that_survives_nothing_is_given_up(begin):
    begin("w0")
    for number in range(1, 2 * MOST_KILLERS + 1):
        open_alone(begin(f"w{number}"), f"d{(number - 1) // 2}")
    with pytest.raises(GivenUp, match=f"its worker died {2 * MOST_KILLERS + 1} times"):
        begin("last")


async def open_and_end(attempt: Attempt, doc_id: str) -> None:
    async with attempt.opening(doc_id, CaseSlots(9)):
        pass


def test_a_note_that_its_process_died_over_is_none(begin, tmp_path):
    attempt = begin("w1")
    (note,) = (tmp_path / "notes").iterdir()
    assert json.loads(note.read_text())["worker"] == "w1"
    note.write_text(note.read_text()[:9])
    assert begin("w2").is_first
    attempt.end()
    assert not list((tmp_path / "notes").iterdir())


def test_a_case_that_is_dropped_is_no_error_of_the_others():
    async def dropped_and_next() -> None:
        slots = CaseSlots(1)

        async def wait() -> None:
            async with slots.take():
                await asyncio.sleep(9)

        first = asyncio.create_task(wait())
        await asyncio.sleep(0)
        first.cancel()
        async with slots.take():
            assert first.cancelled()

    asyncio.run(dropped_and_next())


def test_slots_hold_some_cases_together_or_one_alone():
    inside: list[str] = []
    seen: list[tuple[str, ...]] = []

    async def enter(slot: Any, name: str) -> None:
        async with slot:
            inside.append(name)
            seen.append(tuple(inside))
            await asyncio.sleep(0.001)
            inside.remove(name)

    async def all_at_once() -> None:
        slots = CaseSlots(2)
        await asyncio.gather(
            *(enter(slots.take(), f"a{n}") for n in range(5)),
            enter(slots.take(alone=True), "alone"),
            *(enter(slots.take(), f"b{n}") for n in range(5)),
            enter(slots.take(alone=True), "alone too"),
        )

    asyncio.run(all_at_once())
    assert len(seen) == 12
    assert max(map(len, seen)) == 2
    assert all(len(names) == 1 for names in seen if "alone" in names or "alone too" in names)
