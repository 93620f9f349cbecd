"""One piece of work on every shard, here or by Ray's workers: results come in the shards' order."""

import json
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from random import Random
from typing import Any

import numpy as np
import pytest

import evaljudge
from evaljudge.analysis.scoring import Scored, added_up
from evaljudge.config import WorkersConfig, load_config
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.execution import Executor, make_executor
from evaljudge.execution.local import LocalExecutor
from evaljudge.execution.protocol import R, T
from evaljudge.judges.collector import Found, JudgeFindings
from evaljudge.runs.job import Job, make_job
from evaljudge.runs.reporting import findings_of
from evaljudge.storage import Output, Shard
from evaljudge.storage import output as output_module
from tests.frames import unfitted

SHARDS = [Shard(n, 1, 2) for n in range(20)]
SAID = "cases.jsonl:3: no such axis"
DOCUMENTS = 6
EXECUTORS = ["local", pytest.param("ray", marks=pytest.mark.ray)]


@pytest.fixture(params=EXECUTORS)
def chosen(request):
    if request.param == "ray":
        request.getfixturevalue("local_ray")
    return make_executor(WorkersConfig(executor=request.param), "unused")


def test_results_come_in_order_and_a_mistake_as_it_was_said_after_those_before(chosen):
    said = SAID

    def work(shard: Shard) -> int:
        """Later ones are done sooner."""
        time.sleep(0.01 * (shard.number % 4 == 0))
        if shard.number == 13:
            raise UserError(said)
        return shard.number

    assert list(chosen.in_order(work, [])) == []
    done = dict(chosen.as_done(lambda shard: np.full(1_000, shard.number), SHARDS))
    for array in done.values():
        array += 1
    assert {number: int(array.sum()) for number, array in done.items()} == {
        number: 1_000 * (number + 1) for number in range(len(SHARDS))
    }
    results = chosen.in_order(work, SHARDS)
    assert [next(results) for _ in range(13)] == list(range(13))
    with pytest.raises(UserError) as refused:
        next(results)
    assert (type(refused.value), str(refused.value)) == (UserError, SAID)
    shown = "".join(traceback.format_exception_only(refused.value))
    assert shown == f"evaljudge.errors.UserError: {SAID}\n"
    assert refused.value.__suppress_context__ or refused.value.__context__ is None


# a run's scores


def rows() -> Iterator[dict[str, Any]]:
    for number in range(DOCUMENTS):
        rated = {"ratings": {"fluency": number % 5, "coherence": 2}}
        yield {
            "doc_id": f"d{number}",
            "source": f"This is number {number}. The river rose.",
            "references": ["A flood."],
            "candidates": [
                {"system": system, "text": f"{system} of {number}"} | (rated if number % 2 else {})
                for system in "ABC"
            ],
        }


@pytest.fixture
def asked(tmp_path):
    """A run of each judge that collects, all of it judged."""
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, rows())))
    spec = {
        "corpus": str(tmp_path / "cases.jsonl"),
        "out": str(tmp_path / "out"),
        "model": "scripted",
        "axes": ["fluency", "coherence"],
        "judges": {"synthetic": {"checks": {"exchanged": 1}}, "entities": {}, "roles": {}},
        "workers": {"executor": "local"},
        "view": 6,
        "agreement": {"resamples": 5},
        "coverage_floor": 0,
    }
    evaljudge.run(spec, engines=ScriptedEngines())
    return make_job(load_config(spec), ScriptedEngines())


def scored_by(executor: Executor, job: Job) -> tuple[Scored, list[JudgeFindings], list[bytes]]:
    """What came of all shards, what judges find in it, and the files of scores."""
    output = Output(job.config.out)
    shards = output.shards()
    scoring = unfitted(job, output)
    parts = executor.as_done(scoring, output.scored_together(shards))
    scored = added_up(parts, scoring.nothing())
    rated = scored.tables.as_rated()
    found = Found(rated, rated.code_of)
    findings = [collector.findings(found) for collector in scored.collected.values()]
    files = [output.place.read(output.scores_file(shard)) for shard in shards]
    return scored, findings, files


class Shuffled(LocalExecutor):
    """Results come in an order of its own."""

    def __init__(self, out: str, seed: int) -> None:
        super().__init__(out)
        self._order = Random(seed)

    def as_done(self, work: Callable[[T], R], items: Sequence[T]) -> Iterator[tuple[int, R]]:
        done = list(super().as_done(work, items))
        self._order.shuffle(done)
        yield from done


def test_a_report_says_the_same_whoever_was_first(asked, monkeypatch):
    """To the last digit: each worker has one shard here."""
    monkeypatch.setattr(output_module, "SCORED_TOGETHER", 1)
    best = {"scorer": "synthetic.calibrated", "axis": "fluency", "top_fraction": 0.4}
    given = {"calibrate": ["synthetic"], "select": [{"name": "best", "all": [best]}]}
    job = make_job(load_config({**asked.config.as_given(), **given}), ScriptedEngines())
    reports = []
    for seed in range(3):
        output = Output(job.config.out)
        executor = Shuffled(output.uri, seed) if seed else LocalExecutor(output.uri)
        findings, accounts, shown = findings_of(job, output, output.shards(), [], [], executor)
        files = [output.place.read(output.scores_file(shard)) for shard in output.shards()]
        chosen = output.place.read("selected/best.jsonl")
        same = asdict(findings) | {"ended": ""}
        reports.append((same, accounts.cost, accounts.mass, shown, files, chosen))
    assert len(chosen.splitlines()) == 8
    for report in reports[1:]:
        np.testing.assert_equal(report, reports[0])


@pytest.mark.long
@pytest.mark.ray
def test_scores_do_not_depend_on_how_many_workers_did_them(asked, start_ray):
    here, *others = scored_by(
        make_executor(WorkersConfig(executor="local"), asked.config.out), asked
    )
    assert here.tables.rated == 9 and len(others[1]) == DOCUMENTS
    for workers in (1, 2):
        with start_ray(num_cpus=workers):
            executor = make_executor(WorkersConfig(executor="ray", max=workers), asked.config.out)
            there, *again = scored_by(executor, asked)
        assert again == others
        assert there.tables.coverage() == here.tables.coverage()
        assert there.tables.systems() == here.tables.systems()
        mine, theirs = there.tables.as_rated(), here.tables.as_rated()
        for name in ("scores", "human"):
            arrays, known = getattr(mine, name), getattr(theirs, name)
            assert list(arrays) == list(known)
            for key in known:
                np.testing.assert_array_equal(arrays[key], known[key])
        np.testing.assert_array_equal(mine.documents, theirs.documents)
