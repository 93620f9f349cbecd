"""Judges of several models in one run: which model is asked what, and what a rerun asks again."""

import json
import os
import signal
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.commands.options import ShowOptions
from evaljudge.commands.plan import planned
from evaljudge.commands.show import show_text
from evaljudge.engines import ModelFacts, ModelSource
from evaljudge.engines.scripted import Scripted
from evaljudge.errors import EngineDead, UserError
from evaljudge.runs.progress import Log
from evaljudge.storage import Output, inspect
from tests import build
from tests.build import Noting, document, refusal

DOCUMENTS = 3
AXES = ["fluency", "relevance"]
OWN = {"levels": 3, "checks": {"neighbours": 0, "exchanged": 0}}
JUDGES = {
    "synthetic": OWN,
    "second": {"judge": "synthetic", "model": "n", **OWN},
    "third": {"judge": "geval", "model": {"source": "t"}},
}
WRITES = DOCUMENTS * len(AXES) * 3
CHOOSES = DOCUMENTS * 2 * len(AXES) * 3


class Bench(build.Bench):
    def __init__(self, folder: Path) -> None:
        how = {"agreement": {"resamples": 10}, "view": 0}
        super().__init__(folder, axes=AXES, judges=JUDGES, **how)
        self.corpus(document(n, fluency=1 + n % 3) for n in range(DOCUMENTS))

    def run(self, *, most: int = sys.maxsize, extend: bool = False, **changes: Any) -> Any:
        self.log.write_text("")
        engines = Noting(self.log, most)
        return evaljudge.run(self.config(**changes), extend=extend, engines=engines, progress=False)


@pytest.fixture
def bench(tmp_path):
    return Bench(tmp_path)


def plain(rows: list[dict[str, Any]]) -> dict[tuple[Any, ...], Any]:
    """Each row's content, without names that depend on the run; briefs by their keys."""
    ours = ("doc_id", "system", "axis", "part", "key")
    return {
        tuple(row.get(name) for name in ours): row.get("evidence") or row.get("content")
        for row in rows
    }


def test_each_model_is_loaded_once_and_asked_for_its_own_judges(bench):
    came = bench.run(metrics=["words"])
    assert bench.opened() == ["m", "n", "t"]
    receipts = Output(str(bench.out)).receipts("judge")
    assert sum("words" in receipt["measured"] for receipt in receipts) == DOCUMENTS
    asked = bench.counted()
    assert {k: asked[k] for k in ("write m", "choose m", "write n", "choose n")} == {
        "write m": WRITES, "choose m": CHOOSES, "write n": WRITES, "choose n": CHOOSES,
    }  # fmt: skip
    assert asked["write t"] == len(AXES), "geval's steps, once for all documents"
    assert asked["choose t"] == DOCUMENTS * 2 * len(AXES)
    assert came.findings.model == "m@m-1 (synthetic), n@n-1 (second), t@t-1 (third)"
    models = {name: line.split(" | ")[1] for name, line in came.findings.signatures.items()}
    assert models["synthetic"] == "m@m-1"
    assert (models["second"], models["second.level"], models["third"]) == (
        "n@n-1", "n@n-1", "t@t-1",
    )  # fmt: skip
    assert all(row["status"] == "ok" for row in bench.rows("scores"))
    assert {row.scorer for row in came.agreement} >= {"synthetic", "second", "third"}


def test_judges_of_one_run_say_what_each_says_in_a_run_of_its_own(bench):
    bench.run()
    verdicts = {name: plain(bench.rows(f"verdicts/{name}")) for name in JUDGES}
    briefs = plain(bench.rows("briefs/synthetic"))
    alone = dict[Any, Any]()
    for name, model in (("synthetic", "m"), ("second", "n"), ("third", "t")):
        bench.out = bench.folder / f"alone-{name}"
        own = {key: value for key, value in JUDGES[name].items() if key != "model"}
        bench.run(model=model, judges={name: own})
        assert plain(bench.rows(f"verdicts/{name}")) == verdicts[name]
        alone |= plain(bench.rows("briefs/synthetic"))
    assert briefs == alone, "each model wrote its own briefs, whose keys name their writer"
    assert verdicts["synthetic"] != verdicts["second"]


def test_briefs_that_another_run_wrote_are_found_by_their_writer(bench):
    bench.run(model="n", judges={"synthetic": OWN})
    shared = str(bench.out / "briefs")
    bench.out = bench.folder / "second"
    bench.run(briefs=shared)
    asked = bench.counted()
    assert (asked["write n"], asked["write m"]) == (0, WRITES)
    bench.out = bench.folder / "third"
    bench.run(briefs=shared)
    assert not any(bench.counted()[f"write {model}"] for model in "mn")


