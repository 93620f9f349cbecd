"""What a worker does with a shard, without Ray: files first, marker last, nothing lost."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from evaljudge.engines import ModelSource
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.execution.attempts import Here, Note
from evaljudge.execution.local import LocalNotes
from evaljudge.execution.protocol import Assignment, Order, PassedOn
from evaljudge.execution.shards import ShardWork
from evaljudge.judges import make_judges
from evaljudge.metrics import Value
from evaljudge.metrics.length import Length
from evaljudge.model.asks import Failed, Prompt, Writing
from evaljudge.prompts import load_task
from evaljudge.records import Candidate, Case, Document
from evaljudge.storage import Output, Shard
from evaljudge.text import CERTAIN
from tests.build import done

SHARD = Shard(3, 2, 3)
CASES = [
    Case(Document("d1", "one"), (Candidate("A", "a"), Candidate("B", "b"))),
    Case(Document("d2", "two"), (Candidate("A", "c"),)),
]


class Listening(Scripted):
    def __init__(self, delay: float = 0.0) -> None:
        super().__init__(writes=self._write, delay=delay)
        self.cache_block = 1072
        self.written: list[str] = []

    def _write(self, prompt: Prompt, how: Writing) -> str:
        self.written.append(prompt.text)
        return f"text {len(prompt.text)} {hash(prompt.text) % 1000}"


def assignment(
    out: Path, levels: int = 3, run: str = "zrun1", briefs: str | None = None, **more: Any
) -> Assignment:
    engines, source = ScriptedEngines(), ModelSource("scripted")
    judges = make_judges(
        {"synthetic": {"levels": levels, "checks": NONE}}, load_task("summary", ["fluency"])
    )
    signatures = dict.fromkeys(("synthetic", "synthetic.level"), "signed")
    identity = engines.describe(source).identity
    output = Output(str(out), briefs, run)
    made = Assignment(output, judges, engines, source, identity, signatures, 0)
    return replace(made, **more)


def do(job: Assignment, model: Scripted, order: Order) -> list[dict[str, Any]]:
    return asyncio.run(done(ShardWork(job, here(job), model), order))


def here(job: Assignment) -> Here:
    return Here("host-1", "node", lambda node: True, LocalNotes(Path(job.output.uri) / "notes"))


@pytest.fixture
def out(tmp_path):
    Output(str(tmp_path), run="zrun1").write_cases(SHARD, CASES)
    return tmp_path


NONE = {"neighbours": 0, "exchanged": 0}


def second(out: Path, **more: Any) -> Assignment:
    """Of another run over the same cases, which shares the briefs of the first."""
    Output(str(out / "second"), run="run2").write_cases(SHARD, CASES)
    return assignment(out / "second", briefs=str(out / "briefs"), run="run2", **more)


def files(out: Path) -> set[str]:
    return {str(p.relative_to(out)) for p in out.rglob("*") if p.is_file()}


def test_a_shard_from_cases_to_markers(out):
    receipts = do(assignment(out), Listening(), Order(SHARD, ["prepare", "judge"], {}))
    assert files(out) == {
        "cases/00003.parquet",
        "briefs/zrun1/00003.zip",
        "commits/judge/00003.zip",
    }
    assert [r["stage"] for r in receipts] == ["prepare", "judge"]
    assert [r["asked"]["synthetic"]["tokens"]["asks"] for r in receipts] == [2 * 3, 3 * 3]
    assert [r["gpus"] for r in receipts] == [0, 0]
    assert [r["cache_block"] for r in receipts] == [1072, 1072]
    assert receipts[1]["files"] == ["verdicts/synthetic/00003.parquet",
                                    "checks/synthetic/00003.parquet"]  # fmt: skip
    output = Output(str(out), run="zrun1")
    prepared, judged = (output.receipt(stage, SHARD) for stage in ("prepare", "judge"))
    assert [prepared, judged] == [receipts[0], receipts[1] | {"prepared": receipts[0]}]
    assert len(list(output.verdicts("synthetic", SHARD))) == 3
    briefs = list(output.briefs("synthetic", [output.brief_file(SHARD)]))
    assert {(b.doc_id, b.part) for b in briefs} == {(d, p) for d in ("d1", "d2") for p in "135"}
    assert len({b.key for b in briefs}) == 6
    assert {b.signature for b in briefs} == {"signed"}


@dataclass(frozen=True)
class Broken(Length):
    def measure(self, cases: Sequence[Case]) -> list[list[Value]]:
        raise MemoryError


def test_what_cannot_be_measured_costs_no_verdict(out):
    """Nor is anything measured by a worker whose predecessor may have died of it."""
    metrics = [Length("words", False), Broken("broken", False)]
    lines = dict.fromkeys(("synthetic", "synthetic.level", "words", "broken"), "signed")
    job = assignment(out, metrics=metrics, signatures=lines)
    output, order = job.output, Order(SHARD, ["prepare", "judge"], {})
    for noted, measured in ((False, {"words": "signed"}), (True, {})):
        if noted:
            LocalNotes(out / "notes").note_attempt("00003", asdict(Note("dead", "node")))
            output.uncommit(output.marker("judge", SHARD))
        assert do(job, Listening(), order)[1]["measured"] == measured
        assert len(list(output.verdicts("synthetic", SHARD))) == 3
        if measured:
            assert [score.value for score in output.measures("judge/words", SHARD)] == [1, 1, 1]


def test_nothing_is_written_or_asked_about_texts_that_are_not_passed_on(out):
    some = PassedOn("synthetic", frozenset({PassedOn.key("d1", "B")}))
    job, model = assignment(out, passed_on=some), Listening()
    _, judged = do(job, model, Order(SHARD, ["prepare", "judge"], {}))
    assert len(model.written) == judged["asked"]["synthetic"]["tokens"]["asks"] == 3
    reasons = {(v.doc_id, v.system): v.reason for v in job.output.verdicts("synthetic", SHARD)}
    assert reasons == {("d1", "A"): CERTAIN, ("d1", "B"): "", ("d2", "A"): CERTAIN}


def test_levels_of_another_run_are_reused_by_key(out):
    do(assignment(out), Listening(), Order(SHARD, ["prepare"], {}))
    model, job = Listening(), second(out, levels=5)
    order = Order(SHARD, ["prepare", "judge"], {"synthetic": ["00003-zrun1.parquet"]})
    do(job, model, order)
    output = job.output
    assert len(model.written) == 2 * 2
    new = list(output.briefs("synthetic", [output.brief_file(SHARD)]))
    assert {b.part for b in new} == {"1", "2", "3", "4", "5"}  # it stands on its own
    assert {v.status for v in output.verdicts("synthetic", SHARD)} == {"ok"}


@pytest.mark.parametrize("why", ["another writer", "could not be written"])
def test_a_level_that_is_not_reused(out, why):
    class Mute(Scripted):
        async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Any]:
            return [Failed("nothing came")] * len(prompts)

    first = Mute() if why == "could not be written" else Listening()
    do(assignment(out), first, Order(SHARD, ["prepare"], {}))
    model, job = Listening(), second(out)
    if why == "another writer":
        job = replace(job, writer=replace(job.writer, revision="other"))
    do(job, model, Order(SHARD, ["prepare"], {"synthetic": ["00003-zrun1.parquet"]}))
    assert len(model.written) == 2 * 3


def test_several_shards_at_once_end_like_one_after_another(tmp_path):
    shards = [Shard(n, 1, 1) for n in range(6)]
    for where in ("one", "many"):
        output = Output(str(tmp_path / where), run="zrun1")
        for shard in shards:
            document = Document(f"d{shard.number}", f"source {shard.number}")
            output.write_cases(shard, [Case(document, (Candidate("A", "a"),))])
    orders = [Order(shard, ["prepare", "judge"], {}) for shard in shards]

    async def at_once() -> None:
        job = assignment(tmp_path / "many")
        work = ShardWork(job, here(job), Scripted(delay=0.01))
        await asyncio.gather(*(done(work, order) for order in orders))

    asyncio.run(at_once())
    for order in orders:
        do(assignment(tmp_path / "one"), Scripted(), order)
    one, many = (Output(str(tmp_path / name), run="zrun1") for name in ("one", "many"))
    for shard in shards:
        assert list(one.verdicts("synthetic", shard)) == list(many.verdicts("synthetic", shard))
