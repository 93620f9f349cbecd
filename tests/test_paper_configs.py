"""The papers' configurations: each is accepted, over a format that exists, on the paper's axes."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaljudge.config import load_config
from evaljudge.corpora import FORMATS
from evaljudge.engines import Identity, ModelSource, VllmEngines
from evaljudge.engines.scripted import ScriptedEngines
from evaljudge.runs.job import make_job

ROOT = Path(__file__).parents[1]
PAPERS = ROOT / "jobs" / "configs" / "papers"
AXES = {
    "direct-scoring-summeval": ["coherence", "consistency", "fluency", "relevance"],
    "direct-scoring-topicalchat": ["naturalness", "engagingness", "overall"],
    "direct-scoring-hanna": ["coherence", "surprise", "complexity"],
    "direct-scoring-newsroom": ["coherence", "fluency", "informativeness", "relevance"],
    "role-players-summeval": ["coherence", "consistency", "fluency", "relevance"],
    "entities-summeval": ["coherence", "consistency", "fluency", "relevance"],
    "importance-summeval": ["coherence", "consistency", "fluency", "relevance"],
}


def of_the_hub(_: VllmEngines, source: ModelSource) -> Identity:
    """What encoders are called there; it is out of reach."""
    return Identity(source.source, "commit", {}, {})


def test_all_are_here() -> None:
    assert {file.stem for file in PAPERS.glob("*.yaml")} == {*AXES, "newsroom-task"}


@pytest.mark.parametrize(("name", "axes"), AXES.items())
def test_each_is_accepted(name: str, axes: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)  # as their paths are
    monkeypatch.setattr(VllmEngines, "identify", of_the_hub)
    job = make_job(load_config(PAPERS / f"{name}.yaml"), ScriptedEngines())
    assert job.corpus.format in FORMATS
    assert {axis.name for axis in job.task.axes} == set(axes)
