"""A study's grid: every list a dimension, every point a judge; and its table of cost."""

import json
from html import escape
from pathlib import Path
from typing import Any

import pytest

from evaljudge.config import load_config
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.studies.study import expand, plan_study, run_study, study_runs
from tests.build import Counted, config, document, jsonl, refusal, stored


def test_every_list_is_a_dimension():
    found = expand(
        [{"judge": "synthetic", "predict": ["probabilities", "yes-no"], "levels": [3, 5]}, "direct"]
    )
    assert found == {
        "synthetic-probabilities-3": {
            "judge": "synthetic", "predict": "probabilities", "levels": 3
        },
        "synthetic-probabilities-5": {
            "judge": "synthetic", "predict": "probabilities", "levels": 5
        },
        "synthetic-yes-no-3": {"judge": "synthetic", "predict": "yes-no", "levels": 3},
        "synthetic-yes-no-5": {"judge": "synthetic", "predict": "yes-no", "levels": 5},
        "direct": {},
    }  # fmt: skip


def test_names_of_one_s_own_and_values_that_are_no_words():
    found = expand(
        [
            {"judge": "synthetic", "name": "warm", "temperature": [0.7, 1.0]},
            {"judge": "synthetic", "swap": "both", "name": "both-orders"},
        ]
    )
    assert list(found) == ["warm-0-7", "warm-1-0", "both-orders"]
    assert found["both-orders"] == {"judge": "synthetic", "swap": "both"}


STUDY: dict[str, Any] = {"corpus": "c.jsonl", "out": "s3://bucket/study/", "model": "hub/one"}


def runs(**changes: Any) -> list[tuple[str, str, str | None, str | None]]:
    found = study_runs(load_config(STUDY | changes))
    return [
        (
            run.label,
            run.config.out,
            run.config.model and run.config.model.source,
            run.config.writer and run.config.writer.source,
        )
        for run in found
    ]


def test_one_model_is_one_run_and_in_two_forms_two():
    eight_bits = {"source": "hub/one", "name": "one-fp8", "engine": {"quantization": "fp8"}}
    found = runs(study={"judges": ["direct"], "models": ["hub/one", eight_bits]})
    assert [label for label, *_ in found] == ["one", "one-fp8"]
    study = {"judges": ["direct"]}
    assert runs(study=study) == [("", "s3://bucket/study/one", "hub/one", None)]
    (run,) = study_runs(load_config(STUDY | {"study": study}))
    assert run.config.briefs == "s3://bucket/study/briefs"
    assert run.config.judges == {"direct": {}}
    assert run.config.study is None


def test_every_pair_of_a_model_and_a_writer_is_a_run_those_of_a_writer_together():
    pair = ["hub/one", "two"]
    short = {"judge": "direct", "name": "short", "steps": False}
    study = {"judges": [short, "synthetic"], "models": pair, "writers": pair}
    found = study_runs(load_config(STUDY | {"study": study}))
    # who writes is nothing to a judge without briefs: it stands with the first writer of each model
    assert [list(one.config.judges) for one in found] == [
        ["short", "synthetic"], ["short", "synthetic"], ["synthetic"], ["synthetic"],
    ]  # fmt: skip
    assert runs(study=study) == [
        ("one", "s3://bucket/study/one", "hub/one", None),
        ("two--by--one", "s3://bucket/study/two--by--one", "two", "hub/one"),
        ("one--by--two", "s3://bucket/study/one--by--two", "hub/one", "two"),
        ("two", "s3://bucket/study/two", "two", None),
    ]


def test_listed_pairs_of_a_model_and_a_writer_are_the_runs():
    pairs = [{"model": "two", "writer": "hub/one"}, {"model": "two", "writer": "two"}]
    study = {"judges": ["synthetic"], "pairs": pairs}
    assert runs(study=study, model=None) == [
        ("two--by--one", "s3://bucket/study/two--by--one", "two", "hub/one"),
        ("two", "s3://bucket/study/two", "two", None),
    ]


def test_what_is_no_study_is_refused():
    assert "no `study` in this configuration" in refusal(runs)


# scores and cost


DOCUMENTS, TEXTS, LEVELS = 5, 3, 3
NAMES = ["synthetic-off", "synthetic-on", "ladder"]


