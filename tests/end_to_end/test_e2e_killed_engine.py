"""Killed with kill -9 on the real engine, once each: worker, driver, all of Ray."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from evaljudge.engines.tiny import make_tiny_model

CASES = Path(__file__).parents[1] / "prose.jsonl"
COPIES = 8
"""Of the six cases of prose, each under ids and with texts of its own."""


@pytest.fixture(scope="module", autouse=True)
def adopting(killing: ModuleType) -> Iterator[None]:
    with killing.adopting():
        yield


def corpus() -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    return [
        row | {"doc_id": f"{row['doc_id']}-{n}", "source": f"Edition {n}. {row['source']}"}
        for n in range(COPIES)
        for row in rows
    ]


@pytest.mark.parametrize(
    "victims",
    [
        pytest.param(("driver",), id="once"),
        pytest.param(("worker", "driver", "all"), id="three times", marks=pytest.mark.long),
    ],
)
def test_the_real_engine_killed_ends_like_one_that_was_not(
    victims: tuple[str, ...], tmp_path: Path, e2e: SimpleNamespace, killing: ModuleType
) -> None:
    model = make_tiny_model(tmp_path / "model", CASES.read_text(encoding="utf-8").splitlines())
    cases = e2e.write_cases(tmp_path / "cases.jsonl", corpus())
    whole, cut = (command(tmp_path / name, model, cases, killing) for name in ("whole", "cut"))
    whole.start()
    whole.end()

    cut.start()
    for number, victim in enumerate(victims):
        least = 1 + 4 * number
        cut.wait_until(lambda least=least: commits(cut) >= least, f"{least} commits")
        cut.kill(victim)
        assert commits(cut) < 2 * 8, "too late to lose anything"
        if victim != "worker":
            cut.start()
    cut.end()

    out = tmp_path / "cut" / "out"
    expected = values(e2e.tables(tmp_path / "whole" / "out"))
    assert not e2e.differences(values(e2e.tables(out)), expected)
    assert e2e.files(out) == e2e.contract(out)
    cut.wait_until(lambda: not killing.workers(), "the end of every engine")


def command(folder: Path, model: Path, cases: str, killing: ModuleType) -> Any:
    folder.mkdir()
    config = {
        "corpus": cases,
        "out": str(folder / "out"),
        "axes": ["coherence", "fluency"],
        "model": {"source": str(model), "engine": {"kv_cache_memory_bytes": 1 << 27}},
    }
    (folder / "config.yaml").write_text(json.dumps(config))
    line = [sys.executable, "-m", "evaljudge.cli", "run", str(folder / "config.yaml")]
    return killing.Command(line, folder, folder / "out", {})


def values(tables: dict[str, Any]) -> dict[str, Any]:
    """All but what depends on the hour: how many tokens came from the cache."""
    return {
        name: [json.loads(row) | {"tokens": None} for row in rows] if name != "agreement" else rows
        for name, rows in tables.items()
    }


def commits(run: Any) -> int:
    return sum(map(len, run.committed().values()))
