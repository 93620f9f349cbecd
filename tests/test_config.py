"""The configuration: what is read, what is refused, and in which words."""

from pathlib import Path
from typing import Any

import pytest

from evaljudge.config import load_config
from evaljudge.corpora import CorpusSource
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.errors import UserError
from evaljudge.runs.job import make_job
from tests.build import refusal

LEAST: dict[str, Any] = {"corpus": "c.jsonl", "out": "o", "model": "m"}


def test_what_is_needed_and_what_is_accepted():
    config = load_config(LEAST)
    assert config.task == "summary"
    assert config.judges == {"synthetic": {}}
    assert config.model.as_source().source == "m"
    assert (config.workers.min, config.workers.max, config.coverage_floor) == (1, 1, 0.95)
    rule = {"scorer": "s.calibrated", "axis": "a", "precision": 0.9, "good": 0, "at_most": 5}
    given = {"calibrate": ["s"], "select": [{"name": "x", "all": [rule]}]}
    config = load_config(LEAST | given)
    assert config.calibrate == ["s"]
    (condition,) = config.select[0].all
    assert (condition.precision, condition.good, condition.at_most) == (0.9, 0, 5)
    assert load_config(LEAST).calibrate == []
    config = load_config({"corpus": [Path("a.jsonl"), "b"], "out": Path("o"), "metrics": ["words"],
                          "model": {"source": Path("m")}}, "seed=1")  # fmt: skip
    assert config.corpus.path == ["a.jsonl", "b"]
    assert (config.out, config.model.source, config.seed) == ("o", "m", 1)
    assert (
        load_config({"corpus": "c", "out": "o", "judges": {}, "metrics": ["words"]}).model is None
    )


def test_changes_are_laid_over():
    config = load_config(LEAST, ["judges.synthetic.levels=9", "workers.max=3", "axes=[fluency]"])
    assert config.judges == {"synthetic": {"levels": 9}}
    assert config.workers.max == 3
    assert config.axes == ["fluency"]
    assert load_config(LEAST, ["workers={min: 2}"]).workers.max == 2
    dropped = load_config(LEAST | {"workers": {"min": 2}}, ["workers=null", "seed=null"])
    assert dropped == load_config(LEAST)
    given = LEAST | {"metrics": ["words", "rouge1"], "judges": ["synthetic"]}
    changes = ["metrics.rouge1.against=best", "judges.synthetic.levels=3"]
    config = load_config(given, changes)
    assert config.metrics == {"words": {}, "rouge1": {"against": "best"}}
    assert config.judges == {"synthetic": {"levels": 3}}
    change = "judges={direct: {steps: true, steps: false}}"
    with pytest.raises(UserError, match="--set judges=.*key 'steps' again"):
        load_config({"corpus": "c", "out": "o", "model": "m"}, [change])


def test_files_that_are_none(tmp_path):
    assert "no such configuration" in refusal(load_config, tmp_path / "none.yaml")
    assert "no run lies here" in refusal(load_config, tmp_path)
    (tmp_path / "c.yaml").touch()
    said = refusal(load_config, tmp_path)
    assert f"no run lies here; {tmp_path}/c.yaml may make one" in said


@pytest.mark.parametrize("name", ["cases.jsonl", "texts.csv", "cases.parquet"])
def test_a_corpus_is_no_configuration(tmp_path, name):
    file = tmp_path / name
    file.write_bytes(b'{"doc_id": "d1", "source": "s"}\n\xff')
    said = f"{file}: a corpus, not a configuration: `evaljudge init --corpus {file}` writes one"
    assert said in refusal(load_config, file)


@pytest.mark.parametrize("change", ["levels", "=3", "a=[", "a.b"])
def test_changes_that_are_none(change):
    assert "--set" in refusal(load_config, LEAST, [change])


def test_a_benchmarks_sources_reach_its_reader(tmp_path):
    corpus = {"path": "a.jsonl", "format": "summeval", "sources": str(tmp_path)}
    config = load_config({"corpus": corpus, "out": "o", "judges": {}, "metrics": ["words"]})
    assert make_job(config).corpus == CorpusSource("a.jsonl", "summeval", str(tmp_path))


def test_mistakes_in_names_and_settings_are_told_at_once(tmp_path):
    config = load_config(
        {"corpus": "c", "out": str(tmp_path), "model": "m", "axes": ["coherance"],
         "judges": {"synthetic": {"levls": 3}, "geva": {}}, "metrics": {"rogue1": {}}}
    )  # fmt: skip
    said = refusal(make_job, config, ScriptedEngines())
    assert said.startswith("4 mistakes: axes: unknown axis 'coherance': did you mean 'coherence'?;")
    for mistake in ("unknown key 'levls'", "unknown judge 'geva'", "'rogue1'"):
        assert mistake in said