def costs(folder: Path, *, apart: bool, rated: bool = True) -> list[dict[str, Any]]:
    """The table of plain, adaptive and with a ladder, in that order."""
    cases = [
        {
            "doc_id": f"d{doc}",
            "source": f"Document {doc} says.",
            "candidates": [
                {"system": f"s{n}", "text": f"text {doc} {n}"}
                | ({"ratings": {"fluency": n}} if rated else {})
                for n in range(TEXTS)
            ],
        }
        for doc in range(DOCUMENTS)
    ]
    (folder / "cases.jsonl").write_text("".join(f"{json.dumps(case)}\n" for case in cases))
    same = {"judge": "synthetic", "levels": LEVELS, "checks": {"neighbours": 0, "exchanged": 0}}
    judges = [same | {"adaptive": [None, {}]}, same | {"layout": "ladder", "name": "ladder"}]
    study = {"apart": apart, "judges": judges}
    config = {"corpus": str(folder / "cases.jsonl"), "out": str(folder / "out"), "study": study}
    config |= {
        "model": "scripted",
        "axes": ["fluency"],
        "workers": {"executor": "local"},
        "view": 1,
    }
    made = run_study(config | {"coverage_floor": 0}, engines=ScriptedEngines())
    assert (
        repr(made) == made.text.rstrip()
        and made._repr_html_() == f"<pre>{escape(made.text.rstrip())}</pre>"
    )
    assert "Scores and cost" in made.text
    found: list[dict[str, Any]] = json.loads((folder / "out/study.json").read_text())[
        "Scores and cost"
    ]
    assert [row["method"] for row in found] == NAMES
    return found


def test_apart_each_setting_has_its_own_cost(tmp_path):
    plain, adaptive, ladder = costs(tmp_path, apart=True)
    assert plain["asks"] == ladder["asks"] == DOCUMENTS * TEXTS * LEVELS
    assert DOCUMENTS * TEXTS <= adaptive["asks"] <= plain["asks"]
    assert plain["like_first"] == pytest.approx(1)
    assert ladder["like_first"] < 1
    assert -1 <= ladder["agreement"] <= 1
    assert {entry.name for entry in (tmp_path / "out").iterdir() if entry.is_dir()} == {
        "briefs",
        *(f"scripted--{name}" for name in NAMES),
    }


def test_a_shared_question_is_charged_once_and_settings_compared_without_ratings(tmp_path):
    plain, adaptive, _ = costs(tmp_path, apart=False)
    assert (plain["asks"], adaptive["asks"]) == (DOCUMENTS * TEXTS * LEVELS, 0)
    for row in costs(tmp_path, apart=True, rated=False):
        assert row["agreement"] is None
        assert row["like_first"] is not None


def test_a_model_with_its_thoughts_is_a_method_beside_itself_without(tmp_path):
    """A row for each, with a column for each axis; both judge by the same references."""
    rows = [document(n, "ABC", fluency=n % 3 + 1.0, coherence=3.0 - n % 2) for n in range(5)]
    jsonl(tmp_path / "cases.jsonl", rows)
    models = ["scripted", {"source": "scripted", "thinking": {"tokens": 64, "samples": 2}}]
    judges = [{"judge": "synthetic", "levels": LEVELS}]
    wanted = config(tmp_path, axes=["fluency", "coherence"], agreement={"resamples": 0})
    del wanted["model"]
    wanted |= {"study": {"models": models, "judges": judges}}
    engines = Counted()
    plain, thinks = (
        plan.asked["judge", "synthetic"] for _, plan in plan_study(wanted, engines=engines)
    )
    assert (thinks.asks, thinks.requests) == (plain.asks, 3 * plain.requests)
    assert thinks.generated == thinks.asks * 2 * (64 + 1), "thoughts are as long as they may be"
    run_study(wanted, engines=engines)
    found = json.loads((tmp_path / "out/study.json").read_text())["Methods"]
    names = [method["name"] for method in found["methods"]]
    assert names == ["synthetic · scripted", "synthetic · scripted--thinking"]
    assert [column["axis"] for column in found["columns"]] == ["coherence", "fluency", None]
    assert engines.asked and set(engines.asked.values()) == {1}, "a reference was written twice"
    signatures = [
        {row["signature"] for row in stored(tmp_path / f"out/{name}/scores")}
        for name in ("scripted", "scripted--thinking")
    ]
    assert not any("thinking" in signature for signature in signatures[0])
    assert all('thinking {"tokens": 64, "samples": 2' in signature for signature in signatures[1])