@pytest.mark.parametrize(
    "writer", [None, "n", *(pytest.param(one, marks=pytest.mark.long) for one in "wm")]
)
def test_asks_equal_the_plan(bench, writer):
    plan = evaljudge.plan(bench.config(writer=writer), engines=Noting(bench.log))
    bench.run(writer=writer)
    receipts = [receipt for stage in ("prepare", "judge")
                for receipt in Output(str(bench.out)).receipts(stage)]  # type: ignore[arg-type]  # fmt: skip
    found = Counter[tuple[str, str]]()
    for receipt in receipts:
        for judge, of in receipt["asked"].items():
            found[receipt["stage"], judge] += of["tokens"]["asks"]
    assert {key: of.asks for key, of in plan.asked.items()} == dict(found)
    assert plan.total.asks == sum(bench.counted().values())
    again = evaljudge.plan(bench.config(writer=writer), engines=Noting(bench.log))
    assert (again.total.asks, again.done, again.refused) == (0, DOCUMENTS, [])


@pytest.mark.parametrize("writer", ["w", "m", "n"])
def test_a_writer_that_is_named_writes_for_all_models_and_judges_first(bench, writer):
    came = bench.run(writer=writer)
    assert bench.opened() == [writer, *(model for model in "mnt" if model != writer)]
    asked = bench.counted()
    assert {name: n for name, n in asked.items() if name.startswith("write")} == {
        f"write {writer}": WRITES + len(AXES)
    }, "judges of one kind share their briefs"
    assert (asked["choose m"], asked["choose n"]) == (CHOOSES, CHOOSES)
    assert came.findings.writer == f"{writer}@{writer}-1"
    bench.run(writer=writer)
    assert (bench.opened(), bench.counted()) == ([], {})
    assert "is bound to another run: writer" in refusal(bench.run)


@pytest.mark.parametrize(
    "writer", ["n", *(pytest.param(one, marks=pytest.mark.long) for one in (None, "w"))]
)
def test_the_stages_can_be_done_one_by_one(bench, writer):
    bench.run(writer=writer)
    whole, out = scores(bench), bench.out
    out.rename(bench.folder / "whole")
    given = bench.config(writer=writer)
    bench.log.write_text("")
    evaljudge.prepare(given, engines=Noting(bench.log), progress=False)
    assert bench.opened() == ([writer] if writer else ["m", "n", "t"])
    assert not [line for line in bench.counted() if line.startswith("choose")]
    bench.log.write_text("")
    evaljudge.judge(given, engines=Noting(bench.log), progress=False)
    assert bench.opened() == (["n", "m", "t"] if writer == "n" else ["m", "n", "t"])
    evaljudge.make_report(given, engines=Noting(bench.log), progress=False)
    assert scores(bench) == whole


def test_judges_have_models_of_their_own_or_that_for_all(bench):
    more = {"source": "n", "engine": {"max_num_seqs": 2}}
    bench.run(judges=JUDGES | {"fourth": {"judge": "geval", "model": more}})
    assert bench.opened() == ["m", "n", "t"]
    config = bench.config(study={"judges": [{"geval": {"model": "n"}}]})
    del config["judges"]
    assert "see study.models" in refusal(evaljudge.load_config, config)


def test_every_judge_may_have_its_own_model(bench):
    judges = {name: {"model": "n"} | own for name, own in JUDGES.items()}
    bench.run(judges=judges, model=None)
    assert bench.opened() == ["n", "t"]
    bench.run(judges=judges, model="never used")
    assert bench.opened() == []
    assert "model: judges need one" in refusal(bench.run, model=None)


def test_a_judge_that_names_the_model_for_all_is_one_of_all(bench):
    judges = {"synthetic": OWN, "geval": {"model": {"source": "m"}}}
    bench.run(judges={"synthetic": OWN, "geval": {}})
    (marker,) = bench.out.glob("commits/*/00000.zip")
    assert marker.parent.name == "judge"
    assert "panels" not in json.loads((bench.out / "run.json").read_text())
    bench.run(judges=judges)
    assert bench.opened() == []


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"model": "o"}, 'judges.second.model.name is "n" there, "o" here'),
        ({}, 'judges.second.model.name is "n" there, absent here'),
        ({"model": {"source": "n", "chat": {"x": 1}}}, "judges.second.model.chat"),
    ],
)
def test_another_model_of_a_judge_is_another_run(bench, own, said):
    bench.run()
    second = {key: value for key, value in JUDGES["second"].items() if key != "model"} | own
    words = refusal(bench.run, judges=JUDGES | {"second": second})
    assert "is bound to another run" in words and said in words


