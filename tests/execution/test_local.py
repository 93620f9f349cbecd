"""A run in this process: what dies, what is interrupted, notebooks; and no Ray."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.config import WorkersConfig
from evaljudge.engines.scripted import Scripted, ScriptedEngines, any_text
from evaljudge.errors import EngineDead, GivenUp, UserError
from evaljudge.execution import executor_name
from evaljudge.execution.attempts import MOST_DEATHS
from evaljudge.execution.local import LocalExecutor, noting_crashes
from evaljudge.execution.protocol import Event
from evaljudge.model.asks import Options, Prompt, Writing
from evaljudge.runs.watching import Watcher
from tests import build
from tests.build import Counted as Engines
from tests.execution.deadly import DeadlyShard

CASES = 12
FATAL = ("number 5.", "number 9.")
"""What the sources of two documents say, and no other's."""


def config(folder: Path, name: str = "out", **changes: Any) -> dict[str, Any]:
    build.jsonl(folder / "cases.jsonl", build.numbered(*range(CASES)))
    judges = {"synthetic": {"levels": 2, "checks": {"neighbours": 0, "exchanged": 0}}}
    usual = {"out": str(folder / name), "judges": judges, "coverage_floor": 0.5}
    return build.config(folder, **usual | changes)


def values(out: Path) -> dict[tuple[str, ...], Any]:
    """Each score with its reason, whichever shard it lies in."""
    rows = build.stored(out / "scores")
    return {(r["doc_id"], r["system"], r["scorer"]): (r["value"], r["reason"]) for r in rows}


def notes() -> list[str]:
    """What is left in the temporary folder, and never in a run's."""
    return [path.name for path in Path(tempfile.gettempdir()).glob("*.notes/*")]


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))


@pytest.fixture
def whole(tmp_path):
    """What a run comes to over which nothing dies."""
    evaljudge.run(config(tmp_path, "whole"), engines=ScriptedEngines())
    return values(tmp_path / "whole")


