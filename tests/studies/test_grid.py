"""A study's grid: every list a dimension, every point a judge with a name of its own."""

from typing import Any

import pytest

from evaljudge.config import load_config
from evaljudge.errors import UserError
from evaljudge.studies.study import expand, study_runs


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
    with pytest.raises(UserError, match="no `study` in this configuration"):
        runs()
