"""The numbers that others published, from the ratings and scores they published."""

import json
from pathlib import Path
from typing import Any

import pytest

from evaljudge.agreement import Agreement, agreements

PUBLISHED = Path(__file__).parents[2].parent / "shared" / "data"
needs_published = pytest.mark.skipif(
    not PUBLISHED.is_dir(), reason=f"published judgements are not at {PUBLISHED}"
)
Key = tuple[str, str]  # document, system
Values = dict[Key, float]


def lines(name: str) -> list[Any]:
    with (PUBLISHED / name).open(encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def ratings(name: str, axis: str) -> Values:
    return {
        (case["doc_id"], candidate["system"]): candidate["ratings"][axis]
        for case in lines(name)
        for candidate in case["candidates"]
    }


def published_scores(name: str, key: str) -> Values:
    return {(row["doc_id"], row["system"]): row["scores"][key] for row in lines(name)}


def measured(scores: Values, human: Values) -> dict[tuple[str, str], Agreement]:
    names = [dict.fromkeys(side) for side in zip(*human, strict=True)]
    codes = [{name: code for code, name in enumerate(side)} for side in names]
    found = agreements(
        [codes[0][document] for document, _ in human],
        [codes[1][system] for _, system in human],
        [scores[key] for key in human],
        [*human.values()],
    )
    return {(one.level, one.coefficient): one for one in found}


@needs_published
@pytest.mark.parametrize(
    ("axis", "pooled", "sample", "skipped"),
    [
        ("naturalness", 0.514, 0.515, None),
        ("coherence", 0.613, 0.560, None),
        ("engagingness", 0.605, 0.573, None),
        ("groundedness", 0.574, 0.621, 6),
    ],
)
def test_unieval_on_topical_chat(
    axis: str, pooled: float, sample: float, skipped: int | None
) -> None:
    scores = published_scores("topicalchat_unieval.jsonl", axis)
    found = measured(scores, ratings("topicalchat.jsonl", axis))
    assert found["summary", "spearman"].value == pytest.approx(pooled, abs=0.001)
    assert found["sample", "spearman"].value == pytest.approx(sample, abs=0.001)
    assert found["summary", "spearman"].n == 360
    assert skipped is None or found["sample", "spearman"].skipped == skipped


@needs_published
@pytest.mark.parametrize(
    ("metric", "system", "sample"),
    [
        ("rouge-1/f1", 0.624, 0.256),
        ("rouge-2/f1", 0.603, 0.188),
        ("rouge-l/f1", 0.476, 0.185),
        ("bertscore/f1", 0.397, 0.281),
        ("METEOR", 0.718, 0.294),
        ("MoverScore", 0.538, 0.240),
    ],
)
def test_published_metrics_on_summeval(metric: str, system: float, sample: float) -> None:
    scores = published_scores("summeval_metrics.jsonl", metric)
    found = measured(scores, ratings("summeval.jsonl", "relevance"))
    assert found["system", "spearman"].value == pytest.approx(system, abs=0.001)
    assert found["sample", "spearman"].value == pytest.approx(sample, abs=0.001)
    assert (found["system", "spearman"].n, found["summary", "spearman"].n) == (16, 1600)


@needs_published
def test_newsroom_axes_among_themselves() -> None:
    informativeness = ratings("newsroom.jsonl", "informativeness")
    found = measured(informativeness, ratings("newsroom.jsonl", "relevance"))
    assert found["summary", "spearman"].value == pytest.approx(0.787, abs=0.001)