@pytest.mark.parametrize(
    ("workers", "environment", "name"),
    [
        ({}, {}, "local"),
        ({"min": 1, "max": 2}, {}, "ray"),
        ({"gpus": 1}, {}, "ray"),
        ({"gpus": 0}, {}, "local"),
        ({"accelerator_type": "L4"}, {}, "ray"),
        ({}, {"RAY_ADDRESS": "10.0.0.1:6379"}, "ray"),
        ({}, {"RAY_JOB_CONFIG_JSON_ENV_VAR": "{}"}, "ray"),
        ({"executor": "local"}, {"RAY_ADDRESS": "10.0.0.1:6379"}, "local"),
        ({"executor": "ray"}, {}, "ray"),
    ],
)
def test_auto_is_ray_where_one_process_is_not_enough(workers, environment, name, monkeypatch):
    for variable in ("RAY_ADDRESS", "RAY_JOB_CONFIG_JSON_ENV_VAR"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.delitem(sys.modules, "ray", raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    assert executor_name(WorkersConfig(**workers)) == name


def test_the_writer_s_engine_is_closed_before_the_judge_s_is_opened(tmp_path):
    engines = Engines()
    held: list[int] = []
    engines.answers = lambda prompt: held.append(len(engines.opened) - engines.closed)
    evaljudge.run(config(tmp_path, writer="another"), engines=engines)
    assert (len(engines.opened), engines.closed, set(held)) == (2, 2, {1})


@pytest.mark.long
@pytest.mark.service
def test_no_ray_is_loaded(tmp_path):
    script = (
        "import json, sys, evaljudge\n"
        "from evaljudge.engines.scripted import ScriptedEngines\n"
        "evaljudge.run(json.loads(sys.argv[1]), engines=ScriptedEngines())\n"
        "print(sorted({name.partition('.')[0] for name in sys.modules} & {'ray', 'torch'}))"
    )
    given = json.dumps(config(tmp_path, metrics=["importance", "words"]))
    command = [sys.executable, "-c", script, given]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_an_engine_that_dies_is_opened_again_and_the_case_set_aside(tmp_path, whole, capsys):
    def answers(prompt: Prompt) -> None:
        if any(mark in prompt.text for mark in FATAL):
            raise EngineDead("it was too much")

    engines = Engines(answers=answers)
    evaljudge.run(config(tmp_path), engines=engines)
    for key, came in values(tmp_path / "out").items():
        assert came == ((None, "engine died") if key[0] in ("d5", "d9") else whole[key])
    deaths = {mark: max(n for text, n in engines.asked.items() if mark in text) for mark in FATAL}
    assert deaths.keys() == set(FATAL)
    assert set(deaths.values()) <= {2, 3}  # of one that had not been asked, the first was another's
    assert len(engines.opened) == engines.closed
    assert "the engine died and is loaded again: it was too much" in capsys.readouterr().err
    assert notes() == []


def test_an_engine_that_cannot_be_loaded_again_ends_the_run_and_its_deaths_count(tmp_path, capsys):
    """As on a GPU whose context is lost to the whole process."""

    def answers(prompt: Prompt) -> None:
        if FATAL[0] in prompt.text:
            raise EngineDead("an illegal memory access")

    class Lost(Engines):
        error: Exception = RuntimeError("CUDA error: an illegal memory access")

        def open(self, source: Any, seed: int) -> Scripted:
            if self.opened:
                raise self.error
            return super().open(source, seed)

    beyond_reach = Lost(answers=answers)
    beyond_reach.error = GivenUp("the storage is out of reach")
    with pytest.raises(GivenUp, match="^the storage is out of reach"):  # with its own advice
        evaljudge.run(config(tmp_path), engines=beyond_reach)
    for _ in range(3):
        with pytest.raises(GivenUp, match="the engine died .* run it again to go on"):
            evaljudge.run(config(tmp_path), engines=Lost(answers=answers))
    assert notes()
    evaljudge.run(config(tmp_path), engines=Lost(answers=answers))
    assert "the run before crashed (the engine died" in capsys.readouterr().err
    reasons = {key[0]: why for key, (_, why) in values(tmp_path / "out").items() if why}
    assert reasons == {"d5": "engine died"}
    assert notes() == []


class Fatal(ScriptedEngines):
    """For a process of its own: it crashes at two documents, and notes each death in a file."""

    def __init__(self, log: str, doing: str) -> None:
        self._log, self._doing = log, doing

    def open(self, source: Any, seed: int) -> Scripted:
        def die(prompt: Prompt) -> None:
            for mark in FATAL:
                if mark in prompt.text:
                    with open(self._log, "a") as noted:
                        noted.write(f"{mark}\n")
                    signal.raise_signal(signal.SIGSEGV)

        def writes(prompt: Prompt, how: Writing) -> str:
            if self._doing == "writing":
                die(prompt)
            return any_text(prompt, how)

        def chooses(prompt: Prompt, options: Options) -> Any:
            if self._doing == "choosing":
                die(prompt)
            return dict.fromkeys(options.names, -1.0)

        return Scripted(writes, chooses)


def in_a_process(work: Callable[[], Any]) -> int:
    """Its exit code, negative for a signal; forked, so that nothing is imported again."""
    process = os.fork()
    if process == 0:
        try:
            work()
            os._exit(0)
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


@pytest.mark.parametrize("doing", ["writing", pytest.param("choosing", marks=pytest.mark.long)])
def test_a_case_that_crashes_the_process_is_set_aside_by_the_third_rerun(tmp_path, doing):
    """Whose deaths come one after the other: three of the first case, and two of the second
    (what is tried with care is never tried with the others again)."""
    log = tmp_path / "deaths"
    given = config(tmp_path)
    engines = Fatal(str(log), doing)
    codes = []
    while not codes or codes[-1]:
        codes.append(in_a_process(lambda: evaljudge.run(given, engines=engines)))
        assert len(codes) < 10, log.read_text()
    deaths = Counter(log.read_text().splitlines())
    assert set(codes[:-1]) == {-signal.SIGSEGV}
    assert sum(deaths.values()) == len(codes) - 1
    assert set(deaths) == set(FATAL)
    assert max(deaths.values()) <= 3
    reasons = {key[0]: reason for key, (_, reason) in values(tmp_path / "out").items() if reason}
    assert reasons == {"d5": "engine died", "d9": "engine died"}
    assert notes() == []


def test_an_interrupt_and_a_mistake_accuse_no_case(tmp_path):
    for error in (KeyboardInterrupt(), UserError("no"), RuntimeError("ours"), SystemExit(130)):

        def answers(prompt: Prompt, error: BaseException = error) -> None:
            if FATAL[0] in prompt.text:
                raise error

        for _ in range(4):
            engines = Engines(answers=answers)
            with pytest.raises(type(error)):
                evaljudge.run(config(tmp_path), engines=engines)
            assert notes() == []
            assert engines.closed == 1
    assert evaljudge.run(config(tmp_path), engines=ScriptedEngines()).coverage == 1


def test_an_interrupted_notebook_ends_the_work(tmp_path):
    """The interrupt comes to the notebook's thread, and the work is in another."""

    class Slow(Scripted):
        """But for the first document, which is the first shard."""

        async def write(self, prompts: Any, how: Any) -> Any:
            if "number 0." not in prompts[0].text:
                await asyncio.sleep(600)
            return await super().write(prompts, how)

    slow = ScriptedEngines(Slow)
    before = threading.active_count()

    async def cell() -> None:
        evaljudge.run(config(tmp_path), engines=slow, watcher=_Interrupting())

    loop = asyncio.new_event_loop()  # `asyncio.run` would keep the interrupt to itself
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)  # xdist's workers ignore it
    try:
        with pytest.raises(KeyboardInterrupt):
            loop.run_until_complete(cell())
    finally:
        signal.signal(signal.SIGINT, ignored)
    loop.close()
    assert threading.active_count() == before
    assert notes() == []
    assert os.listdir(tmp_path / "out/commits/judge") == ["00000.zip"]
    assert evaljudge.run(config(tmp_path), engines=ScriptedEngines()).coverage == 1


class _Interrupting(Watcher):
    """As Ctrl-C does, after the first commit: a signal to the main thread."""

    def __init__(self) -> None:
        self._has = False

    def event(self, event: Event) -> None:
        if event.kind == "committed" and not self._has:
            self._has = True
            signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)


