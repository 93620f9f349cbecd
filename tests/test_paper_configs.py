"""The papers' configurations: each is accepted, over a format that exists, on the paper's axes."""

from pathlib import Path

import pytest

from evaljudge.config import load_config
from evaljudge.corpora import known_formats
from evaljudge.engines import Identity, KnownFacts, ModelSource, VllmEngines
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.metrics import embeddings
from evaljudge.runs.job import make_job
from evaljudge.studies.study import study_runs

ROOT = Path(__file__).parents[1]
PAPERS = ROOT / "jobs" / "configs" / "papers"
AXES = {
    "direct-scoring-summeval": ["coherence", "consistency", "fluency", "relevance"],
    "direct-scoring-topicalchat": ["naturalness", "engagingness", "overall"],
    "direct-scoring-hanna": ["coherence", "surprise", "complexity"],
    "direct-scoring-newsroom": ["coherence", "fluency", "informativeness", "relevance"],
    "role-players-summeval": ["coherence", "consistency", "fluency", "relevance"],
    "entities-summeval": ["coherence", "consistency", "fluency", "relevance"],
    "importance-summeval": ["relevance"],
    "importance-arxiv": ["relevance"],
    "importance-govreport": ["relevance"],
}


def of_the_hub(_: VllmEngines, source: ModelSource) -> KnownFacts:
    """What encoders are called there; it is out of reach."""
    return KnownFacts(Identity(source.source, "commit", {}, {}))


STUDIES = {
    "direct-scoring-ablations": 1,
    "direct-scoring-models": 7,  # table 3: four models that judge and four that write, one in both
    "role-players-ablations": 1,
    "role-players-choices": 1,
}
"""And how many runs each of them has."""


def test_all_are_here() -> None:
    assert {file.stem for file in PAPERS.glob("*.yaml")} == {*AXES, *STUDIES, "newsroom-task"}


@pytest.mark.parametrize(("name", "axes"), AXES.items())
def test_each_is_accepted(name: str, axes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # as their paths are
    monkeypatch.setattr(VllmEngines, "describe", of_the_hub)
    monkeypatch.setattr(embeddings, "local_folder", lambda source: Path("commit"))
    job = make_job(load_config(PAPERS / f"{name}.yaml"), ScriptedEngines())
    assert job.corpus.format in known_formats()
    assert {axis.name for axis in job.task.axes} == set(axes)


@pytest.mark.parametrize(("name", "count"), STUDIES.items())
def test_each_study_is_accepted(name: str, count: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(VllmEngines, "describe", of_the_hub)
    runs = study_runs(load_config(PAPERS / f"{name}.yaml"))
    assert len(runs) == count
    for one in runs:
        job = make_job(one.config, ScriptedEngines())
        assert job.corpus.format in known_formats()


def test_the_entities_give_reasons_as_in_their_paper() -> None:
    config = load_config(PAPERS / "entities-summeval.yaml")
    assert config.judges["entities"] == {"reasoning": True}
