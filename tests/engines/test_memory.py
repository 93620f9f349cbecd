"""What fits on a card: by hand for published models, and held against an engine that refuses."""

import json
from pathlib import Path
from typing import Any

import pytest

from benches.cards import MODELS, table
from evaljudge.engines import ModelSource
from evaljudge.engines.checkpoint import computed_in
from evaljudge.engines.loading import load_engine, refuse_short
from evaljudge.engines.memory import (
    CARDS,
    GIB,
    Footprint,
    card_named,
    footprint,
    footprint_of,
    gpus_needed,
    room_on,
)
from evaljudge.errors import UserError
from tests.build import refusal

ROOT = Path(__file__).parents[2]


def of(name: str, engine: dict[str, Any] | None = None, **changes: Any) -> Footprint:
    return footprint_of(MODELS[name] | changes, engine or {})


@pytest.mark.parametrize(
    ("name", "billions", "cache_of_a_token"),
    [
        ("Qwen3-0.6B", 0.596, 2 * 28 * 8 * 128 * 2),
        ("Qwen3-8B", 8.191, 2 * 36 * 8 * 128 * 2),
        ("Llama-3.1-8B", 8.030, 2 * 32 * 8 * 128 * 2),
        ("DeepSeek-V2-Lite", 15.706, 27 * (512 + 64) * 2),  # one vector for keys and values
        ("Llama-3.3-70B", 70.554, 2 * 80 * 8 * 128 * 2),
    ],
)
def test_weights_and_cache_of_published_models(name, billions, cache_of_a_token):
    found = of(name)
    assert found.weights == pytest.approx(2e9 * billions, rel=1e-3)
    assert found.cache(1024) == 1024 * cache_of_a_token
    assert found.cache(1009) == found.cache(1024) < found.cache(1025)  # whole blocks


def test_layers_with_a_window_hold_their_window_and_the_steps_in_hand():
    """Gemma 3 of 27B: 10 layers of 62 see everything; of the 52 others six groups."""
    gemma = of("Gemma-3-27B")
    assert gemma.weights == pytest.approx(54.0e9, rel=1e-3)
    page = 10 * 16 * 2 * 16 * 128 * 2  # ten layers, sixteen tokens
    whole, window = 131072 // 16, -(-(1024 - 1 + 16384) // 16) + 1
    assert gemma.cache(131072) == page * (whole + 6 * window)
    assert gemma.cache(1600) == page * (100 + 6 * 101)


def test_mistral_s_window_is_in_all_layers_and_qwen2_s_in_none():
    mistral = of("Llama-3.1-8B", sliding_window=4096)
    assert (mistral.full, mistral.windowed) == (0, 32)
    assert of("Llama-3.1-8B", sliding_window=4096, use_sliding_window=False).windowed == 0


def test_a_mixture_of_experts_holds_them_all():
    mixtral = of("Llama-3.1-8B", vocab_size=32000, num_local_experts=8, num_experts_per_tok=2)
    assert mixtral.weights == pytest.approx(2 * 46.70e9, rel=1e-3)


def test_quantised_weights_and_a_cache_of_bytes():
    """The embeddings stay as they are."""
    whole, embeddings = of("Qwen3-8B").weights / 2, 2 * 151936 * 4096
    four_bits = {"quant_method": "awq", "bits": 4}
    found = of("Qwen3-8B", quantization_config=four_bits).weights
    assert found == 2 * embeddings + (whole - embeddings) / 2
    found = of("Qwen3-8B", {"quantization": "fp8"}).weights
    assert found == 2 * embeddings + (whole - embeddings)
    assert of("Qwen3-8B", {"kv_cache_dtype": "fp8"}).cache(1024) * 2 == of("Qwen3-8B").cache(1024)
    stored = footprint_of(MODELS["Qwen3-8B"] | {"torch_dtype": "float32"}, {}, stored=4000)
    assert stored is not None and stored.weights == 2000  # computed with in half of what is stored


def test_several_gpus_share_weights_and_heads_but_no_latent_vector():
    assert of("Llama-3.3-70B").on(4).weights == of("Llama-3.3-70B").weights / 4
    assert of("Llama-3.3-70B").on(4).cache(1024) == of("Llama-3.3-70B").cache(1024) / 4
    assert of("Llama-3.3-70B").on(16).heads == 1
    assert of("DeepSeek-V2-Lite").on(2).cache(1024) == of("DeepSeek-V2-Lite").cache(1024)


def test_what_is_left_on_an_l4():
    """Not enough for 40,960 tokens, which it holds on its own; enough for some prompts of 4,096."""
    l4, qwen = CARDS["l4"], of("Qwen3-8B")
    room = room_on(l4, qwen, 4096, {})
    assert room.left == l4.memory * 0.92 - qwen.weights - room.computing
    assert room.at_once == (room.left - qwen.null_block()) // qwen.cache(4096) == 5
    assert room_on(l4, qwen, 40960, {}).at_once == 0
    assert room_on(l4, qwen, 4096, {"gpu_memory_utilization": 0.5}).left < 0
    assert room_on(l4, qwen, 1024, {"kv_cache_memory_bytes": GIB}).at_once == 7
    assert [gpus_needed(l4, qwen, tokens, {}) for tokens in (4096, 40960, 10**7)] == [1, 2, None]