def test_a_run_that_is_cut_short_anywhere_goes_on_as_if_it_had_not_been(bench):
    """Nothing is asked again of a model that had done its work."""
    bench.run()
    whole, total = scores(bench), sum(bench.counted().values())
    for first in range(0, total, 61):
        bench.out = bench.folder / f"cut-{first}"
        assert "asked enough" in refusal(bench.run, most=first)
        done = committed(bench.out)
        bench.run()
        assert scores(bench) == whole
        unfinished = [model for model in "mnt" if len(done.get(model, ())) < 2 * DOCUMENTS]
        assert bench.opened() == unfinished, first


def scores(bench: Bench) -> dict[tuple[str, ...], Any]:
    names = ("doc_id", "system", "scorer", "axis")
    return {tuple(row[name] for name in names): row["value"] for row in bench.rows("scores")}


def committed(out: Path) -> dict[str, list[str]]:
    """The markers of `prepare` and `judge`, by their model."""
    panels = json.loads((out / "run.json").read_text())["panels"]
    models = {panels["second"][1]: "n", panels["third"][1]: "t", "": "m"}
    found: dict[str, list[str]] = {}
    for file in [*out.glob("commits/*/*.zip"), *out.glob("briefs/*/*.zip")]:
        stage, _, end = file.parent.name.partition("-")
        if stage != "measure":
            found.setdefault(models[end], []).append(str(file))
    return found


def test_a_case_that_one_model_dies_of_is_unscored_by_its_judges_alone(bench):
    class Dying(Noting):
        def open(self, source: ModelSource, seed: int) -> Scripted:
            model = super().open(source, seed)
            choose = model.choose

            async def dying(prompts: Any, options: Any, samples: int = 0) -> Any:
                if source.source == "n" and any("source 1" in p.text for p in prompts):
                    raise EngineDead("of this document")
                return await choose(prompts, options, samples)

            model.choose = dying  # type: ignore[method-assign]
            return model

    bench.log.write_text("")
    judges = JUDGES | {"second": {"judge": "geval", "model": "n"}}
    config = bench.config(judges=judges, coverage_floor=0)
    evaljudge.run(config, engines=Dying(bench.log), progress=False)
    assert bench.opened() == ["m", "n", "n", "n", "n", "t"]
    unscored = {(row["scorer"], row["doc_id"]): row["reason"] for row in bench.rows("scores")
                if row["status"] == "unscored"}  # fmt: skip
    assert unscored == {("second", "d1"): "engine died"}


@pytest.mark.long
@pytest.mark.ray
def test_on_ray_as_in_this_process(bench, local_ray):
    bench.usual["writer"] = "n"
    bench.run()
    whole, out = scores(bench), bench.out
    out.rename(bench.folder / "here")
    assert "asked enough" in refusal(bench.run, most=15, workers={"executor": "ray"})
    bench.run(workers={"executor": "ray"})
    assert scores(bench) == whole
    bench.run(workers={"executor": "ray"})
    assert bench.opened() == []


@pytest.mark.long
@pytest.mark.ray
def test_a_worker_that_is_killed_in_the_second_models_work_is_replaced(bench, local_ray):
    class KillingOnce(Noting):
        def open(self, source: ModelSource, seed: int) -> Scripted:
            self.is_second = source.source == "n"
            return super().open(source, seed)

        def end(self) -> None:
            flag = Path(f"{self.log}.killed")
            if self.is_second and not flag.exists():
                flag.touch()
                os.kill(os.getpid(), signal.SIGKILL)

    bench.run()
    whole, out = scores(bench), bench.out
    out.rename(bench.folder / "here")
    bench.log.write_text("")
    config = bench.config(workers={"executor": "ray"})
    evaljudge.run(config, engines=KillingOnce(bench.log, most=20), progress=False)
    assert bench.opened() == ["m", "n", "n", "t"]
    assert scores(bench) == whole


def test_new_documents_are_judged_by_every_model(bench):
    bench.run()
    before = bench.counted()
    bench.corpus(document(n, fluency=1 + n % 3) for n in range(2 * DOCUMENTS))
    bench.run(extend=True)
    asked = bench.counted()
    assert {name: asked[name] for name in before if name != "write t"} == {
        name: times for name, times in before.items() if name != "write t"
    }
    assert {row["doc_id"] for row in bench.rows("verdicts/third")} == {
        f"d{n}" for n in range(2 * DOCUMENTS)
    }


