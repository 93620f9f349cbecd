"""A run that judged nothing binds nothing: its folder is anybody's, and no resuming is promised."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import evaljudge
from evaljudge.engines.internals import engine_arguments
from evaljudge.engines.scripted import Scripted, ScriptedEngines, any_text
from evaljudge.engines.source import OPERATIONAL, Identity
from evaljudge.errors import KEPT, NOTHING_KEPT, Ended, GivenUp, UserError
from evaljudge.model.asks import Prompt, Writing
from tests.build import config as usual
from tests.build import document, jsonl, refusal

EXECUTORS = ["local", pytest.param("ray", marks=[pytest.mark.ray, pytest.mark.long])]


@pytest.fixture
def config(tmp_path, executor):
    jsonl(tmp_path / "cases.jsonl", (document(n, "A") for n in range(40)))
    workers = {"executor": executor}
    return usual(tmp_path, judges={"synthetic": {"levels": 2}}, workers=workers)


def failing(error: BaseException, after: int) -> ScriptedEngines:
    """Engines that fail after so many replies."""
    left = iter(range(after))

    def writes(prompt: Prompt, how: Writing) -> str:
        if next(left, None) is None:
            raise error
        return any_text(prompt, how)

    return ScriptedEngines(lambda: Scripted(writes))


def without_a_model(error: Exception) -> ScriptedEngines:
    """Engines that fail as they are loaded, with whatever a library raises."""

    def opens() -> Scripted:
        raise error

    return ScriptedEngines(opens)


def test_a_report_of_somebody_else_is_not_overwritten(config):
    page = Path(config["out"], "report/index.html")
    page.parent.mkdir(parents=True)
    page.write_text("mine")
    with pytest.raises(UserError, match=r"report/index\.html: not of a run.*take another `out`"):
        evaljudge.run(config, engines=ScriptedEngines())
    assert page.read_text() == "mine" and not Path(config["out"], "run.json").exists()


@pytest.mark.parametrize("executor", EXECUTORS, indirect=True)
@pytest.mark.parametrize(
    "error",
    [
        MemoryError("Tried to allocate 20.00 GiB"),
        pytest.param(
            type("SafetensorError", (Exception,), {})("Error while deserializing header"),
            marks=pytest.mark.long,
        ),
        pytest.param(AssertionError(), marks=pytest.mark.long),
        pytest.param(UserError("no encoder was found for nowhere"), marks=pytest.mark.long),
    ],
    ids=["memory", "weights", "wordless", "encoder"],
)
def test_an_engine_that_cannot_be_loaded_binds_nothing(config, error):
    words = refusal(evaljudge.run, config, engines=without_a_model(error))
    assert str(error) in words
    assert type(error).__name__ in words or isinstance(error, UserError)
    assert "resume" not in words
    other = config | {"judges": {"synthetic": {"levels": 3}}}
    assert evaljudge.run(other, engines=ScriptedEngines()).coverage == 1


def test_a_metric_that_cannot_measure_binds_nothing(config):
    """Known before anything is asked: a judge would have worked in vain."""
    spec = config | {"metrics": {"bertscore": {"model": "./no/encoder"}}}
    with pytest.raises(UserError, match=r"metrics\.bertscore\.model: model \./no/encoder"):
        evaljudge.run(spec, engines=without_a_model(AssertionError("nothing is to be asked")))
    assert not Path(config["out"]).exists()


def _killed(work: Callable[[], object]) -> None:
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def test_a_run_killed_before_its_first_commit_binds_nothing(config):
    def opens() -> Scripted:
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError

    _killed(lambda: evaljudge.run(config, engines=ScriptedEngines(opens)))
    out = Path(config["out"])
    first = json.loads((out / "run.json").read_text())
    (out / "commits/other").mkdir(parents=True)
    (out / "commits/other/00000.zip").write_text("half of a shard")
    other = config | {"judges": {"synthetic": {"levels": 3}}}
    assert evaljudge.run(other, engines=ScriptedEngines()).coverage == 1
    assert json.loads((out / "run.json").read_text())["id"] != first["id"]
    assert sorted(os.listdir(out / "commits")) == ["judge"]


def test_what_is_committed_binds_and_resumes(config):
    kept = "the engine is gone; what was committed is kept, and a rerun resumes"
    for after, said in ((1, "the engine is gone"), (60, kept)):
        with pytest.raises(GivenUp) as given_up:
            evaljudge.run(config, engines=failing(GivenUp("the engine is gone"), after))
        assert str(given_up.value) == said
    with pytest.raises(UserError, match="is bound to another run"):
        evaljudge.run(config | {"axes": ["coherence"]}, engines=ScriptedEngines())
    assert evaljudge.run(config, engines=ScriptedEngines()).coverage == 1


@pytest.mark.service
@pytest.mark.parametrize("command", ["run", "plan"])
def test_nothing_is_said_to_resume_before_anything_is_committed(tmp_path, command):
    os.mkfifo(file := tmp_path / "c.yaml")
    line = [sys.executable, "-m", "evaljudge", command, str(file)]
    with subprocess.Popen(line, stderr=subprocess.PIPE, text=True) as process, file.open("w"):
        process.send_signal(signal.SIGINT)  # it reads the configuration, and waits for more of it
        said = process.communicate(timeout=60)[1]
    assert (process.returncode, said) == (130, "evaljudge: interrupted\n")


@pytest.mark.parametrize(("asks", "note"), [(0, NOTHING_KEPT), (60, KEPT)])
def test_a_signal_s_end_says_whether_anything_is_kept(config, asks, note):
    with pytest.raises(Ended) as end:
        evaljudge.run(config, engines=failing(Ended(130), asks))
    assert end.value.__notes__ == [note]


@pytest.mark.parametrize("metrics", [[], pytest.param(["words"], marks=pytest.mark.long)])
def test_a_run_in_which_no_model_answered_binds_nothing(config, metrics):
    """All sources are empty; then they are there, and the same folder takes the run."""
    cases = Path(config["corpus"])
    there = cases.read_text()
    rows = [json.loads(line) | {"source": " "} for line in there.splitlines()]
    cases.write_text("\n".join(map(json.dumps, rows)))
    spec = config | {"metrics": metrics, "coverage_floor": 0}
    first = evaljudge.run(spec, engines=ScriptedEngines())
    assert not any(row["asks"] for row in first.findings.tokens)
    cases.write_text(there)
    assert evaljudge.plan(spec, engines=ScriptedEngines()).refused == []
    assert evaljudge.run(spec, engines=ScriptedEngines()).coverage == 1
    cases.write_text(there.replace('"source ', '"another source '))
    assert "is bound to another run" in refusal(evaljudge.run, spec, engines=ScriptedEngines())


def test_a_run_of_metrics_alone_binds(config):
    spec = config | {"judges": {}, "metrics": ["words"]}
    evaljudge.run(spec)
    cases = Path(config["corpus"])
    cases.write_text(cases.read_text().replace('"source ', '"another source '))
    assert "is bound to another run" in refusal(evaljudge.run, spec)


UNLOADABLE = [
    ("", {"kv_cache_memory_bytes": 1}, "the engine cannot load it: Cannot auto-fit"),
    ("", {"max_model_len": 10**7}, "the engine cannot load it: User-specified max_model_len"),
    ("", {"kv_cache_memory_bytes": 10**14}, "the engine cannot load it: "),
]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("spoilt", "engine", "said"),
    [
        ("model.safetensors", {}, "the engine cannot load it: Error while deserializing header"),
        ("tokenizer.json", {}, "its tokenizer cannot be read: "),
        *(pytest.param(*one, marks=pytest.mark.long) for one in UNLOADABLE),
    ],
)
def test_what_the_real_engine_says(config, tiny, tmp_path, spoilt, engine, said):
    folder = shutil.copytree(tiny(), tmp_path / "model")
    if spoilt:
        (folder / spoilt).write_text("spoilt")
    words = refusal(evaljudge.run, config | {"model": {"source": str(folder), "engine": engine}})
    assert f"model {folder}: {said}" in words


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("max_model_length", "unknown argument 'max_model_length': did you mean 'max_model_len'?"),
        ("max-model-len", "unknown argument 'max-model-len': did you mean 'max_model_len'?"),
        ("zzz", "unknown argument 'zzz': see `vllm serve --help=all`"),
    ],
)
def test_an_engine_s_arguments_are_known_before_it_is_loaded(name, said):
    from evaljudge.engines import ModelSource, VllmEngines

    source = ModelSource("nano", engine={name: 1})
    words = refusal(lambda: VllmEngines().describe(source).identity)
    assert words == f"model nano: engine: {said}"
    assert VllmEngines().describe(ModelSource("nano", engine={"max_model_len": 1})).identity


def test_what_changes_speed_alone_is_no_other_run():
    assert engine_arguments() >= OPERATIONAL
    faster = {"max_num_batched_tokens": 16384, "async_scheduling": True, "prefix_match_unit": 16}
    one, other = (Identity("m", "r", {}, {"dtype": "float32"} | more) for more in ({}, faster))
    assert one.as_key() == other.as_key() != Identity("m", "r", {}, {"dtype": "half"}).as_key()


@pytest.mark.engine
def test_the_engine_s_arguments_are_those_of_its_class():
    import dataclasses

    from vllm import EngineArgs

    assert engine_arguments() == {field.name for field in dataclasses.fields(EngineArgs)}


@pytest.mark.parametrize("command", ["run", "plan"])
def test_an_encoder_that_cannot_be_had_is_foreseen(config, command):
    from evaljudge.engines import VllmEngines

    spec = config | {"model": "nano", "judges": {"roles": {"encoder": "no/encoder"}}}
    words = refusal(getattr(evaljudge, command), spec, engines=VllmEngines())
    assert "judges.roles.encoder: model no/encoder: no such folder" in words
    assert not Path(config["out"]).exists()


def test_documents_without_a_candidate_are_no_run_but_may_be_prepared(config):
    cases = Path(config["corpus"])
    cases.write_text('{"doc_id": "d", "source": "Rain.", "candidates": []}\n')
    evaljudge.prepare(config, engines=ScriptedEngines())
    with pytest.raises(UserError, match="no document has a text"):
        evaljudge.run(config, engines=ScriptedEngines())
