"""The nano judge's files, in Hugging Face's layout for Llama: its tokenizer and its weights.

A word of its world is a token, a name is two, and the rest is letters. Any text can be read:
letters stand for words it does not know, bytes for all other characters. Pieces carry the space
before them, and a line break is a token of its own, so a word's tokens are the same wherever it is.

The weights are kept in bfloat16, which halves the file, and an engine computes in it, too. Against
float32, log-probabilities of answers differ by up to 0.27 (in 600 asks; 95% by less than 0.15).
"""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evaljudge.bundled import world
from jobs.nano.llama import SPECIALS, UNKNOWN, config, tokenizer_config

if TYPE_CHECKING:
    from jobs.nano.network import Network

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}"
    "{% if message.role == 'assistant' %}{{ eos_token }}{% endif %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
SPACE = "▁"
SPELT_IN_BYTES = "^|~\\"
"""Signs that have made room for words of the prompts."""
_ANSWERS = ("Better", "Worse", "Similar")
_AXES = ("coherence", "consistency", "fluency", "relevance")
_PROMPTS = (
    "<report> </report> <worse> </worse> <better> </better> Write a text between these in "
    "<reference> </reference> <target> </target> Is the target Better Worse or Similar to "
    "1 2 3 4 5 6 7 8 9 Yes No sentence right"
).split()
"""The words of the prompts that it is taught; their order is that of the weights."""
_WORD, _LETTER, _BYTE = -1.0, -12.0, -20.0
"""Fewest pieces win: a word before its syllables, syllables before letters."""


def make_tokenizer() -> Any:
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers

    vocabulary = [(piece, 0.0) for piece in (*SPECIALS, UNKNOWN)]
    vocabulary += [(piece, _WORD) for piece in _pieces()]
    vocabulary += [(piece, _LETTER) for piece in _letters() if piece not in dict(vocabulary)]
    vocabulary += [(f"<0x{byte:02X}>", _BYTE) for byte in range(256)]
    unknown = len(SPECIALS)
    tokenizer = Tokenizer(models.Unigram(vocabulary, unk_id=unknown, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\n"), "isolated"),
            pre_tokenizers.Metaspace(prepend_scheme="always"),
        ]
    )
    tokenizer.decoder = decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace(prepend_scheme="always")]
    )
    tokenizer.add_special_tokens(list(SPECIALS))
    return tokenizer


def _pieces() -> list[str]:
    first, second = world.SYLLABLES
    whole = [
        *world.TITLES, *world.TITLES.values(), *world.VERBS, *world.NUMBERS, *world.OBJECTS,
        *world.PLACES, *world.FICTIONS, *world.ORDER, *world.FILLERS, "in", "In",
        *world.MAIN[:-1].split(), *world.OTHER[:-1].split(), *_ANSWERS, *_AXES, "best", "worst",
        *_PROMPTS,
    ]  # fmt: skip
    pieces = [SPACE + word for word in (*whole, *first)] + [*second, ",", ".", ":", "?"]
    return list(dict.fromkeys([*pieces, SPACE + "\n"]))


def _letters() -> list[str]:
    signs = string.ascii_letters + string.digits + string.punctuation
    return [SPACE, *(sign for sign in signs if sign not in SPELT_IN_BYTES)]


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

    weights = _weights(network)
    return {name: w.detach().to(torch.bfloat16).contiguous().clone() for name, w in weights.items()}


def _weights(network: Network) -> dict[str, Any]:
    """The weights by their names in Llama's layout, as views of the network's own."""
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
    return weights


def start_from(folder: Path, network: Network) -> None:
    """Give a network the weights of a checkpoint, whose tokenizer may lack some of its words."""
    import torch
    from safetensors.torch import load_file
    from tokenizers import Tokenizer

    saved = load_file(str(folder / "model.safetensors"))
    before = Tokenizer.from_file(str(folder / "tokenizer.json")).get_vocab()
    now = make_tokenizer().get_vocab()
    weights = {name: weight.data for name, weight in _weights(network).items()}
    words = saved.pop("model.embed_tokens.weight")
    common = [piece for piece in now if piece in before]
    with torch.no_grad():
        weights.pop("model.embed_tokens.weight")[[now[piece] for piece in common]] = words[
            [before[piece] for piece in common]
        ].float()
        for name, weight in weights.items():
            weight.copy_(saved[name])


def _save_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=1) + "\n")
