"""What a checkpoint's config.json says of a model, before anything of it is loaded."""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from evaljudge.engines.source import ModelSource
from evaljudge.errors import UserError

_SAMPLE = 1 << 20
CONFIG = "config.json"
OF_TEXTS = "ForSequenceClassification"
"""How the names of architectures end that give numbers for a text."""
WEIGHTS = (".safetensors", ".gguf", ".bin", ".pt", ".pth", ".ckpt")
TOKENIZER = ("tokenizer", "vocab", "spiece")
"""How the names of files with weights end, and how those of a tokenizer's files begin."""
Layers = Literal["attention", "hybrid", "no attention"]
"""Hybrid: some layers are attention, others keep a state (Mamba, linear attention, convolution)."""
OF_STATES = (
    *("mamba_", "ssm_", "state_size", "time_step_", "conv_L_"),
    *("linear_attn_", "linear_conv_", "linear_key_", "linear_num_", "linear_value_"),
)
"""How the names of settings begin that only layers with a state have."""
OTHER_PARTS = ("vision_", "visual", "mm_vision", "img_", "audio_", "video_", "speech_")
"""How the names of settings begin that only models with further parts have."""


def digest_of(files: Iterable[Path]) -> str:
    """Small files whole, of large ones the size and both ends."""
    digest = hashlib.sha256()
    for path in files:
        digest.update(f"{path.name}:{path.stat().st_size}\n".encode())
        with path.open("rb") as stream:
            digest.update(stream.read(_SAMPLE))
            stream.seek(max(0, path.stat().st_size - _SAMPLE))
            digest.update(stream.read(_SAMPLE))
    return digest.hexdigest()


def layers(source: ModelSource) -> Layers:
    """The kind of the layers; attention where the checkpoint is not at hand."""
    config = language_config(source)
    if kinds := config.get("layer_types") or config.get("layers_block_type"):
        has_states = any("attention" not in kind or "linear" in kind for kind in kinds)
    else:
        has_states = any(name.startswith(OF_STATES) for name in config)
    if not has_states:
        return "attention"
    return "hybrid" if "num_attention_heads" in config else "no attention"


def lacking(source: ModelSource) -> str:
    folder = local_folder(source)
    if folder is None:
        return "all its files"
    names = {file.name for file in folder.iterdir() if file.exists()}  # in a cache they are links
    listed = (folder / name for name in names if name.endswith(".safetensors.index.json"))
    shards = {s for file in listed for s in json.loads(file.read_text())["weight_map"].values()}
    if gone := sorted(shards - names):
        return f"{len(gone)} of {len(shards)} files of weights, such as {gone[0]}"
    is_dummy = source.engine.get("load_format") == "dummy"
    if not is_dummy and not any(name.endswith(WEIGHTS) for name in names):
        return "its weights, such as model.safetensors"
    if "tokenizer" not in source.engine and not any(name.startswith(TOKENIZER) for name in names):
        return "its tokenizer, tokenizer.json and tokenizer_config.json"
    return ""


def computed_in(config: Mapping[str, Any], engine: Mapping[str, Any]) -> str | None:
    """The data type that the model computes in: the one that is chosen, or that of its config.json.
    Where that is float32, it is bfloat16, as in vLLM's `auto`; None where no file says it."""
    chosen = str(engine.get("dtype", "auto"))
    if chosen != "auto":
        return {"half": "float16", "float": "float32"}.get(chosen, chosen)
    stored = stored_in(config)
    return "bfloat16" if stored == "float32" else stored


def stored_in(config: Mapping[str, Any]) -> str | None:
    parts = config, config.get("text_config") or {}
    return next(filter(None, (p.get(key) for p in parts for key in ("dtype", "torch_dtype"))), None)


def labels_of(source: ModelSource) -> list[str]:
    """What the numbers are of that it gives, where it was trained to rate texts; none where it
    writes. vLLM itself opens it by the name of its architecture."""
    if source.endpoint:
        return []
    others = source.engine.get("hf_overrides")
    told = {**(read_json(source, CONFIG) or {}), **(others if isinstance(others, dict) else {})}
    kinds = told.get("architectures") or ()
    if any(kind.endswith("RewardModel") for kind in kinds):
        raise UserError(
            f"model {source.source}: it gives a number for each token: take a reward model that "
            f"gives one for a text (…{OF_TEXTS})"
        )
    if not any(kind.endswith(OF_TEXTS) for kind in kinds):
        return []
    unnamed = {n: f"LABEL_{n}" for n in range(told.get("num_labels", 2))}  # as transformers has it
    named = told.get("id2label") or unnamed
    return [str(named[key]) for key in sorted(named, key=int)]


def size_of_weights(source: ModelSource) -> int:
    folder = local_folder(source)
    for index in folder.glob("*.safetensors.index.json") if folder else ():
        total = json.loads(index.read_text()).get("metadata", {}).get("total_size")
        if isinstance(total, int):
            return total
    return sum(file.stat().st_size for file in folder.glob("*.safetensors")) if folder else 0


def local_folder(source: ModelSource, file: str = CONFIG) -> Path | None:
    """The folder on this machine that has this file of the model; None where there is none."""
    import huggingface_hub

    if "://" in source.path:
        return None
    if os.path.isdir(source.path):
        return Path(source.path)
    try:
        cached = huggingface_hub.try_to_load_from_cache(source.path, file, revision=source.revision)
    except ValueError:  # no name that a hub could have
        return None
    return Path(cached).parent if isinstance(cached, str) else None


def whole_config(source: ModelSource) -> Mapping[str, Any]:
    """What its config.json says; empty where it is not at hand, or lies at a URI."""
    return {} if "://" in source.path else read_json(source, CONFIG) or {}


def read_json(source: ModelSource, name: str) -> Mapping[str, Any] | None:
    if (content := read_file(source, name)) is None:
        return None
    try:
        config = json.loads(content)
    except ValueError as error:
        raise UserError(f"model {source.source}: {name} is not JSON: {error}") from None
    return config if isinstance(config, dict) else {}


def read_file(source: ModelSource, name: str) -> bytes | None:
    """A small file of a checkpoint, which is fetched where a hub has it; None if not at hand."""
    from evaljudge.storage import Place

    try:
        if "://" in source.path:
            return Place(source.path).read(name)
        if os.path.isdir(source.path):
            return Path(source.path, name).read_bytes()
    except FileNotFoundError:
        return None
    try:
        from huggingface_hub import hf_hub_download

        return Path(hf_hub_download(source.path, name, revision=source.revision)).read_bytes()
    except Exception:  # the hub's client raises many kinds; each means: not at hand
        return None


def language_config(source: ModelSource) -> Mapping[str, Any]:
    """The language model's settings, also in a model of several parts; empty if not at hand."""
    config = whole_config(source)
    language: Mapping[str, Any] = config.get("text_config") or config
    return language
