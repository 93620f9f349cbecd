"""Labels of entities: out of a run and back into its report, from verdicts by hand."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score

import evaljudge
from evaljudge.config import Config, load_config
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.judges.collector import CollectorOptions, JudgeFindings
from evaljudge.judges.entities.equations import OPTIONS
from evaljudge.judges.entities.labels import (
    Answered,
    At,
    EntityAgreementRow,
    Labels,
    export_entities,
    label_agreement,
    read_labels,
)
from evaljudge.records import Verdict
from evaljudge.runs.binding import bind_and_cut
from evaljudge.runs.job import make_job
from evaljudge.storage import Output, claimed
from tests.build import command, jsonl, lines, refusal
from tests.judges.entities.evidence import entity, sentence, verdict, wanted

TEXT = "The river rose. It rain."
Row = dict[str, Any]


EVIDENCE = verdict(
    rubric=[wanted("The bridge closed", "no", "no", "yes"), wanted("Boats", "!cut")],
    entities=[
        entity("A river  rose", (0, 14), "yes", "yes", "no", heading="Events", placed=["yes", "no"])
    ],
    sentences=[sentence((16, 24), "no", "no", "yes", "no")],
).evidence
ROWS: list[Row] = [
    {"aspect": "completeness", "entity": "The bridge closed", "heading": None, "words": None,
     "verdict": "no", "rule": "majority"},
    {"aspect": "completeness", "entity": "Boats", "heading": None, "words": None,
     "verdict": None, "rule": None},
    {"aspect": "correctness", "entity": "A river  rose", "heading": "Events",
     "words": "The river rose", "verdict": "yes", "rule": "majority"},
    {"aspect": "alignment", "entity": "A river  rose", "heading": "Events",
     "words": "The river rose", "verdict": "no", "rule": "divided"},
    {"aspect": "readability", "entity": "It rain.", "heading": None, "words": "It rain.",
     "verdict": "yes", "rule": None},
]  # fmt: skip
"""What is asked of every candidate of the run."""


def config_of(folder: Path | str, judges: Sequence[str], **changes: Any) -> Config:
    """Of a run with such judges of entities, or with another where there are none."""
    named = {name: {} if name == "entities" else {"judge": "entities"} for name in judges}
    given = {"corpus": f"{folder}.jsonl", "out": str(folder), "model": "m",
             "judges": named or {"synthetic": {}}, "agreement": {"resamples": 20}}  # fmt: skip
    return load_config(given | changes)


def a_run(
    folder: Path, judges: Sequence[str] = ("entities",), documents: int = 2, told: Any = (EVIDENCE,)
) -> Output:
    """Of each document a shard with two candidates, all with the same evidence."""
    cases = [
        {"doc_id": f"d{number}", "source": f"source {number}", "candidates": [
            {"system": system, "text": TEXT} for system in "AB"]}
        for number in range(documents)
    ]  # fmt: skip
    jsonl(Path(f"{folder}.jsonl"), cases)
    with claimed(str(folder)) as claim:
        output = bind_and_cut(make_job(config_of(folder, judges), ScriptedEngines()), claim)
    for shard in output.shards():
        (case,) = output.cases(shard)
        for judge in judges:
            found = [Verdict(case.document.doc_id, s, judge, "*", *told) for s in "AB"]
            output.write_verdicts(judge, shard, found)
        receipt = {"stage": "judge", "worker": "w", "worker_seconds": 1, "gpus": 0, "asked": {}}
        output.commit("judge", shard, receipt)
    return output


def found_in(
    output: Output, judges: Sequence[str] = ("entities",), **changes: Any
) -> JudgeFindings:
    given = config_of(output.uri, judges, **changes)
    return evaljudge.make_report(given, engines=ScriptedEngines()).findings.judged


def label(doc_id: str, aspect: str, entity: str, given: Any, system: str = "A") -> Row:
    return {"doc_id": doc_id, "system": system, "aspect": aspect, "entity": entity, "label": given}


# out


def test_an_export_by_hand(tmp_path):
    a_run(tmp_path / "run")
    assert export_entities(str(tmp_path / "run"), str(tmp_path / "e.jsonl")).startswith(
        "20 questions about 4 candidates: "
    )
    found = lines(tmp_path / "e.jsonl")
    named = [("d0", "A"), ("d0", "B"), ("d1", "A"), ("d1", "B")]
    assert found == [
        {"doc_id": doc_id, "system": system} | row | {"label": None}
        for doc_id, system in named
        for row in ROWS
    ]
    keys = ["doc_id", "system", "aspect", "entity", "heading", "words", "verdict", "rule", "label"]
    assert list(found[0]) == keys


def test_the_command(tmp_path, capsys):
    a_run(tmp_path / "run", judges=["facts", "finer"])
    to = str(tmp_path / "e.jsonl")
    export = ("export", str(tmp_path / "run"), "entities", "--to")
    said = command(capsys, *export, to, "--judge", "finer")[0]
    assert said == f"20 questions about 4 candidates: {to}\n"
    for judge, said in ((None, "name one with --judge: facts, finer"), ("fact", "mean 'facts'")):
        more = ["--judge", judge] if judge else []
        assert said in command(capsys, *export, f"{to}l", *more, code=2)[1]


def test_nothing_to_export_leaves_no_file(tmp_path):
    to = tmp_path / "e.jsonl"
    assert "no run lies here" in refusal(export_entities, str(tmp_path / "none"), str(to))
    a_run(tmp_path / "other", judges=[])
    with pytest.raises(UserError, match="no judge of entities there \\(its judges: synthetic\\)"):
        export_entities(str(tmp_path / "other"), str(to))
    output = a_run(tmp_path / "run", told=({}, "unscored", "x"))
    assert "a folder; name a file" in refusal(export_entities, output.uri, str(tmp_path))
    assert "recorded no entity questions" in refusal(export_entities, output.uri, str(to))
    assert not to.exists()


# back


def test_labels_by_hand(tmp_path):
    rows = [
        label("d0", "correctness", "a RIVER rose ", "yes"),
        label("d1", "correctness", "A river rose", "partially"),
        label("d1", "correctness", "A river rose", None, system="B"),
        label("d1", "correctness", "A river rose", "no", system="C"),
        label("d9", "correctness", "A river rose", "no"),
        label("d0", "correctness", "A river rose", "no"),
        label("d0", "completeness", "Boats", "no"),
        label("d0", "completeness", "The bridge closed", "contradict"),
    ]
    output = a_run(tmp_path / "run")
    file = jsonl(tmp_path / "l.jsonl", rows)
    for given in (file, {"entities": file}):
        completeness, correctness = found_in(output, entity_labels=given).files["entity_agreement"]
        assert (correctness.n, correctness.same) == (2, 0.5)
        assert (correctness.unmet, correctness.blank, correctness.unscored) == (3, 1, 0)
        assert (completeness.n, completeness.same, completeness.unscored) == (1, 0.0, 1)
        assert correctness.file == file


def agreement(labels: Labels, verdicts: Sequence[Answered]) -> EntityAgreementRow:
    (row,) = label_agreement("facts", "f", labels, verdicts, CollectorOptions(resamples=0))
    return row


def test_the_first_row_of_equal_entities_is_the_first_s():
    at: At = ("d", "A", "correctness", "e")
    row = agreement({at: [None, "no", "yes"]}, [(at, "yes"), (at, "no")])
    assert (row.n, row.same, row.blank, row.unmet) == (1, 1.0, 1, 1)


@pytest.mark.parametrize("aspect", ["completeness", "correctness"])
def test_kappa_is_sklearn_s(aspect):
    options = OPTIONS[aspect]
    drawn = [((n * 7) % 23 % 4, (n * 5 + n // 3) % 11 % 4) for n in range(60)]
    ats: list[At] = [(f"d{n}", "A", aspect, str(n)) for n in range(60)]
    verdicts, people = ([options[pair[side]] for pair in drawn] for side in (0, 1))
    labels = {at: [label] for at, label in zip(ats, people, strict=True)}
    row = agreement(labels, list(zip(ats, verdicts, strict=True)))
    assert row.kappa == pytest.approx(cohen_kappa_score(verdicts, people))
    assert row.kappa != 0


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{", "not valid JSON"),
        (label("d", "correctness", "e", "contradict"), "give one of yes, no, partially, unknown"),
        (label("d", "correctness", "e", 1), "`label` is 1: give one of"),
        (label("d", "corectness", "e", "yes"), "did you mean 'correctness'"),
        ({"doc_id": "d", "system": "A", "aspect": "alignment", "entity": "e"}, "needs `label`"),
        (label("d", "alignment", "e", "yes") | {"doc_id": 7}, "needs `doc_id`, a text"),
    ],
)
def test_a_bad_row_is_named(tmp_path, row, said):
    good = json.dumps(label("d", "alignment", "e", None))
    file = tmp_path / "l.jsonl"
    file.write_text(f"{good}\n\n{row if isinstance(row, str) else json.dumps(row)}\n")
    words = refusal(read_labels, str(file))
    assert words.startswith(f"{file}:3: ")
    assert said in words
