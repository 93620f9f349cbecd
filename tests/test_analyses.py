"""An analysis of one's own is one file: it shows up in the report, `agree` and the JSON files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

OWN = """
from dataclasses import dataclass
from evaljudge.analyses import Analysis, Rank, Warned
from evaljudge.sections import Section, Table

@dataclass(frozen=True)
class Tied:
    scorer: str
    texts: int

def rows(run):
    return [Tied(scorer, len(column)) for (scorer, _), column in run.compared.scores.items()]

def section(findings, in_short):
    cells = [[row.scorer, str(row.texts)] for row in findings["tied"]]
    yield Section("What is tied", ["About it."], [Table("Ties", ["scorer", "texts"], cells, "lr")])

def warnings(run, rows):
    yield Warned("tied", Rank.COST, f"{rows['tied'][0].scorer} is tied")

ANALYSIS = Analysis(Tied, rows, section, warnings=warnings)
"""


def told(tmp_path: Path, *call: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "evaljudge", *call],
        cwd=tmp_path,
        env=os.environ | {"EVALJUDGE_ANALYSES": str(tmp_path / "mine")},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout + done.stderr


@pytest.fixture
def cases(tmp_path: Path) -> str:
    (tmp_path / "mine").mkdir()
    texts = [("d1", "A", "one two", 3), ("d1", "B", "one", 2), ("d2", "A", "three four five", 5)]
    keys = "doc_id", "system", "text", "ratings"
    rows = [dict(zip(keys, (*row[:3], {"fluency": row[3]}), strict=True)) for row in texts]
    lines = [json.dumps(row | {"source": "one two three"}) for row in rows]
    (tmp_path / "cases.jsonl").write_text("\n".join(lines))
    return str(tmp_path / "cases.jsonl")


@pytest.mark.service
def test_an_analysis_in_a_folder_of_one_s_own(tmp_path: Path, cases: str) -> None:
    (tmp_path / "mine/tied.py").write_text(OWN)
    (tmp_path / "mine/broken.py").write_text("import no_such_package")
    said = told(tmp_path, "agree", "--cases", cases, "--metrics", "words")
    assert "What is tied\n" in said and "words is tied" in said
    assert "broken.py: ModuleNotFoundError: No module named 'no_such_package'; it is left" in said
    config = {"corpus": cases, "out": "out", "judges": {}, "metrics": ["words"]}
    (tmp_path / "config.yaml").write_text(json.dumps(config))
    told(tmp_path, "run", "config.yaml")
    found = json.loads((tmp_path / "out/report/tied.json").read_text())
    assert found == [{"scorer": "words", "texts": 3}]
    assert "## What is tied" in (tmp_path / "out/report/agreement.md").read_text()
    assert "What is tied" in (tmp_path / "out/report/index.html").read_text()
