"""Models trained to rate texts: their numbers are those of transformers on the same weights; what a
model cannot do is refused before anything is asked."""

import asyncio
import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

import evaljudge
from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.model.asks import Failed, ModelRating, Prompt, Rating
from evaljudge.reasons import by_kind
from evaljudge.runs.job import make_job
from tests.build import config, document, jsonl, refusal
from tests.engines.conftest import SMALL
from tests.metrics.tiny_models import bert, with_marks

SOURCE = "the river rose after two days of rain ."
TEXTS = ["a flood closed the bridge .", "the town was cut off by a flood of rain ."]
NLI = ["contradiction", "neutral", "Entailment"]


def told(folder: Path, **changes: Any) -> Path:
    said = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(said | changes))
    return folder


def named(*labels: str) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForSequenceClassification"],
        "id2label": dict(enumerate(labels)),
        "label2id": {label: n for n, label in enumerate(labels)},
    }


def rewarding(tiny: Any, folder: Path) -> Path:
    """The tiny model with one number in place of words."""
    shutil.copytree(tiny(), folder)
    weights = load_file(folder / "model.safetensors")
    del weights["lm_head.weight"]
    weights["score.weight"] = np.random.default_rng(1).standard_normal((1, 64)).astype("float32")
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return told(folder, **named("LABEL_0"), pad_token_id=0)


def inferring(tiny: Any, folder: Path) -> Path:
    """A BERT, whose second text has tokens of another type."""
    folder.mkdir()
    labels = dict(enumerate(NLI))
    return bert(folder, "BertForSequenceClassification", hidden_size=64, id2label=labels)


def of_roberta(tiny: Any, folder: Path) -> Path:
    """A RoBERTa, whose positions begin at 2, with two marks between texts."""
    folder.mkdir()
    return with_marks("roberta-pairs", tiny(chat=False), folder)


@pytest.fixture(scope="session")
def rater(tiny, tmp_path_factory):
    made: dict[Any, Path] = {}

    def make(kind: Any) -> Path:
        if kind not in made:
            made[kind] = kind(tiny, tmp_path_factory.mktemp("raters") / kind.__name__)
        return made[kind]

    return make


class Peer:
    """transformers, by its own template, joining of texts and softmax."""

    def __init__(self, folder: Path) -> None:
        import torch
        import transformers

        self._torch = torch
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForSequenceClassification.from_pretrained(
            folder, dtype=torch.float32
        ).eval()

    def read(self, prompt: str, text: str, between: str | None) -> dict[str, Any]:
        if self.tokenizer.chat_template:
            turns = [{"role": "user", "content": prompt}, {"role": "assistant", "content": text}]
            said = self.tokenizer.apply_chat_template(turns, tokenize=False)
            return dict(self.tokenizer(said, add_special_tokens=False, return_tensors="pt"))
        given = (prompt, text) if between is None else (f"{prompt}{between}{text}",)
        return dict(self.tokenizer(*given, return_tensors="pt"))

    def numbers(self, prompt: str, text: str, between: str | None = None) -> Any:
        with self._torch.no_grad():
            return self.model(**self.read(prompt, text, between)).logits[0]


