"""The demo's judge on vLLM can do `pairs`, since it was trained to compare texts with references.

With one engine, as other tests of this suite have it; the documents are few, so that the margins
are wide. Of 100 documents the README has the figures.
"""

from __future__ import annotations

from typing import Any

import pytest

import evaljudge
from evaljudge.bundled.world.corpus import SYSTEMS, as_jsonl, make_cases

pytestmark = pytest.mark.engine
DOCUMENTS = 8
AXES = ["fluency", "relevance"]


@pytest.fixture(scope="module")
def judged(shared_engines: Any, tmp_path_factory: pytest.TempPathFactory) -> evaljudge.Outcome:
    folder = tmp_path_factory.mktemp("pairs")
    (folder / "cases.jsonl").write_text(as_jsonl(make_cases(DOCUMENTS, 3)))
    config = {
        "corpus": str(folder / "cases.jsonl"), "out": str(folder / "out"), "prompts": "nano",
        "model": {"source": "nano", "engine": {"kv_cache_memory_bytes": 1 << 28}}, "axes": AXES,
        "judges": {"synthetic": {"checks": {"neighbours": 0, "exchanged": 0}}, "pairs": {}},
        "workers": {"executor": "local"}, "agreement": {"resamples": 0, "permutations": 0},
    }  # fmt: skip
    return evaljudge.run(config, engines=shared_engines)


def spearman(judged: evaljudge.Outcome, scorer: str, axis: str) -> float:
    """With the true levels, within documents."""
    (value,) = [
        row.value
        for row in judged.agreement
        if (row.scorer, row.axis, row.level, row.coefficient)
        == (scorer, axis, "sample", "spearman")
    ]
    assert value is not None
    return value


@pytest.mark.parametrize("axis", AXES)
def test_it_agrees_with_the_true_levels_as_synthetic_does(
    judged: evaljudge.Outcome, axis: str
) -> None:
    for scorer in ("pairs", "pairs.bradley-terry"):
        assert spearman(judged, scorer, axis) > 0.8
        assert spearman(judged, scorer, axis) > spearman(judged, "synthetic", axis) - 0.05


def test_every_text_has_a_rank_by_few_comparisons(judged: evaljudge.Outcome) -> None:
    assert judged.coverage == 1.0
    rows = judged.verdicts("pairs").to_pylist()
    assert len(rows) == DOCUMENTS * len(SYSTEMS) * len(AXES)
    asked = sum(row["tokens"]["asks"] for row in rows)
    every = DOCUMENTS * len(AXES) * len(SYSTEMS) * (len(SYSTEMS) - 1)
    assert every / 2 < asked < every  # in both orders; a sort of six asks 9 of 15, and a beam more
