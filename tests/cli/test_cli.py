"""The command line: each mistake is one line that says what is wrong, where, and what to do."""

import inspect
import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import typer

import evaljudge
from evaljudge.cli import app
from evaljudge.storage import claimed
from tests.build import command

CASE = {"doc_id": "d", "source": "s", "candidates": [{"system": "A", "text": "t"}]}
FLAT = {"doc_id": "d", "source": "s", "system": "A", "text": "t"}


def select(scorer: str, axis: str) -> dict[str, Any]:
    return {"select": [{"name": "x", "all": [{"scorer": scorer, "axis": axis, "at_least": 3}]}]}


@pytest.fixture
def said(tmp_path, capsys, tiny):
    """Runs `evaljudge run` on such a configuration; it must refuse, in one line."""

    def run(lines: list[Any] | None = None, **changes: Any) -> str:
        corpus = tmp_path / "cases.jsonl"
        rows = [CASE] if lines is None else lines
        corpus.write_text("\n".join(r if isinstance(r, str) else json.dumps(r) for r in rows))
        config = {"corpus": str(corpus), "out": str(tmp_path / "out"), "model": str(tiny())}
        file = tmp_path / "config.yaml"
        file.write_text(json.dumps(config | changes))
        line = command(capsys, "run", str(file), code=2)[1]
        assert line.startswith("evaljudge: ")
        assert line.count("\n") == 1
        assert not (tmp_path / "out").exists()
        return line

    return run


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": "/no/such/model"}, "model /no/such/model: no such folder"),

        ({"corpus": "/no/such/cases.jsonl"}, "/no/such/cases.jsonl: no such file or folder"),
        ({"judges": {}}, "names no judge and no metric"),
        (
            select("synthetic", "fluent"),
            "select.x: unknown axis 'fluent': did you mean 'fluency'?",
        ),
    ],
)  # fmt: skip
def test_configurations_that_are_wrong(said, changes, words):
    assert words in said(**changes)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([FLAT, '{"doc_id": "e", "sou'], "cases.jsonl:2"),
        ([CASE, {"source": "s", "system": "A", "text": "t"}], "cases.jsonl:2: "),
        ([], "holds no document"),
        (["\x1b[31m{"], "cases.jsonl:1: "),
    ],
)
def test_corpora_that_are_wrong(said, lines, words):
    line = said(lines)
    assert words in line
    assert "\x1b" not in line


def test_a_folder_without_a_run(capsys, tmp_path, tiny):
    config = {"corpus": "x.jsonl", "out": str(tmp_path / "o"), "model": str(tiny())}
    (tmp_path / "c.yaml").write_text(json.dumps(config))
    assert "no run lies here yet" in command(capsys, "report", str(tmp_path / "c.yaml"), code=2)[1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("", "name a command (see `evaljudge --help`)"),
        ("rnu", "No such command 'rnu'. Did you mean 'run'? (see `evaljudge --help`)"),
        ("jugdes", "No such command 'jugdes'. Did you mean 'judges'? (see `evaljudge --help`)"),
        ("--nope", "No such option: --nope (see `evaljudge --help`)"),
        ("run --config c.yaml", "No such option: --config: name CONFIG without an option (see "
         "`evaljudge run --help`)"),
        ("run c.yaml --seed 3", "No such option: --seed: give it as `--set seed=…` (see `evaljudge "
         "run --help`)"),
        ("label run -n 5", "No such option: -n. Did you mean --n? (see `evaljudge label --help`)"),
        ("agree run --ratings x", "No such option: --ratings: a key of a configuration (see "
         "`evaljudge agree --help`)"),
        ("run", "Missing argument 'CONFIG' (see `evaljudge run --help`)"),
        ("probe position", "Missing option '--votes' (see `evaljudge probe position --help`)"),
        ("init a.csv", "Got unexpected extra argument(s) (a.csv). Did you mean `evaljudge init "
         "--corpus a.csv`? (see `evaljudge init --help`)"),
        ("show run d17", "Got unexpected extra argument(s) (d17). Did you mean `evaljudge show "
         "--doc d17`? (see `evaljudge show --help`)"),
        ("check a b", "Got unexpected extra argument(s) (b) (see `evaljudge check --help`)"),
        ("export csv run --to x", "the run comes first: `evaljudge export run csv`"),
        ("run c.yaml --set", "Option '--set' requires an argument (see `evaljudge run --help`)"),
    ],
)  # fmt: skip
def test_how_a_command_is_not_called(words, said, capsys):
    assert command(capsys, *words.split(), code=2)[1] == f"evaljudge: {said}\n"


