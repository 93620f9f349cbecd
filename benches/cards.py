"""Which models fit on which cards, by arithmetic: the table of docs/performance.md.

    python benches/cards.py

The models' sizes are those of their published config.json; nothing is loaded and nothing measured.
"""

from collections.abc import Iterator
from typing import Any

from evaljudge.engines.memory import CARDS, GIB, Card, footprint_of, gpus_needed, room_on

TOKENS = 4096
CARD_NAMES = ("l4", "l40s", "h100", "h200")
BFLOAT16: dict[str, Any] = {"torch_dtype": "bfloat16", "tie_word_embeddings": False}


def sizes(width: int, inner: int, layers: int, heads: int, vocabulary: int) -> dict[str, Any]:
    named = {"hidden_size": width, "intermediate_size": inner, "num_hidden_layers": layers}
    return BFLOAT16 | named | {"num_attention_heads": heads, "vocab_size": vocabulary}


MODELS: dict[str, dict[str, Any]] = {
    "Qwen3-0.6B": sizes(1024, 3072, 28, 16, 151936)
    | {"num_key_value_heads": 8, "head_dim": 128, "tie_word_embeddings": True},
    "Qwen3-8B": sizes(4096, 12288, 36, 32, 151936) | {"num_key_value_heads": 8, "head_dim": 128},
    "Llama-3.1-8B": sizes(4096, 14336, 32, 32, 128256) | {"num_key_value_heads": 8},
    "DeepSeek-V2-Lite": sizes(2048, 10944, 27, 16, 102400)
    | {"kv_lora_rank": 512, "q_lora_rank": None, "qk_nope_head_dim": 128, "qk_rope_head_dim": 64}
    | {"v_head_dim": 128, "n_routed_experts": 64, "n_shared_experts": 2, "num_experts_per_tok": 6}
    | {"moe_intermediate_size": 1408, "first_k_dense_replace": 1},
    "Gemma-3-27B": {
        "torch_dtype": "bfloat16",
        "vision_config": {"model_type": "siglip_vision_model"},
        "text_config": {
            **{"model_type": "gemma3_text", "hidden_size": 5376, "intermediate_size": 21504},
            **{"num_hidden_layers": 62, "num_attention_heads": 32, "num_key_value_heads": 16},
            **{"head_dim": 128, "sliding_window": 1024},
        },
    },
    "Llama-3.3-70B": sizes(8192, 28672, 80, 64, 128256) | {"num_key_value_heads": 8},
}


def cell(config: dict[str, Any], card: Card) -> str:
    """How many requests fit at once, or how many cards it takes."""
    model = footprint_of(config, {})
    assert model is not None
    gpus = gpus_needed(card, model, TOKENS, {})
    if gpus is None:
        return "no"
    fit = room_on(card, model, TOKENS, {}, gpus).at_once
    return f"{fit:,}" if gpus == 1 else f"{gpus} cards: {fit:,}"


def table() -> Iterator[str]:
    """The table as Markdown."""
    yield "| model | weights | cache of a request | " + " | ".join(CARD_NAMES) + " |"
    yield "|---|---|---|" + "---|" * len(CARD_NAMES)
    for name, config in MODELS.items():
        model = footprint_of(config, {})
        assert model is not None
        cells = " | ".join(cell(config, CARDS[card]) for card in CARD_NAMES)
        of_model = f"{model.weights / GIB:.1f} GiB | {model.cache(TOKENS) / GIB:.2f} GiB"
        yield f"| {name} | {of_model} | {cells} |"


if __name__ == "__main__":
    print("\n".join(table()))
