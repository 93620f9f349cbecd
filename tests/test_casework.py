"""Many judges over one shard: each question reaches the model once, each ask is accounted for.

Two documents with two candidates and one; references at 1, 1.5, … 5 serve five judges.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from evaljudge.engines import ModelSource
from evaljudge.engines.scripted import Scripted, ScriptedEngines, Writes, any_text
from evaljudge.execution.attempts import Here
from evaljudge.execution.case import case_models
from evaljudge.execution.local import LocalNotes
from evaljudge.execution.protocol import Assignment, Order
from evaljudge.execution.shards import ShardWork
from evaljudge.judges import make_judges
from evaljudge.judges.protocol import Judge
from evaljudge.model.asks import Chosen, Failed, Options, Prompt, Writing, Written
from evaljudge.prompts import load_task
from evaljudge.records import Candidate, Case, Document, Tokens
from evaljudge.storage import Output, Shard, Stage
from tests import build
from tests.build import done

CASES = [
    Case(Document("d1", "one"), (Candidate("A", "a"), Candidate("B", "b"))),
    Case(Document("d2", "two"), (Candidate("A", "c"),)),
]
FIRST, SECOND = Shard(0, 2, 3), Shard(1, 1, 1)
OTHER_CASES = [Case(Document("d3", "three"), (Candidate("A", "d"),))]
BOTH: list[Stage] = ["prepare", "judge"]
NO_LOOK, ALL = {"exchanged": 0}, {"exchanged": 1}
JUDGES: dict[str, dict[str, Any]] = {
    "coarse": {"judge": "synthetic", "levels": 3, "checks": ALL},
    "synthetic": {"checks": NO_LOOK},
    "finer": {"judge": "synthetic", "levels": 9, "checks": NO_LOOK},
    "asked": {"judge": "synthetic", "predict": "yes-no", "checks": NO_LOOK},
    "drawn": {"judge": "synthetic", "predict": "sampled", "samples": 10, "checks": NO_LOOK},
    "turned": {"judge": "synthetic", "levels": 3, "swap": "both"},
    "geval": {},
    "direct": {},
    "short": {"judge": "direct", "steps": False},
}
CANDIDATES, DOCUMENTS = 3, 2


class Listening(Scripted):
    """Hears every question that reaches the model."""

    def __init__(self, writes: Writes = any_text, delay: float = 0.0) -> None:
        super().__init__(writes=writes, delay=delay)
        self.heard: list[tuple[str, Prompt, object]] = []

    async def write(self, prompts: Sequence[Prompt], how: Writing) -> list[Written | Failed]:
        self.heard += [("write", prompt, how) for prompt in prompts]
        return await super().write(prompts, how)

    async def choose(
        self, prompts: Sequence[Prompt], options: Options, samples: int = 0
    ) -> list[Chosen | Failed]:
        assert samples == 0, "draws are taken from what is remembered"
        self.heard += [("choose", prompt, options) for prompt in prompts]
        return await super().choose(prompts, options, samples)

    @property
    def steps(self) -> list[str]:
        return [p.text for verb, p, _ in self.heard if verb == "write" and p.is_common]


def assignment(out: Path, judges: Mapping[str, Mapping[str, Any]], axes: list[str]) -> Assignment:
    engines, source = ScriptedEngines(), ModelSource("scripted")
    made = make_judges(judges, load_task("summary", axes))
    signatures = {judge.scorers[0]: "signed" for judge in made}
    identity = engines.describe(source).identity
    return Assignment(Output(str(out), run="zrun1"), made, engines, source, identity, signatures, 0)


def worker(
    out: Path, model: Scripted, judges: Mapping[str, Mapping[str, Any]] = JUDGES, axes: Any = None
) -> ShardWork:
    job = assignment(out, judges, axes or ["fluency"])
    notes = LocalNotes(out / "notes")
    return ShardWork(job, Here("host-1", "node", lambda node: True, notes), model)


@pytest.fixture
def out(tmp_path):
    Output(str(tmp_path), run="zrun1").write_cases(FIRST, CASES)
    Output(str(tmp_path), run="zrun1").write_cases(SECOND, OTHER_CASES)
    return tmp_path


def asks(receipt: Mapping[str, Any]) -> dict[str, int]:
    return {judge: told["tokens"]["asks"] for judge, told in receipt["asked"].items()}


def test_every_question_is_asked_once_and_accounted_for(out):
    model = Listening()
    prepared, judged = asyncio.run(done(worker(out, model), Order(FIRST, BOTH, {})))
    questions = {(verb, prompt.text, told) for verb, prompt, told in model.heard}
    assert len(model.heard) == len(questions) == len(set(model.heard))
    assert asks(prepared) == {
        "coarse": DOCUMENTS * 3,
        "synthetic": DOCUMENTS * 2,  # 2 and 4
        "finer": DOCUMENTS * 4,  # the halves
        "asked": 0, "drawn": 0, "turned": 0,
        "geval": 1,  # for both documents
        "direct": 0,  # and `geval` asked for the same steps
        "short": 0,
    }  # fmt: skip
    output = Output(str(out), run="zrun1")
    briefs = list(output.briefs("synthetic", [output.brief_file(FIRST)]))
    assert len(briefs) == len({brief.key for brief in briefs}) == DOCUMENTS * 9
    assert {brief.tokens.asks for brief in briefs} == {1}  # each is told once, by who wrote it
    assert asks(judged) == {
        "coarse": CANDIDATES * 3 * 2 + DOCUMENTS * 2,  # both orders, and its neighbours
        "synthetic": CANDIDATES * 2 + DOCUMENTS * 4,
        "finer": CANDIDATES * 4 + DOCUMENTS * 8,
        "asked": CANDIDATES * 5 * 2 + DOCUMENTS * 4 * 2,
        "drawn": 0,  # `synthetic` asked the same
        "turned": 0,  # and `coarse` had looked at both orders
        "geval": CANDIDATES,
        "direct": CANDIDATES,
        "short": CANDIDATES,
    }
    assert sum(asks(prepared).values()) + sum(asks(judged).values()) == len(model.heard) == 138


def test_what_each_axis_cost_adds_up(out):
    """But for the floor, which is of a case and not of an axis."""
    axes = ["coherence", "fluency"]
    receipts = asyncio.run(done(worker(out, Listening(), axes=axes), Order(FIRST, BOTH, {})))
    for receipt in receipts:
        for judge, told in receipt["asked"].items():
            per_axis = sum((Tokens(**tokens) for tokens in told["axes"].values()), Tokens())
            total = Tokens(**(told["tokens"] | {"floor": 0}))
            assert (judge, per_axis) == (judge, total)
            if told["tokens"]["asks"]:
                assert set(told["axes"]) == set(axes)


def test_whoever_asks_first_the_questions_are_the_same(out):
    here, there, again = Listening(), Listening(), out / "again"
    Output(str(again), run="zrun1").write_cases(FIRST, CASES)
    turned = dict(reversed(JUDGES.items()))
    one = asyncio.run(done(worker(out, here), Order(FIRST, BOTH, {})))
    other = asyncio.run(done(worker(again, there, turned), Order(FIRST, BOTH, {})))
    assert set(here.heard) == set(there.heard)
    assert [sum(asks(r).values()) for r in one] == [sum(asks(r).values()) for r in other]
    assert asks(other[1])["coarse"] == 0  # `turned` and the rest went before it
    for name in JUDGES:
        mine, others = (
            [(v.doc_id, v.system, v.evidence) for v in output.verdicts(name, FIRST)]
            for output in (Output(str(out), run="zrun1"), Output(str(again), run="zrun1"))
        )
        assert mine == others
        assert len(mine) == CANDIDATES


def test_steps_are_asked_for_once_an_axis_whoever_does_the_next_shard(out):
    axes = ["coherence", "fluency"]
    chosen = {"geval": {}, "again": {"judge": "geval", "samples": 4}}
    first, second = Listening(), Listening()
    asyncio.run(done(worker(out, first, chosen, axes), Order(FIRST, BOTH, {})))
    receipts = asyncio.run(done(worker(out, second, chosen, axes), Order(SECOND, BOTH, {})))
    assert len(first.steps) == len(set(first.steps)) == 2
    assert second.steps == []
    assert asks(receipts[0]) == {"geval": 0, "again": 0}
    assert asks(receipts[1]) == {"geval": 2, "again": 0}  # one candidate, two axes
    output = Output(str(out), run="zrun1")
    files = [output.brief_file(shard) for shard in (FIRST, SECOND)]
    briefs = list(output.briefs("geval", files))
    assert {brief.doc_id for brief in briefs} == {"d1", "d2", "d3"}
    assert len(briefs) == 6
    assert len({(brief.axis, brief.content["text"]) for brief in briefs}) == 2


def test_two_workers_at_the_same_moment_go_by_the_same_steps(out):
    one = Listening(lambda prompt, how: "steps of one", 0.01)
    other = Listening(lambda prompt, how: "steps of the other", 0.01)

    async def race() -> None:
        await asyncio.gather(
            done(worker(out, one, {"geval": {}}), Order(FIRST, BOTH, {})),
            done(worker(out, other, {"geval": {}}), Order(SECOND, BOTH, {})),
        )

    asyncio.run(race())
    assert 1 <= len(one.steps) + len(other.steps) <= 2
    output = Output(str(out), run="zrun1")
    files = [output.brief_file(shard) for shard in (FIRST, SECOND)]
    assert len({brief.content["text"] for brief in output.briefs("geval", files)}) == 1


def test_checks_are_written_beside_the_verdicts_of_every_judge_that_looks(out):
    asyncio.run(done(worker(out, Listening()), Order(FIRST, BOTH, {})))
    output = Output(str(out), run="zrun1")
    looked = {
        name: [len(check.evidence["exchanged"]) for check in output.checks(name, FIRST)]
        for name, told in JUDGES.items()
        if told.get("judge", name) == "synthetic"
    }
    none = [0, 0]
    assert looked == {
        "coarse": [6, 3], "synthetic": none, "finer": none, "asked": none, "drawn": none,
        "turned": [6, 3],
    }  # fmt: skip
    assert {name.partition("/")[0] for name in build.tables(out / "checks")} == looked.keys()


def test_a_reference_that_fails_is_not_asked_for_again_by_the_next_judge(out):
    def write(prompt: Prompt, how: Writing) -> str | Failed:
        return Failed("no") if "the best" in prompt.text else any_text(prompt, how)

    model = Listening(write)
    chosen = {name: JUDGES[name] for name in ("coarse", "synthetic", "finer")}
    prepared, judged = asyncio.run(done(worker(out, model, chosen), Order(FIRST, BOTH, {})))
    assert len(model.heard) == len(set(model.heard))
    assert len([verb for verb, *_ in model.heard if verb == "write"]) == DOCUMENTS * 2
    assert prepared["unscored"] == DOCUMENTS * 8  # all but the worst
    assert judged["unscored"] == CANDIDATES * 3
    assert sum(asks(judged).values()) == 0  # nothing that could be compared has a neighbour


# one case


def judges(chosen: Mapping[str, Mapping[str, Any]]) -> list[Judge]:
    return make_judges(chosen, load_task("summary", ["fluency"]))


def test_judges_of_a_case_share_a_memory_and_cases_do_not():
    made, model = judges({"synthetic": {}, "again": {"judge": "synthetic"}}), Listening()

    async def ask() -> list[dict[str, int]]:
        found = []
        for _ in range(2):
            models = case_models(model, [judge.name for judge in made], set(), set())
            for judge in made:
                view = models[judge.name]
                briefs = await judge.brief(CASES[0].document, [], view)
                verdicts, checks = await judge.verdicts(CASES[0], briefs, view)
                assert (len(verdicts), len(checks)) == (2, 1)
            found.append({name: view.counting.tokens.asks for name, view in models.items()})
        return found

    first, second = asyncio.run(ask())
    assert first == second
    assert first["again"] == 0
    assert len(model.heard) == first["synthetic"] * 2
