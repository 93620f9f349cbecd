"""What a judge keeps, as columns: literal evidence in, rows out."""

import sys
from typing import Any

import pyarrow as pa
import pytest

from evaljudge.analysis.run_tables import _details, details_of
from evaljudge.errors import UserError

NO_VOTE = {"answer": None, "p": None, "reason": None, "failed": None}


def row_of(kind: str, kept: dict[str, Any], of_brief: bool = False) -> dict[str, Any]:
    """As a table's columns have it."""
    details = details_of(kind, "brief_columns" if of_brief else "verdict_columns")
    (row,) = details.read([kept])
    found = {name: pa.array([row.get(name)], of) for name, of in details.types.items()}
    return {name: own.to_pylist(maps_as_pydicts="strict")[0] for name, own in found.items()}


def test_synthetic_of_checked_and_of_inferred_levels():
    p = {"Better": 0.5, "Worse": 0.25, "Similar": 0.25}
    levels = [{"rating": 1, "p": p, "mass": 0.9}, {"rating": 3, "p": p, "inferred": [0.1, 0.4]}]
    row = row_of("synthetic", {"levels": levels})
    shown = {"better": 0.5, "worse": 0.25, "similar": 0.25}
    assert row["levels"] == [
        {"rating": 1, "p": shown, "mass": 0.9, "inferred": False},
        {"rating": 3, "p": shown, "mass": None, "inferred": True},
    ]
    assert row_of("synthetic", {"rating": 2.0}, of_brief=True) == {"rating": 2.0, "text": None}


def test_entities_with_votes_of_every_kind():
    votes = {
        "presence": {"answer": "no", "p": {"yes": 0.2, "no": 0.8}, "mass": 0.9},
        "coverage": {"answer": "no", "reason": "It is not there."},
        "gap": {"failed": "cut"},
    }
    found = {
        "entity": "The river rose",
        "span": [0, 14],
        "heading": None,
        "correctness": {},
        "alignment": {},
    }
    evidence = {
        "rubric": [{"entity": "The bridge closed", "votes": votes}],
        "entities": [found],
        "sentences": [],
        "dropped": ["x"],
        "failed": {"rubric": "none"},
    }
    row = row_of("entities", evidence)
    (wanted,) = row["rubric"]
    assert wanted["completeness"]["votes"] == {
        "presence": NO_VOTE | {"answer": "no", "p": {"yes": 0.2, "no": 0.8}},
        "coverage": NO_VOTE | {"answer": "no", "reason": "It is not there."},
        "gap": NO_VOTE | {"failed": "cut"},
    }
    assert wanted["completeness"]["verdict"] == "no"
    (entity,) = row["entities"]
    assert (entity["start"], entity["end"], entity["correctness"]["verdict"]) == (0, 14, None)
    content = {
        "from": "references",
        "texts": 2,
        "dropped": [],
        "entities": [{"entity": "a", "words": "b", "heading": "", "in": [0, 1]}],
    }
    brief = row_of("entities", content, of_brief=True)
    assert brief["rubric"] == [{"entity": "a", "words": "b", "heading": "", "references": [0, 1]}]


def test_roles_without_an_answer_are_null():
    role = {
        "type": "Critic",
        "description": "reads",
        "static": True,
        "votes": {"fixed": {"failed": "cut"}},
        "exact": {"fixed": {"failed": "x"}},
    }
    evidence = {
        "roles": [role],
        "reference": {"from": "human", "text": "A flood."},
        "dropped": [["Readers", "too many"]],
        "notes": [],
        "plain": {"fixed": 1},
    }
    row = row_of("roles", evidence)
    (player,) = row["roles"]
    assert player["votes"]["fixed"]["failed"] == "cut"
    assert player["votes"]["fixed"]["choice"] is None
    assert player["exact"] == {"fixed": None}
    assert row["plain"] == {"fixed": 1.0}
    assert row["dropped"] == [{"type": "Readers", "reason": "too many"}]
    brief = {"readers": None, "notes": None, "text": "A flood."}
    assert row_of("roles", {"text": "A flood."}, of_brief=True) == brief


def test_baselines():
    assert row_of("direct", {"reply": "?"}) == {"reply": "?", "rating": None}
    assert row_of("geval", {"logprobs": {"1": 0.0}}) == {"p": {"1": 1.0}, "draws": None}
    steps = {"text": "1. Read it.", "cut": False}
    assert row_of("geval", {"text": "1. Read it."}, of_brief=True) == steps
    least = [{"text": "A", "logprob": -2.0}]
    kept = {"logprob": -3.0, "weighed": 3, "least": least}
    assert row_of("likelihood", kept) == kept


@pytest.mark.parametrize("returned", ["", " -> list", " -> list[dict]"])
def test_columns_without_names_are_refused(tmp_path, monkeypatch, returned):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "own_columns", raising=False)
    (tmp_path / "own_columns.py").write_text(f"def rows(evidence){returned}: ...")
    _details.cache_clear()
    with pytest.raises(UserError, match="own_columns:rows: what it returns should be annotated"):
        _details("own_columns:rows")
