"""What a plan says is what a run asks, as far as replies do not change it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

import evaljudge
from evaljudge.commands.plan import planned_text
from evaljudge.engines.scripted import ScriptedEngines

CASE = {"doc_id": "d", "source": "one two", "candidates": [
    {"system": "A", "text": "a"}, {"system": "B", "text": "b"},
    {"system": "C", "text": "a"}, {"system": "D", "text": ""},
]}  # fmt: skip


@pytest.fixture
def config(tmp_path: Path) -> dict[str, object]:
    (tmp_path / "c.jsonl").write_text(json.dumps(CASE))
    return {"corpus": str(tmp_path / "c.jsonl"), "out": str(tmp_path / "o"), "model": "m",
            "axes": ["fluency", "relevance"],
            "judges": {"synthetic": {"checks": {"exchanged": 0}}}}  # fmt: skip


def test_asks_by_hand(config: dict[str, object], tmp_path: Path) -> None:
    """Two axes of five levels; two different texts before each level; the empty one not asked.

    Beside them the four neighbours on each axis.
    """
    plan = evaljudge.plan(config, engines=ScriptedEngines())
    assert (plan.cases, plan.candidates) == (1, 4)
    assert {key: t.asks for key, t in plan.asked.items()} == {
        ("prepare", "synthetic"): 10,
        ("judge", "synthetic"): 2 * 5 * 2 + 2 * 4,
    }
    assert plan.asked["judge", "synthetic"].prompt > 0
    assert not (tmp_path / "o").exists()


def test_a_plan_in_a_notebook(config: dict[str, object]) -> None:
    async def cell() -> evaljudge.runs.pipeline.Plan:
        return evaljudge.plan(config, engines=ScriptedEngines())

    assert asyncio.run(cell()).cases == 1


def test_without_a_judge_the_corpus_is_read_and_nothing_asked(config: dict[str, object]) -> None:
    given = config | {"judges": {}, "metrics": ["words"], "model": None}
    plan = evaljudge.plan(given, engines=ScriptedEngines())
    assert (plan.cases, plan.total.asks) == (1, 0)
    said = planned_text(given, engines=ScriptedEngines())
    assert said.startswith("1 cases, ")
    assert "\nrated by people: " in said
    assert said.endswith("no model is asked, so there is no cost to plan.\n")