def test_an_unknown_card_is_refused_with_those_that_are_known():
    assert card_named("L4") is CARDS["l4"]
    with pytest.raises(UserError, match=r"^--gpu l5: unknown card: known are t4, l4, .*b200$"):
        card_named("l5")


def test_an_engine_without_room_for_the_longest_prompt_is_refused():
    refuse_short(ModelSource("m", longest=99), 99, 200)
    refuse_short(ModelSource("m", longest=99), 50, 50)  # longer ones are too long for the model
    refuse_short(ModelSource("m", engine={"max_model_len": 50}, longest=99), 50, 200)
    with pytest.raises(UserError, match="take 99 tokens, and beside the weights there is room"):
        refuse_short(ModelSource("m", longest=99), 98, 200)


@pytest.mark.parametrize(
    ("config", "engine", "expected"),
    [
        ({"torch_dtype": "float32"}, {}, "bfloat16"),
        ({"text_config": {"dtype": "float16"}}, {"dtype": "auto"}, "float16"),
        ({"dtype": "bfloat16"}, {"dtype": "half"}, "float16"),
        ({}, {}, None),
    ],
)
def test_a_model_computes_in_the_type_of_its_weights_or_a_named_one(config, engine, expected):
    assert computed_in(config, engine) == expected


def test_a_model_of_an_unknown_kind_is_not_computed(tmp_path):
    assert footprint_of({}, {}) is None
    assert footprint(ModelSource("nowhere/at-all")) is None
    (tmp_path / "config.json").write_text(json.dumps(MODELS["Qwen3-8B"] | {"mamba_d_state": 16}))
    assert footprint(ModelSource(str(tmp_path))) is None  # its other layers keep states


def test_weights_that_are_here_are_not_computed(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(MODELS["Qwen3-8B"]))
    (tmp_path / "model.safetensors").write_bytes(b"12345678")
    found = footprint(ModelSource(str(tmp_path)))
    assert found is not None and found.weights == 8
    index = {"metadata": {"total_size": 99}, "weight_map": {}}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    found = footprint(ModelSource(str(tmp_path)))
    assert found is not None and found.weights == 99


def test_the_page_has_the_table_that_is_computed():
    assert "\n".join(table()) in (ROOT / "docs" / "performance.md").read_text()


GEMMA: dict[str, Any] = {
    **{"architectures": ["Gemma3ForCausalLM"], "model_type": "gemma3_text", "hidden_size": 64},
    **{"intermediate_size": 128, "num_hidden_layers": 14, "num_attention_heads": 2},
    **{"num_key_value_heads": 2, "head_dim": 32, "max_position_embeddings": 8192},
    **{"sliding_window": 512, "sliding_window_pattern": 6, "torch_dtype": "bfloat16"},
    **{"query_pre_attn_scalar": 32, "hidden_activation": "gelu_pytorch_tanh"},
}


@pytest.mark.engine
@pytest.mark.long
@pytest.mark.parametrize("kind", ["llama", "gemma"])
def test_an_engine_starts_with_what_is_computed_and_not_with_a_byte_less(tiny, tmp_path, kind):
    """The cache as vLLM itself counts it, for layers of one kind and of two."""
    folder, tokens = tiny(), 4000
    if kind == "gemma":
        for name in ("tokenizer.json", "tokenizer_config.json"):
            (tmp_path / name).write_text((folder / name).read_text())
        vocabulary = json.loads((folder / "config.json").read_text())["vocab_size"]
        (tmp_path / "config.json").write_text(json.dumps(GEMMA | {"vocab_size": vocabulary}))
        folder = tmp_path
    engine = {"dtype": "float32", "load_format": "dummy", "max_num_batched_tokens": 1024}
    model = footprint(ModelSource(str(folder), engine=engine))
    needed = model.cache(tokens, 32, in_flight=1024) + model.null_block(32)

    def opened_with(size: int, longest: int = 0, **more: Any) -> int:
        arguments = engine | {"kv_cache_memory_bytes": size} | more
        opened, _ = load_engine(ModelSource(str(folder), engine=arguments, longest=longest), 0)
        context: int = opened.vllm_config.model_config.max_model_len
        opened.engine_core.shutdown()
        return context

    assert "max seq len (4000)" in refusal(opened_with, needed - 1, max_model_len=tokens)
    assert opened_with(needed, max_model_len=tokens) == tokens
    assert opened_with(needed, longest=tokens) == tokens  # by itself it takes what fits
    with pytest.raises(UserError, match="take 4,001 tokens, and beside the weights there is room"):
        opened_with(needed, longest=tokens + 1)
