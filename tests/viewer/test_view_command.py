"""`evaljudge view`: what it refuses, what two runs are compared by, and disagreement over a run."""

import json
import shutil
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evaljudge.analysis.findings import Findings
from evaljudge.analysis.run_scores import scored_run
from evaljudge.commands.options import ViewOptions
from evaljudge.commands.view import made_site, viewing
from evaljudge.errors import UserError
from evaljudge.report.first import Headline
from evaljudge.runs.outcome import open_run
from evaljudge.viewer import site
from evaljudge.viewer.site import RunIndex, trend
from tests.viewer.pages import make_run, write_corpus

JUDGES: dict[str, Any] = {"judges": {"geval": {}}, "view": 20}


def rule(at_least: float) -> dict[str, Any]:
    condition = {"scorer": "geval", "axis": "fluency", "at_least": at_least}
    return {"select": [{"name": name, "all": [condition | {"at_least": least}]}
                       for name, least in (("good", at_least), ("fair", 2))]}  # fmt: skip


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    return make_run(tmp_path_factory.mktemp("first"), "run", **JUDGES, **rule(3))


def test_a_title_is_the_pages_heading_and_binds_no_run(tmp_path):
    def page_of(**titled: str) -> str:
        made = make_run(tmp_path, "run", judges={}, select=[], **titled)
        return (Path(made.out) / "report" / "index.html").read_text()

    out = tmp_path / "run"
    assert f"<h1><bdi>{out}</bdi></h1>" in page_of()
    page = page_of(title="May & June")
    assert "<h1><bdi>May &amp; June</bdi></h1>" in page and "<title>May &amp; June, 20" in page
    assert f"evaljudge report of <bdi>{out}</bdi>, task" in page
    with pytest.raises(UserError, match="title"):
        page_of(title="two\nlines")


def test_the_same_run_differs_in_nothing(first):
    run = scored_run(first.out)
    index = RunIndex(run, RunIndex(run))
    assert index.comparison() == {
        "out": first.out, "name": "run", "texts": 120, "differ": [0] * len(index.scales),
        "edited": [], "shared": ["fair", "good"], "changed": [], "otherwise": {},
    }  # fmt: skip


def test_a_rule_that_differs_is_not_compared(first, tmp_path):
    other = make_run(tmp_path, "next", judges={"direct": {"steps": False}}, select=[])
    there = make_run(tmp_path, "third", **JUDGES, **rule(4))
    run = scored_run(first.out)
    index = RunIndex(run, RunIndex(scored_run(there.out)))
    assert (index.comparison()["shared"], index.comparison()["changed"]) == (["fair"], ["good"])
    lacking = RunIndex(run, RunIndex(scored_run(other.out))).comparison()
    assert lacking["differ"][index.scales.index(("geval", "fluency"))] is None
    assert lacking["differ"][index.scales.index(("words", "*"))] == 0
    assert (lacking["shared"], lacking["changed"]) == ([], [])


def test_scorers_made_otherwise_and_runs_without_a_common_text(first, tmp_path):
    other = make_run(tmp_path, "next", judges={"geval": {"samples": 8}}, **rule(3))
    index = RunIndex(scored_run(first.out), RunIndex(scored_run(other.out)))
    otherwise = index.comparison()["otherwise"]
    see = f"see `evaljudge diff {first.out} {other.out}`"
    assert otherwise["geval"] == f"judges.geval.samples (0 → 8); {see}"
    assert "words" not in otherwise
    other = make_run(tmp_path, "elsewhere", more=" Elsewhere", judges={}, select=[])
    with pytest.raises(UserError, match=r"elsewhere: it has no text of .* nothing to compare"):
        made_site(ViewOptions(first.out, beside=other.out))
    assert made_site(ViewOptions(first.out, beside=first.out))


def test_texts_that_are_others_in_the_other_run_are_said(first, tmp_path):
    """Their scores differ for that reason, so the other text is shown, too."""
    corpus = write_corpus(tmp_path / "edited.jsonl")
    rows = [json.loads(line) for line in Path(corpus).read_text().splitlines()]
    rows[0]["candidates"][0]["text"] = "Another text."
    Path(corpus).write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    other = make_run(tmp_path, "other", corpus=corpus, judges={}, select=[])
    reads = made_site(ViewOptions(first.out, beside=other.out)).reads
    page = reads["/"]({}).content.decode()
    assert '"edited":[0]' in page and "In 1 of these, marked ≠, the two runs judged" in page
    edited, same = (reads["/text"]({"row": row}).content.decode() for row in "01")
    assert f'<section class="beside edited"><h3>In {other.out}, of another text</h3>' in edited
    assert "Another text." in edited
    assert f'<section class="beside"><h3>In {other.out}</h3>' in same


