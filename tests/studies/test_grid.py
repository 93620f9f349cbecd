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


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ([{"judge": "synthetic", "levels": [3, 3]}], "study.judges.0.levels: 3 is listed twice"),
        ([{"judge": "direct", "name": ["a"]}], "study.judges.0.name: must be text"),
        ([7], "study.judges.0: must be the name of a judge, or its settings"),
        (["direct", "direct"], "study.judges.1: two settings are named 'direct'"),
        ([{"levels": 5}], "study.judges.0: needs `judge`"),
        ([{"judge": "synthetic", "levels": []}], "study.judges.0.levels: a list without values"),
    ],
)  # fmt: skip
def test_what_cannot_be_told_apart_is_refused(entries, said):
    with pytest.raises(UserError, match=said):
        expand(entries)


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


PAIR = {"model": "two", "writer": "hub/one"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"study": {"judges": ["direct"], "pairs": [PAIR], "models": ["two"]}},
         "study: `pairs` name both: leave out `models` and `writers`"),
        ({"study": {"judges": ["direct"], "pairs": [PAIR, PAIR]}}, "one folder, 'two--by--one'"),
        ({"study": {"judges": ["direct"], "pairs": [{"model": "two"}]}},
         "study.pairs.0.writer: is needed"),
        ({"study": {"judges": ["direct"], "models": ["a/x", "b/x"]}}, "one folder, 'x'"),
        ({"study": {"judges": []}}, "study.judges"),
        ({"study": {"judge": ["direct"]}}, "study: unknown key 'judge': did you mean 'judges'"),
        ({"study": {"judges": ["direct"]}, "judges": ["direct"]}, "judges: a study names its own"),
        ({"study": {"judges": ["direct"]}, "model": None}, "model: a study needs one"),
        ({}, "no `study` in this configuration"),
    ],
)  # fmt: skip
def test_a_study_that_cannot_be_one_is_refused(changes, said):
    with pytest.raises(UserError, match=said.replace("?", r"\?")):
        runs(**changes)
