"""Places and tables: whole files or none, and records that come back as they went."""

import math
import os
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaljudge.errors import UserError
from evaljudge.records import Brief, Candidate, Case, Critique, Document, Score, Tokens, Verdict
from evaljudge.storage import Output, Place, Shard
from evaljudge.storage.files import Panel
from evaljudge.storage.place import locate
from evaljudge.storage.tables import from_table, to_table

TEXT = "null \0 emoji 👩‍👩‍👧 عربي <pad> \n"


def test_records_come_back_as_they_went():
    case = Case(
        Document("d", TEXT, ("r1", "r2"), None),
        (
            Candidate("A", TEXT, {"fluency": 4.5, "relevance": 1.0}, {"fluency": (4.0, 5.0)}),
            Candidate("B", ""),
            Candidate("C", "", {"fluency": 4.0}, {"fluency": (math.nan, 4.0, math.nan, 4.0)}),
        ),
    )
    brief = Brief(
        "d", "k", "j", "a", "1.5", {"text": TEXT}, "ok", "", "s", Tokens(1, 2, 3, 4, 5, 6)
    )
    verdict = Verdict("d", "A", "j", "a", {"p": [0.1, -math.pi]}, "unscored", "why", Tokens(1))
    scores = [Score("d", "A", "j", "a", 0.1 + 0.2, "", "s"), Score("d", "B", "j", "*", None, "w")]
    rows = to_table(Case, [case])
    assert list(from_table(Case, rows)) == [case]
    assert rows["candidates"][0][2]["raters"].as_py() == [("fluency", [None, 4.0, None, 4.0])]
    assert list(from_table(Brief, to_table(Brief, [brief]))) == [brief]
    table = to_table(Verdict, [verdict])
    assert list(from_table(Verdict, table)) == [verdict]
    (cheap,) = from_table(Verdict, table.drop(["tokens"]))
    assert cheap == replace(verdict, tokens=Tokens())
    assert list(from_table(Score, to_table(Score, scores))) == scores
    assert to_table(Score, scores)["status"].to_pylist() == ["ok", "unscored"]
    assert list(from_table(Case, to_table(Case, []))) == []


def test_parts_of_a_shard_are_read_as_its_records_have_them(tmp_path):
    output, shard = Output(str(tmp_path)), Shard(0, 3, 3)
    two = (Candidate("A", TEXT, {"fluency": 4.5}), Candidate("B", ""))
    cases = [Case(Document("d", TEXT), two), Case(Document("e", "s"), ())]
    output.write_cases(shard, [*cases, Case(Document("f", "s"), two[:1])])
    assert output.texts(shard) == [("d", "A", TEXT), ("d", "B", ""), ("f", "A", TEXT)]
    values = [1.5, None, math.nan, math.inf, -2.0]
    scores = [
        Score("d", f"{number}", scorer, axis, value, "", f"{scorer}'s")
        for number, value in enumerate(values)
        for scorer, axis in (("j", "a"), ("j", "*"), ("m", "a"))
    ]
    output.write_scores({shard: scores}, {"m": "signed"})
    assert {(s.scorer, s.signature) for s in output.scores(shard)} == {
        ("j", "j's"),
        ("m", "signed"),
    }


def test_a_critique_is_found_by_its_score(tmp_path):
    output, score = Output(str(tmp_path)), Score("d", "A", "j", "a", 2.0)
    output.keep_critique(score, why := Critique("d", "A", "j", "a", 2.0, "m", TEXT))
    assert output.critiques([replace(score, system="B"), score]) == [why]
    assert output.critiques([replace(score, value=3.0)]) == [], "it explained another score"


def test_the_columns_are_the_contract():
    assert to_table(Verdict, []).column_names == (
        ["doc_id", "system", "judge", "axis", "evidence", "status", "reason", "tokens"]
    )
    assert to_table(Score, []).column_names == (
        "doc_id system scorer axis value status reason signature doubt".split()
    )
    assert set(to_table(Brief, []).column_names) >= {
        "doc_id",
        "key",
        "judge",
        "axis",
        "content",
        "signature",
        "tokens",
    }


