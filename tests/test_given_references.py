"""A run's references as a file, and such a file in another run: what it asks, what is refused."""

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.config import load_config
from evaljudge.engines.scripted import Scripted, ScriptedEngines, any_text
from evaljudge.errors import UserError
from evaljudge.model.asks import Prompt, Writing
from evaljudge.records import Brief, Document
from evaljudge.runs.binding import bind_and_cut
from evaljudge.runs.job import Job, make_job
from evaljudge.runs.references import (
    ExportedReferences,
    check_references,
    export_references,
    put_references,
)
from evaljudge.storage import Output, claimed
from tests.build import config, refusal
from tests.build import document as case
from tests.build import jsonl as write_rows
from tests.build import lines as rows

AXES = ["fluency", "relevance"]
SOURCE_0 = "b20389ce6e88582c86332b8430c38903bd6fa75fa3fbb7a8d630de1dbd322874"


class Run:
    """A run in its own folder; its model signs what it writes with a word."""

    def __init__(self, folder: Path, name: str, **changes: Any) -> None:
        self.folder, self.word, self.written = folder, name, list[str]()
        usual = {"out": str(folder / name), "axes": AXES, "judges": synthetic(), "view": 0,
                 "agreement": {"resamples": 0}, "coverage_floor": 0}  # fmt: skip
        self.spec = config(folder, **usual) | changes
        self.output = Output(self.spec["out"])

    def job(self) -> Job:
        return make_job(load_config(self.spec), ScriptedEngines())

    def whole(self, extend: bool = False) -> evaljudge.Outcome:
        engines = ScriptedEngines(lambda: Scripted(self._write))
        return evaljudge.run(self.spec, extend=extend, engines=engines, progress=False)

    def scores(self) -> dict[tuple[str, ...], float | None]:
        rows = evaljudge.open_run(self.spec["out"]).scores().to_pylist()
        key = ("doc_id", "system", "scorer", "axis")
        return {tuple(row[name] for name in key): row["value"] for row in rows}

    def briefs(self) -> list[Brief]:
        own = self.output.own_briefs
        return [brief for shard in self.output.shards() for brief in own("synthetic", shard)]

    def export(self, name: str) -> ExportedReferences:
        return export_references(self.spec["out"], str(self.folder / name))

    def _write(self, prompt: Prompt, how: Writing) -> str:
        self.written.append(prompt.text)
        return f"{self.word} {any_text(prompt, how)}"


def synthetic(**settings: Any) -> dict[str, Any]:
    none = {"neighbours": 0, "exchanged": 0}
    return {"synthetic": {"levels": 3, "checks": none} | settings}


def row(**changes: Any) -> dict[str, Any]:
    digest = sha256(b"source 0").hexdigest()
    usual = {"doc_id": "d0", "source_sha256": digest, "axis": "fluency", "level": 3,
             "text": "given", "writer": "a person", "signature": ""}  # fmt: skip
    return usual | changes


@pytest.fixture
def folder(tmp_path):
    write_rows(tmp_path / "cases.jsonl", [case(n) for n in range(3)])
    return tmp_path


@pytest.fixture
def first(folder):
    run = Run(folder, "first")
    run.whole()
    assert len(run.written) == 3 * 2 * 3
    return run


def test_a_row_by_hand(first, folder):
    assert first.export("refs.jsonl") == ExportedReferences(references=18, documents=3, unscored=0)
    found = rows(folder / "refs.jsonl")
    assert len(found) == 18
    assert list(found[0]) == [
        *("doc_id", "source_sha256", "axis", "level", "text", "writer", "signature")
    ]
    (one,) = (r for r in found if (r["doc_id"], r["axis"], r["level"]) == ("d0", "fluency", 1))
    assert one["source_sha256"] == SOURCE_0
    assert one["text"].startswith("first text ")
    assert one["writer"] == "m@scripted"
    assert one["signature"].startswith("synthetic@3 | m@scripted | ")


def test_there_and_back_asks_for_no_writing_and_scores_alike(first, folder):
    first.export("refs.jsonl")
    second = Run(folder, "second", judges=synthetic(references=str(folder / "refs.jsonl")))
    second.whole()
    assert second.written == []
    assert second.scores() == first.scores()
    assert len(first.scores()) == 3 * 2 * 2 * 4
    assert None not in first.scores().values()
    second.export("again.jsonl")
    as_text = [(folder / name).read_text() for name in ("refs.jsonl", "again.jsonl")]
    assert sorted(as_text[0].splitlines()) == sorted(as_text[1].splitlines())


def test_only_what_the_file_lacks_is_written(first, folder):
    first.export("refs.jsonl")
    given = [r for r in rows(folder / "refs.jsonl") if r["doc_id"] != "d2"]
    middle = ("d1", "fluency", 3)
    given = [r for r in given if (r["doc_id"], r["axis"], r["level"]) != middle]
    file = write_rows(folder / "some.jsonl", given)
    second = Run(folder, "second", judges=synthetic(references=file))
    second.whole()
    assert len(second.written) == 1 + 2 * 3
    (between,) = (text for text in second.written if "source 1" in text)
    ends = [r["text"] for r in given if (r["doc_id"], r["axis"]) == middle[:2]]
    assert len(ends) == 2
    assert all(text in between for text in ends)
    writers = {b.part: b.content.get("writer") for b in second.briefs()
               if (b.doc_id, b.axis) == ("d1", "fluency")}  # fmt: skip
    assert writers == {"1": "m@scripted", "5": "m@scripted", "3": None}
    assert second.export("all.jsonl") == ExportedReferences(18, 3, 0)