@pytest.mark.engine
@pytest.mark.parametrize(
    ("kind", "how"),
    [
        (rewarding, Rating()),
        (rewarding, Rating(("label_0",))),
        (inferring, Rating(("entailment", "supported"))),
        (of_roberta, Rating(("LABEL_1",))),
        (of_roberta, Rating(("LABEL_1",), between="</s>")),
    ],
)
def test_ratings_are_those_of_transformers(rater, shared_engines, kind, how):
    folder = rater(kind)
    source = ModelSource(str(folder), engine=SMALL)
    model, peer = shared_engines.open(source, 0), Peer(folder)
    prompts = [Prompt((SOURCE,))] * len(TEXTS)
    first: Any = asyncio.run(model.rate(prompts, TEXTS, how))
    again: Any = asyncio.run(model.rate(prompts, TEXTS, how))  # some of it from the cache
    place = how.place(VllmEngines().describe(source).labels or ())
    for text, one, other in zip(TEXTS, first, again, strict=True):
        numbers = peer.numbers(SOURCE, text, how.between)
        p = numbers.softmax(-1) if len(numbers) > 1 else numbers.sigmoid()
        wanted = float((p if how.labels else numbers)[place])
        assert (one.value, other.value) == pytest.approx((wanted, wanted), abs=1e-3)
        assert one.spent[0].prompt == len(peer.read(SOURCE, text, how.between)["input_ids"][0])
        if how.between is None:
            (planned,) = VllmEngines().token_counter(source)(Prompt((SOURCE, text)))
            assert planned.prompt == one.spent[0].prompt
    assert first[0].value != pytest.approx(first[1].value, abs=1e-5)


@pytest.mark.engine
def test_what_is_longer_than_the_context_is_not_cut(rater, shared_engines):
    model = shared_engines.open(ModelSource(str(rater(inferring)), engine=SMALL), 0)
    asked = [Prompt((SOURCE * 9,)), Prompt((SOURCE,))], TEXTS
    long, short = asyncio.run(model.rate(*asked, Rating(("neutral",))))
    assert isinstance(long, Failed) and isinstance(short, ModelRating)
    assert by_kind([long.reason]) == {"prompt too long": 1}


@pytest.mark.engine
def test_a_run_with_a_reward_model_and_one_that_checks_facts(rater, shared_engines, tmp_path):
    jsonl(tmp_path / "cases.jsonl", [document(n) | {"source": SOURCE} for n in range(2)])
    reward, facts = ({"source": str(rater(k)), "engine": SMALL} for k in (rewarding, inferring))
    judges = {"reward": {"model": reward}, "grounded": {"model": facts}}
    wanted = config(tmp_path, model=None, judges=judges)
    plan = evaljudge.plan(wanted)
    outcome = evaljudge.run(wanted, engines=shared_engines)
    scores = outcome.scores().to_pandas().set_index(["doc_id", "system", "scorer"])["value"]
    assert len(scores) == 2 * 2 * 3 and scores.notna().all()
    p = Peer(rater(inferring)).numbers(SOURCE, "A of 0").softmax(-1)[2]
    assert scores["d0", "A", "grounded"] == pytest.approx(float(p), abs=1e-3)
    assert {judge for _, judge in plan.asked} >= {"grounded"}


# refused before anything is asked


@pytest.fixture
def refused(tiny, tmp_path):
    def ask(judges: Any, *labels: str, **more: Any) -> str:
        shutil.copytree(tiny(), tmp_path / "model")
        if labels:
            told(tmp_path / "model", **named(*labels))
        told(tmp_path / "model", **more.pop("told", {}))
        given = config(tmp_path, model=str(tmp_path / "model"), judges=judges, **more)
        return refusal(make_job, evaljudge.config.load_config(given)).replace(f"{tmp_path}/", "")

    return ask


def test_a_chat_model_is_not_asked_to_rate(refused):
    said = refused({"reward": {}})
    assert said.startswith("judges.reward: model@")
    assert said.endswith("it needs a model that was trained to rate texts, and loaded here")


def test_a_model_that_rates_is_not_asked_to_write(refused):
    assert "was trained to rate texts, and neither writes nor" in refused({"geval": {}}, "LABEL_0")


def test_a_label_that_is_not_there(refused):
    said = refused({"grounded": {"label": "suported"}}, "refuted", "supported")
    assert said.endswith("`label` must name one of the model's labels: refuted, supported")


def test_several_numbers_are_no_reward(refused):
    assert "`label` must name one" in refused({"reward": {}}, "bad", "good")


def test_a_number_for_each_token_is_no_rating(refused):
    said = refused({"reward": {}}, told={"architectures": ["Qwen2ForRewardModel"]})
    assert "it gives a number for each token" in said
