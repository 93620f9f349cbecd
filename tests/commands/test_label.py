"""From a run to a sheet, from people to a report: nothing is asked of a model on the way."""

import csv
import io
import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args
from xml.etree.ElementTree import fromstring

import numpy as np
import pytest

import evaljudge
from evaljudge.analysis.labelling import Method, doubtful, inclusion
from evaljudge.analysis.ratings import read_ratings
from evaljudge.commands.label import WrittenSheet, label_texts
from evaljudge.commands.options import LabelOptions
from evaljudge.commands.python import check
from evaljudge.corpora.corpus import slips
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.records import ANY_SYSTEM
from evaljudge.runs.outcome import Outcome
from evaljudge.storage import Output, Place
from tests import build
from tests.build import command, planned_text, refusal, tabled

SYSTEMS = "ABC"
DOCUMENTS = 8
TEXTS = DOCUMENTS * len(SYSTEMS)
AXES = ["coherence", "fluency"]
HOSTILE = '=HYPERLINK("http://x")\n; "quoted", -1'
Row = dict[str, Any]


class Loop:
    """A run, and what is drawn from it and rated."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.out = folder, str(folder / "run")
        rows = [{"doc_id": f"d{n}", "source": f"source {n}", "candidates": [
            {"system": s, "text": f"{HOSTILE} text {n} of some writer, {hash_of(n, s)}"}
            for s in SYSTEMS]} for n in range(DOCUMENTS)]  # fmt: skip
        rows[0]["candidates"].append({"system": "mute", "text": " \n"})  # type: ignore[attr-defined]
        (folder / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
        self.texts = {(r["doc_id"], c["system"]): c["text"] for r in rows for c in r["candidates"]}  # type: ignore[index,union-attr]

    def config(self, **changes: Any) -> dict[str, Any]:
        top = {"scorer": "geval", "axis": "fluency", "top_fraction": 0.3}
        usual = {"judges": {"geval": {}}, "metrics": ["words"], "coverage_floor": 0, "axes": AXES,
                 "agreement": {"resamples": 0},
                 "select": [{"name": "some", "all": [top]}]}  # fmt: skip
        return build.config(self.folder, out=self.out, **usual | changes)

    def run(self, **changes: Any) -> Outcome:
        return evaljudge.run(self.config(**changes), engines=ScriptedEngines())

    def report(self, *files: str, **changes: Any) -> Outcome:
        """With engines that cannot be opened: nothing is asked."""
        given = [str(self.folder / file) for file in files]
        config = self.config(ratings=given, **changes)
        return evaljudge.make_report(config, engines=ScriptedEngines(refuse_to_open))

    def label(self, to: str = "sheet.csv", **wanted: Any) -> WrittenSheet:
        return label_texts(LabelOptions(self.out, str(self.folder / to), **wanted))

    def sheet(self, name: str = "sheet.csv") -> list[Row]:
        content = (self.folder / name).read_text(encoding="utf-8-sig")
        if name.endswith(".jsonl"):
            return [json.loads(line) for line in content.splitlines()]
        return list(csv.DictReader(io.StringIO(content, newline="")))

    def key(self, name: str = "sheet") -> dict[str, Any]:
        return json.loads((Path(self.out) / f"labels/{name}.json").read_text())

    def fill(self, rows: Sequence[Row], to: str = "filled.csv") -> str:
        written = io.StringIO()
        writer = csv.DictWriter(written, dict.fromkeys(name for row in rows for name in row))
        writer.writeheader()
        writer.writerows(rows)
        (self.folder / to).write_text(written.getvalue(), encoding="utf-8-sig", newline="")
        return to

    def at(self, row: Row) -> tuple[str, str]:
        known = self.key()["texts"][row["label"]]
        return known["doc_id"], known["system"]


def hash_of(number: int, system: str) -> int:
    return random.Random(f"{number}{system}").randrange(10**6)


def refuse_to_open() -> Any:
    raise AssertionError("a model is asked")


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    made = Loop(tmp_path_factory.mktemp("label"))
    made.run()
    return made


pytestmark = pytest.mark.usefixtures("no_fsync")


@pytest.fixture
def loop(whole):
    """The run, without what an earlier test drew from it."""
    for file in [*whole.folder.glob("*.csv"), *whole.folder.glob("run/labels/*")]:
        file.unlink()
    for file in whole.folder.glob("sheet*.jsonl"):
        file.unlink()
    return whole


def test_a_whole_round(loop):
    made = loop.label(n=12, by="doubt", seed=1)
    rows = loop.sheet()
    assert len(rows) == 12
    # anna rates half of it twice over, in two files; ben all but one; each skips an axis at times
    marks = {row["label"]: 1 + number % 5 for number, row in enumerate(rows)}
    anna = [row | {"fluency": marks[row["label"]], "rater": "anna"} for row in rows[:6]]
    again = [row | {"fluency": "", "coherence": "2,5", "rater": " anna "} for row in rows[:3]]
    ben = [row | {"fluency": f"{marks[row['label']] + 1}.0"} for row in rows[1:]]
    files = loop.fill([*anna, anna[0]], "anna.csv"), loop.fill(again, "again.csv")
    outcome = loop.report(*files, loop.fill(ben, "ben.csv"))
    findings = outcome.findings
    undecided, *few = findings.warnings
    assert undecided.startswith("select.some: the judge was undecided about")
    assert [one.partition(": no mean on")[0] for one in few] == ["coherence", "fluency"]
    assert findings.rated == 12

    by_text = {loop.at(row): marks[row["label"]] for row in rows}
    means = {at: mark + 0.5 for at, mark in by_text.items()}
    means |= {loop.at(rows[0]): marks[rows[0]["label"]]}  # rated by anna alone
    means |= {loop.at(row): marks[row["label"]] + 1 for row in rows[6:]}  # by ben alone
    weights = {at: 1 / loop.key()["probabilities"][at[0]][at[1]] for at in means}
    expected = sum(weights[at] * means[at] for at in means) / sum(weights.values())
    (of_all,) = [
        row for row in findings["labelled"] if (row.system, row.axis) == (ANY_SYSTEM, "fluency")
    ]
    assert of_all.value == pytest.approx(expected)
    assert of_all.n == 12
    assert of_all.low is not None and of_all.low < of_all.value
    (coherence,) = [r for r in findings["labelled"] if (r.system, r.axis) == ("*", "coherence")]
    assert (coherence.value, coherence.n) == (pytest.approx(2.5), 3)
    report = Path(loop.out) / "report"
    assert json.loads((report / "labelled.json").read_text())[0]["axis"] == "coherence"
    assert "People's ratings of drawn texts" in (report / "agreement.md").read_text()
    # anna's and ben's agreement with each other
    assert {(row.axis, row.raters) for row in findings["ceiling"]} == {("fluency", 2)}
    assert {row.n for row in findings["labels"] if row.of == "human"} == {5}
    assert made.text.startswith(f"sheet      {made.to}: 12 of 24 texts, of ")
    # without the files, all is as before
    assert loop.report().findings.rated == 0
    assert not (report / "labelled.json").exists()


def test_a_slip_of_the_hand_is_warned_of(loop):
    loop.label(n=6)
    marks = ["1", "2", "3", "4", "55", ""]
    rows = [row | {"fluency": mark} for row, mark in zip(loop.sheet(), marks, strict=True)]
    file = loop.fill(rows)
    findings = loop.report(file).findings
    (said,) = [one for one in findings.warnings if "slip" in one]
    assert f"{file}:" in said
    assert ": fluency 55 lies beyond all other ratings (1 to 4): a slip, or" in said
    assert not any(row.scorer == "human" for row in findings["systems"])
    rows[4]["fluency"] = "7"
    assert not any("slip" in one for one in loop.report(loop.fill(rows)).findings.warnings)


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_ids_have_the_names_that_a_corpus_may_have_for_them(loop, ending):
    rows = [
        {"topic": "sea", "Doc ID": f"d{n}", "model": "A", "fluency": n + rater,
         "Annotator": f"r{rater}"}
        for n in range(3) for rater in (1, 2)
    ]  # fmt: skip
    file = tabled(loop.folder / f"own.{ending}", rows)
    rated = read_ratings([file], Output(loop.out), ["fluency"])
    assert rated.texts == {
        (f"d{n}", "A"): ({"fluency": n + 1.5}, {"fluency": (n + 1, n + 2)}) for n in range(3)
    }
    assert rated.raters == {"fluency": ["r1", "r2"]}
    assert rated.warnings == [f"{file}: column 'topic' is not read"]
    for row in rows:
        row["article_id"] = row.pop("Doc ID")
    said = rf"own\.{ending}:\d: `topic`, `article_id`: call the one that is `doc_id` so"
    with pytest.raises(UserError, match=said):
        read_ratings([tabled(Path(file), rows)], Output(loop.out), ["fluency"])
    alone = tabled(Path(file), [{n: row[n] for n in row if n != "topic"} for row in rows])
    assert read_ratings([alone], Output(loop.out), ["fluency"]) == replace(rated, warnings=[])


def test_ratings_of_no_text_are_said_first(loop):
    loop.label(n=6)
    rows = [{"doc_id": "x", "system": "A", "fluency": n, "rater": f"r{n}"} for n in (1, 2)]
    (loop.folder / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    said = "ratings: 1 of 1 rated texts are not among the texts, such as 'A' for document 'x'"
    assert loop.report("own.jsonl").findings.warnings[0].startswith(said)
    config = loop.config(ratings=str(loop.folder / "own.jsonl"))
    planned = planned_text(config, engines=ScriptedEngines())
    assert f"warning: corpus: {said}; there is " in planned


def test_several_slips_are_found_among_thousands_of_values():
    rated = [("tone", number / 1000, f"c.csv:{number}") for number in range(5000)]
    odd = [("tone", 55.0, "c.csv:9000"), ("tone", 44.0, "c.csv:9001"), ("ease", 9.0, "c.csv:1")]
    assert [said.partition(" lies")[0] for said in slips([*rated, *odd], str)] == [
        "c.csv:9001: tone 44", "c.csv:9000: tone 55",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("values", "odd"),
    [([4, 5, 55], True), ([5, 55], True), ([4, 5, 44], True),
     ([0, 1], False), ([0, 100], False), ([-1, 0, 1], False), ([1, 10], False), ([1, 2, 10], False),
     ([0, 1, 10], False), ([0, 5, 55], True),
     ([4.67, 5, 1], False), ([80, 85, 20], False), ([2, 35, 60, 95], False)],
)  # fmt: skip
def test_a_slip_among_few_values(values, odd):
    said = list(slips((("tone", float(value), "c.csv:1") for value in values), str))
    assert len(said) == odd and all(f"tone {values[-1]} lies" in one for one in said)


@pytest.mark.parametrize(
    ("values", "odd"),
    [([950, 1.234, 710], 1.234), ([950, 1.2, 12.345], 12.345), ([1.234, 4.5, 3], None),
     ([33.333, 66.667, 100], None), ([333.333, 500, 666.667, 250.5], None), ([950, 710], None),
     ([1.2345, 950], None)],
)  # fmt: skip
def test_dots_that_may_mark_thousands(values, odd):
    said = list(slips((("price", float(value), f"c.csv:{value}") for value in values), str))
    expected = f"c.csv:{odd}: price {odd} beside 950: does its dot mark thousands? Then write it "
    assert [one for one in said if "thousands" in one] == [f"{expected}without"] * (odd is not None)


@pytest.mark.parametrize(
    ("cells", "odd"),
    [({1: 4, 2: 10, 3: 6, 4: 9, 5: 10, 6: 1}, [6]),
     ({1: 12, 2: 10, 3: 9, 4: 9, 5: 10, 0: 1}, [0]),
     ({1: 9, 2: 13, 3: 14, 4: 19, 5: 17, -1: 8}, [-1]),  # a code: as often as one likes
     ({0: 3, 1: 4, 2: 4, 3: 5, 4: 9, 5: 9, -1: 2}, [-1]),
     ({1: 12, 2: 10, 3: 9, 4: 9, 5: 40, 0: 1, 6: 1}, [0, 6]),
     ({1: 12, 2: 10, 3: 9, 4: 9, 5: 40, -1: 8, 55: 1}, [-1, 55]),
     # a scale that has rare ratings at its end, or that goes through 0
     ({0: 1, 1: 5, 2: 10, 3: 20, 4: 30, 5: 30}, []),
     ({0: 4, 1: 50, 2: 60, 3: 70, 4: 80, 5: 90}, []),
     ({1: 30, 2: 40, 3: 20, 4: 10, 5: 5, 6: 1}, []), ({1: 1, 2: 30, 3: 30, 4: 40, 5: 40}, []),
     ({-1: 1, 0: 9, 1: 9}, []), ({-2: 1, 0: 9, 1: 9, 2: 9}, []), ({1: 20, 2: 20, 3: 30, 4: 1}, []),
     ({-0.7: 1, 0.2: 1, 0.5: 1, 2.9: 1}, [])],
)  # fmt: skip
def test_what_stands_alone_beyond_a_scale(cells, odd):
    each = [("tone", float(value), "c.csv:1") for value, n in cells.items() for _ in range(n)]
    said = list(slips(each, str))
    assert [one.split(": tone ")[1].split()[0] for one in said] == list(map(str, odd))


def test_a_bad_file_of_ratings_is_refused_before_anything_is_asked(tmp_path):
    loop = Loop(tmp_path)
    bad = loop.fill([{"label": "x", "fluency": 3}])
    config = loop.config(ratings=str(tmp_path / bad))
    with pytest.raises(UserError, match=r"filled.csv:2: label 'x' is in no sheet of .*run/labels"):
        evaljudge.run(config, engines=ScriptedEngines(refuse_to_open))
    assert not Path(loop.out).exists()


@pytest.mark.parametrize("name", ["sheet.csv", "sheet.jsonl"])
def test_a_sheet_is_blind(loop, name):
    loop.label(name, n=TEXTS)
    rows, content = loop.sheet(name), (loop.folder / name).read_text()
    assert list(rows[0]) == ["label", "source", "text", *AXES, "rater", "note"]
    assert [(row["fluency"], row["rater"]) for row in rows] == [
        (("", "") if name.endswith("csv") else (None, None))
    ] * TEXTS
    shown = [row["text"].removeprefix("'") for row in rows]
    assert Counter(shown) == Counter(t for at, t in loop.texts.items() if at[1] != "mute")
    assert [row["source"] for row in rows] != sorted(row["source"] for row in rows), "shuffled"
    labels = [row["label"] for row in rows]
    assert len(set(labels)) == TEXTS and all(one.isalpha() for one in labels)
    assert "geval" not in content
    assert not any(f'"{s}"' in content or f",{s}," in content for s in SYSTEMS)


def test_label_studio_rates_a_sheet(loop):
    """What it exports is read as a sheet: by whom, with notes; what was skipped is left out."""
    made = loop.label("tasks.json", n=4, form="label-studio")
    assert "export JSON" in made.text
    tasks = json.loads((loop.folder / "tasks.json").read_text())
    page = fromstring((loop.folder / "tasks.xml").read_text())
    assert [one.get("value") for one in page.iter("Text")] == ["$source", "$text"]
    assert [one.get("name") for one in page.iter("Rating")] == AXES
    assert all(set(task["data"]) == {"label", "source", "text"} for task in tasks)

    def annotation(by: Any, fluency: int, **more: Any) -> Row:
        rating = {"from_name": "fluency", "type": "rating", "value": {"rating": fluency}}
        note = {"from_name": "note", "type": "textarea", "value": {"text": ["too long"]}}
        return {"completed_by": by, "result": [rating, note], **more}

    anna, skipped = {"id": 7, "email": "anna@x"}, annotation(9, 1, was_cancelled=True)
    for task in tasks:
        task["annotations"] = [annotation(anna, 4), annotation(8, 2), skipped]
    (loop.folder / "export.json").write_text(json.dumps(tasks))
    findings = loop.report("export.json").findings
    assert findings.rated == 4
    rated = json.loads((Path(loop.out) / "report/ratings.json").read_text())
    assert {row["ratings"]["fluency"] for row in rated["texts"]} == {3.0}
    assert rated["raters"] == {"fluency": ["8", "anna@x"]}
    (loop.folder / "export.json").write_text('[{"text": "JSON-MIN", "fluency": 4}]')
    assert "export.json: no export of Label Studio as JSON" in refusal(loop.report, "export.json")


def test_no_cell_of_a_csv_is_a_formula(loop):
    loop.label(n=3)
    for row in loop.sheet():
        assert row["text"].startswith("'=")
        assert not any(cell.startswith(tuple("=+-@\t\r")) for cell in row.values())


@pytest.mark.parametrize("by", get_args(Method))
def test_every_text_could_have_been_drawn(loop, by):
    made = loop.label(n=7, by=by)
    key = loop.key()
    found = [p for systems in key["probabilities"].values() for p in systems.values()]
    assert len(found) == made.texts == TEXTS
    assert sum(found) == pytest.approx(7)
    assert min(found) > 0
    assert len(key["texts"]) == len(loop.sheet()) == made.drawn == 7
    assert (len(set(found)) == 1) == made.is_even == (by in ("random", "stratified"))
    assert ("thresholds with `confidence` cannot be certified" in made.text) == (by == "doubt")
    assert key["scorer"] == ("geval" if by == "stratified" else "")


def test_doubt_is_that_of_the_scores(loop):
    loop.label(n=6, by="doubt")
    doubts: dict[tuple[str, str], list[float]] = {}
    for row in evaljudge.open_run(loop.out).scores(scorer="geval").to_pylist():
        if row["value"] is not None:
            doubts.setdefault((row["doc_id"], row["system"]), []).append(row["doubt"])
    expected = inclusion(doubtful(np.array([np.mean(each) for each in doubts.values()])), 6)
    drawn = loop.key()["probabilities"]
    assert {d: set(drawn[d]) for d in drawn} == {f"d{n}": set(SYSTEMS) for n in range(DOCUMENTS)}
    assert [drawn[doc][system] for doc, system in doubts] == pytest.approx(expected)
    assert np.ptp(expected) > 0


def test_without_doubts_it_is_where_scorers_disagree(tmp_path):
    loop = Loop(tmp_path)
    loop.run(judges={}, model=None, metrics=["words"], select=[])
    with pytest.raises(UserError, match="no score has a doubt and no axis has two scorers"):
        loop.label(by="doubt")
    loop.run(
        judges={}, model=None, metrics={"words": {}, "characters": {"metric": "words"}}, select=[]
    )
    loop.label(n=4, by="doubt")


def test_draws_are_repeatable_and_independent(loop):
    loop.label("a.csv", n=6)
    loop.label("b.csv", n=6)
    loop.label("c.csv", n=6, seed=1)
    drawn = [[tuple(t.values()) for t in loop.key(name)["texts"].values()] for name in "abc"]
    assert drawn[0] != drawn[1]
    Path(loop.out, "labels/a.json").unlink()
    (loop.folder / "a.csv").unlink()
    before = set(loop.key("b")["texts"])
    loop.label("a.csv", n=6)
    assert [tuple(t.values()) for t in loop.key("a")["texts"].values()] == drawn[0]
    assert not before & set(loop.key("a")["texts"])
    # put together, a text could have been drawn for either; of b one in three was rated
    a, b = loop.sheet("a.csv"), loop.sheet("b.csv")
    files = [loop.fill([r | {"fluency": 4} for r in a], "fa.csv"),
             loop.fill([r | {"fluency": 2} for r in b[:2]], "fb.csv")]  # fmt: skip
    findings = loop.report(*files).findings
    (of_all,) = [row for row in findings["labelled"] if row.system == ANY_SYSTEM]
    assert of_all.effective == pytest.approx(of_all.n), "all as probable"


def test_probabilities_are_of_texts_drawn_and_rated(loop):
    from evaljudge.analysis.ratings import read_ratings

    loop.label("a.csv", n=12)
    loop.label("b.csv", n=6, by="doubt")
    a, b = loop.sheet("a.csv"), loop.sheet("b.csv")
    files = [loop.fill([r | {"fluency": 4} for r in a], "fa.csv"),
             loop.fill([r | {"fluency": 4, "rater": "x"} for r in b[:2]], "fb.csv")]  # fmt: skip
    output = Output(loop.out)
    given = read_ratings([str(loop.folder / f) for f in files], output, AXES)
    doubt = loop.key("b")["probabilities"]
    assert given.probabilities == {
        "fluency": {
            (d, s): pytest.approx(1 - (1 - 0.5) * (1 - doubt[d][s] / 3)) for d, s in given.texts
        }
    }
    row = {"label": "", "doc_id": "d1", "system": "A", "fluency": 2}
    plain = loop.fill([row], "plain.csv")
    given = read_ratings([str(loop.folder / plain)], output, AXES)
    assert given.texts["d1", "A"].ratings == {"fluency": 2}
    assert given.probabilities == {}


CERTIFYING = {"scorer": "geval", "axis": "fluency", "good": 3, "precision": 0.5, "confidence": 0.9}


def test_texts_that_were_not_drawn_evenly_certify_nothing(loop):
    select = {"select": [{"name": "sure", "all": [CERTIFYING]}]}
    loop.label("even.csv", n=12)
    loop.label("uneven.csv", n=12, by="doubt")
    for name in ("even", "uneven"):
        loop.fill([row | {"fluency": 4} for row in loop.sheet(f"{name}.csv")], f"f{name}.csv")
    assert loop.report("feven.csv", **select).findings.selections[0].thresholds[0]["documents"] > 2
    for files in (["funeven.csv"], ["feven.csv", "funeven.csv"]):
        assert refusal(loop.report, *files, **select) == (
            "select.sure: the texts rated for fluency were drawn with unequal probabilities, so "
            "they certify no threshold with `confidence`: have texts rated that `evaljudge label "
            "--by random` drew, or select by `at_least`"
        )
    on_another = [{"name": "sure", "all": [CERTIFYING | {"axis": "coherence"}]}]
    assert loop.report("funeven.csv", select=on_another).findings.rated == 12


def test_plain_rows_need_no_key_and_take_the_place_of_the_corpus_s(tmp_path):
    loop = Loop(tmp_path)
    rows = [json.loads(line) for line in (tmp_path / "cases.jsonl").read_text().splitlines()]
    for row in rows:
        for one in row["candidates"]:
            one["ratings"] = {"fluency": [1, 2], "coherence": 5}
    (tmp_path / "cases.jsonl").write_text("\n".join(map(json.dumps, rows)))
    loop.run()
    plain = [{"doc_id": "d1", "system": "A", "ratings": {"fluency": 4.5}, "rater": "x"},
             {"doc_id": "d1", "system": "nobody", "ratings.fluency": 3},
             {"doc_id": "d2", "system": "A", "fluencey": 3, "remark": "see me", "coherence": None,
              "ratings.tone": 2}]  # fmt: skip
    (tmp_path / "more.jsonl").write_text("\n".join(map(json.dumps, plain)))
    findings = loop.report("more.jsonl").findings
    assert findings["labelled"] == []
    assert any(
        " rated texts are not among the texts, such as 'nobody'" in w for w in findings.warnings
    )
    assert any("more.jsonl: column 'fluencey' is not read: did you mean 'fluency'?" in w
               for w in findings.warnings)  # fmt: skip
    assert any("column 'remark' is not read" in w for w in findings.warnings)
    given = json.loads((tmp_path / "run/report/labels.json").read_text())
    assert {row["n"] for row in given if row["of"] == "human"} == {TEXTS}, (
        "d1's A has one rater now"
    )


def test_check_knows_the_keys(loop):
    loop.label(n=3)
    checked = check(loop.out)
    assert checked.exit_code == 0
    filled = loop.fill([row | {"fluency": 3} for row in loop.sheet()])
    file = Path(loop.out, "labels/sheet.json")
    file.write_text(file.read_text().replace("0.125", "0.625"))
    (problem,) = check(loop.out).problems
    said = (
        "labels/sheet.json: is not as it was written (its content does not match its sha256): put"
    )
    assert said in problem
    assert "put it back from a copy" in refusal(loop.report, filled)
    assert "put it back from a copy" in refusal(loop.run, ratings=[str(loop.folder / filled)])
    assert file.exists()


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"to": "sheet.xlsx"}, "sheet.xlsx: unknown ending; a sheet ends in .csv or .jsonl"),
        ({"by": "randm"}, "label.by: should be 'random', 'stratified' or 'doubt' (got \"randm\")"),
        ({"n": 0}, "label.n: should be 1 or more (got 0)"),
        ({"to": "sheet.json"}, "--as label-studio goes with a file that ends in .json"),
        ({"form": "label-studio"}, "--as label-studio goes with a file that ends in .json"),
        ({"axis": ["fluencey"]}, "--axis: unknown axis 'fluencey': did you mean 'fluency'?"),
        ({"scorer": "geval"}, "--scorer goes with --by stratified"),
        ({"by": "stratified", "scorer": "gval"}, "unknown scorer 'gval': did you mean 'geval'?"),
    ],
)
def test_what_cannot_be_drawn_is_refused(loop, wanted, said):
    to = str(loop.folder / wanted.pop("to", "sheet.csv"))
    assert said.replace("--", "") in refusal(evaljudge.label, loop.out, to, **wanted)
    assert not Path(loop.out, "labels").exists() or not list(Path(loop.out, "labels").iterdir())


def test_nothing_that_is_there_is_overwritten(loop, tmp_path, monkeypatch):
    loop.label(n=3)
    before = (loop.folder / "sheet.csv").read_bytes(), loop.key()
    assert "sheet.csv: is there already, and may hold ratings" in refusal(loop.label, n=3)
    words = refusal(loop.label, str(tmp_path / "sheet.csv"))
    assert "labels/sheet.json: a sheet of this name was drawn before" in words
    assert before == ((loop.folder / "sheet.csv").read_bytes(), loop.key())
    with pytest.raises(UserError, match="no run lies here"):
        label_texts(replace(LabelOptions(str(tmp_path), str(tmp_path / "x.csv")), n=3))
    (tmp_path / "no folder").write_text("")
    with pytest.raises(UserError):
        loop.label(str(tmp_path / "no folder/new.csv"))
    monkeypatch.setattr(Place, "kind", lambda place, name: "NotFound")  # before it appears
    (tmp_path / "now.csv").write_text("mine")
    assert "now.csv: is there already" in refusal(loop.label, str(tmp_path / "now.csv"))
    assert (tmp_path / "now.csv").read_text() == "mine"
    assert [file.name for file in Path(loop.out, "labels").iterdir()] == ["sheet.json"]


def test_a_run_must_be_finished(tmp_path):
    loop = Loop(tmp_path)
    loop.run()
    Path(loop.out, "scores/00000-00007.parquet").unlink()
    with pytest.raises(UserError, match=r"(\d+) of \1 shards have no scores: finish the run"):
        loop.label()


def test_the_command(loop, capsys):
    to = str(loop.folder / "sheet 1.jsonl")
    words = ("label", loop.out, "--n", "99", "--to", to, "--axis", "fluency")
    said = command(capsys, *words)[0].splitlines()
    assert said == [
        f"sheet      {to}: 24 of 24 texts, of 8 documents (random); to be rated: fluency",
        f"key        {loop.out}/labels/sheet-1.json: who wrote what; keep it from raters",
        f"next       1. people rate on a page: evaljudge view {loop.out} --label '{to}' "
        "--rater NAME; a part is enough",
        f"           2. evaljudge report {loop.out} --set 'ratings=[{to}]'",
        f"              in Python: evaljudge.make_report({loop.out!r}, ratings=[{to!r}])",
    ]


ODD: dict[str, tuple[Callable[[str], bytes], str]] = {
    # how a saved sheet is changed, and what is said of it; empty: nothing
    "semicolons": (lambda text: resaved(text, ";"), ""),
    "tabs": (lambda text: resaved(text, "\t"), ""),
    "its separator named": (lambda text: b"sep=;\r\n" + resaved(text, ";"), ""),
    "no byte order mark": (lambda text: text.encode(), ""),
    "another encoding": (lambda text: resaved(text).decode().encode("cp1252"), ""),
    "old line ends": (lambda text: resaved(text, end="\r"), ""),
    "other columns first": (lambda text: reordered(text), ""),
    "empty rows": (lambda text: ("\n\n" + text + ",,,,,\n\n;\n"[:-2]).encode(), ""),
    "a column of remarks": (lambda text: text.replace("rater", "rater,remark").encode(), ""),
    "UTF-16": (lambda text: text.encode("utf-16"), "not UTF-8"),
    "a spreadsheet": (lambda text: b"PK\x03\x04" + text.encode(), "save it as CSV"),
    "no header": (lambda text: text.partition("\n")[2].encode(), "names neither `label`"),
    "nothing": (lambda text: b"", "names neither `label` nor `doc_id`"),
    "other names": (
        lambda text: b"story_id,version,fluency\nd0,A,4\n",
        "needs `system`; its keys are 'version', 'fluency', 'doc_id'",
    ),
    "only a header": (lambda text: text.partition("\n")[0].encode(), "holds no rating"),
    "an axis in capitals": (
        lambda text: text.replace("fluency", "FLUENCY").encode(),
        "; column 'FLUENCY' is not read: did you mean 'fluency'?",
    ),
    "an open quote": (lambda text: text.encode() + b'"', "not valid CSV"),
    "a column twice": (lambda text: text.replace("rater", "fluency", 1).encode(), "'fluency'"),
    "a cell too many": (lambda text: (text + "a,b,c,d,e,f,g,h\n").encode(), "8 cells under"),
}


def resaved(text: str, separator: str = ",", end: str = "\r\n") -> bytes:
    written = io.StringIO()
    writer = csv.writer(written, delimiter=separator, lineterminator=end)
    writer.writerows(csv.reader(io.StringIO(text, newline="")))
    return written.getvalue().encode("utf-8")


def reordered(text: str) -> bytes:
    rows = [row[::-1] for row in csv.reader(io.StringIO(text, newline=""))]
    written = io.StringIO()
    csv.writer(written).writerows(rows)
    return written.getvalue().encode("utf-8-sig")


@pytest.mark.parametrize("odd", ODD)
def test_sheets_that_came_back_from_a_spreadsheet(loop, odd):
    change, said = ODD[odd]
    loop.label(n=4)
    loop.fill([row | {"fluency": "3.5", "source": "é"} for row in loop.sheet()])
    text = (loop.folder / "filled.csv").read_text(encoding="utf-8-sig")
    (loop.folder / "filled.csv").write_bytes(change(text))
    if not said:
        assert loop.report("filled.csv").findings.rated == 4
        return
    with pytest.raises(UserError) as refused:
        loop.report("filled.csv")
    assert said in str(refused.value) and "filled.csv" in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        ({"fluency": "good"}, "3: fluency is 'good': write a number (4 or 4.5), or leave it empty"),
        ({"fluency": "n/a"}, "3: fluency is 'n/a': write a number"),
        ({"fluency": "nan"}, "3: fluency is 'nan'"),
        ({"fluency": "1e999"}, "3: fluency is '1e999'"),
        ({"fluency": "1,000"}, "3: fluency is '1,000'"),
        ({"fluency": "04. May"}, "3: fluency is '04. May'"),
        ({"fluency": "٤"}, "3: fluency is '٤'"),
        ({"label": "unknown", "fluency": "3"}, "3: label 'unknown' is in no sheet of "),
        ({"label": "", "fluency": "3"}, "3: is rated and has no `label`"),
        ({"text": "another text", "fluency": "3"}, "3: the text is not that of label"),
    ],
)
def test_cells_that_are_no_ratings(loop, cells, said):
    loop.label(n=4)
    first, second, *others = [row | {"text": "", "fluency": "4"} for row in loop.sheet()]
    loop.fill([first, second | cells, *others])
    assert f"filled.csv:{said}" in refusal(loop.report, "filled.csv")


@pytest.mark.parametrize(
    ("value", "rating"),
    [("4", 4), (" 4 ", 4), ("4,5", 4.5), ("4.", 4), ("-1.25", -1.25), ("+2", 2)],
)
def test_numbers_as_people_write_them(loop, value, rating):
    loop.label(n=4)
    loop.fill([row | {"fluency": value} for row in loop.sheet()])
    (row,) = [r for r in loop.report("filled.csv").findings["labelled"] if r.system == ANY_SYSTEM]
    assert row.value == pytest.approx(rating)


def test_one_rater_with_two_minds_is_refused(loop):
    loop.label(n=4)
    rows = [row | {"fluency": 4, "text": "", "rater": "anna"} for row in loop.sheet()]
    one = loop.fill(rows, "one.csv")
    two = loop.fill([rows[1] | {"fluency": 5}], "two.csv")
    folder = loop.folder
    assert refusal(loop.report, one, two) == (
        f"{folder}/two.csv:2: 'anna' gives fluency 5, and 4 to the same text at "
        f"{folder}/one.csv:3: leave one of them empty"
    )
    assert loop.report(one, one).findings.rated == 4
    text = Path(folder, one).read_text(encoding="utf-8-sig").replace("rater", "Rater")
    rows = text.splitlines()
    again = rows[1].replace(",4,", ",5,")
    Path(folder, "unread.csv").write_text("\n".join([*rows, again]))
    with pytest.raises(UserError, match="unread.csv:6: 'anna' gives fluency 5, and 4 to the same"):
        loop.report("unread.csv")
