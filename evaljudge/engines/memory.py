"""What an engine needs of a GPU's memory, by the model's config.json: for `plan --gpu`.

    Qwen3-8B on an L4, with prompts of at most 4,000 tokens:
    weights 15.3 GiB, computing 1.7, left for the cache 3.3; a request takes 0.5, so 5 fit at once

    cache of a token  = 2 * layers * key and value heads * size of a head * bytes of a number
    left for the cache = memory * gpu_memory_utilization - weights - computing

A layer of multi-head latent attention (DeepSeek's) caches one vector in place of keys and values.
One with a sliding window caches its window and the tokens of the steps in hand. The cache is
counted as vLLM (0.32) counts it to decide whether an engine may start. What computing takes vLLM
measures on the card; here it is an estimate.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from evaljudge.engines.checkpoint import (
    computed_in,
    layers,
    size_of_weights,
    stored_in,
    whole_config,
)
from evaljudge.engines.loading import CUDA_BLOCK
from evaljudge.engines.source import ModelSource
from evaljudge.errors import UserError

GIB = 1 << 30
UTILIZATION = 0.92  # vLLM's own `gpu_memory_utilization`
CONTEXT = 0.6 * GIB  # what CUDA, its libraries and its graphs take: an estimate
MOST_GPUS = 8
BYTES = {"float32": 4, "float": 4, "float16": 2, "half": 2, "bfloat16": 2}
UNSAID: Mapping[str, dict[str, Any]] = {
    "gemma3_text": {
        **{"vocab_size": 262208, "num_attention_heads": 8, "num_key_value_heads": 4},
        **{"head_dim": 256, "sliding_window": 4096, "tie_word_embeddings": True},
    },
}
"""What published files leave out, as transformers' own class has it."""
LARGE = 70 * GIB
"""From this memory on, vLLM computes more tokens and sequences in a step (A100 apart)."""


@dataclass(frozen=True)
class Card:
    """A GPU; `memory`: the bytes that CUDA reports, which are fewer than on the label."""

    name: str
    memory: float

    @property
    def step(self) -> tuple[int, int]:
        """The most tokens and sequences that vLLM computes in a step, if nothing else is set."""
        is_large = self.memory >= LARGE and not self.name.startswith("a100")
        return (16384, 1024) if is_large else (8192, 256)


CARDS = {
    name: Card(name, gib * GIB)
    for name, gib in {
        **{"t4": 14.6, "l4": 22.0, "a10g": 22.0, "rtx4090": 23.5, "v100": 31.7, "a100-40": 39.4},
        **{"l40s": 44.4, "a100-80": 79.1, "h100": 79.1, "h200": 139.8, "b200": 178.3},
    }.items()
}


def card_named(name: str) -> Card:
    if name.lower() in CARDS:
        return CARDS[name.lower()]
    raise UserError(f"--gpu {name}: unknown card: known are {', '.join(CARDS)}")


