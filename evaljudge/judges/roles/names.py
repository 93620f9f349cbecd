"""The two texts' names: whatever a reply calls one of them becomes one letter that is in no reply.

    names = Names(("Summary 1", "Summary 2"))
    names.marked("I prefer **the first summary** to Summary #2.")    "i prefer   ʘ   to ǂ."

    Summary 1, summary one, Summary #1, Summary (1), Summary no. 1, the first summary, 1st one    ʘ

Names without a noun in common (`A` and `B`, `the human's`) are found only as they are.
`Summary 1：` of an East Asian reply reads like `Summary 1:`.
"""

from __future__ import annotations

import re
from typing import Literal

Choice = Literal[0, 1]
"""The first of the two names, or the second."""

FIRST, SECOND = "ʘ", "ǂ"
A_NAME = f"[{FIRST}{SECOND}]"
NOTHING = "(?!)"
"""A pattern that fits nowhere."""

_WIDE = str.maketrans("：，、。；（）！？　", ":,,.;()!? ")


def in_ascii(text: str) -> str:
    """With the punctuation of ASCII for that of East Asia, sign for sign: every place stays."""
    return text.translate(_WIDE)


_SPELLED = {"1": r"(?:1|one|i)", "2": r"(?:2|two|ii)"}
_ORDINALS = {"1": "first|1st", "a": "first|1st", "2": "second|2nd", "b": "second|2nd"}


class Names:
    """How a reply may mention either text."""

    def __init__(self, names: tuple[str, str]) -> None:
        plain = [in_ascii(name) for name in names]
        nouns, self._labels = zip(*map(_noun_and_label, plain), strict=True)
        shared = nouns[0] if nouns[0].casefold() == nouns[1].casefold() else ""
        self._patterns = [
            _mention(name, shared, label) for name, label in zip(plain, self._labels, strict=True)
        ]
        self.bare = _either_label(self._labels) if shared else NOTHING
        """What may stand for a name where nothing else can be meant: `1` or `2`."""

    def marked(self, text: str) -> str:
        """In lower case and without emphasis, quotation marks and East Asian punctuation."""
        plain = re.sub(f'{A_NAME}|[*_`"“”]', " ", in_ascii(text))
        for letter, pattern in zip((FIRST, SECOND), self._patterns, strict=True):
            plain = pattern.sub(letter, plain)
        return re.sub(rf"[\[<]\s*({A_NAME})\s*[\]>]", r"\1", plain.lower())

    def place(self, said: str) -> Choice:
        """Whose letter or label it is."""
        return 0 if said in (FIRST, self._labels[0].lower()) else 1


def _noun_and_label(name: str) -> tuple[str, str]:
    noun, _, label = name.strip().rpartition(" ")
    return noun, label


def _either_label(labels: tuple[str, ...]) -> str:
    return "|".join(re.escape(label.lower()) for label in labels)


def _mention(name: str, noun: str, label: str) -> re.Pattern[str]:
    """`noun`: what both names have in common."""
    exact = r"\s+".join(map(re.escape, name.split())) or NOTHING
    if not noun:
        return re.compile(rf"(?<!\w){exact}(?!\w)", re.IGNORECASE if len(name) > 1 else 0)
    ways = (rf"{exact}(?!\w)", _with_number(noun, label), _with_ordinal(noun, label))
    return re.compile(rf"(?<!\w)(?:{'|'.join(ways)})", re.IGNORECASE)


def _with_number(noun: str, label: str) -> str:
    """`summary one`, `Summary #1`, `Summary no. 1`, `Summary (1)`."""
    said = _SPELLED.get(label, re.escape(label))
    return rf"{re.escape(noun)}(?: |\s?[-#(\[]|\sno\.?\s|\snumber\s)?{said}(?!\w)[)\]]?"


def _with_ordinal(noun: str, label: str) -> str:
    """`the first summary`, `the 2nd one`."""
    ordinal = _ORDINALS.get(label.lower(), NOTHING)
    return rf"(?:the\s+)?(?:{ordinal})\s+(?:{re.escape(noun)}|one)\b"
