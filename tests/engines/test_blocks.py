"""How large the blocks of the prefix cache are: of an open engine, and as far as a plan knows."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from evaljudge.engines import ModelSource, VllmEngines
from evaljudge.engines.checkpoint import Layers, layers
from evaljudge.engines.internals import cached_block
from evaljudge.engines.loading import usual_block
from evaljudge.model.asks import Chosen, Options, Prompt
from evaljudge.model.counting import CountingModel
from tests.build import config, document, jsonl, planned_text

HEADS = {"num_attention_heads": 8}
CONFIGS: dict[str, tuple[dict[str, Any], Layers]] = {
    "Llama": (HEADS, "attention"),
    "Gemma 3": (HEADS | {"layer_types": ["sliding_attention", "full_attention"]}, "attention"),
    "Jamba": (HEADS | {"mamba_d_state": 16, "attn_layer_period": 8}, "hybrid"),
    "Nemotron-H": (HEADS | {"ssm_state_size": 128, "hybrid_override_pattern": "M-M*"}, "hybrid"),
    "Kimi Linear": (HEADS | {"linear_attn_config": {"num_heads": 32}}, "hybrid"),
    "LFM2": (HEADS | {"conv_L_cache": 3, "layer_types": ["conv", "full_attention"]}, "hybrid"),
    "Qwen3-Next": (HEADS | {"layer_types": ["linear_attention", "full_attention"]}, "hybrid"),
    "Qwen3.5": ({"text_config": HEADS | {"linear_conv_kernel_dim": 4}}, "hybrid"),
    "Granite 4 micro": (HEADS | {"mamba_d_state": 4, "layer_types": ["attention"]}, "attention"),
    "Mamba": ({"state_size": 16, "time_step_rank": 48}, "no attention"),
}
"""The settings by which these models' config.json tells what their layers are."""


def written(folder: Path, config: dict[str, Any]) -> ModelSource:
    (folder / "config.json").write_text(json.dumps(config))
    return ModelSource(str(folder))


@pytest.mark.parametrize(("settings", "kind"), CONFIGS.values(), ids=CONFIGS.keys())
def test_layers_are_read_from_the_checkpoint(tmp_path, settings, kind):
    assert layers(written(tmp_path, settings)) == kind


def test_a_checkpoint_that_is_elsewhere_is_taken_for_attention():
    assert layers(ModelSource("s3://bucket/model")) == "attention"
    assert layers(ModelSource("nobody/nothing-of-this-name")) == "attention"


def opened(**cache: Any) -> Any:
    usual = {"enable_prefix_caching": True, "block_size": 32, "prefix_match_unit": None,
             "cache_hit_alignment_tokens": None}  # fmt: skip
    return SimpleNamespace(
        vllm_config=SimpleNamespace(cache_config=SimpleNamespace(**usual | cache))
    )


def test_the_block_is_what_the_engine_ended_up_with():
    assert cached_block(opened()) == 32
    assert cached_block(opened(block_size=1072)) == 1072
    assert cached_block(opened(block_size=16, cache_hit_alignment_tokens=528)) == 528
    assert cached_block(opened(block_size=1072, prefix_match_unit=16)) == 16
    assert cached_block(opened(enable_prefix_caching=False)) == 0


def test_cautions_of_a_plan(tmp_path):
    def caution(config: dict[str, Any], **engine: Any) -> str | None:
        source = replace(written(tmp_path, config), engine=engine)
        return VllmEngines().describe(source).caution

    hybrid, without = HEADS | {"mamba_d_state": 16}, {"state_size": 16}
    assert caution(hybrid) == (
        f"model {tmp_path} has layers without attention: vLLM sets its cache blocks as it loads "
        "it, often to hundreds of tokens, and a prefix that is shorter is not shared. "
        f"`prefill at least` counts blocks of {usual_block()}"
    )
    assert str(caution(hybrid, block_size=64)).endswith("blocks of 64")
    assert caution(hybrid, enable_prefix_caching=False) is None
    assert caution(without) is None
    assert caution(HEADS) is None


def asked(sources: int) -> list[Prompt]:
    """Prompts that share a document and differ afterwards."""
    text = "The river rose after two days of rain and the old bridge was closed. " * sources
    return [Prompt(("Compare.\n", text, f"\nTarget {n}: {'a town. ' * n}")) for n in range(1, 5)]


@pytest.mark.long
@pytest.mark.engine
def test_without_a_prefix_cache_all_of_a_prompt_is_its_least(tiny, engine):
    model = engine(caching=False)
    counting = CountingModel(model)
    asyncio.run(counting.choose(asked(4), Options(("Better", "Worse"))))
    assert model.cache_block == 0
    assert counting.tokens.cached == 0
    assert counting.tokens.floor == counting.tokens.prompt
    source = ModelSource(str(tiny()), engine={"enable_prefix_caching": False})
    (expected,) = {VllmEngines().token_counter(source)(prompt)[0].block_size for prompt in asked(4)}
    assert expected == 0


@pytest.mark.engine
def test_a_plan_says_that_a_hybrid_model_may_share_less(tiny, tmp_path):
    folder = tmp_path / "hybrid"
    folder.mkdir()
    for file in tiny().glob("tokenizer*"):
        (folder / file.name).write_bytes(file.read_bytes())
    (folder / "model.safetensors").touch()
    written(folder, HEADS | {"mamba_d_state": 16, "max_position_embeddings": 8192})
    jsonl(tmp_path / "cases.jsonl", [document(0)])
    said = planned_text(config(tmp_path, model=str(folder), judges=["synthetic"]))
    lines = [line for line in said.splitlines() if line.startswith("warning: model: ")]
    assert lines == [f"warning: model: {VllmEngines().describe(ModelSource(str(folder))).caution}"]


@pytest.mark.long
@pytest.mark.engine
def test_a_hybrid_model_s_block_is_read_from_its_engine(tiny, tmp_path):
    """LFM2 with a convolution so long that its state takes 512 tokens' worth of the cache."""
    for file in tiny().glob("tokenizer*"):
        (tmp_path / file.name).write_bytes(file.read_bytes())
    plain = json.loads((tiny() / "config.json").read_text())
    hybrid = {"architectures": ["Lfm2ForCausalLM"], "model_type": "lfm2", "conv_bias": False,
              "conv_L_cache": 1025, "conv_dim": 64, "block_dim": 64, "norm_eps": 1e-5,
              "block_auto_adjust_ff_dim": False, "layer_types": ["conv", "full_attention"],
              "block_multiple_of": 256, "block_ffn_dim_multiplier": 1.0,
              "tie_word_embeddings": True}  # fmt: skip
    source = written(tmp_path, plain | hybrid)
    arguments = {"dtype": "float32", "kv_cache_memory_bytes": 1 << 28, "load_format": "dummy"}
    model = VllmEngines().open(replace(source, engine=arguments), seed=0)
    try:
        short, long = (
            asyncio.run(model.choose(asked(n), Options(("Better", "Worse")))) for n in (10, 60)
        )
    finally:
        model.close()
    assert layers(source) == "hybrid"
    assert model.cache_block == 512
    spent = [[r.spent[0] for r in rs if isinstance(r, Chosen)] for rs in (short, long)]
    assert [(one.prompt < 512, one.cached) for one in spent[0]] == [(True, 0)] * 4
    assert [len(one.blocks) for one in spent[0]] == [0] * 4
    assert [one.prompt > 512 for one in spent[1]] == [True] * 4
    assert spent[1][-1].cached % 512 == 0 < spent[1][-1].cached
