"""A worker that dies within a shard: what it had done is not asked again, and changes nothing."""

import asyncio
import json
import os
import re
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.engines import ModelSource
from evaljudge.engines.endpoint.settings import Endpoint
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.errors import Ended, EngineDead
from evaljudge.execution import shards
from evaljudge.execution.protocol import Order
from evaljudge.execution.shards import ShardWork, shards_at_once
from evaljudge.judges import make_judges
from evaljudge.prompts import load_task
from evaljudge.records import Candidate, Case, Document
from evaljudge.storage import Output, Shard, Stage
from tests import build
from tests.end_to_end.scripted_run import noting
from tests.execution.test_shards import assignment, here

RUN, CASES = "z1f0c9a2b", 6
SHARD = Shard(3, CASES, 2 * CASES)
BOTH: list[Stage] = ["prepare", "judge"]
OBJECTS = f"briefs/{RUN}/00003.zip", "commits/judge/00003.zip"


@pytest.fixture(autouse=True)
def one_after_the_other(monkeypatch):
    monkeypatch.setattr(shards, "MOST_OPEN_CASES", 1)


class Dying(noting()):  # type: ignore[misc]
    """Notes the documents that it is asked about in each stage; in one stage it dies at a document,
    as soon as those before it are saved or at once."""

    def __init__(self, stage: str = "", at: int = 0, partial: Path | None = None) -> None:
        super().__init__()
        self._stage, self._at, self._partial = stage, at, partial
        self.asked = {stage: list[int]() for stage in BOTH}

    async def note(self, stage: str, prompts: Any) -> None:
        numbers = [int(n) for prompt in prompts for n in re.findall(r"is number (\d)", prompt.text)]
        self.asked[stage] += numbers
        while stage == self._stage and self._at in numbers:
            if self._partial is None or len(documents(self._partial, stage)) == self._at:
                raise EngineDead("it was too much")
            await asyncio.sleep(0.01)


def documents(out: Path, stage: str) -> list[str]:
    """Those that are saved."""
    saved = Output(str(out), run=RUN).partial(stage, SHARD)  # type: ignore[arg-type]
    return list(saved["results"]) if saved else []


def job(out: Path, every: float = 1e-3) -> Any:
    cases = [
        Case(
            Document(f"d{n}", f"It is number {n}."),
            (Candidate("A", f"a{n}"), Candidate("B", f"b{n}")),
        )
        for n in range(CASES)
    ]
    Output(str(out), run=RUN).write_cases(SHARD, cases)
    judges = make_judges({"synthetic": {"levels": 3}, "geval": {}}, load_task("summary"))
    signatures = dict.fromkeys((s for judge in judges for s in judge.scorers), "signed")
    return assignment(out, run=RUN, judges=judges, signatures=signatures, commit_every=every)


def do(out: Path, model: Dying, every: float = 1e-3, **order: Any) -> ShardWork:
    made = job(out, every)
    work = ShardWork(made, replace(here(made), worker=f"host-{id(model)}"), model)
    with suppress(EngineDead):
        asyncio.run(build.done(work, Order(SHARD, BOTH, {}, **order)))
    return work


def came_to(out: Path) -> Any:
    """The rows of all tables, and what the receipts count."""
    output = Output(str(out), run=RUN)
    counts = [
        [{j: (a["tokens"], a["masses"], a["axes"]) for j, a in receipt["asked"].items()},
         receipt["unscored"], receipt["reasons"], receipt["files"]]
        for receipt in output.receipts_of(SHARD)
    ]  # fmt: skip
    briefs = {kind: output.own_briefs(kind, SHARD) for kind in ("synthetic", "geval")}
    verdicts = [list(output.verdicts(judge, SHARD)) for judge in ("synthetic", "geval")]
    return counts, briefs, verdicts, list(output.checks("synthetic", SHARD))


@pytest.mark.parametrize("stage", BOTH)
@pytest.mark.parametrize("is_copy", [False, True])
def test_what_was_saved_is_not_asked_again_and_all_comes_to_the_same(tmp_path, stage, is_copy):
    do(tmp_path / "whole", Dying())
    out = tmp_path / "out"
    do(out, first := Dying(stage, 4, out))
    assert documents(out, stage) == ["d0", "d1", "d2", "d3"]
    saved = (out / f"partial/{stage}/00003.json").read_bytes()
    do(out, second := Dying(), is_copy=is_copy, is_again=not is_copy)
    assert sorted(set(second.asked[stage])) == [4, 5]
    assert len(set(first.asked[stage]) & set(second.asked[stage])) == 1
    assert came_to(out) == came_to(tmp_path / "whole")
    if is_copy:  # it takes nothing from the one that it is a copy of
        assert (out / f"partial/{stage}/00003.json").read_bytes() == saved


