"""The demo's judge on vLLM can do `pairs`, since it was trained to compare texts with references.

With one engine, as other tests of this suite have it. On fluency and relevance nano orders the
texts of these few documents by comparisons as it does by references. On coherence, its weakest
axis, the two orders differ, and many documents are needed to say which is better.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import evaljudge
from evaljudge.bundled.world import as_jsonl, make_cases

pytestmark = pytest.mark.engine
DOCUMENTS = 8
AXES = ["fluency", "relevance"]
ROUNDING = 1e-9


@pytest.fixture(scope="module")
def judged(shared_engines, tmp_path_factory):
    return judged_by_both(tmp_path_factory.mktemp("pairs"), DOCUMENTS, AXES, shared_engines)


def judged_by_both(
    folder: Path, documents: int, axes: Sequence[str], engines: Any
) -> evaljudge.Outcome:
    (folder / "cases.jsonl").write_text(as_jsonl(make_cases(documents, 3)))
    config = {
        "corpus": str(folder / "cases.jsonl"), "out": str(folder / "out"), "prompts": "nano",
        "model": {"source": "nano", "engine": {"kv_cache_memory_bytes": 1 << 28}}, "axes": axes,
        "judges": {"synthetic": {"checks": {"neighbours": 0, "exchanged": 0}}, "pairs": {}},
        "workers": {"executor": "local"}, "agreement": {"resamples": 0},
    }  # fmt: skip
    return evaljudge.run(config, engines=engines)


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


@pytest.mark.long
@pytest.mark.parametrize("axis", AXES)
def test_it_agrees_with_the_true_levels_as_synthetic_does(judged, axis):
    for scorer in ("pairs", "pairs.bradley-terry"):
        assert spearman(judged, scorer, axis) > 0.8
        assert spearman(judged, scorer, axis) >= spearman(judged, "synthetic", axis) - ROUNDING