def test_rows_that_the_run_has_no_use_for_are_not_used(folder):
    elsewhere = row(doc_id="elsewhere", source_sha256="0" * 64)
    others = [row(axis="warmth"), row(level=1.5), elsewhere]
    file = write_rows(folder / "refs.jsonl", [row(), *others])
    run = Run(folder, "run", judges=synthetic(references=file), axes=["fluency"])
    run.whole()
    assert len(run.written) == 3 * 3 - 1
    texts = [brief.content["text"] for brief in run.briefs()]
    assert len(texts) == 9
    assert texts.count("given") == 1


def test_more_levels_take_over_those_there_are(first, folder):
    first.export("refs.jsonl")
    judges = synthetic(levels=5, references=str(folder / "refs.jsonl"))
    second = Run(folder, "second", judges=judges)
    second.whole()
    assert len(second.written) == 3 * 2 * 2


def test_lost_briefs_are_taken_from_the_file_again_and_the_rest_is_written(folder):
    run = Run(folder, "run", judges=synthetic(references=write_rows(folder / "r.jsonl", [row()])))
    run.whole()
    for file in (folder / "run/briefs").rglob("*.*"):
        file.unlink()
    run.written.clear()
    run.whole()
    assert len(run.written) == 3 * 2 * 3 - 1
    assert len(run.briefs()) == 3 * 2 * 3


def test_judges_with_files_of_their_own(first, folder):
    other = Run(folder, "other")
    other.whole()
    first.export("a.jsonl")
    other.export("b.jsonl")
    one, two = (
        synthetic(references=str(folder / name))["synthetic"] for name in ("a.jsonl", "b.jsonl")
    )
    both = Run(folder, "both", judges={"synthetic": one, "second": {"judge": "synthetic"} | two})
    both.whole()
    assert both.written == []
    scores = both.scores()
    assert first.scores() != other.scores()
    assert {k: v for k, v in scores.items() if k[2].startswith("synthetic")} == first.scores()
    renamed = {
        (doc_id, system, scorer.replace("second", "synthetic"), axis): value
        for (doc_id, system, scorer, axis), value in scores.items()
        if scorer.startswith("second")
    }
    assert renamed == other.scores()
    with pytest.raises(UserError, match="judges of this run have different references of level"):
        both.export("both.jsonl")
    assert not (folder / "both.jsonl").exists()


def test_what_is_exported_stands_once_and_is_counted(folder):
    judges = synthetic() | {"finer": {"judge": "synthetic", "levels": 5}}
    run = Run(folder, "run", judges=judges)
    run.whole()
    assert run.export("refs.jsonl") == ExportedReferences(3 * 2 * 5, 3, 0)
    assert len(rows(folder / "refs.jsonl")) == 30
    write_rows(folder / "cases.jsonl", [case(0), case(1) | {"source": ""}])
    Run(folder, "other", judges=synthetic() | {"geval": {}}).whole()
    to = f"file://{folder}/refs.jsonl"
    assert export_references(str(folder / "other"), to) == ExportedReferences(6, 1, 6)
    assert {r["doc_id"] for r in rows(folder / "refs.jsonl")} == {"d0"}


def test_a_document_of_several_shards_is_exported_once(first, folder):
    write_rows(folder / "cases.jsonl", [case(0, "ABC"), case(1), case(2), case(3)])
    first.whole(extend=True)
    assert sum(shard.cases for shard in first.output.shards()) == 5
    assert first.export("refs.jsonl") == ExportedReferences(4 * 2 * 3, 4, 0)


@pytest.mark.service
def test_there_and_back_on_object_storage(folder, s3):
    first = Run(folder, "first", out=f"{s3.uri}/first")
    first.whole()
    to = f"{s3.uri}/released/refs.jsonl"
    assert export_references(f"{s3.uri}/first", to) == ExportedReferences(18, 3, 0)
    second = Run(folder, "second", out=f"{s3.uri}/second", judges=synthetic(references=to))
    second.whole()
    assert second.written == []
    assert second.scores() == first.scores()


