"""A LoRA adapter in PEFT's form, laid over a checkpoint: `model: {source: …, adapter: FOLDER}`.

FOLDER/adapter_config.json         {"peft_type": "LORA", "r": 16, "lora_alpha": 32, …}
FOLDER/adapter_model.safetensors   base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight, …

vLLM checks little of it: it ignores weights for layers that the model does not have, and copies
those of a narrower model into a corner of the wider matrices. An adapter that would have no effect,
or a wrong one, is refused here, as far as possible before anything is loaded.
"""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evaljudge.engines.checkpoint import digest_of, language_config
from evaljudge.engines.internals import loaded_matrices, shut_down
from evaljudge.engines.source import ModelSource
from evaljudge.errors import UserError, first_words

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"
UNSUPPORTED = (
    *("modules_to_save", "use_dora", "lora_bias", "alora_invocation_tokens", "layer_replication"),
    *("use_bdlora", "use_qalora", "trainable_token_indices"),
)
"""Settings of PEFT that change what an adapter does, and that vLLM does not implement."""
ONLY_WEIGHTS = ("gaussian", "eva", "orthogonal", "mica", "lora_ga")
"""Values of `init_lora_weights` that leave the weights of the model as they are."""
_MATRIX = re.compile(r"(?P<module>[^.]+)\.lora_(?:embedding_)?(?P<side>[AB])(?:\.weight)?$")
_ATTENTION = re.compile(r"\bmodel\.layers\.(\d+)\.self_attn\.(?:q|k|v|qkv)_proj\.lora_A\.weight$")
"""Matrices that read the hidden state, whatever the model; `lora_A` is as wide as that."""
EXPERTS = "experts"
MERGE = "merge it into the model (PEFT's `merge_and_unload`), and name that as `source`"


def identify_adapter(source: ModelSource) -> str:
    if source.adapter is None:
        return ""
    folder = Path(source.adapter)
    if not folder.is_dir():
        raise _unfit(source, "no such folder (from a hub: `hf download NAME --local-dir FOLDER`)")
    _refuse_unsupported(source, _config(source))
    _refuse_of_another_model(source, _widths(source))
    return f"{folder.resolve().name}@{digest_of([folder / CONFIG, folder / WEIGHTS])}"


def adapter_arguments(source: ModelSource) -> dict[str, Any]:
    """vLLM's arguments to load the adapter: its modules, and the smallest rank that vLLM knows and
    that holds the adapter's.

    By default vLLM makes every module ready, the output layer too, whose code then fails for the
    log-probabilities of a prompt (seen with 0.32).
    """
    if source.adapter is None:
        return {}
    from typing import get_args

    from vllm.config.lora import MaxLoRARanks

    config = _config(source)
    rank = max([config["r"], *(config.get("rank_pattern") or {}).values()])
    fitting = (supported for supported in get_args(MaxLoRARanks) if supported >= rank)
    return {
        "enable_lora": True,
        "max_loras": 1,
        "max_lora_rank": next(fitting, rank),
        "lora_target_modules": sorted(set(_modules(source).values())),
    }


def adapter_request(source: ModelSource) -> Any:
    """What every request to the engine carries; None where there is no adapter."""
    if source.adapter is None:
        return None
    from vllm.lora.request import LoRARequest

    return LoRARequest("adapter", 1, os.path.abspath(source.adapter))


def load_adapter(engine: Any, source: ModelSource) -> None:
    request = adapter_request(source)
    if request is None:
        return
    try:
        engine.add_lora(request)
        wanted = sum(module != EXPERTS for module in _modules(source).values())
        loaded = loaded_matrices(engine) // source.engine.get("tensor_parallel_size", 1)
        if loaded < wanted:
            message = f"{loaded} of its {wanted} pairs of matrices are for modules of this model"
            raise _unfit(source, f"made for another model: only {message}")
    except BaseException:  # in a notebook the engine would keep its memory
        shut_down(engine)
        raise


def _config(source: ModelSource) -> Mapping[str, Any]:
    file = Path(str(source.adapter), CONFIG)
    try:
        config = json.loads(file.read_bytes())
    except (FileNotFoundError, ValueError) as error:
        raise _unfit(source, f"its {CONFIG} cannot be read: {first_words(error)}") from None
    return config if isinstance(config, dict) else {}


def _refuse_unsupported(source: ModelSource, config: Mapping[str, Any]) -> None:
    if config.get("peft_type") != "LORA":
        raise _unfit(source, f"its peft_type is {config.get('peft_type')!r}: vLLM knows only LORA")
    changing = {name: value for name in UNSUPPORTED if (value := config.get(name))}
    if (bias := config.get("bias", "none")) != "none":
        changing |= {"bias": bias}
    start = config.get("init_lora_weights")
    if isinstance(start, str) and start.lower() not in ONLY_WEIGHTS:
        changing |= {"init_lora_weights": start}
    for name, value in changing.items():
        raise _unfit(source, f"vLLM does not implement `{name}: {json.dumps(value)}`: {MERGE}")


def _refuse_of_another_model(source: ModelSource, widths: Mapping[str, int]) -> None:
    config = language_config(source)
    layers, width = config.get("num_hidden_layers"), config.get("hidden_size")
    for name, wide in widths.items():
        if "lm_head" in name:
            raise _unfit(source, f"it changes the output layer, which vLLM gets wrong: {MERGE}")
        if not (match := _ATTENTION.search(name)):
            continue
        why = ""
        if width and wide != width:
            why = f"its weights are for a hidden size of {wide}, and the model's is {width}"
        elif layers and int(match[1]) >= layers:
            why = f"it has weights for layer {match[1]}, and the model's last is {layers - 1}"
        if why:
            raise _unfit(source, f"made for another model: {why}")


def _modules(source: ModelSource) -> dict[str, str]:
    """The module that each pair of matrices changes, by the name of A, as vLLM names it: experts
    are one."""
    matches = ((name, _MATRIX.search(name)) for name in _widths(source))
    return {
        name: EXPERTS if f".{EXPERTS}." in name else matrix["module"]
        for name, matrix in matches
        if matrix and matrix["side"] == "A"
    }


def _widths(source: ModelSource) -> dict[str, int]:
    from safetensors import SafetensorError, safe_open

    file = Path(str(source.adapter), WEIGHTS)
    try:
        with safe_open(file, "np") as tensors:
            return {n: tensors.get_slice(n).get_shape()[-1] for n in tensors.offset_keys()}
    except (FileNotFoundError, SafetensorError) as error:
        raise _unfit(source, f"its {WEIGHTS} cannot be read: {first_words(error)}") from None


def _unfit(source: ModelSource, why: str) -> UserError:
    return UserError(f"model {source.source}: adapter {source.adapter}: {why}")
