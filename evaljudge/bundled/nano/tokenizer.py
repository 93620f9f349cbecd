"""The nano judge's tokenizer: a word of its world is a token, a name is two, the rest is letters.

Any text can be read: letters stand for words it does not know, bytes for all other characters.
Pieces carry the space before them, and a line break is a token of its own, so a word's tokens are
the same wherever it stands.
"""

from __future__ import annotations

import string
from typing import Any

from evaljudge.bundled.llama import SPECIALS, UNKNOWN
from evaljudge.bundled.world import words

CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}"
    "{% if message.role == 'assistant' %}{{ eos_token }}{% endif %}{{ '\\n' }}{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
)
SPACE = "▁"
_ANSWERS = ("Better", "Worse", "Similar")
_AXES = ("coherence", "consistency", "fluency", "relevance")
_PROMPTS = (
    "<report> </report> <worse> </worse> <better> </better> Write a text between these in "
    "<reference> </reference> <target> </target> Is the target Better Worse or Similar"
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
    first, second = words.SYLLABLES
    whole = [
        *words.TITLES, *words.TITLES.values(), *words.VERBS, *words.NUMBERS, *words.OBJECTS,
        *words.PLACES, *words.FICTIONS, *words.ORDER, *words.FILLERS, "in", "In",
        *words.MAIN[:-1].split(), *words.OTHER[:-1].split(), *_ANSWERS, *_AXES, "best", "worst",
        *_PROMPTS,
    ]  # fmt: skip
    found = [SPACE + word for word in (*whole, *first)] + [*second, ",", ".", ":", "?"]
    return list(dict.fromkeys([*found, SPACE + "\n"]))


def _letters() -> list[str]:
    signs = string.ascii_letters + string.digits + string.punctuation
    return [SPACE, *signs]