def test_no_reply_of_a_document_that_was_open_is_asked_again(tmp_path):
    class Midway(Dying):
        async def choose(self, prompts: Any, options: Any, samples: int = 0) -> Any:
            if "number 3." in prompts[0].text and 3 in self.asked["judge"]:
                raise EngineDead("one judge had its replies, and the next has none")
            return await super().choose(prompts, options, samples)

    do(tmp_path / "whole", whole := Dying())
    work = do(out := tmp_path / "out", first := Midway(), every=60)
    asyncio.run(work.save())
    do(out, second := Dying(), is_again=True)
    asked = first.asked["judge"] + second.asked["judge"]
    assert first.asked["judge"].count(3) and Counter(asked) == Counter(whole.asked["judge"])
    assert came_to(out) == came_to(tmp_path / "whole")


def test_a_shard_that_is_done_sooner_writes_nothing_but_itself(tmp_path):
    do(tmp_path, Dying(), every=60)
    files = {str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*") if f.is_file()}
    assert {f for f in files if "common" not in f} == {"cases/00003.parquet", *OBJECTS}


def test_what_is_done_can_be_saved_at_once_until_the_shard_is_dropped(tmp_path):
    work = do(tmp_path, Dying("judge", 3), every=60)
    assert documents(tmp_path, "judge") == []
    asyncio.run(work.save())
    assert documents(tmp_path, "judge") == ["d0", "d1", "d2"]
    (tmp_path / "partial/judge/00003.json").unlink()
    work.drop(SHARD.number)
    asyncio.run(work.save())
    assert documents(tmp_path, "judge") == []


def test_what_was_saved_and_is_damaged_is_asked_again(tmp_path, capfd):
    do(tmp_path, Dying("judge", 4, tmp_path))
    file = tmp_path / "partial/judge/00003.json"
    file.write_bytes(file.read_bytes()[:-9])
    do(tmp_path, second := Dying(), is_again=True)
    assert set(second.asked["judge"]) == set(range(CASES))
    (line,) = (line for line in capfd.readouterr().err.splitlines() if line.startswith("warning"))
    assert f"{file}: is not as it was written" in line and line.endswith("are asked about again")


@pytest.mark.parametrize("end", [Ended(143), KeyboardInterrupt(), EngineDead("gone")])
def test_a_run_that_is_ended_saves_what_is_done(tmp_path, end, monkeypatch):
    """All documents are one shard. An engine that dies is opened again, and goes on there."""
    monkeypatch.setattr("evaljudge.runs.binding.LEAST_SHARDS", 1)
    ends, asked = iter([end]), Counter[str]()

    class Ending(Scripted):
        async def choose(self, prompts: Any, options: Any, samples: int = 0) -> Any:
            if "number 4." in prompts[0].text and (now := next(ends, None)):
                raise now
            asked.update(prompt.text for prompt in prompts)
            return await super().choose(prompts, options, samples)

    build.jsonl(tmp_path / "cases.jsonl", build.numbered(*range(CASES)))
    config = build.config(tmp_path, judges={"geval": {}}, workers={"executor": "local"})
    if not isinstance(end, EngineDead):
        with pytest.raises(type(end)):
            evaljudge.run(config, engines=ScriptedEngines(Ending))
        assert os.listdir(tmp_path / "out/partial/judge") == ["00000.json"]
    assert evaljudge.run(config, engines=ScriptedEngines(Ending)).coverage == 1
    assert set(asked.values()) == {1}
    assert len(json.loads((tmp_path / "out/shards.json").read_text())["shards"]) == 1
    assert not (tmp_path / "out/partial").exists()


@pytest.mark.parametrize(("cases", "at_once"), [([256] * 9, 2), ([27] * 9, 5), ([1] * 9, 16)])
def test_how_many_shards_a_worker_has_in_hand(cases, at_once, monkeypatch):
    monkeypatch.undo()
    shards = [Shard(n, count, count) for n, count in enumerate(cases)]
    assert shards_at_once(shards, ModelSource("m")) == at_once
    served = ModelSource("m", endpoint=Endpoint(url="http://localhost/v1"))
    assert shards_at_once(shards, served) == 4 * at_once