@pytest.mark.parametrize(("is_derived", "times"), [(False, 2), (True, 0)])
def test_only_what_cannot_be_made_anew_waits_for_the_disk(tmp_path, monkeypatch, is_derived, times):
    synced = list[int]()
    monkeypatch.setattr(os, "fsync", synced.append)
    place = Place(str(tmp_path))
    place.write("a.txt", "whole", is_derived=is_derived)
    assert place.read("a.txt") == b"whole"
    output, shard = Output(str(tmp_path)), Shard(0, 1, 1)
    if is_derived:
        output.write_scores({shard: [Score("d", "A", "j", "a", 1.0)]})
    else:
        output.commit("judge", shard, {})
    assert len(synced) == times


@given(
    st.floats(allow_nan=False)
    | st.integers(-(2**70), 2**70)
    | st.text(st.characters(codec="utf-8"))
)
def test_evidence_comes_back_as_it_was_written(value):
    verdict = Verdict("d", "A", "j", "a", {"value": value, "list": [value, None, True]})
    (found,) = from_table(Verdict, to_table(Verdict, [verdict]))
    assert found == verdict
    assert type(found.evidence["value"]) is type(value)


def test_of_two_jobs_that_begin_a_run_at_once_one_is_refused(tmp_path):
    Output(str(tmp_path)).bind({"id": "mine"})
    with pytest.raises(UserError, match="another job has just begun a run there"):
        Output(str(tmp_path)).bind({"id": "theirs"})
    assert Output(str(tmp_path)).name == "mine"


def test_briefs_are_reused_but_for_those_of_shards_that_are_at_work(tmp_path):
    output = Output(str(tmp_path), run="mine")
    names = [
        "00000-mine.parquet",
        "00001-mine.parquet",
        "00002-mine.parquet",
        "00002-other.parquet",
    ]
    for name in names:
        Place(str(tmp_path)).write(f"briefs/roles/{name}", b"")
    for cuts, reused in (
        ([0], names[3:]),
        ([0, 1], [names[0], names[3]]),
        ([0, 1, 2], names[:2] + names[3:]),
    ):
        output.write_listing({"cuts": cuts})
        assert sorted(output.reusable_briefs("roles")) == sorted(reused)


def test_each_panel_has_briefs_of_its_own():
    shard, output = Shard(2, 1, 1), Output("out", run="mine")
    names = [output.of(panel).brief_file(shard) for panel in (Panel(), Panel("5a", "7b"))]
    assert names == ["00002-mine.parquet", "00002-mine-5a.parquet"]


def test_a_folder_for_briefs_that_cannot_be_written_to_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    Output(str(tmp_path / "out"), str(tmp_path / "briefs")).try_briefs()
    with pytest.raises(UserError, match="file/briefs.*: cannot be written"):
        Output(str(tmp_path / "out"), str(tmp_path / "file/briefs")).try_briefs()


def test_a_container_of_azure_is_no_password():
    path = "container@account.dfs.core.windows.net/x"
    assert locate(f"abfs://{path}")[1] == path
    for uri in ("abfs://container:SECRET@account/x", "abfs://c@a/x?account_key=SECRET"):
        with pytest.raises(UserError, match="holds credentials") as refused:
            locate(uri)
        assert "SECRET" not in str(refused.value)


def test_of_a_shared_folder_of_briefs_only_the_runs_own_half_written_files_go(tmp_path):
    """Another run may be writing there."""
    mine, others = (tmp_path / f"briefs/{run}/.00000.zip.1a2b.part" for run in ("z11", "z12"))
    for file in (mine, others):
        file.parent.mkdir(parents=True)
        file.touch()
    Output(str(tmp_path / "out"), str(tmp_path / "briefs"), "z11").sweep()
    assert (mine.exists(), others.exists()) == (False, True)