def test_exports_that_are_refused(first, folder):
    with pytest.raises(UserError, match="no run lies here"):
        export_references(str(folder / "nowhere"), str(folder / "refs.jsonl"))
    rated = Run(folder, "rated", judges={"direct": {}, "geval": {}})
    rated.whole()
    with pytest.raises(UserError, match=r"no reference was written there \(its judges: direct, g"):
        rated.export("refs.jsonl")
    begun = Run(folder, "begun")
    with claimed(begun.spec["out"]) as claim:
        bind_and_cut(begun.job(), claim)
    assert "no prepared shard's briefs lie there" in refusal(begun.export, "refs.jsonl")
    assert not (folder / "refs.jsonl").exists()
    assert "a folder; name a file" in refusal(first.export, "first")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "refs.jsonl: holds no reference"),
        ("{broken", r"refs.jsonl:2: not valid JSON"),
        ("[1]", "refs.jsonl:2: not an object but list"),
        ({"text": " "}, "refs.jsonl:2: text: should "),
        ({"text": None}, "refs.jsonl:2: text: should "),
        ({"doc_id": 7}, "refs.jsonl:2: doc_id: should "),
        ({"source_sha256": None}, "refs.jsonl:2: source_sha256: should "),
        ({"writer": None}, "refs.jsonl:2: writer: should "),
        ({"signature": None}, "refs.jsonl:2: signature: should "),
        ({"axis": ""}, "refs.jsonl:2: axis: should "),
        ({"level": 1.25}, r"refs.jsonl:2: level: should be one of 1, 1.5, … 5"),
        ({"level": 6}, "refs.jsonl:2: level"),
        ({"level": "3"}, "refs.jsonl:2: level"),
        ({"level": True}, "refs.jsonl:2: level"),
        ({"level": 3.0, "text": "b"},
         r"refs.jsonl:2: level 3 of fluency for document 'd0' again \(first in line 1\)"),
    ],
)  # fmt: skip
def test_files_that_are_refused_at_once(folder, content, said):
    usual = json.dumps(row())
    second = content if isinstance(content, str) else json.dumps(row() | content)
    (folder / "refs.jsonl").write_text(f"{usual}\n{second}\n" if content else "\n")
    run = Run(folder, "run", judges=synthetic(references=str(folder / "refs.jsonl")))
    assert re.search(said, refusal(run.job))


def test_a_file_of_other_axes_alone_is_refused(folder):
    file = write_rows(folder / "refs.jsonl", [row(axis="fluencey")])
    said = refusal(Run(folder, "run", judges=synthetic(references=file)).job)
    assert "for other axes (fluencey) than the run's (fluency, rel" in said


def test_what_is_no_file_is_refused(folder):
    def refused(judges: Any) -> str:
        return refusal(Run(folder, "run", judges=judges).job)

    none = str(folder / "none.jsonl")
    assert "none.jsonl: no such file" in refused(synthetic(references=none))
    assert "cannot be read" in refused(synthetic(references=str(folder)))
    assert "judges.synthetic.references" in refused(synthetic(references=["a"]))
    file = write_rows(folder / "refs.jsonl", [row()])
    said = refused({"direct": {"references": file}})
    assert "judges.direct: unknown key 'references'" in said


def test_references_of_another_text_are_refused(folder):
    file = write_rows(folder / "refs.jsonl", [row(), row(level=1, source_sha256="0" * 64)])
    run = Run(folder, "run", judges=synthetic(references=file))
    said = r"refs.jsonl:2: was written for another source than document 'd0' has here"
    assert said in refusal(run.whole)
    assert said in refusal(evaljudge.plan, run.spec, engines=ScriptedEngines())
    job = run.job()
    with pytest.raises(UserError, match=said):
        check_references(job.references, job.judges, [Document("d0", "source 0")])
    with pytest.raises(UserError, match="has no reference of any document of this corpus"):
        check_references(job.references, job.judges, [Document("d1", "source 1")])


def test_another_file_is_another_run(first, folder):
    first.export("refs.jsonl")
    run = Run(folder, "run", judges=synthetic(references=str(folder / "refs.jsonl")))
    run.whole()
    (folder / "refs.jsonl").rename(folder / "moved.jsonl")
    moved = Run(folder, "run", judges=synthetic(references=str(folder / "moved.jsonl")))
    moved.whole()
    write_rows(folder / "moved.jsonl", rows(folder / "moved.jsonl")[1:])
    with pytest.raises(
        UserError, match=r"judges.synthetic.references is \"\w{16}\" there, \"\w{16}"
    ):
        moved.whole()


def test_a_file_that_changes_under_a_run_is_refused(folder):
    run = Run(folder, "run", judges=synthetic(references=write_rows(folder / "r.jsonl", [row()])))
    job, output = run.job(), run.output
    run.whole()
    write_rows(folder / "r.jsonl", [row(text="another")])
    assert job.writer
    with pytest.raises(UserError, match="r.jsonl: was changed since this run was begun"):
        put_references(job.references, job.judges, job.writer.identity, output, output.shards())


def test_a_plan_counts_them_as_known(first, folder):
    first.export("refs.jsonl")
    given = [r for r in rows(folder / "refs.jsonl") if r["doc_id"] != "d2"]
    file = write_rows(folder / "some.jsonl", given)
    run = Run(folder, "run", judges=synthetic(references=file))
    plan = evaljudge.plan(run.spec, engines=ScriptedEngines())
    assert plan.asked["prepare", "synthetic"].asks == 2 * 3
    assert plan.asked["judge", "synthetic"].asks == 3 * 2 * 2 * 3
    whole = Run(folder, "run", judges=synthetic(references=str(folder / "refs.jsonl")))
    assert evaljudge.plan(whole.spec, engines=ScriptedEngines()).is_exact