def test_a_name_that_differs_by_case_alone_comes_first(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("c_u1.csv.yaml", "c_t1.csv.yaml", "C_T2.csv.yaml"):
        (tmp_path / name).touch()
    said = command(capsys, "run", "C_T1.csv.yaml", code=2)[1]
    assert said == "evaljudge: C_T1.csv.yaml: no such configuration: did you mean c_t1.csv.yaml?\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        *((f"{words} c1.yaml {rest}", "c1.yaml: is a configuration: name the folder of its run, "
           "which is its `out` (runs/t1)")
          for words, rest in (("show", "--doc d"), ("export", "csv --to x.csv"), ("diff", "x"),
                              ("check", ""), ("why", "--worst 1"), ("label", "--to x.csv"),
                              ("view", ""), ("agree", ""), ("calibrate", ""))),
        ("show texts.csv --doc d", "texts.csv: is a file: name a folder (that of a run is the "
         "`out` of its configuration)"),
        ("show runs/t2 --doc d", "runs/t2: no run lies here"),
        ("check empty", "empty: no run lies here"),
        ("show run --doc d", "run: no run lies here: did you mean runs?"),
        ("import runs/t1 texts.csv", "texts.csv:1: this line is no reply of a batch, a "
         "JSON object with `custom_id` and `response`"),
        ("demo --out /proc/foo", "/proc/foo: No such file or directory"),

        ("run c1.yml", "c1.yml: no such configuration: did you mean c1.yaml?"),
        ("run runs", "runs: no run lies here; runs/t1 is one"),
        ("init --corpus text.csv --model m --task summary",
         "text.csv: no such file or folder: did you mean texts.csv?"),
    ],
)  # fmt: skip
def test_a_path_that_is_another_s_says_which_is_meant(words, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "runs/t1").mkdir(parents=True)
    (tmp_path / "empty").mkdir()
    (tmp_path / "runs/t1/run.json").write_text("{}")
    (tmp_path / "c1.yaml").write_text('corpus: texts.csv\n"out": "runs/t1"\n')
    (tmp_path / "texts.csv").write_text("source,text\n")
    assert command(capsys, *words.split(), code=2)[1] == f"evaljudge: {said}\n"


