"""Metrics of a run: in two passes, the same numbers as in memory; only what changed."""

import json
import random
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import evaljudge
from evaljudge.commands.python import check
from evaljudge.config import WorkersConfig
from evaljudge.corpora import CorpusSource, open_corpus
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.execution.protocol import Event
from evaljudge.execution.ray.executor import RayExecutor
from evaljudge.metrics import Unscored, Value, make_metrics
from evaljudge.metrics.importance import Importance
from evaljudge.metrics.protocol import measure_here
from evaljudge.runs.watching import Todo, Watcher
from evaljudge.storage import Output
from tests.build import refusal
from tests.execution.deadly import DeadlyShard

WORDS = ["the", "river", "rose", "and", "flooded", "town", "it", "was", "bridge", "closed", "came"]
METRICS: dict[str, Any] = {
    "importance": {"vocabulary": 30},
    "short": {"metric": "importance", "n": 2},
    "words": {},
}


BOTH = pytest.mark.parametrize(
    "executor",
    ["local", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.long])],
    indirect=True,
)


def case(number: int, systems: str = "AB") -> dict[str, Any]:
    draw = random.Random(number)
    source = " ".join(draw.choices(WORDS, k=40))
    texts = [{"system": s, "text": " ".join(draw.choices(WORDS, k=8))} for s in systems]
    return {"doc_id": f"d{number}", "source": source, "candidates": texts}


def told(value: Value) -> float | str:
    return value.reason if isinstance(value, Unscored) else value


class Noting(Watcher):
    def __init__(self) -> None:
        self.todo: list[Todo] = []

    def starting(self, todo: Todo) -> None:
        self.todo.append(todo)


class Bench:
    def __init__(self, folder: Path, executor: str) -> None:
        self.file, self.out = folder / "cases.jsonl", folder / "out"
        self._usual: dict[str, Any] = {
            "judges": {}, "workers": {"executor": executor}, "view": 1,
        }  # fmt: skip
        self._engines = ScriptedEngines()

    def judging(self) -> None:
        """Its runs have a judge from now on."""
        self._usual |= {"judges": {"direct": {}}, "model": "scripted", "axes": ["fluency"]}

    def run(self, rows: list[dict[str, Any]], metrics: Any = METRICS, **more: Any) -> Noting:
        self.file.write_text("\n".join(map(json.dumps, rows)))
        watcher = Noting()
        config = {"corpus": str(self.file), "out": str(self.out), "metrics": metrics} | self._usual
        evaljudge.run(config, watcher=watcher, engines=self._engines, **more)
        return watcher

    def scores(self) -> dict[tuple[str, str, str], float | str]:
        """By scorer, document and system: the value, or the reason that there is none."""
        files = sorted((self.out / "scores").glob("*.parquet"))
        rows = [row for file in files for row in pq.read_table(file).to_pylist()]
        keys = [(row["scorer"], row["doc_id"], row["system"]) for row in rows]
        values = [row["reason"] if row["value"] is None else row["value"] for row in rows]
        found = dict(zip(keys, values, strict=True))
        assert len(found) == len(rows)
        return {key: value for key, value in found.items() if key[0] != "direct"}

    def in_memory(self, metrics: Any = METRICS) -> dict[tuple[str, str, str], float | str]:
        with open_corpus(CorpusSource(str(self.file))) as corpus:
            cases = list(corpus)
        found = measure_here(make_metrics(metrics), cases)
        return {
            (name, case.document.doc_id, candidate.system): told(value)
            for name, of_cases in found.items()
            for case, values in zip(cases, of_cases, strict=True)
            for candidate, value in zip(case.candidates, values, strict=True)
        }


@pytest.fixture
def bench(tmp_path, executor):
    return Bench(tmp_path, executor)


@BOTH
def test_as_a_job_and_in_memory_numbers_are_equal(bench):
    rows = [case(n) for n in range(70)]  # three shards
    rows[3]["candidates"][0]["text"] = ""
    assert bench.run(rows).todo == [{"measure": (70, 70)}]
    found = bench.scores()
    assert len(found) == 3 * 140
    assert found == bench.in_memory()
    assert sum(value == 0.0 for value in found.values()) < 30
    assert found["importance", "d3", "A"] == "empty text"


def test_a_sample_is_the_same_too(bench, monkeypatch):
    monkeypatch.setattr(Importance, "__init__", _learning_from_few(Importance.__init__))
    bench.run([case(n) for n in range(70)], {"importance": {}})
    assert bench.scores() == bench.in_memory({"importance": {}})


def _learning_from_few(init: Any) -> Any:
    def with_few(self: Importance, *given: Any, **named: Any) -> None:
        init(self, *given, **named)
        object.__setattr__(self, "most_learnt", 10)

    return with_few