def test_a_process_that_was_killed_accuses_no_case(tmp_path):
    """However often: kill -9 comes from outside."""
    engines = Engines(answers=lambda prompt: os.kill(os.getpid(), signal.SIGKILL))
    given = config(tmp_path)
    for _ in range(MOST_DEATHS + 1):
        assert in_a_process(lambda: evaljudge.run(given, engines=engines)) == -signal.SIGKILL
    outcome = evaljudge.run(given, engines=ScriptedEngines())
    assert outcome.coverage == 1
    assert notes() == []


def test_a_crash_counts_on_this_machine_only(tmp_path):
    """Where the file is not there, as on another machine, nothing is known of a crash."""
    engines = Engines(answers=lambda prompt: os.abort())
    given = config(tmp_path)
    assert in_a_process(lambda: evaljudge.run(given, engines=engines)) == -signal.SIGABRT
    assert notes()
    next(Path(tempfile.gettempdir()).glob("*.crash")).unlink()
    with noting_crashes(given["out"]):
        assert notes() == []
        next(Path(tempfile.gettempdir()).glob("*.crash")).unlink()
    assert not list(Path(tempfile.gettempdir()).iterdir())


def test_one_job_at_a_time(tmp_path):
    given = config(tmp_path)
    refused: list[str] = []

    def answers(prompt: Prompt) -> None:
        if not refused:
            with pytest.raises(UserError, match="another job is at work there") as error:
                evaljudge.run(given, engines=ScriptedEngines())
            refused.append(str(error.value))

    evaljudge.run(given, engines=Engines(answers=answers))
    assert refused


@pytest.mark.parametrize(("lives", "taken"), [(1, 1), (50, 3)])
def test_a_case_that_kills_what_measures_it_is_set_aside(tmp_path, lives, taken):
    of = DeadlyShard(tmp_path)
    task = of.task(lives)

    def work() -> None:
        LocalExecutor(str(tmp_path)).measure(task, {of.shard: ["deadly"]}, lambda event: None)

    codes = [in_a_process(work) for _ in range(taken + 1)]
    assert codes == [-signal.SIGBUS] * taken + [0]
    receipt = of.output.receipt("measure", of.shard)
    assert (receipt["unscored"], receipt["gpus"]) == (taken == 3, 0)
    of_deadly = "worker died" if taken == 3 else 1.0
    assert of.measured() == {"before": 1.0, "deadly": of_deadly, "after": 1.0}
    assert notes() == []
