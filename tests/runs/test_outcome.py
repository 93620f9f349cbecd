"""A finished run in Python: opened again it is what `run` gave; its tables have typed columns."""

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import asdict, replace
from itertools import product
from pathlib import Path
from typing import Any, Literal, TypedDict

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import evaljudge
from evaljudge.analyses import analyses
from evaljudge.analysis.findings import Findings
from evaljudge.analysis.run_tables import RunTables, arrow_type
from evaljudge.bundled.world import as_jsonl, make_cases
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import Damaged, UserError
from evaljudge.judges.collector import JudgeFindings
from evaljudge.runs.outcome import open_run
from evaljudge.storage import Output
from tests import build

PAGE = Path(__file__).parents[2] / "docs/columns.md"
JUDGES: dict[str, Any] = {
    "synthetic": {"levels": 3},
    "entities": {},
    "roles": {"clustering": False},
    "geval": {"samples": 3},
    "pairs": {},
    "direct": {},
}
CASES, SYSTEMS = 5, 6


def config(folder: Path, out: str, **changes: Any) -> dict[str, Any]:
    (folder / "cases.jsonl").write_text(as_jsonl(make_cases(CASES, 0)))
    rule = {"scorer": "synthetic", "axis": "fluency", "top_fraction": 0.2}
    usual = {
        "axes": ["fluency", "relevance"], "judges": {"synthetic": {"levels": 3}},
        "metrics": ["words"], "calibrate": ["synthetic"],
        "select": [{"name": name, "all": [rule]} for name in ("second", "first")],
        "agreement": {"resamples": 20},
    }  # fmt: skip
    return build.config(folder, out=out, **usual | changes)


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    folder = tmp_path_factory.mktemp("done")
    return evaljudge.run(
        config(folder, str(folder / "out"), judges=JUDGES), engines=ScriptedEngines()
    )


@pytest.fixture
def copy(done, tmp_path):
    """To be damaged."""
    shutil.copytree(done.out, tmp_path / "out")
    return tmp_path / "out"


def plain(findings: Findings) -> Any:
    return json.loads(json.dumps(asdict(replace(findings, judged=JudgeFindings()))))


def test_an_opened_run_is_what_the_run_gave(done):
    opened = open_run(done.out)
    assert opened.agreement == done.agreement
    assert opened.coverage == done.coverage
    assert opened.selections == done.selections
    assert [rule.name for rule in opened.selections] == ["second", "first"]
    chosen = opened.selected("first")
    assert 0 < chosen.num_rows == opened.selections[1].selected < opened.texts().num_rows
    with pytest.raises(UserError, match="unknown selection 'frist': did you mean 'first'"):
        opened.selected("frist")
    assert all(table.num_rows for table in opened.judge_tables.values())
    names = [table.column_names for table in opened.judge_tables.values()]
    assert all(len(of) == len({*of}) for of in names)
    assert opened.warnings == done.warnings
    assert opened.exit_code == done.exit_code
    assert opened.judges == list(JUDGES)
    assert repr(opened) == repr(done)
    assert opened._repr_html_() == done._repr_html_()
    assert plain(opened.findings) == plain(done.findings)
    assert opened.scores().equals(done.scores())
    assert list(opened.findings) == list(opened.findings.keys()) == list(analyses())
    assert "systems" in opened.findings and opened.findings.get("system") is None
    assert list(opened.findings._ipython_key_completions_()) == list(analyses())
    some = opened.agreement[1:3]
    assert list(some.to_pandas()["level"]) == [row.level for row in opened.agreement[1:3]]
    chosen = opened.agreement.where(axis="fluency", level="system")
    assert set(chosen.to_pandas()["level"]) == {"system"}
    assert chosen == [
        row for row in opened.agreement if (row.axis, row.level) == ("fluency", "system")
    ]
    few = opened.agreement.where(level="sample", coefficient="spearman")
    assert {(row.n < 6, row.low, row.high) for row in few} == {(True, None, None)}
    assert any(row.low is not None for row in chosen)
    kept = opened.findings["agreement"].where(level="sample", coefficient="spearman")
    assert any(row.low is not None for row in kept)
    assert opened.agreement[-1] == list(opened.agreement)[-1]
    assert repr(opened.show()) == repr(opened.show("test-0-0000"))
    ranked = opened.findings["systems"]
    named = [(row.scorer, row.axis, one.system, one.mean) for row in ranked for one in row.systems]
    columns = ["scorer", "axis", "system", "mean"]
    assert list(ranked.to_pandas()[columns].itertuples(index=False, name=None)) == named
    assert "<th>mean</th><th>low</th>" in ranked._repr_html_()
    assert repr(ranked).splitlines()[0].split()[-5:] == ["mean", "low", "high", "n", "letters"]


