"""The package as programs use it: its names, its functions and their types."""

import gc
import inspect
import json
import os
import re
import subprocess
import sys
from math import log
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.agreement import Precise
from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.commands.agree import Agreed
from evaljudge.commands.options import Names, _given
from evaljudge.engines.scripted import Scripted, ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.judges.protocol import Judge
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
        (lambda: evaljudge.calibrate("c", "s", scorers=["a"]),
         "calibrate: unknown key 'scorers': did you mean 'scorer'?"),
        (lambda: evaljudge.label("r", "s.csv", n="x"), "label.n: should be a whole number"),
        (lambda: evaljudge.agree("c", "s", coverage_floor=95), "agree.coverage_floor: should be 1"),
        (lambda: evaljudge.run({}, until="judge"), "until: call `prepare` or `judge`, which end "),
    ],
)  # fmt: skip
def test_arguments_are_checked_as_those_of_a_terminal(call, said):
    with pytest.raises(UserError) as refused:
        call()
    assert str(refused.value).startswith(said)


def test_thresholds_are_a_table(cases, scores):
    aim: dict[str, Any] = {"good": 3, "precision": 0.5, "axis": "fluency"}
    found = evaljudge.calibrate(cases, scores, **aim, **FEW)
    (row,) = found.rows
    assert isinstance(row.selection, Precise)
    (one,), precise = found.thresholds, row.selection
    assert found.scores.column_names[:2] == ["low", "high"] and found.scores.num_rows > 5
    assert (one.scorer, one.axis, one.threshold) == ("mine", "fluency", precise.threshold)
    shown = found.text.partition("recall\n")[2].split()
    assert [f"{one.good:.3f}", f"{one.selected:.3f}"] == [shown[2], shown[4]]
    reached = precise.precision
    assert (one.precision, one.low, one.high) == (reached.value, reached.low, reached.high)
    assert one.recall == precise.recall.value
    (sure,) = evaljudge.calibrate(cases, scores, **aim, confidence=0.5, **FEW).thresholds
    assert (sure.good, sure.threshold, sure.low) == (one.good, None, None)
    assert [*found.thresholds.to_pandas().columns][2:5] == ["threshold", "good", "selected"]
    assert list(evaljudge.calibrate(cases, scores, axis="fluency", **FEW).thresholds) == []


@pytest.mark.parametrize("name", ["agree", "calibrate", "check", "diff", "export", "label"])
def test_help_explains_every_argument(name):
    explained = getattr(evaljudge, name)
    for argument in inspect.signature(explained).parameters:
        assert re.search(rf"^{argument}: \w.+\.", explained.__doc__, re.MULTILINE), argument


def test_help_speaks_of_python_and_says_what_is_given():
    functions = [
        f for f in (getattr(evaljudge, n) for n in dir(evaljudge)) if inspect.isfunction(f)
    ]
    assert len(functions) > 15
    for explained in functions:
        assert inspect.signature(explained).return_annotation is not inspect.Signature.empty
        odd = r"--\w|repeated|\bexit code|Example: |\bOUT\b"
        assert not re.search(odd, explained.__doc__), explained.__name__
    assert inspect.signature(evaljudge.agree).return_annotation is Agreed
    assert "Needs good." in evaljudge.calibrate.__doc__
    assert "The `exit_code` is 3 if" in evaljudge.agree.__doc__


def test_scores_are_of_one_scorer_where_it_is_named(cases):
    outcome = evaljudge.score(cases, judges=[], metrics=["words", "rouge1"], agreement=FEW)
    whole = outcome.scores().to_pylist()
    mine = outcome.scores(scorer="words").to_pylist()
    assert len(mine) == 36 and mine == [row for row in whole if row["scorer"] == "words"]
    values = outcome.scores(["value"], scorer="words").to_pylist()
    both = outcome.scores(["scorer", "value"], scorer="words").to_pylist()
    assert both == [{"scorer": "words"} | row for row in values]
    assert outcome.scores("value", scorer="words").to_pylist() == values
    assert values == [{"value": row["value"]} for row in mine]
    with pytest.raises(UserError, match="^scores: unknown scorer 'word': did you mean 'words'"):
        outcome.scores(scorer="word")


