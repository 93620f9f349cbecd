"""Which layer BERTScore reads, and what is said where nobody knows."""

from pathlib import Path
from typing import Any

import pytest

from evaljudge.metrics import cautions_of, make_metrics
from evaljudge.metrics.bertscore import own_layer
from evaljudge.metrics.embeddings import Embeddings


@pytest.mark.parametrize(
    ("encoder", "layer"),
    [
        ("roberta-large", 17),
        ("FacebookAI/roberta-large", 17),
        ("bert-base-uncased", 9),
        ("google-bert/bert-base-uncased", 9),
        ("microsoft/deberta-xlarge-mnli", 40),
        ("somebody/roberta-large", None),
        ("somebody/deberta-xlarge-mnli", None),
        ("models/roberta-large", None),
        ("all-MiniLM-L6-v2", None),
        ("t5-base", None),
    ],
)
def test_own_layer(encoder: str, layer: int | None) -> None:
    assert own_layer(encoder) == layer


@pytest.mark.parametrize(("name", "layer"), [("roberta-large", 17), ("deberta-xlarge-mnli", 40)])
def test_a_folder_goes_by_its_last_part(tmp_path: Path, name: str, layer: int) -> None:
    folder = tmp_path / name
    folder.mkdir()
    assert own_layer(str(folder)) == own_layer(f"{folder}/") == layer


@pytest.mark.parametrize(
    ("settings", "layer", "like", "caution"),
    [
        ({"model": "roberta-large"}, 17, "BERTScore", None),
        ({"model": "roberta-large", "layer": 17}, 17, "BERTScore", None),
        ({"model": "roberta-large", "layer": 10}, 10, "not BERTScore's own",
         "b: not BERTScore's own number, which is of layer 17: `layer` is 10"),
        ({"model": "a/b"}, -1, "not BERTScore's own",
         "b: not BERTScore's own number: its table has no layer for a/b, so that the last was "
         "taken: set `layer`"),
        ({"model": "a/b", "layer": 0}, 0, "not BERTScore's own",
         "b: not BERTScore's own number: its table has no layer for a/b, so that yours was taken"),
    ],
)  # fmt: skip
def test_the_layer_is_chosen_and_said(
    settings: dict[str, Any], layer: int, like: str, caution: str | None
) -> None:
    (metric,) = made = make_metrics({"b": {"metric": "bertscore", **settings}})
    assert isinstance(metric, Embeddings)
    assert (metric.layers, metric.made_by) == ((layer,), {"like": like})
    assert cautions_of(made) == ([caution] if caution else [])


def test_a_score_of_its_own_name_keeps_the_last_layer() -> None:
    (metric,) = made = make_metrics({"mover": {"model": "roberta-large"}})
    assert isinstance(metric, Embeddings)
    assert (metric.layers, cautions_of(made)) == ((-1,), [])
