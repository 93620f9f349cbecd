"""`evaljudge show`: one text of a run, with what each judge's scores of it rest on."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.commands import show
from evaljudge.commands.options import ShowOptions
from evaljudge.commands.show import show_text
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.judges import plugin
from evaljudge.storage import Output, Shard
from tests.build import command, refusal

HOSTILE = "Text of A: \x1b[31mred \u202eesrever and 50\u2066."
SOURCE = " ".join(f"The river of town {n} rose and fell again." for n in range(40))
DOCUMENTS = 40
"""More than a shard holds."""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("show")
    rows = [
        {"doc_id": f"d{n}", "source": SOURCE, "references": ["A flood."], "candidates": [
            {"system": "A", "text": HOSTILE, "ratings": {"fluency": [3, 4], "coherence": [2]}},
            {"system": "mute", "text": " "}]}
        for n in range(DOCUMENTS)
    ]  # fmt: skip
    (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    judges: dict[str, Any] = {
        "synthetic": {}, "geval": {"samples": 4}, "direct": {"steps": False}, "entities": {},
        "roles": {},
    }  # fmt: skip
    config = {
        "corpus": str(folder / "cases.jsonl"), "out": str(folder / "run"), "model": "m",
        "axes": ["fluency", "coherence"], "judges": judges, "metrics": ["words"],
        "workers": {"executor": "local"}, "view": 1, "coverage_floor": 0,
        "agreement": {"resamples": 0},
    }  # fmt: skip
    evaljudge.run(config, engines=ScriptedEngines())
    return folder / "run"


def shown(run: Path, *options: str, capsys: pytest.CaptureFixture[str]) -> str:
    return command(capsys, "show", str(run), *options)[0]


def test_without_a_system_all_are_listed(run, capsys):
    text = shown(run, "--doc", "d7", "--axis", "fluency", capsys=capsys)
    assert "document   d7" in text
    heads = next(line for line in text.splitlines() if line.startswith("system  "))
    assert heads.split("  ") == ["system", "synthetic fluency", "geval fluency", "people fluency"]
    assert "coherence" not in text
    assert "people fluency" in text
    assert any(line.startswith("mute") for line in text.splitlines())
    heads, _, left_out = text.partition("Left out: ")
    assert "synthetic.level" not in heads and "words" not in heads
    assert "synthetic.ordinal" in left_out and "direct" in left_out and "words" in left_out
    alone = shown(run, "--doc", "d7", "--judge", "geval", capsys=capsys)
    assert "system  fluency  coherence  people fluency" in alone
    assert "synthetic.level" in shown(run, "--doc", "d7", "--full", capsys=capsys)


def test_a_notebook_shows_the_tables_and_no_markup_of_strangers(run):
    page = show_text(ShowOptions(str(run), doc_id="d7", system="A"))._repr_html_()
    assert "<th>scorer</th>" in page and "<td>people</td>" in page
    assert "── synthetic on fluency ──" in page
    every = show_text(ShowOptions(str(run), doc_id="d7"))
    hostile = replace(every.case.document, source="<script>x")
    page = replace(every, case=replace(every.case, document=hostile))._repr_html_()
    assert "<script>" not in page and "<td>mute</td>" in page


def test_ratings_of_no_people_are_not_called_theirs(run):
    made = show_text(ShowOptions(str(run), doc_id="d7"))
    found = replace(made, run=made.run | {"config": {"rated_by": "true levels"}})
    assert "rated fluency" in found.text and "people" not in found.text


def test_a_text_comes_with_the_evidence_of_every_judge(run, capsys):
    text = shown(run, "--doc", "d39", "--system", "A", "--axis", "fluency", capsys=capsys)
    for words in (
        "── synthetic on fluency ──", "reference of level", "p(Better)",
        "The comparisons place the text at level", "Reference of level 5: text ",
        "── geval on fluency ──", "The mean rating by these probabilities is",
        "── direct on fluency ──", "Unscored: no rating in the reply", "reply: ",
        "── roles ──", "Fixed: of ", "Reference (a person’s): A flood.",
        "── entities ──", "readability", "signature  synthetic@", "signature  words@",
    ):  # fmt: skip
        assert words in text
    rated = next(line.split() for line in text.splitlines() if line.startswith("people"))
    assert rated[:3] == ["people", "fluency", "3.500"]
    assert re.search(r"^fluency +3, 4$", text, re.MULTILINE)
    assert "coherence" not in text
    found = show_text(ShowOptions(str(run), doc_id="d39", system="A"))
    named = replace(found, raters={"fluency": ["ben", "cara", "dan"]}).text
    assert re.search(r"^fluency +ben 3, cara 4$", named, re.MULTILINE)


def test_without_a_document_the_first_texts_are_listed(run, capsys):
    text = shown(run, capsys=capsys)
    heads, *rows = text.split("\n\n")[0].splitlines()
    assert heads.split()[:3] == ["document", "system", "synthetic.fluency"]
    assert "synthetic.ordinal" not in heads and len(rows) == 20
    assert "csv --to texts.csv` writes all texts" in text
    assert "synthetic: Weighted sum over comparisons with" in text and "words: The number" in text
    alone = shown(run, "--system", "A", "--full", capsys=capsys)
    assert "synthetic.ordinal.fluency" in alone
    assert {row.split()[1] for row in alone.split("\n\n")[0].splitlines()[1:]} == {"A"}


def test_what_the_shown_numbers_are(run):
    """Those of the run's own files."""
    found = show_text(ShowOptions(str(run), "d3", "A", "synthetic", "fluency"))
    output = Output(str(run))
    shard = next(one for one in output.shards() if "d3" in output.documents(one))
    (score,) = (one for one in output.scores(shard)
                if (one.doc_id, one.system, one.scorer, one.axis)
                == ("d3", "A", "synthetic.ordinal", "fluency"))  # fmt: skip
    assert score.value is not None
    assert f"at level {score.value:.2f} (synthetic.ordinal)" in found.text
    assert f"{score.value:.3f}" in found.text
    assert "geval" not in found.text
    row = json.loads(found.json)["candidates"][0]
    assert {one["scorer"]: one["value"] for one in row["scores"]}[
        "synthetic.ordinal"
    ] == score.value
    assert [level["rating"] for level in row["verdicts"][0]["evidence"]["levels"]] == [
        1,
        2,
        3,
        4,
        5,
    ]


