"""What a checkpoint's config.json says of a model, before anything of it is loaded."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evaljudge.errors import UserError

if TYPE_CHECKING:
    from evaljudge.engines.opening import ModelSource

Layers = Literal["attention", "hybrid", "no attention"]
"""Hybrid: some layers are attention, others keep a state (Mamba, linear attention, convolution)."""
OF_STATES = (
    *("mamba_", "ssm_", "state_size", "time_step_", "conv_L_"),
    *("linear_attn_", "linear_conv_", "linear_key_", "linear_num_", "linear_value_"),
)
"""How the names of settings begin that only layers with a state have."""


def positions(source: ModelSource) -> int | None:
    """How many tokens the model holds, unless the checkpoint stretches them (RoPE scaling)."""
    said = _read(source)
    if said.get("rope_scaling"):
        return None
    limit = said.get("max_position_embeddings")
    return limit if isinstance(limit, int) else None


def layers(source: ModelSource) -> Layers:
    """Of what kind the layers are; attention, where the checkpoint is not at hand."""
    said = _read(source)
    if kinds := said.get("layer_types") or said.get("layers_block_type"):
        has_states = any("attention" not in kind or "linear" in kind for kind in kinds)
    else:
        has_states = any(name.startswith(OF_STATES) for name in said)
    if not has_states:
        return "attention"
    return "hybrid" if "num_attention_heads" in said else "no attention"


def _read(source: ModelSource) -> Mapping[str, Any]:
    """Of a model of several parts, what is said of its language model; empty if not at hand."""
    import huggingface_hub

    file: Any = os.path.join(source.path, "config.json")
    if "://" in source.path:
        return {}
    if not os.path.isdir(source.path):
        file = huggingface_hub.try_to_load_from_cache(
            source.path, "config.json", revision=source.revision
        )
    if not isinstance(file, str):
        return {}
    try:
        said = json.loads(Path(file).read_text())
    except ValueError as error:
        raise UserError(f"model {source.source}: {file} is not JSON: {error}") from None
    found: Mapping[str, Any] = said.get("text_config") or said
    return found
