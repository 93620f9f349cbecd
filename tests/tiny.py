"""A tiny checkpoint with random weights: it runs the real engine and knows nothing.

Llama architecture in the Hugging Face layout, a few hundred thousand float32 parameters, and a
tokenizer trained on the texts given: enough for tests of exactness. What such a model says of a
text is noise.
"""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Literal

from jobs.nano.llama import END, SPECIALS, UNKNOWN, Shape, config, tokenizer_config

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>\n"
    "{{ message.content }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
_EAGER_TO_STOP = 4.0
"""How much larger the weights of the end of a turn are than a word's, so that replies end."""
_ANSWERS = [w for a in ("Better", "Worse", "Similar") for w in (a, a.lower(), a.upper())]
"""Whole tokens, as in every real tokenizer."""
_VOCABULARY, _WIDTH, _LAYERS, _HEADS, _INNER = 2000, 64, 2, 2, 128

Pieces = Literal["bytes", "words"]
"""A byte-level tokenizer (GPT-2's kind) or one with leading spaces (SentencePiece's kind)."""


def make_tiny_model(
    folder: str | Path,
    texts: Iterable[str],
    *,
    pieces: Pieces = "bytes",
    chat: bool = True,
    context: int = 8192,
    seed: int = 0,
) -> Path:
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer = _train(texts, pieces)
    tokenizer.save(str(folder / "tokenizer.json"))
    size = tokenizer.get_vocab_size()
    settings = tokenizer_config(CHAT_TEMPLATE if chat else None, has_unknown=pieces == "words")
    of_model = config(Shape(size, _WIDTH, _LAYERS, _HEADS, _INNER, context), tied=False)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1))
    (folder / "config.json").write_text(json.dumps(of_model, indent=1))
    words = ((i, tokenizer.decode([i])) for i in range(size))
    silent = [i for i, word in words if not word.strip() or "\ufffd" in word]
    _save_weights(folder / "model.safetensors", size, silent, seed)
    return folder


def _train(texts: Iterable[str], pieces: Pieces) -> Any:
    from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    trainer: Any
    options: dict[str, Any] = {"vocab_size": _VOCABULARY, "show_progress": False}
    if pieces == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        trainer = trainers.BpeTrainer(
            special_tokens=list(SPECIALS),
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            **options,
        )
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            special_tokens=[*SPECIALS, UNKNOWN],
            unk_token=UNKNOWN,
            initial_alphabet=["\n", *map(chr, range(32, 127))],
            **options,
        )
    answers = [lead + word for word in _ANSWERS for lead in ("\n", ". ")]
    tokenizer.train_from_iterator([*texts, *answers * 50], trainer)
    return tokenizer


def _save_weights(path: Path, vocabulary: int, silent: list[int], seed: int) -> None:
    import numpy as np
    from safetensors.numpy import save_file

    random = np.random.default_rng(seed)

    def noise(*shape: int) -> Any:
        return (random.standard_normal(shape) * 0.3).astype("float32")

    ones = np.ones(_WIDTH, "float32")
    words = noise(vocabulary, _WIDTH)
    words[silent] = 0  # replies are made of words, and end
    words[SPECIALS.index(END)] = _EAGER_TO_STOP * noise(_WIDTH)
    weights = {
        "model.embed_tokens.weight": noise(vocabulary, _WIDTH),
        "model.norm.weight": ones,
        "lm_head.weight": words,
    }
    for layer in range(_LAYERS):
        at = f"model.layers.{layer}."
        for part in "qkvo":
            weights[f"{at}self_attn.{part}_proj.weight"] = noise(_WIDTH, _WIDTH)
        weights[f"{at}mlp.gate_proj.weight"] = noise(_INNER, _WIDTH)
        weights[f"{at}mlp.up_proj.weight"] = noise(_INNER, _WIDTH)
        weights[f"{at}mlp.down_proj.weight"] = noise(_WIDTH, _INNER)
        weights[f"{at}input_layernorm.weight"] = ones
        weights[f"{at}post_attention_layernorm.weight"] = ones
    save_file(weights, str(path), metadata={"format": "pt"})
