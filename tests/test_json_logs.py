"""With EVALJUDGE_LOG=json every line on stderr is one JSON object, whoever writes it."""

import io
import json
import signal
import subprocess
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any

import pytest

from evaljudge.commands.run import StepTimes
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.execution.protocol import Event
from evaljudge.runs import pipeline
from evaljudge.runs.json_lines import JsonLines
from evaljudge.runs.progress import JsonLog, watcher
from tests import build
from tests.build import command as called


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def without_time(one: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in one.items() if key != "time"}


def test_an_object_for_each_stage():
    stream = io.StringIO()
    log = JsonLog(stream)
    log.entering("reading cases.jsonl")
    log.starting({"prepare": (0, 10), "judge": (8, 10)})
    log.event(Event("cases", "judge", 0, 5))
    log.event(Event("unscored", "judge", 0, 3))
    receipt = {"stage": "judge", "worker": "w", "worker_seconds": 1800, "gpus": 2, "asked": {}}
    log.event(Event("committed", "judge", 0, 6, receipt | {"cache_block": None}))
    log.worker_died(Event("died", "judge", 1, 2))
    log.warning("corpus: two\nlines")
    log.done()
    phase, prepare, judge, died, warning, prepared, judged = map(
        without_time, objects(stream.getvalue())
    )
    assert phase == {"level": "info", "event": "phase", "phase": "reading cases.jsonl"}
    starting = {"level": "info", "event": "starting"}
    assert prepare == starting | {"stage": "prepare", "left": 0, "of": 10}
    assert judge == starting | {"stage": "judge", "left": 8, "of": 10}
    assert warning == {"level": "warning", "event": "warning", "message": "corpus: two lines"}
    through = io.StringIO()
    StepTimes(JsonLog(through)).worker_died(Event("died", "judge", 1, 2))
    assert [without_time(one) for one in objects(through.getvalue())] == [died]
    died_at = {"stage": "judge", "shard": 1, "in_hand": 2}
    assert died == {"level": "warning", "event": "worker_died"} | died_at
    run = {"gpu_hours": 1.0, "worker_hours": 0.5, "asks": 0}
    progress = {"level": "info", "event": "progress", "run": run}
    assert prepared == progress | {"stage": "prepare", "done": 10, "of": 10, "unscored": 0}
    assert judged.pop("rate") > 0
    assert judged.pop("left_seconds") == 0  # it took no time
    assert judged == progress | {"stage": "judge", "done": 8, "of": 10, "unscored": 3}
    log.starting({"measure": (10, 10)})
    log.event(Event("committed", "measure", 0, 10, {}))
    log.done()
    assert objects(stream.getvalue())[-1]["run"] == run


def test_a_phase_that_lasts_is_said_again_with_its_seconds():
    stream = io.StringIO()
    log = JsonLog(stream)
    log.starting({"judge": (8, 10)})
    log.event(Event("loading"))
    log._progress()
    log.event(Event("loaded"))
    log._progress()
    _, begun, still, judged = map(without_time, objects(stream.getvalue()))
    loading = {"level": "info", "event": "phase", "phase": "loading the model"}
    assert begun == loading and still == loading | {"seconds": 0}
    assert judged["event"] == "progress" and judged["done"] == 2


def test_lines_become_objects_and_objects_stay():
    stream = io.StringIO()
    lines = JsonLines(stream)
    print("evaljudge: out: is a file", file=lines)
    print("warning: 3 rows", file=lines)
    lines.write("shards: 10%\rshards: 100%\n\nhalf a ")
    JsonLog(lines).entering("x")
    first, second, third, fourth = map(without_time, objects(stream.getvalue()))
    assert first == {"level": "error", "event": "error", "message": "out: is a file"}
    assert second == {"level": "warning", "event": "warning", "message": "3 rows"}
    assert third == {"level": "info", "event": "message", "message": "shards: 100%"}
    assert fourth["message"].startswith("half a")


@pytest.fixture
def config(tmp_path):
    build.jsonl(tmp_path / "cases.jsonl", [build.document(1) | {"seen": 1}])
    file = tmp_path / "config.yaml"
    file.write_text(json.dumps(build.config(tmp_path, judges={"synthetic": {}})))
    return file


@pytest.fixture
def in_json(monkeypatch):
    monkeypatch.setenv("EVALJUDGE_LOG", "json")


def command(words: list[str], capsys: pytest.CaptureFixture[str], code: int) -> list[Any]:
    return objects(called(capsys, *words, code=code)[1])


def test_a_run_s_log_is_json(config, in_json, monkeypatch, capsys):
    monkeypatch.setattr(pipeline, "run", partial(pipeline.run, engines=ScriptedEngines()))
    priced = ["--set", "workers.price_per_worker_hour=3600000"]
    log = command(["run", str(config), *priced], capsys, 0)
    spent = [one for one in log if one["event"] == "progress"][-1]
    assert spent["run"]["asks"] > 0 and spent["run"]["cost"] > 0
    events = [one["event"] for one in log]
    assert {"phase", "starting", "progress", "warning"} <= set(events)
    assert without_time(log[-1]) == {"level": "info", "event": "ended", "exit_code": 0}
    assert isinstance(watcher(), JsonLog)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["run", "gone.yaml"], "gone.yaml: no such configuration"),
        (["jog"], "No such command 'jog'"),
        ([], "name a command"),
        (["calibrate", "--good", "gut"], "Invalid value for '--good': should be a number"),
    ],
)
def test_mistakes_are_objects(words, message, in_json, capsys):
    error, ended = command(words, capsys, 2)
    assert (error["level"], error["event"]) == ("error", "error")
    assert message in error["message"]
    assert ended["exit_code"] == 2


def test_a_bug_is_one_object(config, in_json, monkeypatch, capsys):
    monkeypatch.setattr(pipeline, "run", lambda *_, **__: 1 / 0)
    error, ended = command(["run", str(config)], capsys, 1)
    assert (error["event"], error["message"]) == ("bug", "ZeroDivisionError: division by zero")
    assert "Traceback" in error["traceback"]
    assert ended["exit_code"] == 1


@pytest.mark.parametrize(
    ("name", "given", "remedy"),
    [
        ("LOG", "jsn", "write `json`, or leave it out for lines of text"),
        ("FINISH_SECONDS", "abc", "write a number of seconds"),
        ("FINISH_SECONDS", "-5", "write a number of seconds"),
    ],
)
def test_another_setting_is_a_mistake(name, given, remedy, monkeypatch, capsys):
    monkeypatch.setenv(f"EVALJUDGE_{name}", given)
    said = called(capsys, "list", code=2)[1]
    assert said == f"evaljudge: EVALJUDGE_{name} is '{given}': {remedy}\n"


@pytest.mark.service
def test_a_signal_is_an_object(in_json):
    script = "from evaljudge.commands.supervised import supervised; import time\n" \
             "supervised(lambda: (print('begun', flush=True), time.sleep(600)))"  # fmt: skip
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", script], stdout=pipe, stderr=pipe) as process:
        assert process.stdout.readline() == b"begun\n"
        process.send_signal(signal.SIGTERM)
        code, (said,) = process.wait(20), objects(process.communicate()[1].decode())
    assert code == 143
    assert without_time(said) == {"level": "error", "event": "error", "message": "terminated"}
