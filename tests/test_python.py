"""The package as programs use it: its names, its functions and their types."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.commands.options import Names, _given
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from tests.build import command, jsonl

ROOT = Path(__file__).parents[1]
FEW = {"resamples": 20}


@pytest.fixture
def cases(tmp_path):
    (tmp_path / "cases.jsonl").write_text(as_jsonl(make_cases(6, 0)))
    return str(tmp_path / "cases.jsonl")


@pytest.fixture
def scores(cases, tmp_path):
    """As many as the words of the text."""
    rows = [
        {"doc_id": row["doc_id"], "system": one["system"], "scorer": "mine", "value": words}
        for row in map(json.loads, Path(cases).read_text().splitlines())
        for one in row["candidates"]
        for words in [len(one["text"].split())]
    ]
    return jsonl(tmp_path / "scores.jsonl", rows)


def test_only_the_interface_is_listed_and_messages_name_arguments(cases, scores):
    assert dir(evaljudge) == sorted(evaljudge.__all__)
    assert evaljudge.__all__ == sorted(evaljudge.__all__)
    assert all(getattr(evaljudge, name) is not None for name in evaljudge.__all__)
    assert dir(evaljudge.probe) == ["datasheet", "injection", "position"]
    with pytest.raises(AttributeError, match="has no attribute 'agre'"):
        evaljudge.agre  # noqa: B018
    with pytest.raises(UserError, match=r"^good needs precision: "):
        evaljudge.calibrate(cases, scores, good=4)
    with pytest.raises(UserError, match=r"^axis: unknown human axis 'fluent': did you mean"):
        evaljudge.agree(cases, scores, axis="fluent")
    with pytest.raises(UserError, match=r"^agree.metrics: should be a text or"):
        evaljudge.agree(cases, metrics=3)


@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("agree", {"metrics": ["words"], "axis": "fluency"}),
        ("calibrate", {"axis": ["fluency"], "good": 4.0, "precision": 0.5}),
    ],
)
def test_a_function_finds_what_its_command_prints_and_writes(
    name, given, cases, scores, tmp_path, capsys
):
    found = getattr(evaljudge, name)(cases, scores, **given, **FEW)
    assert capsys.readouterr() == ("", "")
    assert repr(found) + "\n" == found.text
    found.write(str(tmp_path / "found"))
    options = [f"--cases={cases}", f"--scores={scores}", "--resamples=20"]
    options += [f"--{key}={v[0] if isinstance(v, list) else v}" for key, v in given.items()]
    assert command(capsys, name, *options)[0] == found.text
    out, err = command(capsys, name, *options, "--json", f"--out={tmp_path / 'out'}")
    assert (out, err.splitlines()) == (found.json, [f"warning: {w}" for w in found.warnings])
    written = [
        {file.name: file.read_bytes() for file in (tmp_path / folder).rglob("*.json")}
        for folder in ("found", "out")
    ]
    assert written[0] == written[1] != {}


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        (lambda: evaljudge.agree(3), "cases"),
        (lambda: evaljudge.agree("c.jsonl", ["s.jsonl", 3]), "scores"),
        (lambda: evaljudge.open_run(3), "out"),
        (lambda: evaljudge.score([], out=3), "out"),
    ],
)  # fmt: skip
def test_what_is_no_path_is_refused_in_a_line(wrong, named):
    with pytest.raises(UserError, match=f"^{named}: give a path as a text, not a value of type "):
        wrong()
    with pytest.raises(UserError, match=r"^config: these are rows: give `{'corpus': rows, "):
        evaljudge.run([{"source": "s", "text": "t"}])  # type: ignore[arg-type]


def test_names_may_be_in_a_set_and_ids_may_be_numbers():
    assert _given({"fluency"}, Names) == ["fluency"]
    assert _given("fluency", Names) == "fluency"
    assert _given(5, str | None) == "5"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: evaljudge.show(sytem="A"), "2 mistakes: show.run: is needed; "
         "show: unknown key 'sytem': did you mean 'system'?"),
        (lambda: evaljudge.show("r", "d", doc_id="e"), "show: multiple values for argument 'doc_i"),
        (lambda: evaljudge.label("r", "s.csv", n="x"), "label.n: should be a whole number"),
        (lambda: evaljudge.agree("c", "s", coverage_floor=95), "agree.coverage_floor: should be 1"),
    ],
)  # fmt: skip
def test_arguments_are_checked_as_those_of_a_terminal(call, said):
    with pytest.raises(UserError) as refused:
        call()
    assert str(refused.value).startswith(said)


def test_check_diff_and_label(cases, tmp_path):
    given: dict[str, Any] = {
        "corpus": cases, "model": "m", "judges": {"geval": {}}, "agreement": FEW,
        "workers": {"executor": "local"}, "view": 1,
    }  # fmt: skip
    first, second = str(tmp_path / "first"), str(tmp_path / "second")
    for out in (first, second):
        evaljudge.run(given | {"out": out}, engines=ScriptedEngines())
    opened = evaljudge.open_run(Path(first))
    assert evaljudge.check(opened).exit_code == 0
    compared = evaljudge.diff(opened, Path(second), fail_if_lower="geval.fluency")
    assert compared.differences.corpus.is_none
    assert not compared.failed
    assert repr(compared) + "\n" == compared.text
    sheet = evaljudge.label(opened, tmp_path / "sheet.csv", n=5, axis="fluency")
    assert sheet.axes == ["fluency"]
    with pytest.raises(UserError, match=r"^label\.by: should be 'random', 'strat"):
        evaljudge.label(first, str(tmp_path / "other.csv"), by="rand")


PROGRAM = """
from pathlib import Path

