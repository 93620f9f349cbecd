"""Ratings set aside by a file: which, how many, and what the agreement then is."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from math import nan
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaljudge.analyses.agreement import agreement_of
from evaljudge.analyses.without_outliers import Outlier, WithoutOutliers, read_outliers, set_aside
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.tables import Tables
from evaljudge.config import Config, load_config
from evaljudge.records import Candidate, Case, Document, Score
from evaljudge.report.lines import agreement_markdown
from evaljudge.report.page import page
from evaljudge.report.summary import agreement_text
from tests.build import refusal
from tests.frames import findings, frame, rows

SCORES = [[1.0, 2.0, 3.0], [3.0, 1.0, 2.0]]
FLUENCY = [[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]
"""d0 agrees fully; d1 has 3 1 2 beside 1 2 3: its Spearman is -.5, and without C of it -1."""


def a_run() -> Tables:
    """What scoring makes of two documents; `tone` is rated of d0 alone."""
    tables = Tables([("s", "fluency"), ("s", "tone")])
    for d in range(2):
        told = [{"fluency": f} | ({"tone": 4 - f} if d == 0 else {}) for f in FLUENCY[d]]
        texts = [Candidate(s, "text", own) for s, own in zip("ABC", told, strict=True)]
        case = Case(Document(f"d{d}", "source"), (Candidate("unrated", "text"), *texts))
        values = dict(zip("ABC", SCORES[d], strict=True))
        found = {
            (c.system, "s", axis): Score(f"d{d}", c.system, "s", axis, values.get(c.system))
            for c in case.candidates
            for axis in ("fluency", "tone")
        }
        tables.add(case, found)
    return tables


def config(file: str | None) -> Config:
    how = {"resamples": 0}
    least = {"corpus": "c", "out": "o", "model": "m", "agreement": how}
    return load_config(least | ({} if file is None else {"outliers": file}))


def written(folder: Path, *rows: Any) -> str:
    file = folder / "outliers.jsonl"
    file.write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in rows))
    return str(file)


def outlier(doc_id: str, system: str | None = None, axis: str | None = None) -> Outlier:
    named = {"doc_id": doc_id, "system": system, "axis": axis}
    return Outlier(**{key: name for key, name in named.items() if name is not None})


def spearman(rows: Sequence[Any], axis: str = "fluency") -> dict[str, float | None]:
    found = [row for row in rows if (row.axis, row.coefficient) == (axis, "spearman")]
    return {row.level: row.value for row in found}


NAMING_NONE = [
    outlier(*names)
    for names in (("d2",), ("d0", "unrated"), ("d0", "A", "warmth"), ("d1", "A", "tone"))
]


@pytest.mark.parametrize(
    ("which", "fluency", "tone"),
    [
        (outlier("d0"), [nan, nan, nan, 1, 2, 3], [nan] * 6),
        (outlier("d0", "B"), [1, nan, 3, 1, 2, 3], [3, nan, 1, nan, nan, nan]),
        (outlier("d0", None, "tone"), [1, 2, 3, 1, 2, 3], [nan] * 6),
        (outlier("d1", "C", "fluency"), [1, 2, 3, 1, 2, nan], [3, 2, 1, nan, nan, nan]),
        *((which, [1, 2, 3, 1, 2, 3], [3, 2, 1, nan, nan, nan]) for which in NAMING_NONE),
    ],
)
def test_what_a_row_sets_aside(which, fluency, tone):
    rated = a_run().as_rated()
    before = {axis: column.copy() for axis, column in rated.human.items()}
    left, met = set_aside(rated, [which])
    assert met == (set() if which in NAMING_NONE else {0})
    np.testing.assert_array_equal(left.human["fluency"], fluency)
    np.testing.assert_array_equal(left.human["tone"], tone)
    np.testing.assert_equal(dict(rated.human), before)
    assert left.scores is rated.scores


def without(file: str | None, tables: Tables) -> list[WithoutOutliers]:
    return rows("without_outliers", frame(tables.as_rated(), tables=tables, config=config(file)))


def test_agreement_by_hand(tmp_path):
    tables = a_run()
    some = [{"doc_id": "d1", "system": "C", "axis": "fluency", "why": "a slip"},
            {"doc_id": "d1", "system": "C"}, {"doc_id": "d9"}]  # fmt: skip
    file = written(tmp_path, *some)
    (one,) = without(file, tables)
    assert (one.file, one.rows, one.unmet, one.set_aside, one.ratings) == (file, 3, 1, 1, 9)
    everything = list(agreement_of(tables.as_rated(), 0))
    assert spearman(everything)["sample"] == pytest.approx((1 - 0.5) / 2)
    assert spearman(one.agreement)["sample"] == pytest.approx((1 - 1) / 2)
    assert spearman(one.agreement, "tone") == spearman(everything, "tone")
    keys = [[(row.scorer, row.axis, row.level, row.coefficient) for row in each]
            for each in (everything, one.agreement)]  # fmt: skip
    assert keys[0] == keys[1]


def test_nothing_without_a_file_and_no_tables_where_it_names_nothing(tmp_path):
    tables = a_run()
    assert without(None, tables) == []
    file = written(tmp_path, {"doc_id": "d9"})
    (one,) = without(file, tables)
    assert (one.set_aside, one.unmet, one.agreement) == (0, 1, [])
    assert json.loads(json.dumps(asdict(one)))["ratings"] == 9


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "not valid JSON"),
        ({"system": "A"}, "doc_id: is needed: the document whose ratings are left out"),
        ({"doc_id": 7}, "doc_id: should be a text (got 7)"),
        ({"doc_id": "d", "axis": ["a"]}, "axis: should be a text"),
        ({"doc_id": "d", "system": None}, "system: should be a text (got null)"),
        ({"doc_id": "d", "sytem": "A"}, "did you mean 'system'"),
    ],
)
def test_a_bad_row_is_named(tmp_path, row, said):
    file = written(tmp_path, {"doc_id": "d"}, row)
    words = refusal(read_outliers, file)
    assert words.startswith(f"{file}:2: ")
    assert said in words


def made(one: WithoutOutliers) -> Findings:
    nothing: dict[str, Any] = dict.fromkeys(("coverage", "selections", "tokens"), ())
    return findings(
        run="r", task="summary", corpus="c", model="m", writer="m", cases=2, candidates=6, rated=6,
        coverage_floor=0.9, agreement=(), signatures={}, warnings=(), without_outliers=[one],
        **nothing,
    )  # fmt: skip


def test_all_three_outputs_say_what_is_set_aside(tmp_path, snapshot):
    file = written(tmp_path, {"doc_id": "d1", "system": "C"}, {"doc_id": "d9"})
    (one,) = without(file, a_run())
    one = replace(one, file="<b>o|x</b>")
    told = made(one)
    title = "Without 1 rating that a file sets aside"
    shown = {"markdown": agreement_markdown(told), "screen": agreement_text(told)}
    snapshot({name: text[text.index(title) :].splitlines() for name, text in shown.items()})
    assert page(told).count(title) == 1
    assert page(told).count("<table>") == 4 and "<b>" not in page(told)
    assert title in agreement_text(made(replace(one, agreement=[])))