@pytest.fixture
def measured(tmp_path, monkeypatch):
    """A folder with a configuration, c.yaml, that asks no model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "cases.jsonl").write_text(json.dumps(CASE))
    config = {"corpus": "cases.jsonl", "out": "out", "judges": {}, "metrics": ["words"]}
    (tmp_path / "c.yaml").write_text(json.dumps(config))


def test_the_folder_of_a_run_is_its_configuration(capsys, measured):
    command(capsys, "run", "c.yaml")
    os.rename("out", "moved")
    assert "moved/report/index.html" in command(capsys, "run", "moved")[0]
    assert "no model is asked" in command(capsys, "plan", "moved")[0]
    assert "names no judge" in command(capsys, "prompts", "moved", code=2)[1]
    command(capsys, "run", "moved", "--set", "out=second")
    assert os.path.isfile("second/report/index.html") and not os.path.exists("out")


@pytest.mark.parametrize("key", ["corpus", "task", "prompts"])
def test_a_path_meant_from_where_the_configuration_lies(key, capsys, measured, tmp_path):
    """Paths are taken from the working folder; what lies beside the configuration is named."""
    os.makedirs("jobs/my.yaml" if key == "prompts" else "jobs")
    if key != "prompts":
        os.rename("cases.jsonl", "jobs/my.yaml")
    os.rename("c.yaml", "jobs/c.yaml")
    line = command(capsys, "run", "jobs/c.yaml", "--set", f"{key}=my.yaml", code=2)[1]
    assert "my.yaml: no such f" in line
    assert line.endswith(f" in {tmp_path}: did you mean jobs/my.yaml?\n")


def test_a_folder_at_work_has_an_exit_code_of_its_own(capsys, measured):
    """A scheduler that starts the same run twice need not tell anybody."""
    with claimed("out"):
        line = command(capsys, "run", "c.yaml", code=6)[1]
    assert line.startswith("evaljudge: out: another job is at work there (process ")


@pytest.mark.parametrize(("metric", "log", "code"), [("words", "json", 0), ("rouge1", "", 3)])
def test_a_run_that_nobody_reads_of_ends_with_its_own_code(metric, log, code, measured):
    """As in `evaljudge run c.yaml 2>&1 | head -1`."""
    reader, writer = os.pipe()
    os.close(reader)
    run = [sys.executable, "-m", "evaljudge", "run", "c.yaml", "--set", f"metrics=[{metric}]"]
    environment = os.environ | {"EVALJUDGE_LOG": log}
    ended = subprocess.run(run, stdout=writer, stderr=writer, env=environment, check=False)
    os.close(writer)
    assert ended.returncode == code and os.path.isfile("out/report/index.html")
    with open("/dev/full", "w") as full:
        ended = subprocess.run(run, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert "evaljudge: stdout cannot be written: No space left on device\n" in ended.stderr
    assert ended.returncode == 2


def test_a_job_s_own_folder_is_no_place_for_a_run(said, monkeypatch):
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")
    assert "out: runs/first lies in the job's own folder" in said(out="runs/first")


@pytest.mark.service
@pytest.mark.parametrize(
    "key",
    ["out", *(pytest.param(key, marks=pytest.mark.long) for key in ("corpus", "briefs", "model"))],
)
def test_a_bucket_out_of_reach_is_said_before_an_engine_is_loaded(key, said, s3, s3_proxy):
    assert "there is no such bucket" in said(**{key: "s3://no-such-bucket/x.jsonl"})
    s3_proxy.add("denied")
    assert "access is denied" in said(**{key: f"{s3.uri}/x.jsonl"})


@pytest.mark.service
@pytest.mark.parametrize(
    ("uri", "variables", "words"),
    [
        ("s3://key:secret@bucket/run", {}, "credentials: they belong in the environment"),
        ("s3://my bucket/run", {}, "invalid domain character"),
        ("gs://key:secret@bucket/run", {}, "credentials: they belong in the environment"),
        (
            "s3://bucket/run",
            {"AWS_ENDPOINT_URL": "http://key:secret@127.0.0.1:1"},
            "AWS_ENDPOINT_URL holds credentials: they belong in AWS_ACCESS_KEY_ID and AWS_SECRET",
        ),
        ("s3://bucket//run", {}, "a folder in it has no name"),
        ("s3://bucket/run", {"AWS_PROFILE": "typo"}, "The config profile (typo) could not be"),
        (
            "s3://bucket/run",
            {"AWS_ENDPOINT_URL": "127.0.0.1:1"},
            "AWS_ENDPOINT_URL is 127.0.0.1:1: write it as https:",
        ),
        (
            "s3://bucket/run",
            {"AWS_ACCESS_KEY_ID": ""},
            "no credentials were found: set AWS_ACCESS_KEY_ID",
        ),
    ],
)
def test_what_no_waiting_mends_is_said_at_once(uri, variables, words, said, s3, monkeypatch):
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    if "AWS_ACCESS_KEY_ID" in variables:
        monkeypatch.delenv("AWS_ACCESS_KEY_ID")
        monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    line = said(out=uri)
    assert words in line
    assert "secret" not in line


@pytest.mark.parametrize("key", ["corpus", "model", "task", "prompts", "ratings"])
def test_a_password_in_an_address_is_not_printed(key, said):
    line = said(**{key: f"https://someone:secret@{'example.com/' * 9}x.jsonl"})
    assert "holds credentials: they belong in the environment (got 'https://…@example.com/" in line
    assert "secret" not in line


def test_a_password_in_a_file_s_address_is_not_printed(capsys):
    for words in (["run", "https://a:secret@host/c.yaml"], ["report", "https://a:secret@host/x"]):
        said = command(capsys, *words, code=2)[1]
        assert "…@host" in said and "secret" not in said


def test_the_version_is_printed(capsys):
    for word in ("--version", "version", "-v"):
        assert command(capsys, word)[0] == f"evaljudge {evaljudge.__version__}\n"


# the help


def test_a_shell_can_complete_commands_and_options():
    asked = {"_EVALJUDGE_COMPLETE": "complete_bash", "COMP_CWORD": "2"}
    words = os.environ | asked | {"COMP_WORDS": "evaljudge plan --throughput"}
    done = subprocess.run([sys.executable, "-c", "from evaljudge.__main__ import main; main()"],
                          env=words, capture_output=True, text=True)  # fmt: skip
    assert done.stdout.split() == ["--throughput", "--throughput-of"]


def test_help_is_also_a_command(capsys):
    assert command(capsys, "judges")[0] == command(capsys, "list", "judges")[0]
    one = command(capsys, "list", "synthetic")[0]
    for words in (["judges", "synthetic"], ["list", "judges", "synthetic"]):
        assert command(capsys, *words)[0] == one
    for words in (["help"], ["help", "run"], ["help", "probe", "position"]):
        helped = command(capsys, *words)[0]
        assert helped and helped == command(capsys, *words[1:], "--help")[0]


def commands_of(group: Any, *names: str) -> Iterator[tuple[str, Any]]:
    """Every command by its whole name, `probe mixes`, without the groups."""
    for name, found in group.commands.items():
        if hasattr(found, "commands"):
            yield from commands_of(found, *names, name)
        else:
            yield " ".join([*names, name]), found


HELPED = dict(commands_of(typer.main.get_command(app())))


def is_a_sentence(text: str) -> bool:
    return text[:1].isupper() and text.endswith(".")


@pytest.mark.parametrize("name", HELPED)
def test_the_help_is_sentences_and_ends_with_an_example(name):
    helped = HELPED[name]
    *paragraphs, example = inspect.cleandoc(helped.help).split("\n\n")
    assert not any("\n" in text for text in paragraphs)  # a terminal wraps them by its own width
    assert paragraphs and all(map(is_a_sentence, paragraphs))
    assert example.startswith(f"Example: evaljudge {name}")
    ours, _, _ = example.removeprefix("Example: evaljudge ").partition(" > ")
    helped.make_context(name, shlex.split(ours)[len(name.split()) :])
    shown = [one for one in helped.params if not one.hidden]
    unhelped = [one.name for one in shown if not is_a_sentence(one.help or "")]
    assert unhelped == []
