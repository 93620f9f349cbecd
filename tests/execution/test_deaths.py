"""What is remembered of a shard whose measuring killed its worker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from evaljudge.errors import GivenUp
from evaljudge.execution.attempts import MOST_TRIES, MeasuringAttempt
from evaljudge.storage import Output

Begin = Callable[..., MeasuringAttempt]


@pytest.fixture
def begin(tmp_path: Path) -> Begin:
    output = Output(str(tmp_path))
    return lambda session="s": MeasuringAttempt(output, "00003", session)


def test_only_the_first_try_takes_all_cases_at_once(begin: Begin) -> None:
    assert [begin().is_first for _ in range(4)] == [True, False, False, False]


def test_a_case_that_died_alone_twice_is_quarantined_for_its_metric(begin: Begin) -> None:
    begin()
    for _ in range(2):
        deaths = begin()
        assert not deaths.is_quarantined("bertscore", "d7")
        deaths.opening("bertscore", "d6")
        deaths.opening("bertscore", "d7")
    deaths = begin()
    assert deaths.is_quarantined("bertscore", "d7")
    assert not deaths.is_quarantined("bertscore", "d6")
    assert not deaths.is_quarantined("mover", "d7")


def test_another_session_and_a_shard_that_ended_begin_anew(begin: Begin) -> None:
    begin()
    begin().opening("bertscore", "d7")
    assert begin("another").is_first
    begin("another").end()
    assert begin("another").is_first


def test_a_shard_that_kills_without_end_is_given_up(begin: Begin) -> None:
    for _ in range(MOST_TRIES):
        begin()
    with pytest.raises(GivenUp, match="measuring shard 00003 killed its worker 30 times"):
        begin()