@pytest.mark.parametrize(
    ("name", "model", "stages"),
    [
        ("commits/judge/00001.zip", "m", ["choose"]),
        ("commits/judge-*/00001.zip", "n", ["choose"]),
        ("briefs/*-*/00001.zip", "n", ["write"]),
    ],
)
def test_a_damaged_file_is_made_again_by_its_own_model(bench, name, model, stages):
    bench.run(judges={key: JUDGES[key] for key in ("synthetic", "second")})
    whole = scores(bench)
    (file,) = bench.out.glob(name)
    assert inspect(Output(str(bench.out))).done == {"prepare": 3, "judge": 3, "measure": 0}
    file.write_bytes(b"damaged")
    (fault,) = inspect(Output(str(bench.out))).faults
    assert fault.name == str(file.relative_to(bench.out))
    bench.run(judges={key: JUDGES[key] for key in ("synthetic", "second")}, select=[])
    if "briefs" in name:  # the scores do not need them, so nothing has read this one yet
        file.unlink()
        bench.run(judges={key: JUDGES[key] for key in ("synthetic", "second")})
    assert set(bench.counted()) == {f"{stage} {model}" for stage in stages}
    assert scores(bench) == whole
    assert not inspect(Output(str(bench.out))).faults


def test_a_report_is_of_the_shards_that_all_models_have_judged(bench):
    bench.run()
    last, output = next(bench.out.glob("commits/judge-*/00002.zip")), Output(str(bench.out))
    last.unlink()
    output.write_run((output.run() or {}) | {"state": "begun"})
    came = evaljudge.make_report(bench.config(), progress=False)
    assert came.findings.cases == DOCUMENTS - 1
    assert any("1 shard is not judged yet" in warning for warning in came.warnings)
    assert [line.partition("@")[0] for line in came.findings.model.split(", ")] == ["m", "n", "t"]


def test_people_see_each_judges_own_briefs(bench):
    came = bench.run()
    for judge, model in (("synthetic", "m"), ("second", "n")):
        texts = came.briefs(judge).column("text").to_pylist()
        assert len(texts) == WRITES
        assert all(text.startswith(f"{model}: ") for text in texts)
        shown = show_text(ShowOptions(str(bench.out), "d0", "A", judge=judge)).text
        assert f"{model}: " in shown
        assert f"{'mn'[model == 'm']}: " not in shown
    page = (bench.out / "report/index.html").read_text()
    assert "n: " in page and "m: " in page


def test_progress_counts_every_model(bench, capsys):
    bench.log.write_text("")
    log = Log(sys.stderr)
    evaljudge.run(bench.config(), watcher=log, engines=Noting(bench.log))
    said = capsys.readouterr().err
    of = 3 * DOCUMENTS
    assert f"to prepare {of} and judge {of} documents" in said
    assert f"prepared {of}/{of} documents, judged {of}/{of}" in said


def test_given_references_go_to_the_judge_that_they_are_given_to(bench):
    from evaljudge.runs.references import export_references

    bench.run(judges={"synthetic": OWN})
    file = bench.folder / "references.jsonl"
    assert export_references(str(bench.out), str(file)).references == WRITES
    bench.out = bench.folder / "given"
    judges = JUDGES | {"second": JUDGES["second"] | {"references": str(file)}}
    plan = evaljudge.plan(bench.config(judges=judges), engines=Noting(bench.log))
    bench.run(judges=judges)
    assert (bench.counted()["write n"], bench.counted()["write m"]) == (0, WRITES)
    assert plan.asked["prepare", "second"].asks == 0
    texts = bench.run(judges=judges).briefs("second").column("text").to_pylist()
    assert all(text.startswith("m: ") for text in texts)
    again = bench.folder / "again.jsonl"
    assert export_references(str(bench.out), str(again)).references == WRITES
    bench.out = bench.folder / "each"
    bench.run(judges={"second": JUDGES["second"]}, model=None)
    export_references(str(bench.out), str(again))
    writers = {json.loads(line)["writer"] for line in again.read_text().splitlines()}
    assert writers == {"n@n-1"}


def test_a_plan_looks_for_the_model_of_each_judge(bench):
    class Lacking(Noting):
        def describe(self, source: ModelSource) -> ModelFacts:
            if source.source == "t":
                raise UserError("model t: no such folder")
            return super().describe(source)

    file = bench.folder / "config.yaml"
    file.write_text(json.dumps(bench.config()))
    made = planned(str(file), engines=Lacking(bench.log))
    assert "error: model: model t: no such folder\n" in made.text
    assert made.exit_code == 2