def test_disagreement_on_the_page_is_that_over_the_whole_run(first):
    index = RunIndex(scored_run(first.out))
    (own,) = (one for one in first.findings.disagreements if one.scorer == "geval")
    at = index.scales.index(("geval", "fluency"))
    whole = np.frombuffer(index.column(f"disagreement:{at}"), np.float32)
    assert np.isfinite(whole).sum() > 80
    mine = [whole[index.row_of[text]] for text in first.findings.telling]
    assert mine == pytest.approx([np.nan if x is None else x for x in own.apart], nan_ok=True)
    assert np.isfinite(mine).sum() > 5


@pytest.mark.parametrize(("rater", "is_there", "said"), [
    ("anna", False, "{sheet}: no such file"),
    ("", True, "--rater: name the person who rates"),
])  # fmt: skip
def test_what_rating_lacks_is_said_at_once(first, tmp_path, rater, is_there, said):
    sheet = tmp_path / "sheet.jsonl"
    if is_there:
        sheet.write_text(json.dumps({"label": "ab", "text": "T", "rater": None}))
    with pytest.raises(UserError) as refused:
        made_site(ViewOptions(first.out, label=str(sheet), rater=rater))
    assert str(refused.value) == said.format(sheet=sheet)


def test_a_run_without_scores_says_the_whole_command(first, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(first.out, copy)
    shutil.rmtree(copy / "scores")
    with pytest.raises(UserError, match="is gone: `evaljudge report CONFIG` makes it anew"):
        made_site(ViewOptions(str(copy)))


def test_a_port_that_is_taken_is_said(first):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(UserError, match=f"--port {port}: nothing can be served there"):
            viewing(ViewOptions(first.out, port=port)).__enter__()


def test_runs_that_are_alike_on_the_first_screen_are_shown_where_they_differ(tmp_path, monkeypatch):
    judges = [{"judges": {"geval": {"samples": samples}}} for samples in (2, 4, 8)]
    outs = [make_run(tmp_path, f"run{n}", **j, select=[]).out for n, j in enumerate(judges)]
    runs = [(scored_run(out), open_run(out).findings) for out in outs]

    def led_by_words(findings: Findings) -> list[Headline]:
        return [Headline("fluency", r) for r in findings["systems"] if r.scorer == "words"]

    monkeypatch.setattr(site, "headlines", led_by_words)
    monkeypatch.setattr(site, "lead", lambda findings: {"scorer": "words", "axis": ""})
    shown = [table.title for section in trend(runs) for table in section.tables]
    assert shown == ["words, all axes", "geval.sampled, fluency"]
    page = made_site(ViewOptions(outs[0], beside=outs[1:])).reads["/"]({}).content.decode()
    assert '"lead":{"scorer":"geval.sampled","axis":"fluency"}' in page


def test_no_line_joins_runs_of_other_scales_or_documents(tmp_path):
    def made(name: str, levels: int, more: str = "") -> str:
        judges = {"synthetic": {"levels": levels}}
        return make_run(tmp_path, name, more, judges=judges, select=[]).out

    outs = [made("may", 5), made("june", 5), made("july", 3), made("other", 5, " Elsewhere")]
    runs = [(scored_run(out), open_run(out).findings) for out in outs]
    (section, *_) = trend(runs)
    marks = ["", "", ", the scale differs", ", other documents"]
    (shown,) = [table for table in section.tables if table.title == "synthetic, fluency"]
    cells = next(row for row in shown.rows if row[0] == "A")[1:]
    assert [str(cell).partition("]")[2] for cell in cells[:3]] == marks[:3]
    elsewhere = next(row for row in shown.rows if row[0] == "A Elsewhere")[1:]
    assert str(elsewhere[3]).endswith(marks[3])
    picture = next(one for one in section.pictures if one.title == "A: synthetic, fluency")
    first = picture.rows[0].value
    assert [row.other for row in picture.rows] == [first, first, None]
    said = (
        f"No line joins {outs[2]} to the first run: the scale differs (`levels` 5 and 3): compare "
        "synthetic.ordinal instead.",
        f"No line joins {outs[3]} to the first run: other documents.",
    )
    assert list(section.notes) == list(said)
    assert picture.reading.endswith(" ".join(said))
    page = made_site(ViewOptions(outs[0], beside=outs[1:])).reads["/"]({}).content.decode()
    drawn = page[page.index("<h4><bdi>A: synthetic, fluency") :].partition("</figure>")[0]
    assert (drawn.count("<circle"), drawn.count('class="way"')) == (5, 2)
    assert '<a href="#section-0">Trend</a>' in page
