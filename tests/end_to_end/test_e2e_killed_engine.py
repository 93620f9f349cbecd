"""The real engine killed with kill -9: a run in its own process, and worker, driver, all of Ray."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import evaljudge
from evaljudge.judges.synthetic.evidence import answers_of
from tests.tiny import make_tiny_model

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


ON_RAY = (pytest.mark.ray, pytest.mark.long)


@pytest.mark.engine
@pytest.mark.parametrize(
    ("executor", "victims"),
    [
        pytest.param("local", ("driver",), id="in its own process"),
        pytest.param("ray", ("driver",), id="once on Ray", marks=ON_RAY),
        pytest.param("ray", ("worker", "driver", "all"), id="three times on Ray", marks=ON_RAY),
    ],
)
def test_the_real_engine_killed_ends_like_one_that_was_not(
    executor: str,
    victims: tuple[str, ...],
    tmp_path: Path,
    e2e: SimpleNamespace,
    killing: ModuleType,
    shared_engines: Any,
) -> None:
    model = make_tiny_model(tmp_path / "model", CASES.read_text(encoding="utf-8").splitlines())
    cases = e2e.write_cases(tmp_path / "cases.jsonl", corpus())
    cut = command(tmp_path / "cut", model, cases, executor, killing)
    evaljudge.run(config(tmp_path / "whole", model, cases, "local"), engines=shared_engines)

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
    expected = Ended(e2e.tables(tmp_path / "whole" / "out"))
    Ended(e2e.tables(out)).is_like(expected)
    assert e2e.files(out) == e2e.contract(out)
    cut.wait_until(lambda: not killing.workers(), "the end of every engine")


def command(folder: Path, model: Path, cases: str, executor: str, killing: ModuleType) -> Any:
    folder.mkdir()
    (folder / "config.yaml").write_text(json.dumps(config(folder, model, cases, executor)))
    line = [sys.executable, "-m", "evaljudge", "run", str(folder / "config.yaml")]
    return killing.Command(line, folder, folder / "out", {})


def config(folder: Path, model: Path, cases: str, executor: str) -> dict[str, Any]:
    return {
        "corpus": cases,
        "out": str(folder / "out"),
        "axes": ["coherence", "fluency"],
        "model": {
            "source": str(model),
            "engine": {"kv_cache_memory_bytes": 1 << 27},
            "least_mass": 0,
        },
        "workers": {"executor": executor},
    }


class Ended:
    """What a run came to, held against another as far as the same words were written.

    That nothing is lost, doubled or changed is tested to the last digit on scripted models. Here
    sums of floats may depend on the batch, which a kill changes, and once in a while tip a word.
    """

    def __init__(self, tables: dict[str, Any]) -> None:
        self.agreement = tables.pop("agreement")
        self.rows = {name: [json.loads(row) for row in rows] for name, rows in tables.items()}

    def is_like(self, other: Ended) -> None:
        for name in self.rows:
            assert self.known(name) == other.known(name)
        tipped = {doc for doc, *_ in set(self.written()) ^ set(other.written())}
        print(f"{len(tipped)} of {COPIES * 6} documents with other words")
        assert len(tipped) <= COPIES * 6 / 10
        mine, others = (one.numbers(tipped) for one in (self, other))
        assert mine == pytest.approx(others, abs=1e-3)
        shared = ("scorer", "axis", "level", "coefficient", "n", "skipped")
        assert [[r[k] for k in shared] for r in self.agreement] == [
            [r[k] for k in shared] for r in other.agreement
        ]

    def known(self, name: str) -> list[str]:
        """Of each row all but its words and numbers."""
        unlike = ("tokens", "content", "evidence", "value", "doubt")
        rows = ({k: v for k, v in row.items() if k not in unlike} for row in self.rows[name])
        return sorted(json.dumps(row, sort_keys=True) for row in rows)

    def written(self) -> list[tuple[str, ...]]:
        return [(r["doc_id"], r["axis"], r["part"], r["content"]) for r in self.rows["briefs"]]

    def numbers(self, without: set[str]) -> dict[str, float]:
        """Each comparison's probabilities, and each score with its doubt."""
        found = {}
        for row in self.rows["scores"] + self.rows["verdicts"]:
            name = "/".join(row.get(k, "") for k in ("doc_id", "system", "axis", "scorer"))
            if row["doc_id"] not in without and "evidence" in row:
                levels = json.loads(row["evidence"])["levels"]
                for level, answers in zip(levels, answers_of(levels), strict=True):
                    for answer, p in answers.items():
                        found[f"{name}/{level['rating']}/{answer}"] = p
            elif row["doc_id"] not in without:
                found[name] = row["value"]
                found[f"{name}/doubt"] = row["doubt"]
        return found


def commits(run: Any) -> int:
    return sum(map(len, run.committed().values()))