def test_a_judge_of_a_notebooks_cell_is_to_be_put_into_a_file(monkeypatch):
    own = type("Own", (Judge,), {"__module__": "__main__"})
    said = "put it into my_judge.py (in a notebook: `%%writefile my_judge.py`) as 'my_judge:Own'"
    for call in (
        lambda: evaljudge.run({"corpus": "c.jsonl", "out": "o"}, own),
        lambda: evaljudge.run({"corpus": "c.jsonl", "out": "o"}, judges=[own]),
        lambda: evaljudge.Scorer(model="m", judges={"own": {"judge": own}}),
    ):
        with pytest.raises(UserError) as refused:
            call()
        assert str(refused.value).endswith(
            f"a class is no value here, as workers import judges: {said}"
        )


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
    assert set(compared.differences.means[:2].to_pandas()["scorer"]) == {"geval"}
    assert repr(compared.differences).startswith(f"RunDifferences('{first}', '{second}'; rows of ")
    assert len(repr(compared.differences)) < 500
    assert not compared.failed
    assert repr(compared) + "\n" == compared.text
    sheet = evaljudge.label(opened, tmp_path / "sheet.csv", n=5, axis="fluency")
    assert sheet.axes == ["fluency"]
    with pytest.raises(UserError, match=r"^label\.by: should be 'random', 'strat"):
        evaljudge.label(first, str(tmp_path / "other.csv"), by="rand")


def test_what_a_run_keeps_is_enough_to_export_it_and_to_report_with_further_ratings(
    cases, tmp_path, monkeypatch
):
    given: dict[str, Any] = {
        "corpus": cases, "judges": {}, "metrics": ["words"], "agreement": FEW,
        "workers": {"executor": "local"}, "view": 1,
    }  # fmt: skip
    outcome = evaljudge.run(given | {"out": str(tmp_path / "run")})
    table = tmp_path / "texts.csv"
    assert evaljudge.export(outcome, "csv", table) == f"36 rows: {table}"
    assert table.read_text("utf-8-sig").startswith("doc_id,system,words,human.coherence,")
    with pytest.raises(UserError, match="^unknown export 'csf': did you mean 'csv'"):
        evaljudge.export(outcome, "csf", table)
    with pytest.raises(UserError, match="is there already: choose another file by to, or force"):
        evaljudge.export(outcome, "csv", to=table)
    sheet = tmp_path / "sheet.jsonl"
    evaljudge.label(outcome, sheet, n=36, axis="fluency")
    rows = [json.loads(line) | {"fluency": 1} for line in sheet.read_text().splitlines()]
    jsonl(sheet, rows)
    monkeypatch.chdir(tmp_path)
    moved = tmp_path.rename(tmp_path.parent / f"{tmp_path.name}-moved")
    for run in (evaljudge.open_run("run"), "run", Path("run")):
        made = evaljudge.make_report(run, ratings=[str(moved / "sheet.jsonl")])
        assert made.scores(wide=True)["human.fluency"].to_pylist() == [1] * 36
    assert evaljudge.make_report("run", ["ratings=[]"]).agreement == outcome.agreement
    with pytest.raises(UserError, match=r"no run lies here; .*run is one"):
        evaljudge.make_report(moved)


def test_a_temporary_run_stays_while_a_later_report_of_it_is_there(cases):
    outcome = evaljudge.score(cases, judges=[], metrics=["words"], agreement=FEW)
    outcome = evaljudge.make_report(outcome, coverage_floor=0.5)
    gc.collect()
    assert outcome.scores().num_rows == 36


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
line: str = evaljudge.export(outcome, "scores", Path("scores.csv"), force=True)
later: evaljudge.Outcome = evaljudge.make_report(outcome, ratings=["sheet.csv"])
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


def test_each_model_has_a_script_of_its_own():
    def always(rating: str) -> Any:
        chances = {True: log(0.96), False: log(0.01)}
        return lambda: Scripted(
            chooses=lambda _, options: {name: chances[name == rating] for name in options.names}
        )

    engines = ScriptedEngines({"small": always("1"), "large": always("5")})
    cases = [{"doc_id": "d", "source": "It rained.", "candidates": [{"system": "A", "text": "T"}]}]
    judges = {name: {"judge": "geval", "model": name} for name in ("small", "large")}
    asked: dict[str, Any] = {"axes": ["fluency"], "engines": engines, "progress": False}
    made = evaljudge.score(cases, judges=judges, **asked).scores(["scorer", "value"]).to_pylist()
    means = {row["scorer"]: row["value"] for row in made}
    assert means["small"] < 1.2 < 4.8 < means["large"]
    with pytest.raises(evaljudge.UserError, match="ScriptedEngines: .*model.* 'other'"):
        evaljudge.score(cases, judges={"geval": {"model": "other"}}, **asked)
