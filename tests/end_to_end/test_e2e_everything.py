"""Every judge and every metric there is, in one job over real engines: local and on Ray.

Three documents of SummEval, the tiny random model, and tiny encoders made on the spot, so the
numbers say nothing; that all are there, and that the plan knew what would be asked, is the point.
"""

import shutil
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

import evaljudge
from evaljudge.metrics import known_metrics
from evaljudge.plugins import kinds
from tests.end_to_end import shared
from tests.engines.test_rating import rewarding
from tests.metrics.tiny_models import bert, with_marks
from tests.tiny import END, SPECIALS

pytestmark = pytest.mark.engine
SYSTEMS = 4
ENGINE = {"dtype": "float32", "kv_cache_memory_bytes": 1 << 27, "block_size": 32}
DEPENDS_ON_REPLIES = {"checklist", "entities", "pairs", "roles"}
"""How often these ask is known only afterwards; `plan` says so of each."""


def speaking(tiny: Path, folder: Path) -> Path:
    """The tiny model, as ignorant, whose replies often begin with a rating, and whose lines end.

    What the other says by chance has no rating to read, and no line of a vote that ends.
    """
    shutil.copytree(tiny, folder)
    tokens = Tokenizer.from_file(str(folder / "tokenizer.json"))
    weights = load_file(folder / "model.safetensors")
    words = weights["lm_head.weight"]
    words[[tokens.token_to_id(rating) for rating in "12345"]] *= 8
    words[tokens.token_to_id("Ċ")] = words[SPECIALS.index(END)]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.fixture(scope="module")
def config(tmp_path_factory, tiny):
    folder = tmp_path_factory.mktemp("everything")
    corpus = shared.summeval(folder / "three.jsonl", 3, SYSTEMS)
    model = speaking(tiny("bytes"), folder / "model")
    places = {name: folder / name for name in ("bert", "bart", "classifier")}
    for place in places.values():
        place.mkdir()
    encoder = {"model": str(bert(places["bert"]))}
    classifier = str(bert(places["classifier"], "BertForSequenceClassification"))
    bart = str(with_marks("bart", model, places["bart"]))
    metrics: dict[str, dict[str, Any]] = {name: {} for name in known_metrics()} | {
        "bertscore": encoder, "mover": encoder, "estime": {**encoder, "layer": 2},
        "bartscore": {"model": bart, "most_tokens": 24},
        "gruen2of4": {**encoder, "acceptability": classifier},
    }  # fmt: skip
    judges: dict[str, dict[str, Any]] = {
        name: {} for name, place in kinds().items() if place.startswith("evaljudge.judges.")
    } | {"roles": {"encoder": encoder["model"], "dynamic": 2}, "direct": {"max_tokens": 1}}
    rater = rewarding(lambda: tiny("bytes"), folder / "rater")
    rates = {"model": {"source": str(rater), "engine": ENGINE}}
    judges |= {"reward": rates, "grounded": rates | {"label": "LABEL_0"}}
    return {
        "corpus": corpus, "axes": ["coherence", "relevance"],
        "model": {"source": str(model), "engine": ENGINE, "least_mass": 0},
        "judges": judges, "metrics": metrics, "coverage_floor": 0,
        "agreement": {"resamples": 50},
        "out": str(folder / "run"),
    }  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize("executor", ["local", pytest.param("ray", marks=pytest.mark.ray)])
def test_all_of_them_in_one_job(executor, config, request):
    if executor == "ray":
        request.getfixturevalue("local_ray")
    config = config | {"out": f"{config['out']}-{executor}", "workers": {"executor": executor}}
    planned = {at: tokens.asks for at, tokens in evaljudge.plan(config).asked.items()}
    found = evaljudge.run(config).findings
    asked = {(row["stage"], row["judge"]): row["asks"] for row in found.tokens}
    sure = {at for at in planned if at[1] not in DEPENDS_ON_REPLIES}
    assert {at: asked[at] for at in sure} == {at: planned[at] for at in sure}
    assert {judge for _, judge in asked} == set(config["judges"])
    headlines = {*config["judges"], *config["metrics"]}
    assert headlines <= {row.scorer for row in found.agreement}
    assert headlines <= {row.scorer for row in found.coverage if row.scored}
    assert headlines <= {row.scorer for row in found["systems"]}
    assert headlines <= {row.scorer for row in found.agreement if row.low is not None}