import evaljudge
from evaljudge.results import Agreed, CalibratedScores, Checked, Diffed, Plan, WrittenSheet

outcome: evaljudge.Outcome = evaljudge.run({"corpus": "c", "out": "o"}, ["seed=1"], extend=True)
opened = evaljudge.open_run("s3://bucket/run")
values: list[float | None] = [row.value for row in opened.agreement]
names: list[str] = [rule.name for rule in opened.selections]
rows: int = opened.scores(["value"]).num_rows + opened.verdicts("direct").num_rows
for table in opened.iter_briefs("direct"):
    rows += table.num_rows
agreed: Agreed = evaljudge.agree("c", ["s"], metrics={"rouge1": {}}, coefficient="kendall")
lows: list[float | None] = [row.low for row in agreed.agreement]
calibrated: CalibratedScores = evaljudge.calibrate(Path("c"), [Path("s")])
maps: list[str] = [row.name for row in calibrated.rows]
votes: list[int] = [row.n for row in evaljudge.probe.position("votes.jsonl").rows]
checked: Checked = evaljudge.check(outcome)
problems: list[str] = checked.problems
compared: Diffed = evaljudge.diff(outcome, Path("b"))
failed: list[str] = compared.failed
sheet: WrittenSheet = evaljudge.label("o", "sheet.csv")
drawn: int = sheet.drawn
planned: Plan = evaljudge.plan("config.yaml")
try:
    evaljudge.make_report("config.yaml")
except evaljudge.UserError:
    pass
"""
WRONG = """
import evaljudge

evaljudge.agree("c", coefficient="pearsons")
evaljudge.probe.position("votes.jsonl").rows[0].values
evaljudge.open_run(3)
evaljudge.import_module
"""


@pytest.mark.service
def test_a_program_of_the_whole_interface_is_typed(tmp_path):
    (tmp_path / "right.py").write_text(PROGRAM)
    (tmp_path / "wrong.py").write_text(WRONG)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--config-file", str(ROOT / "pyproject.toml"),
         "--cache-dir", str(ROOT / ".mypy_cache"), "right.py", "wrong.py"],
        cwd=tmp_path, env=os.environ | {"MYPYPATH": str(ROOT)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    lines = [line.partition(": ")[0] for line in done.stdout.splitlines() if ": error: " in line]
    assert lines == [f"wrong.py:{line}" for line in (4, 5, 6, 7)], done.stdout