@dataclass(frozen=True)
class Footprint:
    """A model's sizes, in bytes where nothing else is said."""

    weights: float
    full: int  # how many layers cache every token
    windowed: int  # how many layers cache a sliding window
    window: int
    per_head: int  # the cache of a token in a layer, of one head
    heads: int  # how many heads a layer caches
    activations: int  # what computing a token takes, at the widest layer
    vocabulary: int

    def on(self, gpus: int) -> "Footprint":
        """What each of several GPUs holds, by tensor parallelism."""
        return replace(
            self,
            weights=self.weights / gpus,
            heads=max(1, self.heads // gpus),
            activations=self.activations // gpus,
        )

    def cache(self, tokens: int, block: int = CUDA_BLOCK, in_flight: int = 16384) -> int:
        """`in_flight`: the tokens of the steps that may be begun at once. Layers of two kinds are
        cut into groups of equally many layers, each with blocks of its own."""
        size, groups = self._groups()
        blocks = ceil(tokens / block) * groups[0]
        blocks += (ceil(min(self.window - 1 + in_flight, tokens) / block) + 1) * groups[1]
        return size * blocks * self._page(block)

    def null_block(self, block: int = CUDA_BLOCK) -> int:
        """vLLM keeps one block of each layer of a group for itself."""
        return self._groups()[0] * self._page(block)

    def _page(self, block: int) -> int:
        return block * self.heads * self.per_head

    def _groups(self) -> tuple[int, tuple[int, int]]:
        both = sorted(count for count in (self.full, self.windowed) if count)
        size = both[-1] if both[-1] < 1.5 * both[0] else both[0]
        return size, (ceil(self.full / size), ceil(self.windowed / size))


@dataclass(frozen=True)
class Room:
    """How a GPU's memory is used, for a request of this many tokens."""

    gpus: int
    weights: float
    computing: float
    left: float  # memory for the cache; negative where even the weights do not fit
    request: float
    at_once: int  # how many requests of these tokens fit


def room_on(
    card: Card, footprint: Footprint, tokens: int, engine: Mapping[str, Any], gpus: int = 1
) -> Room:
    """`engine`: the arguments of vLLM that the user sets."""
    mine = footprint.on(gpus)
    most_tokens, most_sequences = card.step
    batch = int(engine.get("max_num_batched_tokens") or most_tokens)
    sequences = int(engine.get("max_num_seqs") or most_sequences)
    block = int(engine.get("block_size") or CUDA_BLOCK)
    logits = 2 * BYTES["float32"] * sequences * mine.vocabulary
    computing = CONTEXT + batch * mine.activations + logits
    share = float(engine.get("gpu_memory_utilization") or UTILIZATION)
    left = card.memory * share - mine.weights - computing
    left = float(engine.get("kv_cache_memory_bytes") or left)
    request = mine.cache(tokens, block, 2 * batch)
    at_once = max(0, int((left - mine.null_block(block)) // request))
    return Room(gpus, mine.weights, computing, left, request, at_once)


def gpus_needed(
    card: Card, footprint: Footprint, tokens: int, engine: Mapping[str, Any]
) -> int | None:
    """The least number of GPUs on which one request fits; None where more than MOST_GPUS are."""
    counts = (1, 2, 4, MOST_GPUS)
    return next((n for n in counts if room_on(card, footprint, tokens, engine, n).at_once), None)


def footprint(source: ModelSource) -> Footprint | None:
    """The footprint; None where its config.json is not on this machine or its kind is unknown."""
    if source.endpoint or layers(source) != "attention":
        return None
    return footprint_of(whole_config(source), source.engine, size_of_weights(source))


def footprint_of(
    config: Mapping[str, Any], engine: Mapping[str, Any], stored: int = 0
) -> Footprint | None:
    text: Mapping[str, Any] = config.get("text_config") or config
    text = UNSAID.get(str(text.get("model_type")), {}) | dict(text)
    needed = ("hidden_size", "num_hidden_layers", "num_attention_heads", "vocab_size")
    if any(not isinstance(text.get(name), int) for name in needed):
        return None
    size = BYTES.get(computed_in(config, engine) or "", 2)
    cached = 1 if str(engine.get("kv_cache_dtype", "auto")).startswith("fp8") else size
    heads, per_head = _heads(text), 2 * _head_size(text) * cached
    if latent := text.get("kv_lora_rank"):
        heads, per_head = 1, (int(latent) + int(text["qk_rope_head_dim"])) * cached
    bits = _bits(config)
    if stored and (bits or "quantization" not in engine):
        whole = BYTES.get(stored_in(config) or "bfloat16", size)
        weights: float = stored if bits else stored * size / whole
    else:
        embeddings, rest = _parameters(text)
        bits = bits or (8 if "fp8" in str(engine.get("quantization")) else 8 * size)
        weights = embeddings * size + rest * bits / 8
    width, windowed, experts = text["hidden_size"], _windowed(text), _experts(text)
    widest = int(text.get("intermediate_size") or 4 * width)
    if experts:  # the sum of those that a token meets
        active = int(text.get("num_experts_per_tok") or 1) + int(text.get("n_shared_experts") or 0)
        widest = min(active, experts[0]) * experts[1]
    return Footprint(
        weights=weights,
        full=text["num_hidden_layers"] - windowed,
        windowed=windowed,
        window=int(text.get("sliding_window") or 0),
        per_head=per_head,
        heads=heads,
        activations=size * (4 * width + 3 * widest),
        vocabulary=text["vocab_size"],
    )


def _heads(config: Mapping[str, Any]) -> int:
    return int(config.get("num_key_value_heads") or config["num_attention_heads"])


def _head_size(config: Mapping[str, Any]) -> int:
    return int(config.get("head_dim") or config["hidden_size"] // config["num_attention_heads"])


def _windowed(config: Mapping[str, Any]) -> int:
    count = int(config["num_hidden_layers"])
    if not config.get("sliding_window") or config.get("use_sliding_window") is False:
        return 0
    if kinds := config.get("layer_types"):
        return sum("sliding" in kind for kind in kinds)
    if every := config.get("sliding_window_pattern"):
        return count - count // int(every)
    # of models of several kinds of layers only the newer files say which layer is of which
    return count - count // 6 if str(config.get("model_type")).startswith("gemma3") else count


def _experts(config: Mapping[str, Any]) -> tuple[int, int] | None:
    names = ("num_local_experts", "num_experts", "n_routed_experts")
    count = next((int(config[name]) for name in names if config.get(name)), 0)
    width = config.get("moe_intermediate_size") or config.get("intermediate_size")
    return (count, int(width)) if count and width else None


def _bits(config: Mapping[str, Any]) -> float:
    """The bits of a weight in a quantised checkpoint; 0 in another."""
    how = config.get("quantization_config") or {}
    groups = list((how.get("config_groups") or {}).values())
    if groups:
        return float(((groups[0] or {}).get("weights") or {}).get("num_bits") or 8)
    if how.get("quant_method") == "mxfp4":
        return 4.25
    return float(how.get("bits") or (8 if how.get("quant_method") == "fp8" else 0))


def _parameters(config: Mapping[str, Any]) -> tuple[int, int]:
    """How many weights the embeddings have, which are not quantised, and how many the rest has."""
    width, count = int(config["hidden_size"]), int(config["num_hidden_layers"])
    inner = int(config.get("intermediate_size") or 4 * width)
    is_tied = config.get("tie_word_embeddings", config.get("model_type", "").startswith("gemma"))
    embeddings = int(config["vocab_size"]) * width * (1 if is_tied else 2)
    dense, experts = 3 * width * inner, _experts(config)
    if experts is None:
        return embeddings, count * (_attention(config) + dense + 2 * width)
    first = int(config.get("first_k_dense_replace") or 0)
    of_each = 3 * width * experts[1]
    sparse = (experts[0] + int(config.get("n_shared_experts") or 0)) * of_each + width * experts[0]
    layers_of_experts = (count - first) * sparse
    return embeddings, count * (_attention(config) + 2 * width) + first * dense + layers_of_experts


def _attention(config: Mapping[str, Any]) -> int:
    width, heads = int(config["hidden_size"]), int(config["num_attention_heads"])
    if not (latent := config.get("kv_lora_rank")):
        return width * _head_size(config) * 2 * (heads + _heads(config))
    plain, turned = int(config["qk_nope_head_dim"]), int(config["qk_rope_head_dim"])
    value, query = int(config["v_head_dim"]), heads * (plain + turned)
    low = config.get("q_lora_rank")
    of_query = low * (width + query) if low else width * query
    of_keys = width * (latent + turned) + latent * heads * (plain + value)
    return int(of_query + of_keys + heads * value * width)