def test_only_what_changed_is_measured(bench):
    rows = [case(n) for n in range(40)]
    bench.run(rows)
    assert bench.run(rows).todo == []
    assert bench.run(rows, METRICS | {"compression": {}}).todo == [{"measure": (40, 40)}]
    output = Output(str(bench.out))
    shard = output.shards()[0]
    receipt = output.receipt("measure", shard) or {}
    assert receipt["measured"].keys() == {*METRICS, "compression"}
    assert bench.run(rows, {"words": {}}).todo == []
    assert {scorer for scorer, _, _ in bench.scores()} == {"words"}
    before = list(output.measures("words", shard))
    changed = METRICS | {"short": {"metric": "importance", "n": 4}}
    assert bench.run(rows, changed).todo == [{"measure": (40, 40)}]
    assert bench.scores() == bench.in_memory(changed)
    assert list(Output(str(bench.out)).measures("words", shard)) == before


@BOTH
def test_an_extended_corpus_is_counted_once(bench):
    """A document with a new candidate lies in two shards then."""
    rows = [case(n) for n in range(33)]
    bench.run(rows)
    rows[0] = case(0, "ABC")
    bench.run([*rows, case(33)], extend=True)
    assert bench.scores() == bench.in_memory()


def test_a_lost_measure_is_measured_again(bench):
    rows = [case(n) for n in range(40)]
    bench.run(rows)
    (bench.out / "commits/measure/00001.zip").unlink()
    (todo,) = bench.run(rows).todo
    assert 0 < todo["measure"][0] < 10
    assert bench.scores() == bench.in_memory()


@BOTH
def test_the_worker_that_judges_measures_what_is_light(bench):
    """All else, and what is wanted later, is measured by a stage of its own."""
    rows, words = [case(n) for n in range(40)], {"words": {}}
    bench.judging()
    judged = {"prepare": (40, 40), "judge": (40, 40)}
    assert bench.run(rows, words).todo == [judged]
    assert not (bench.out / "commits/measure").exists()
    assert bench.scores() == bench.in_memory(words)
    assert bench.run(rows, words).todo == [dict.fromkeys(judged, (0, 40))]
    for changed in (METRICS, {"words": {"metric": "compression"}}, words):
        todo = [dict.fromkeys(judged, (0, 40)), {"measure": (40, 40)}]
        assert bench.run(rows, changed).todo == todo[: 1 if changed is words else 2]
        assert bench.scores() == bench.in_memory(changed)
    assert check(str(bench.out)).problems == []
    (bench.out / "commits/measure/00001.zip").unlink()
    assert check(str(bench.out)).found.done["measure"] == len(Output(str(bench.out)).shards())


def test_a_shard_counts_as_measured_when_all_its_metrics_are(bench):
    """The light ones are measured with the verdicts, before a kill in the stage `measure`."""
    rows = [case(n) for n in range(40)]
    bench.judging()
    bench.run(rows)
    _, *others = sorted((bench.out / "commits/measure").iterdir())
    assert check(str(bench.out)).found.done["measure"] == 1 + len(others)
    for marker in others:
        marker.unlink()
    assert check(str(bench.out)).found.done["measure"] == 1
    there = Output(str(bench.out)).shards()[0].cases
    assert bench.run(rows).todo[-1] == {"measure": (40 - there, 40)}


@pytest.mark.engine
@BOTH
def test_what_a_worker_finds_amiss_is_one_line(bench, tmp_path):
    metrics = {"bertscore": {"model": str(tmp_path / "none"), "against": "source"}}
    assert "metrics.bertscore.model: " in refusal(bench.run, [case(n) for n in range(3)], metrics)


@pytest.mark.long
@pytest.mark.ray
@pytest.mark.parametrize(("lives", "taken"), [(1, 1), (50, 3)])
def test_a_case_that_kills_its_worker_is_set_aside(tmp_path, local_ray, lives, taken):
    """After three deaths; the others of its shard are measured."""
    of = DeadlyShard(tmp_path)
    seen: list[Event] = []
    RayExecutor(WorkersConfig()).measure(of.task(lives), {of.shard: ["deadly"]}, seen.append)
    assert [event.shard for event in seen if event.kind == "committed"] == [0]
    receipt = of.output.receipt("measure", of.shard)
    assert receipt and receipt["measured"] == {"deadly": "deadly@1"}
    of_deadly = "worker died" if taken == 3 else 1.0
    assert of.measured() == {"before": 1.0, "deadly": of_deadly, "after": 1.0}
    assert of.lives == lives - taken