def test_texts_are_folded_and_control_no_terminal(run):
    wanted = ShowOptions(str(run), "d3")
    assert "more lines: --full shows all" in show_text(wanted).text
    whole = show_text(replace(wanted, full=True)).text
    assert "more line" not in whole
    assert " ".join(SOURCE.split()) in " ".join(whole.split())
    text = show_text(ShowOptions(str(run), "d3", "A", full=True)).text
    assert [c for c in text if not c.isprintable() and c != "\n"] == []
    assert "␛[31mred" in text


def test_only_the_shard_of_the_document_is_read(run, monkeypatch):
    read: set[str] = set()

    class Noting(Output):
        def scores(self, shard: Shard) -> Any:
            read.add(shard.file)
            return super().scores(shard)

        def verdicts(self, judge: str, shard: Shard, *, with_tokens: bool = True) -> Any:
            read.add(shard.file)
            return super().verdicts(judge, shard, with_tokens=with_tokens)

    monkeypatch.setattr(show, "Output", Noting)
    output = Output(str(run))
    own = next(shard for shard in output.shards() if "d39" in output.documents(shard))
    show_text(ShowOptions(str(run), "d39", "A"))
    assert read == {own.file}


def test_judges_that_do_not_say_how_they_are_shown(run, monkeypatch):
    bare = replace(plugin("geval"), show=None)
    monkeypatch.setattr(show, "plugin", lambda kind: bare)
    text = show_text(ShowOptions(str(run), "d3", "A", "geval", "fluency")).text
    assert re.search(r"^answer +probability\n1 +0\.\d\d\d$", text, re.MULTILINE)
    wrong = replace(plugin("geval"), show=lambda judged: "fine")
    monkeypatch.setattr(show, "plugin", lambda kind: wrong)
    with pytest.raises(UserError, match="judges.geval: its `show` gives str in place of Section"):
        _ = show_text(ShowOptions(str(run), "d3", "A", "geval", "fluency")).text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["d07"], "--doc: unknown document 'd07': did you mean 'd7'?"),
        (["nobody"], "--doc: unknown document 'nobody': known: d9, d8, d7, d6, d5 and 35 more"),
        (["d1", "mut"], "--system: unknown system 'mut': did you mean 'mute'?"),
        (["d1", "A", "gevl"], "--judge: unknown judge 'gevl': did you mean 'geval'?"),
        (["d1", "A", None, "fluent"], "--axis: unknown axis 'fluent': did you mean 'fluency'?"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest(run, options, words):
    assert refusal(show_text, ShowOptions(str(run), *options)).startswith(words)


def test_a_run_in_a_folder_below_is_named(run, tmp_path):
    shutil.copytree(run, tmp_path / "run")
    with pytest.raises(UserError, match=f"no run lies here; {tmp_path / 'run'} is one"):
        show_text(ShowOptions(str(tmp_path), "d1"))