@pytest.mark.service
def test_a_run_on_s3(s3, tmp_path):
    came = evaljudge.run(config(tmp_path, f"{s3.uri}/runs/one"), engines=ScriptedEngines())
    opened = open_run(f"{s3.uri}/runs/one")
    assert plain(opened.findings) == plain(came.findings)
    assert opened.verdicts().num_rows == CASES * SYSTEMS * 2


# tables


def test_scores_are_those_of_the_files(done):
    table = done.scores()
    (file,) = Path(done.out, "scores").iterdir()  # of all shards
    stored = pq.read_table(file).to_pylist()
    assert pq.read_metadata(file).num_row_groups > 1
    assert [row | {"ratings": None} for row in table.to_pylist()] == [
        row | {"ratings": None} for row in stored
    ]
    case = next(make_cases(1, 0))["candidates"][0]
    first = table.slice(0, 1).to_pylist()[0]
    assert (first["system"], dict(first["ratings"])) == (case["system"], case["ratings"])
    assert sum(part.num_rows for part in done.iter_scores()) == table.num_rows
    assert done.scores(["value", "system"]).column_names == ["value", "system"]
    assert done.scores(["ratings"]).column_names == ["ratings"]
    assert done.verdicts("synthetic", ["levels"]).column_names == ["levels"]
    with pytest.raises(UserError, match="unknown analysis 'sytems': did you mean 'systems'"):
        open_run(done.out).findings["sytems"]
    with pytest.raises(UserError, match="unknown column 'vale': did you mean 'value'"):
        done.scores(["vale"])


def test_wide_scores_have_a_row_for_each_candidate(done):
    wide, long = done.scores(wide=True), done.scores().to_pylist()
    assert wide.num_rows == CASES * SYSTEMS
    assert {"synthetic.fluency", "words", "human.fluency"} <= set(wide.column_names)
    for row in wide.to_pylist():
        for one in long:
            if (one["doc_id"], one["system"]) == (row["doc_id"], row["system"]):
                name = one["scorer"] if one["axis"] == "*" else f"{one['scorer']}.{one['axis']}"
                assert row[name] == one["value"]
                assert row["human.relevance"] == dict(one["ratings"])["relevance"]
    texts = done.texts()
    assert texts.select(wide.column_names).equals(wide)
    assert texts.column_names[len(wide.column_names) :] == ["unscored", "text", "source"]
    case = next(make_cases(1, 0))
    first = texts.slice(0, 1).to_pylist()[0]
    assert (first["text"], first["source"]) == (case["candidates"][0]["text"], case["source"])
    assert "direct.fluency: no rating in the reply" in first["unscored"]
    assert sum(table.num_rows for table in done.iter_texts()) == texts.num_rows
    assert done.scores("value").equals(done.scores(["value"]))
    with pytest.raises(UserError, match="leave `columns` out"):
        done.scores(["value"], wide=True)
    fluency = done.scores(["value"], scorer="direct", axis="fluency")
    assert (fluency.num_rows, fluency.column_names) == (CASES * SYSTEMS, ["value"])
    with pytest.raises(UserError, match="unknown axis 'flency': did you mean 'fluency'"):
        done.scores(axis="flency")


def test_the_verdicts_of_one_judge(done):
    with pytest.raises(UserError, match="name one of the run's judges.*'synthetic', 'entities'"):
        done.verdicts()
    with pytest.raises(UserError, match="unknown judge 'sintetic': did you mean 'synthetic'"):
        done.verdicts("sintetic")
    rows = done.verdicts("synthetic").to_pylist()
    assert [level["rating"] for level in rows[0]["levels"]] == [1.0, 3.0, 5.0]
    assert all(sum(one["p"].values()) == pytest.approx(1) for one in rows[0]["levels"])
    assert done.verdicts("geval").to_pylist()[0]["draws"][0][0] == "1"
    reply = done.verdicts("direct").to_pylist()[0]
    assert reply["reply"].startswith("text ")
    assert (reply["rating"], reply["status"]) == (None, "unscored")
    (first, *_) = RunTables(Output(done.out), {"direct": "gone"}).verdicts("direct", None)[1]
    assert json.loads(first["detail"][0].as_py())["reply"] == first["reply"][0].as_py()
    assert first["reply"][0].as_py().startswith("text ")
    role = done.verdicts("roles").to_pylist()[0]["roles"][0]
    assert role["type"] == "General Public"
    assert dict(role["votes"])["fixed"]["choice"] in ("candidate", "reference")
    sentence = done.verdicts("entities").to_pylist()[0]["sentences"][0]
    assert dict(sentence["votes"]).keys() == {"flow", "language", "grammar", "spelling"}


