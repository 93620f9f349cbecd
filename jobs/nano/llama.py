"""The configuration files of a small Llama's checkpoint, in Hugging Face's layout."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

PAD, BOS, END, USER, ASSISTANT = SPECIALS = ("<pad>", "<s>", "</s>", "<|user|>", "<|assistant|>")
UNKNOWN = "<unk>"


@dataclass(frozen=True, slots=True)
class Shape:
    vocabulary: int
    width: int = 128
    layers: int = 6
    heads: int = 4
    inner: int = 352
    context: int = 2048
    theta: float = 10_000.0


def config(shape: Shape, tied: bool) -> dict[str, Any]:
    """config.json; `tied`: words are read with the embedding that they are written with."""
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "vocab_size": shape.vocabulary,
        "hidden_size": shape.width,
        "num_hidden_layers": shape.layers,
        "intermediate_size": shape.inner,
        "num_attention_heads": shape.heads,
        "num_key_value_heads": shape.heads,
        "head_dim": shape.width // shape.heads,
        "max_position_embeddings": shape.context,
        "rms_norm_eps": 1e-5,
        "rope_theta": shape.theta,
        "tie_word_embeddings": tied,
        "torch_dtype": "float32",
        "hidden_act": "silu",
        "bos_token_id": SPECIALS.index(BOS),
        "eos_token_id": SPECIALS.index(END),
        "pad_token_id": SPECIALS.index(PAD),
    }


def tokenizer_config(chat_template: str | None, has_unknown: bool) -> dict[str, Any]:
    return {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": BOS,
        "eos_token": END,
        "pad_token": PAD,
        **({"unk_token": UNKNOWN} if has_unknown else {}),
        **({"chat_template": chat_template} if chat_template else {}),
    }
