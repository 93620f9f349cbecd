"""A LoRA adapter: its answers are those of merged weights; one that would not work is refused."""

import asyncio
import json
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from evaljudge.config import load_config
from evaljudge.engines import ModelSource, VllmEngines, identity_bound
from evaljudge.engines.vllm import VllmModel
from evaljudge.errors import UserError
from evaljudge.model.asks import Options, Prompt, Writing
from evaljudge.runs.job import make_job
from evaljudge.studies.study import study_runs
from tests import build
from tests.engines.conftest import SMALL

RANK, ALPHA = 4, 8
PEFT = {"peft_type": "LORA", "r": RANK, "lora_alpha": ALPHA, "bias": "none",
        "target_modules": ["q_proj", "v_proj", "o_proj", "up_proj", "down_proj", "embed_tokens"],
        "base_model_name_or_path": "somebody/elsewhere"}  # fmt: skip
Tensors = dict[str, Any]


def adapter_of(base: Path, folder: Path, prefix: str = "base_model.model.", **config: Any) -> Path:
    """A random adapter for this checkpoint, named as PEFT names it."""
    random = np.random.default_rng(1)

    def noise(*shape: int) -> Any:
        return (random.standard_normal(shape) * 0.2).astype("float32")

    tensors = Tensors()
    for name, weight in load_file(base / "model.safetensors").items():
        module = f"{prefix}{name.removesuffix('.weight')}"
        if name.split(".")[-2] in PEFT["target_modules"] and "layers" in name:
            tensors[f"{module}.lora_A.weight"] = noise(RANK, weight.shape[1])
            tensors[f"{module}.lora_B.weight"] = noise(weight.shape[0], RANK)
        if name == "model.embed_tokens.weight":
            tensors[f"{module}.lora_embedding_A"] = noise(RANK, weight.shape[0])
            tensors[f"{module}.lora_embedding_B"] = noise(weight.shape[1], RANK)
    folder.mkdir()
    (folder / "adapter_config.json").write_text(json.dumps(PEFT | config))
    save_file(tensors, folder / "adapter_model.safetensors")
    return folder


def merged(base: Path, adapter: Path, folder: Path) -> Path:
    shutil.copytree(base, folder)
    weights = load_file(base / "model.safetensors")
    small = load_file(adapter / "adapter_model.safetensors")
    for name in [name for name in small if re.search("lora_(embedding_)?A", name)]:
        module = re.sub(r"^base_model\.model\.|\.lora_.*", "", name)
        added = np.float32(ALPHA / RANK) * (
            small[re.sub("A(.weight)?$", r"B\1", name)] @ small[name]
        )
        weights[f"{module}.weight"] += added.T if "embedding" in name else added
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def source(base: Path, adapter: Path | None = None, **engine: Any) -> ModelSource:
    return ModelSource(str(base), engine=engine, adapter=str(adapter) if adapter else None)


# what the engine answers


PROMPTS = [
    Prompt((f"Compare the two summaries.\n\n{'The river rose after two days of rain. ' * 12}\n", t))
    for t in ("A flood closed a bridge.", "The town is fine.")
]


def replies(model: VllmModel) -> tuple[list[Any], list[Any], list[Any]]:
    chosen: Any = asyncio.run(model.choose(PROMPTS, Options(("Better", "Worse", "Similar"))))
    written: Any = asyncio.run(model.write(PROMPTS, Writing(max_tokens=12, temperature=0)))
    weighed: Any = asyncio.run(model.weigh(PROMPTS, ["A flood closed the bridge."] * 2))
    return (
        [list(one.logprobs.values()) for one in chosen],
        [one.samples for one in written],
        [list(one.logprobs) for one in weighed],
    )


@pytest.mark.engine
def test_an_adapter_answers_as_merged_weights_do(tiny, tmp_path, shared_engines):
    base, adapter = tiny(), adapter_of(tiny(), tmp_path / "adapter")
    opened: Any = [
        shared_engines.open(one, 0)
        for one in (
            source(base, adapter, **SMALL),
            source(merged(base, adapter, tmp_path / "merged"), **SMALL),
            source(base, **SMALL),
        )
    ]
    adapted, wanted, without = map(replies, opened)
    again = replies(opened[0])  # now from the cache of prefixes
    for mine in (adapted, again):
        assert mine[1] == wanted[1] != without[1]
        for one, other in zip(mine[0] + mine[2], wanted[0] + wanted[2], strict=True):
            assert one == pytest.approx(other, abs=1e-4)
    assert not np.allclose(adapted[0], without[0], atol=0.1)


@pytest.mark.long
@pytest.mark.engine
def test_an_adapter_for_other_modules_is_refused(tiny, tmp_path):
    """vLLM itself says nothing, and answers as without it."""
    one = source(tiny(), adapter_of(tiny(), tmp_path / "a", "base_model.model.inner_"), **SMALL)
    _ = VllmEngines().describe(one)
    with pytest.raises(UserError, match="only 0 of its 11 pairs of matrices are for"):
        VllmEngines().open(one, 0)


# what is refused before anything is loaded


@pytest.fixture
def adapter(tiny, tmp_path):
    return adapter_of(tiny(), tmp_path / "judge-lora")