def test_the_briefs_of_one_judge(done):
    rows = done.briefs("synthetic").to_pylist()
    assert len(rows) == CASES * 2 * 3
    assert {row["rating"] for row in rows} == {1.0, 3.0, 5.0}
    assert all(row["text"].startswith("text ") for row in rows)
    (readers,) = {len(row["readers"]) for row in done.briefs("roles").to_pylist()}
    assert readers > 1
    unscored = done.briefs("entities").to_pylist()[0]  # the script's replies are no JSON
    assert (unscored["status"], unscored["rubric"]) == ("unscored", None)


def test_a_damaged_shard_is_left_out_with_a_warning(copy, done):
    (copy / "scores/00000-00007.parquet").write_bytes(b"")
    (copy / "commits/judge/00000.zip").unlink()
    opened = open_run(str(copy))
    said = r"\d+ shards are left out of this table: scores/00000-00007.parquet is empty, .*; `evalj"
    with pytest.warns(UserWarning, match=said):
        assert opened.scores().num_rows == 0
    with pytest.warns(UserWarning, match=r"commits/judge/00000.zip is gone"):
        assert 0 < opened.verdicts("direct").num_rows < CASES * SYSTEMS * 2


# what cannot be opened


def test_no_run_and_an_unfinished_one(tmp_path, copy):
    with pytest.raises(UserError, match=r"nowhere: no run lies here$"):
        open_run(str(tmp_path / "nowhere"))
    with pytest.raises(UserError, match=rf"no run lies here; {copy} is one"):
        open_run(tmp_path)
    with pytest.raises(UserError, match=rf"index\.html: no run lies here; {copy} is one$"):
        open_run(copy / "report/index.html")
    (tmp_path / "alone").touch()
    with pytest.raises(UserError, match=r"alone: is a file: name a folder "):
        open_run(tmp_path / "alone")
    evaljudge.prepare(config(tmp_path, str(tmp_path / "begun")), engines=ScriptedEngines())
    with pytest.raises(UserError, match="not finished: `evaljudge run CONFIG` resumes it"):
        open_run(str(tmp_path / "begun"))


def test_a_run_that_went_on_after_its_report_warns(copy, done):
    output = Output(str(copy))
    output.write_run((output.run() or {}) | {"state": "begun"})
    with pytest.warns(UserWarning, match="this is its last report"):
        assert open_run(str(copy)).agreement == done.agreement


def test_a_report_that_is_damaged(copy):
    (copy / "report/agreement.json").write_text("[]")
    with pytest.raises(Damaged, match=r"agreement.json: is not as the last report wrote it"):
        open_run(str(copy))
    (copy / "report/agreement.json").unlink()
    with pytest.raises(Damaged, match=r"agreement.json: is gone: `evaljudge report CONFIG`"):
        open_run(str(copy))


# schemas


def flat(name: str, of: pa.DataType) -> Iterator[tuple[str, str]]:
    """`levels[].p.better`: `[]` of a list, `{}` of a map."""
    if pa.types.is_struct(of):
        for one in of:
            yield from flat(f"{name}.{one.name}", one.type)
    elif pa.types.is_list(of):
        yield from flat(f"{name}[]", of.value_type)
    elif pa.types.is_map(of):
        yield from flat(f"{name}{{}}", of.item_type)
    elif pa.types.is_dictionary(of):
        yield name, str(of.value_type)
    else:
        yield name, str(of)


def documented(heading: str) -> list[tuple[str, str]]:
    """The columns of the first table under a heading, with those that a type of the page has."""
    _, _, below = PAGE.read_text().partition(f"\n## {heading}\n")
    rows = re.findall(r"^\| (`.+?) \| (\w+) \|", below.partition("\n#")[0], re.MULTILINE)
    columns = [(name, of) for cell, of in rows for name in re.findall("`(.+?)`", cell)]
    return [
        (".".join(filter(None, (name, field))), of_field)
        for name, of in columns
        for field, of_field in documented(f"`{of}`") or [("", of)]
    ]


def columns_of(schema: pa.Schema) -> list[tuple[str, str]]:
    return [row for field in schema for row in flat(field.name, field.type)]


def test_the_documented_columns_and_types(done):
    assert documented("Scores") == columns_of(done.scores().schema)
    assert str(arrow_type(Row)) == "struct<name: string, numbers: list<item: int64>>"
    with pytest.raises(UserError, match="cannot be of this type"):
        arrow_type(bytes)


@pytest.mark.parametrize(
    ("table", "judge"),
    [two for two in product(["Verdicts", "Briefs"], JUDGES) if two != ("Briefs", "pairs")],
)
def test_the_documented_columns_of_judges(done, table, judge):
    found = done.verdicts(judge) if table == "Verdicts" else done.briefs(judge)
    common = documented(table)
    assert common
    own = documented(f"{table} of `{judge}`") or documented(f"{table} of `geval` and `direct`")
    at = common.index(("status", "string"))
    assert columns_of(found.schema) == [*common[:at], *own, *common[at:]]


class Row(TypedDict):
    name: Literal["a", "b"] | None
    numbers: tuple[int, ...]
