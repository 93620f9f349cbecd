"""`evaljudge agree`: scores from anywhere, in every form, against the shared numbers."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from evaljudge.errors import UserError
from evaljudge.meta import agree_with, agreement_of

SHARED = Path(__file__).parents[2] / "shared" / "data"
RATED = {"d1": {"A": 1, "B": 2, "C": 3}, "d2": {"A": 3, "B": 1, "C": 2}}
CASES = [
    {
        "doc_id": doc_id,
        "source": "s",
        "candidates": [
            {"system": system, "text": "t", "ratings": {"fluency": rating}}
            for system, rating in rated.items()
        ],
    }
    for doc_id, rated in RATED.items()
]
SCORES = [
    {"doc_id": d, "system": s, "scorer": "mine", "axis": "fluency", "value": v}
    for d, values in (("d1", [10.0, 20.0, 30.0]), ("d2", [0.3, 0.1, 0.2]))
    for s, v in zip("ABC", values, strict=True)
]


@pytest.fixture
def cases(tmp_path: Path) -> str:
    file = tmp_path / "cases.jsonl"
    file.write_text("\n".join(map(json.dumps, CASES)))
    return str(file)


def written(folder: Path, rows: list[dict[str, Any]], kind: str) -> str:
    file = folder / f"scores.{kind}"
    if kind == "jsonl":
        file.write_text("\n".join(map(json.dumps, rows)))
    elif kind == "csv":
        lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
        file.write_text("\n".join(lines))
    else:
        pq.write_table(pa.Table.from_pylist(rows), file)
    return str(file)


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
def test_forms_agree(cases: str, tmp_path: Path, kind: str) -> None:
    findings = agreement_of(cases, written(tmp_path, SCORES, kind))
    found = {(r.level, r.coefficient): r.value for r in findings.agreement}
    assert found["sample", "spearman"] == pytest.approx(1.0)
    assert found["sample", "kendall"] == pytest.approx(1.0)
    assert findings.share == 1.0


def test_scores_by_axis_are_the_same(cases: str, tmp_path: Path) -> None:
    rows = [
        {"doc_id": r["doc_id"], "system": r["system"], "scorer": "mine",
         "scores": {"fluency": r["value"]}} for r in SCORES
    ]  # fmt: skip
    one = agreement_of(cases, written(tmp_path, SCORES, "jsonl")).agreement
    assert agreement_of(cases, written(tmp_path, rows, "jsonl")).agreement == one


def test_a_scorer_without_axis_meets_every_human_axis(cases: str, tmp_path: Path) -> None:
    rows = [{k: v for k, v in row.items() if k != "axis"} for row in SCORES]
    findings = agreement_of(cases, written(tmp_path, rows, "jsonl"))
    assert {r.axis for r in findings.agreement} == {"fluency"}


def test_what_is_missing_is_counted_and_what_is_strange_is_said(cases: str, tmp_path: Path) -> None:
    rows = [*SCORES[1:], SCORES[0] | {"value": None}, SCORES[0] | {"doc_id": "stranger"}]
    findings = agreement_of(cases, written(tmp_path, rows, "jsonl"))
    assert findings.coverage[0].unscored == 1
    assert findings.warnings == ["1 scores belong to no candidate of the corpus and were left out"]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"system": "A", "scorer": "m", "value": 1}, "scores.jsonl:7: needs `doc_id`"),
        ({"doc_id": "d1", "system": "A", "value": 1}, "needs `scorer`"),
        ({"doc_id": "d1", "system": "A", "scorer": "m"}, "needs `value` with `axis`, or `scores`"),
        ({"doc_id": "d1", "system": "A", "scorer": "m", "value": "x"}, "'x' is not a number"),
        (SCORES[0], "a second score of 'A' for 'd1'"),
    ],
)
def test_rows_that_are_no_scores(
    cases: str, tmp_path: Path, row: dict[str, Any], said: str
) -> None:
    with pytest.raises(UserError, match=said):
        agreement_of(cases, written(tmp_path, [*SCORES, row], "jsonl"))


def test_nothing_to_agree_with(cases: str, tmp_path: Path) -> None:
    unrated = tmp_path / "unrated.jsonl"
    unrated.write_text(json.dumps(CASES[0]).replace("ratings", "rated"))
    scores = written(tmp_path, SCORES, "jsonl")
    with pytest.raises(UserError, match="no candidate has human ratings"):
        agreement_of(str(unrated), scores)
    strangers = written(tmp_path, [SCORES[0] | {"doc_id": "x"}], "jsonl")
    with pytest.raises(UserError, match="no score belongs to a candidate"):
        agreement_of(cases, strangers)


def test_what_is_printed_and_written(cases: str, tmp_path: Path) -> None:
    scores = written(tmp_path, SCORES, "jsonl")
    rows = json.loads(agree_with(cases, scores, str(tmp_path / "out"), True))
    assert rows == json.loads((tmp_path / "out" / "agreement.json").read_text())
    contract = "scorer axis level coefficient value low high n skipped"
    assert set(contract.split()) <= set(rows[0])
    assert "mine" in (tmp_path / "out" / "agreement.md").read_text()
    assert "Spearman" in agree_with(cases, scores, None, False)


@pytest.mark.skipif(not SHARED.exists(), reason="the shared human judgements are not here")
def test_the_command_prints_the_published_numbers() -> None:
    pair = (SHARED / "topicalchat.jsonl", SHARED / "topicalchat_unieval.jsonl")
    command = [sys.executable, "-m", "evaljudge.cli", "agree", "--json",
               "--cases", str(pair[0]), "--scores", str(pair[1])]  # fmt: skip
    rows = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    found = {(r["axis"], r["level"]): r for r in rows if r["coefficient"] == "spearman"}
    summary = {
        "naturalness": 0.514,
        "coherence": 0.613,
        "engagingness": 0.605,
        "groundedness": 0.574,
    }
    sample = {
        "naturalness": 0.515,
        "coherence": 0.560,
        "engagingness": 0.573,
        "groundedness": 0.621,
    }
    for axis in summary:
        assert found[axis, "summary"]["value"] == pytest.approx(summary[axis], abs=1e-3)
        assert found[axis, "sample"]["value"] == pytest.approx(sample[axis], abs=1e-3)
    assert found["groundedness", "sample"]["skipped"] == 6