def refusal(one: ModelSource) -> str:
    return build.refusal(lambda: VllmEngines().describe(one).identity)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"peft_type": "IA3"}, "its peft_type is 'IA3': vLLM knows only LORA"),
        ({"use_dora": True}, "vLLM does not implement `use_dora: true`: merge it into the model"),
        ({"modules_to_save": ["lm_head"]}, '`modules_to_save: ["lm_head"]`'),
        ({"bias": "all"}, '`bias: "all"`'),
        ({"init_lora_weights": "pissa_niter_16"}, '`init_lora_weights: "pissa_niter_16"`'),
    ],
)
def test_what_vllm_does_not_implement_is_refused(tiny, adapter, changed, said):
    (adapter / "adapter_config.json").write_text(json.dumps(PEFT | changed))
    assert said in refusal(source(tiny(), adapter))


def test_settings_that_only_made_the_weights_are_not_refused(tiny, adapter):
    more = {"init_lora_weights": "gaussian", "use_rslora": True, "modules_to_save": None}
    (adapter / "adapter_config.json").write_text(json.dumps(PEFT | more))
    _ = VllmEngines().describe(source(tiny(), adapter)).identity


def test_a_folder_that_holds_no_adapter_is_refused(tiny, adapter, tmp_path):
    asked, config = source(tiny(), adapter), adapter / "adapter_config.json"
    weights = adapter / "adapter_model.safetensors"
    assert "no such folder (from a hub: `hf download" in refusal(source(tiny(), tmp_path / "gone"))
    assert "no such folder" in refusal(replace(asked, adapter="s3://bucket/adapter"))
    more = {"base_model.model.lm_head.lora_A.weight": np.ones((RANK, 64), "float32")}
    save_file(load_file(weights) | more, weights)
    assert "it changes the output layer, which vLLM gets wrong: merge it" in refusal(asked)
    weights.write_bytes(weights.read_bytes()[:100])
    assert "adapter_model.safetensors cannot be read" in refusal(asked)
    weights.rename(adapter / "adapter_model.bin")
    # which layers they are for is not seen without unpickling them
    assert "adapter_model.safetensors cannot" in refusal(replace(asked, allow=("pickle",)))
    config.write_text("{")
    assert "its adapter_config.json cannot be read" in refusal(asked)
    config.unlink()
    assert "its adapter_config.json cannot be read" in refusal(asked)


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("hidden_size", 128, "its weights are for a hidden size of 64, and the model's is 128"),
        ("num_hidden_layers", 1, "it has weights for layer 1, and the model's last is 0"),
    ],
)
def test_an_adapter_of_another_model_is_refused(tiny, adapter, tmp_path, key, value, said):
    """vLLM would copy it into a corner of wider matrices, and ignore further layers."""
    other = shutil.copytree(tiny(), tmp_path / "other")
    config = json.loads((other / "config.json").read_text())
    (other / "config.json").write_text(json.dumps(config | {key: value}))
    assert f"made for another model: {said}" in refusal(source(other, adapter))


# the identity


def test_the_adapter_is_part_of_the_identity(tiny, adapter, tmp_path):
    describe, asked = VllmEngines().describe, source(tiny(), adapter)
    with_one, without = (describe(one).identity for one in (asked, source(tiny())))
    assert identity_bound(with_one.as_fingerprint(), asked) == with_one
    name, digest = with_one.adapter.split("@")
    assert name == "judge-lora"
    assert with_one.as_key() == without.as_key() | {"adapter": digest}
    assert "adapter" not in without.as_fingerprint()
    assert str(with_one) == f"{without} adapted by judge-lora@{digest[:12]}"
    moved = tmp_path / "elsewhere" / "judge-lora"
    shutil.copytree(adapter, moved)
    (moved / "README.md").write_text("trained on …")
    assert describe(source(tiny(), moved)).identity == with_one
    (moved / "adapter_config.json").write_text(json.dumps(PEFT | {"lora_alpha": 2 * ALPHA}))
    assert describe(source(tiny(), moved)).identity != with_one


def test_adapters_of_one_model_are_different_models(tiny, adapter, tmp_path):
    other = shutil.copytree(adapter, tmp_path / "other-lora")
    (other / "adapter_config.json").write_text(json.dumps(PEFT | {"lora_alpha": 1}))
    corpus = tmp_path / "cases.jsonl"
    corpus.write_text('{"doc_id": "d", "source": "s", "system": "a", "text": "t"}\n')
    base = {"corpus": str(corpus), "out": str(tmp_path / "out"), "axes": ["fluency"]}
    plain, *adapted = models = [
        {"source": str(tiny())} | ({"adapter": str(folder)} if folder else {})
        for folder in (None, adapter, other)
    ]
    own = {f"geval{n}": {"judge": "geval", "model": one} for n, one in enumerate(adapted)}
    job = make_job(load_config(base | {"model": plain, "judges": {"geval": {}} | own}))
    assert [one.adapter for one in job.sources] == [None, str(adapter), str(other)]
    study = {"judges": ["geval"], "models": models}
    name = tiny().name
    assert [one.label for one in study_runs(load_config(base | {"study": study}))] == [
        name, f"{name}--plus--judge-lora", f"{name}--plus--other-lora"
    ]  # fmt: skip
