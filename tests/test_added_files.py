"""A metric, a format, a command and an analysis in a file each: in a folder, installed."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.build import document, jsonl

PAGE = Path(__file__).parents[1] / "docs" / "extending.md"
FILE = re.compile(
    r"^```python (my_(?:metrics|formats|commands|analyses)/\S+)\n(.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
CASE = {"id": "d1", "question": "Why?", "a": "IT rained HERE", "b": "I"}
pytestmark = pytest.mark.service


@pytest.fixture(params=["package", pytest.param("folder", marks=pytest.mark.long)])
def environment(request, tmp_path):
    """In which both files are found; what makes a package installed is metadata beside it."""
    for name, text in FILE.findall(PAGE.read_text(encoding="utf-8")):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text, encoding="utf-8")
    if request.param == "folder":
        return {
            "EVALJUDGE_METRICS": str(tmp_path / "my_metrics"),
            "EVALJUDGE_CORPORA": str(tmp_path / "my_formats"),
            "EVALJUDGE_CLI": str(tmp_path / "my_commands"),
            "EVALJUDGE_ANALYSES": str(tmp_path / "my_analyses"),
        }
    (tmp_path / "mine-1.dist-info").mkdir()
    (tmp_path / "mine-1.dist-info/METADATA").write_text("Name: mine\nVersion: 1\n")
    (tmp_path / "mine-1.dist-info/entry_points.txt").write_text(
        "[evaljudge.metrics]\nshouting = my_metrics.shouting:METRICS\n"
        "[evaljudge.corpora]\nanswers = my_formats.answers:FORMATS\n"
        "[evaljudge.cli]\nunscored = my_commands.unscored:COMMANDS\n"
        "[evaljudge.analyses]\nabove = my_analyses.above:ANALYSIS\n"
    )
    paths = filter(None, [str(tmp_path), os.environ.get("PYTHONPATH", "")])
    return {"PYTHONPATH": os.pathsep.join(paths)}


COMMAND = ("-m", "evaljudge")
CALLS = (
    "-c",
    "import contextlib, sys\nfrom evaljudge.cli import main\n"
    "for call in sys.argv[1:]:\n with contextlib.suppress(SystemExit): main(call.split())",
)
"""Several calls in one process, each in one argument."""


def said(
    environment: dict[str, str], *arguments: str, status: int = 0, by: Sequence[str] = COMMAND
) -> str:
    done = subprocess.run(
        [sys.executable, *by, *arguments],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == status, done.stderr
    return done.stdout + done.stderr


def test_all_are_used_and_listed(environment, tmp_path):
    (tmp_path / "cases.jsonl").write_text(f"{json.dumps(CASE)}\n")
    out = tmp_path / "out"
    config = {
        "corpus": {"path": str(tmp_path / "cases.jsonl"), "format": "answers"},
        "out": str(out),
        "judges": {},
        "metrics": {"shouting": {}, "loud": {"metric": "shouting", "shortest": 1}},
        "coverage_floor": 0,
    }
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    calls = ["list metrics", "list formats", f"run {tmp_path}/config.yaml", f"unscored {out}"]
    shown = said(environment, *calls, "--help", by=CALLS)
    assert "The share of words in capitals. Needs: nothing else." in shown
    assert "\nanswers " in shown and "warning: corpus" not in shown
    scores = pq.read_table(out / "scores").to_pylist()
    assert {(row["scorer"], row["system"]): row["value"] or row["reason"] for row in scores} == {
        ("shouting", "a"): 2 / 3,
        ("shouting", "b"): "no words",
        ("loud", "a"): 2 / 3,
        ("loud", "b"): 1.0,
    }
    assert "Count the texts that have no score, by scorer and reason." in shown
    assert re.search(r"^shouting +no words +1$", shown, re.M)


@pytest.mark.long
def test_a_broken_file_is_left_out_and_so_is_the_second_of_one_name(tmp_path):
    (tmp_path / "broken.py").write_text("import no_such_package")
    (tmp_path / "odd.py").write_text("METRICS = {'odd': len}")
    (tmp_path / "misspelt.py").write_text("METRIC = {}")
    (tmp_path / "_helper.py").write_text("")
    there = {"EVALJUDGE_METRICS": str(tmp_path)}
    listed = said(there, "list", "metrics")
    assert "broken.py: ModuleNotFoundError: No module named 'no_such_package'; it is left out" in (
        listed
    )
    assert "odd.py: TypeError: 'odd' must be of the class KnownMetric; it is left out" in listed
    assert "misspelt.py: AttributeError: it has no `METRICS`; it is left out" in listed
    assert "_helper" not in listed
    (tmp_path / "length.py").write_text("")
    went_on = said(there, "list", "metrics")
    assert "evaljudge: two files of metrics are called 'length': " in went_on
    (tmp_path / "length.py").unlink()
    (tmp_path / "mine.py").write_text("from evaljudge.metrics.length import METRICS")
    went_on = said(there, "list", "metrics")
    assert "two entries of metrics are called 'words': " in went_on
    assert "; the second is left out" in went_on and "\nwords " in went_on
    (tmp_path / "mine.py").write_text("from evaljudge.cli.probe import COMMANDS")
    went_on = said({"EVALJUDGE_CLI": str(tmp_path)}, "list", "metrics")
    assert "two entries of cli are called 'probe'" in went_on and "; the second is left" in went_on


@pytest.mark.long
def test_an_analysis(environment, tmp_path):
    cases = [document(n, "AB", fluency=n) for n in range(2)]
    given = jsonl(tmp_path / "cases.jsonl", cases)
    printed = said(environment, "agree", "--cases", given, "--metrics", "words")
    assert "Above the mean\n" in printed
    out = tmp_path / "out"
    config = {"corpus": given, "out": str(out), "judges": {}, "metrics": ["words"]}
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    said(environment, "run", str(tmp_path / "config.yaml"))
    (row,) = json.loads((out / "report/above.json").read_text())
    assert (row["scorer"], row["texts"]) == ("words", 4)
    assert "## Above the mean" in (out / "report/agreement.md").read_text()
    assert "Above the mean" in (out / "report/index.html").read_text()


@pytest.mark.parametrize(
    ("what", "text", "printed"),
    [
        (
            "metrics",
            "measure(self, cases): return 1 / 0",
            "metrics.own: its `measure` fails at own.py:7: Zero",
        ),
        pytest.param(
            "metrics",
            "measure(self, cases): return 0.5",
            "it should give a list for each case, with a value for each candidate",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "metrics",
            "measure(self, cases): return [[None] * 2] * 2",
            "it gives None in place of a number",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "analyses",
            "rows(run): return 1 / 0",
            "`rows` of the analysis own fails at own.py:2: ZeroDivisionError",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "analyses",
            "rows(run): return [5]",
            "`rows` of the analysis own fails: TypeError: 5 is no Row",
            marks=pytest.mark.long,
        ),
        pytest.param(
            "corpora",
            "read(paths): return 1 / 0",
            "the corpus format own fails at own.py:2: ZeroDivisionError",
            marks=pytest.mark.long,
        ),
        ("cli", "own(): return 1 / 0", "the command own fails at own.py:2: ZeroDivisionError"),
        pytest.param(
            "analyses",
            "rows(run): pass\nraise SystemExit",
            "own.py: SystemExit: SystemExit; it is left out",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_mistake_in_it_is_one_line(what, text, printed, tmp_path):
    around = {
        "metrics": "from evaljudge.metrics import KnownMetric\nclass Own:\n  name = 'own'\n"
        "  version = '1'\n  facts = {}\n  def __init__(self, name, given): pass\n  def TEXT\n"
        "METRICS = {'own': KnownMetric(Own, 'It fails.')}\n",
        "analyses": "from evaljudge.analyses import Analysis\ndef TEXT\nfrom dataclasses import "
        "make_dataclass\nANALYSIS = Analysis(make_dataclass('Row', []), rows, lambda *_: ())\n",
        "corpora": "from evaljudge.corpora.rows import KnownFormat\ndef TEXT\n"
        "FORMATS = {'own': KnownFormat(read, 'It fails.', 'Nothing.')}\n",
        "cli": "from evaljudge.commands.options import Command\ndef TEXT\n"
        "COMMANDS = {'own': Command(own, 'Mine')}\n",
    }
    (tmp_path / "own.py").write_text(around[what].replace("TEXT", text))
    cases = jsonl(tmp_path / "cases.jsonl", [document(n, "AB", fluency=n) for n in range(2)])
    wanted = ["own"] if what == "cli" else ["agree", "--cases", cases, "--metrics"]
    of_kind = {"metrics": ["own"], "cli": [], "corpora": ["words", "--format", "own"]}
    wanted += of_kind.get(what, ["words"])
    is_left_out = "left out" in printed
    shown = said(
        {f"EVALJUDGE_{what.upper()}": str(tmp_path)}, *wanted, status=0 if is_left_out else 2
    )
    assert printed in shown and "Traceback" not in shown


@pytest.mark.long
def test_a_folder_that_is_none_is_named(tmp_path):
    shown = said({"EVALJUDGE_METRICS": str(tmp_path / "none")}, "list", "metrics")
    assert f"EVALJUDGE_METRICS names {tmp_path / 'none'}, which is no folder" in shown
