"""The network's weights as a checkpoint that any engine loads: Hugging Face's layout for Llama.

The numbers are kept in sixteen bits, which halves the file, and computed with in thirty-two.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaljudge.bundled.llama import config, tokenizer_config
from evaljudge.bundled.nano.tokenizer import CHAT_TEMPLATE, make_tokenizer

if TYPE_CHECKING:
    from evaljudge.bundled.nano.network import Network


def save_checkpoint(network: Network, folder: Path) -> None:
    from safetensors.torch import save_file

    save_tokenizer(folder)
    _save_json(folder / "config.json", config(network.shape, tied=True))
    save_file(_named(network), str(folder / "model.safetensors"), metadata={"format": "pt"})


def save_tokenizer(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    make_tokenizer().save(str(folder / "tokenizer.json"))
    _save_json(folder / "tokenizer_config.json", tokenizer_config(CHAT_TEMPLATE, True))


def _named(network: Network) -> dict[str, Any]:
    import torch

    named = {"model.embed_tokens": network.words, "model.norm": network.last}
    weights = {f"{name}.weight": module.weight for name, module in named.items()}
    for number, layer in enumerate(network.layers):
        at = f"model.layers.{number}"
        q, k, v = layer.query_key_value.weight.chunk(3)
        gate, up = layer.gate_up.weight.chunk(2)
        weights |= {
            f"{at}.input_layernorm.weight": layer.before_attention.weight,
            f"{at}.post_attention_layernorm.weight": layer.before_inner.weight,
            f"{at}.self_attn.q_proj.weight": q,
            f"{at}.self_attn.k_proj.weight": k,
            f"{at}.self_attn.v_proj.weight": v,
            f"{at}.self_attn.o_proj.weight": layer.out.weight,
            f"{at}.mlp.gate_proj.weight": gate,
            f"{at}.mlp.up_proj.weight": up,
            f"{at}.mlp.down_proj.weight": layer.down.weight,
        }
    return {name: w.detach().to(torch.bfloat16).contiguous().clone() for name, w in weights.items()}


def _save_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n")
